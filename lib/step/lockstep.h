// Lockstep: runs a piece of device code for all threads of one block at once, on sample values.
//
// It answers one question for steps about reductions: what does this code compute, whatever its form (shuffles down or xor, a loop
// or unrolled by hand, a shared tree, a serial sum, a helper or inline)? Values that the piece takes from outside become inputs with
// random contents; reduction.h then compares what the code left with what a reduction of an input would have left. What cannot be
// followed (a branch on memory, an unknown call whose result matters) ends the run with a reason. It proposes; the gate decides.
#pragma once
#include "model/kernel_model.h"
#include <array>

namespace klineage {

/// One thread's value of an expression. Unknown is a value that may exist but must not decide anything.
struct Sample {
  enum Kind { Unknown, Integer, Real, Pointer, Record } kind = Unknown;
  int64_t integer = 0;        ///< Integer; for Pointer: the offset, in innermost array elements.
  double real = 0;
  int storage = -1;           ///< Pointer: which memory.
  bool data = false;          ///< It follows from an input: what a test of it says holds for these samples only.
  std::vector<Sample> fields; ///< Record.
  static Sample of(int64_t value) { Sample s; s.kind = Integer; s.integer = value; return s; }
  static Sample of(double value) { Sample s; s.kind = Real; s.real = value; return s; }
  static Sample at(int storage, int64_t offset) { Sample s; s.kind = Pointer; s.storage = storage; s.integer = offset; return s; }
  bool known() const { return kind != Unknown; }
  double number() const { return kind == Integer ? double(integer) : real; }
  Sample from(bool inputs) const { Sample s = *this; s.data = inputs; return s; }
};

/// One value a thread of the block, in linear thread order.
using Samples = std::vector<Sample>;

/// A value from outside the piece: a variable that was there before it, or a whole expression that it hands on.
struct SampleInput {
  const clang::ValueDecl *variable = nullptr;
  const clang::Expr *expr = nullptr; ///< When it is no plain variable.
  int field = -1;                    ///< Of a record.
  int64_t cell = -1;                 ///< Of an array of the thread's own: the innermost element.
  bool integer = false;
  std::vector<double> values;        ///< One a thread.
  bool sameAs(const SampleInput &other) const {
    return variable == other.variable && expr == other.expr && field == other.field && cell == other.cell;
  }
};

class Lockstep {
public:
  /// Random values have the sign asked for, so that a zero that stands for no value is told from a true identity.
  Lockstep(const clang::ASTContext &ast, std::array<int64_t, 3> blockShape, unsigned seed, bool negative);

  /// Threads that take part; all at first.
  void setActive(std::vector<char> threads) { active = std::move(threads); }
  std::vector<char> activeWhere(const clang::Expr *condition, bool negated); ///< Unknown conditions let all pass.

  /// Which local variables from before the piece still hold what their declaration gave them; without it, those that nothing ever changes.
  using Settled = std::function<bool(const clang::VarDecl *)>;
  void setSettled(Settled holds) { settled = std::move(holds); }

  /// Loads from global memory become random values, one a key and thread; without it they are unknown.
  using MemoryKey = std::function<std::string(const clang::Expr *load)>;
  void setMemory(MemoryKey key) { memoryKey = std::move(key); }

  bool run(const clang::Stmt *statement);
  /// The value in each thread; nothing when it cannot be followed. Ends no run.
  std::optional<Samples> value(const clang::Expr *expr);

  /// Makes a variable an input, as if the piece had read it first, and answers its values.
  Samples taken(const clang::ValueDecl *decl) { return readVariable(decl); }

  /// The parameters of a helper are inputs when it is looked at on its own.
  std::optional<Samples> variable(const clang::ValueDecl *decl) const;   ///< Current contents, when known in some thread.
  std::optional<Sample> element(const clang::ValueDecl *array, int64_t index) const;
  /// Elements of an array of the thread's own that the piece stored, with the value in each thread.
  std::map<int64_t, Samples> ownElements(const clang::ValueDecl *array) const;
  const Samples &returned() const { return result; }
  bool wrote(const clang::ValueDecl *decl) const { return written.count(decl) != 0; }
  const std::set<const clang::ValueDecl *> &writes() const { return written; }
  bool touchedMemory() const { return globalWrite; }                     ///< It stored outside shared and local memory.
  unsigned shuffles() const { return shuffleCount; }                     ///< Shuffle instructions issued (a block's, not a thread's).
  unsigned blockBarriers() const { return barrierCount; }
  bool readStale() const { return stale; }                               ///< It read shared memory that it had not written.
  const std::vector<SampleInput> &inputs() const { return seen; }
  const std::string &trouble() const { return reason; }
  /// A comparison of samples, with the number that they were compared with when that is none of them.
  using Test = std::pair<const clang::Expr *, std::optional<double>>;
  /// Every test that the run rests on: 1 it held, 2 it did not, 3 both were seen. What is beyond every finite number is no question.
  const std::map<Test, unsigned> &tests() const { return answers; }
  size_t threads() const { return count; }

private:
  /// Where a value is stored: a variable, a field of one, or memory that a pointer of each thread leads to.
  struct Place {
    const clang::ValueDecl *variable = nullptr;
    std::vector<int> fields;
    Samples pointers; ///< When it is memory.
    bool memory = false, unknown = false;
  };
  struct Memory {
    bool perThread = false;
    const clang::ValueDecl *before = nullptr;   ///< An array of the thread's own that was there before the piece: what it holds are inputs.
    const clang::ValueDecl *variable = nullptr; ///< No memory but a variable whose address was taken.
    std::map<int64_t, Sample> cells;
    std::set<int64_t> stored;
  };
  using Mask = std::vector<char>;

  const clang::ASTContext &context;
  std::array<int64_t, 3> shape;
  size_t count;
  bool negative;
  uint64_t state;
  Mask active, returnedMask, broken, continued;
  std::map<const clang::ValueDecl *, Samples> variables;
  std::map<const clang::ValueDecl *, Place> aliases; // reference parameters
  std::map<const clang::ValueDecl *, int> storageOf, addressOf;
  std::map<const clang::Expr *, Sample> constants;
  std::vector<Memory> memories;
  std::set<const clang::ValueDecl *> written;
  std::vector<SampleInput> seen;
  MemoryKey memoryKey;
  Settled settled;
  std::map<Test, unsigned> answers;
  std::map<std::string, std::vector<double>> loaded;
  std::set<const clang::ValueDecl *> resolving;
  Samples result;
  std::string reason;
  unsigned shuffleCount = 0, barrierCount = 0, depth = 0, budget = 60000;
  bool globalWrite = false, stale = false;

  bool stop(std::string why);
  bool any(const Mask &mask) const;
  double random();
  bool execute(const clang::Stmt *statement);
  bool loop(const clang::Expr *condition, const clang::Stmt *body, const clang::Expr *increment, bool bodyFirst);
  void declare(const clang::VarDecl *decl);
  void fill(int id, int64_t first, const clang::InitListExpr *list);
  Samples evaluate(const clang::Expr *expr);
  Samples binary(const clang::BinaryOperator *op);
  Samples unary(const clang::UnaryOperator *op);
  /// Notes which of the two is larger, or whether they are equal; false when that is no question for any finite sample.
  bool tested(const clang::Expr *site, const Sample &a, const Sample &b, bool equality);
  bool truth(const clang::Expr *site, const Sample &sample); ///< Not zero, noted as a test.
  bool unchanged(const clang::VarDecl *variable) const;
  Samples call(const clang::CallExpr *call);
  bool intrinsic(const clang::CallExpr *call, const std::string &name, Samples &out);
  bool groupMember(const clang::CXXMemberCallExpr *call, Samples &out);
  bool groupReduction(const clang::CallExpr *call, Samples &out);
  /// A lane outside its own segment answers where the hardware does; with `inside` it is not known (the mask of a tile holds its own lanes only).
  Samples shuffle(const std::string &kind, const Samples &value, const Samples &argument, int64_t width, bool inside = false);
  Samples combined(const Samples &value, int64_t width, const std::string &name);
  Samples enter(const clang::FunctionDecl *function, llvm::ArrayRef<const clang::Expr *> arguments);
  Samples branch(const clang::Expr *condition, const std::function<Samples()> &yes, const std::function<Samples()> &no);
  std::optional<Sample> namedNumber(const clang::ValueDecl *decl);
  Samples readVariable(const clang::ValueDecl *decl);
  Samples handed(const clang::Expr *expr); // a value that goes into an exchange: unknown ones become inputs
  Place place(const clang::Expr *expr);
  Samples read(const Place &place, clang::QualType type);
  Samples load(const clang::Expr *expr);
  Samples loadedValue(const std::string &key);
  void write(const Place &place, const Samples &values, clang::QualType type);
  int storage(const clang::ValueDecl *array);
  Sample makeInput(SampleInput input, size_t thread);
  Samples input(const clang::ValueDecl *variable, const clang::Expr *expr, clang::QualType type);
  Sample ownElement(Memory &memory, int64_t index, size_t thread);
  bool inOwnArray(const clang::Expr *expr);
  Samples address(const Place &place);
  std::optional<Samples> builtinIndex(const clang::Expr *expr);
  std::optional<Sample> constant(const clang::Expr *expr);
  Samples uniform(const Sample &sample) const { return Samples(count, sample); }
};

/// The name of the function called, or empty.
std::string calleeName(const clang::CallExpr *call);
/// Threads talk to each other in it: a shuffle, vote, barrier, or shared memory; looked for through the bodies of helpers.
struct Exchange {
  bool shuffle = false, barrier = false, shared = false;
  explicit operator bool() const { return shuffle || barrier || shared; }
};
Exchange exchangeIn(const clang::Stmt *statement);
bool isShuffle(const clang::CallExpr *call);
bool inCooperativeGroups(const clang::FunctionDecl *function);
/// What one element of this type is in innermost elements, and the innermost type.
int64_t innermostCount(clang::QualType type, const clang::ASTContext &context);
clang::QualType innermostType(clang::QualType type);

} // namespace klineage
