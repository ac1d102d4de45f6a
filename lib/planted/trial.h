// Trial: what the gate answers for one planted version, and what a check in the usual style would.
#pragma once
#include "gate/oracle.h"
#include "planted/equivalence.h"
#include "planted/planted.h"

namespace klineage {

/// One planted version, judged.
struct Tried {
  PlantedKind kind = PlantedKind::Mutant;
  std::string id, operation, was;
  std::vector<std::string> expected;
  Outcome outcome = Outcome::Undecided;
  Reason reason = Reason::None;
  std::string detail;
  std::string equivalent;   ///< Accepted mutants: how it is known that they mean the same as their kernel; empty: it is not known.
  std::string usual;        ///< "accepted", or why the usual check refused it or could not be had.
  bool fromCache = false;

  bool isRight() const;     ///< The gate's answer is the one that it must give, of whatever reason.
  bool isFalseAccept() const { return kind != PlantedKind::Variant && outcome == Outcome::Accepted && equivalent.empty(); }
  bool isFalseRefusal() const { return kind == PlantedKind::Variant && outcome != Outcome::Accepted; }
  bool hasExpectedReason() const;
};

/// Asks the gate's first two stages on the emulated device with the seeds of a materializer's call; profiles nothing. What was asked once is answered from
/// the record, so a run that was killed goes on where it stopped.
class Trial {
public:
  /// `record` is the gate's record folder; the answers of the usual check are kept in usual/ below it.
  Trial(std::filesystem::path record, std::vector<ByHand> byHand);
  ~Trial();

  /// On by default; without it `usual` stays empty.
  void compareWithUsualCheck(bool compare);

  Tried ask(const PlantedKernel &kernel, const Planted &planted);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace klineage
