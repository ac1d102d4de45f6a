// Walks a fragment and says its shape. One object reads one fragment.
#pragma once
#include "lineage_db/shape.h"
#include "lineage_db/shape_values.h"

namespace klineage::fragment {

class ShapeReader {
public:
  Shape read(const Stmt &root);

private:
  struct Loop {
    int number = 0;
    std::string atom;                  ///< "i3".
    std::string variable;
    std::optional<int64_t> trips;      ///< When begin, end and step are constants.
    bool unrolled = false, halving = false;
    bool fromLane = false;             ///< Begins at the thread index: neighbouring threads take neighbouring iterations.
    int barriers = 0;
    std::set<std::string> reductions;  ///< "+dot", "max", "+exp", ...
    bool readModifyOffset = false;     ///< s[t] op= s[t + variable].
    std::set<std::string> reads;       ///< Names of what it reads by subscript.
    bool shuffles = false, stores = false, tileCopy = false, rescales = false;
  };
  struct Access {
    std::string base;
    bool write = false;
    std::vector<Poly> subscripts;
    char space = 'g';
    int width = 1;
    int block = 0;                     ///< Statement list that it stands in.
    std::string inner;                 ///< Atom of the innermost loop around it.
    std::optional<int64_t> innerTrips;
  };
  /// A loop that has ended, for what the next one of the same block does after it.
  struct Pass {
    std::string signature;
    std::set<std::string> reads;
  };
  enum class Use { Read, Write, Both };

  Shape shape;
  Values values;
  std::vector<Loop> loops;             ///< Open ones, outermost first.
  std::vector<Pass> passes;
  std::vector<Access> accesses;
  int loopCount = 0, blockCount = 0, block = 0;
  bool hasBarrier = false, integerContext = false;
  std::map<std::string, int> dimensions;               ///< Most subscripts that a name is seen with.
  std::set<std::string> indexRead, indexWritten;       ///< Names that are subscripted so, anywhere.

  void say(const std::string &token, int times = 1) { shape[token] += times; }

  // A first look at the whole: what is assigned, subscripted, synchronised.
  void scan(const Stmt &stmt);
  void scan(const Expr &expr, Use use);

  void statement(const Stmt &stmt);
  void statements(const std::vector<StmtPtr> &list);
  void function(const Stmt &stmt);
  void declaration(const Stmt &stmt);
  void sharedArray(const Declarator &name, const TypeName &type);
  void branch(const Stmt &stmt);
  void loop(const Stmt &stmt);
  Loop header(const Stmt &stmt);
  void closeLoop(const Loop &loop);
  void assembly(const std::string &text);

  void expression(const Expr &expr, Use use);
  void call(const Expr &expr);
  void assign(const Expr &expr);
  void reduction(const Expr &target, const std::string &op, const Expr &value);
  void recordAccess(const Place &place, Use use, bool dereferenced);
  void sayStage(const Place &place);
  void neighbours();

  char spaceOf(const Place &place) const;
  std::string content(const Expr &value) const;        ///< What is added up: dot, exp, sq, load, other.
  std::string skeleton(const Expr &expr, int depth = 0) const;
  std::string roles(const Poly &poly) const;           ///< "bs+x", relative to the open loops.
  bool isNextIteration(const Poly &poly) const;
  bool isExpDifference(const Expr &expr) const;
  bool holdsExponential(const Expr &expr) const;
};

} // namespace klineage::fragment
