// Comparing what a candidate wrote with what the oracle expects, and the controls that must not pass.
// The bounds, their sources and the reasons for them: docs/gate.md, "How near is right".
#pragma once
#include "device/device.h"

namespace klineage {

/// How far an output may be from the oracle. Both are ratios.
struct Bounds {
  double element = 0; ///< |error| over the larger of |expected| and the expected output's root mean square.
  double norm = 0;    ///< Euclidean norm of the error over that of the expected output.
  bool exact = false; ///< Each element is bitwise the expected value, rounded to the output's type.
};

/// Bounds from rounding alone for sums of `depth` terms, kept in `type`: lambda * sqrt(depth) * u of the arithmetic plus u of the
/// stored type, the probabilistic form of Higham's gamma_n bound (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019).
Bounds roundingBounds(ElementType type, int64_t depth);

/// The wider of the workload's tolerance and what rounding brings at the instance's depth, which is its longest axis.
Bounds boundsOf(const Workload &workload, const Argument &argument, const Instance &instance);

struct Comparison {
  Reason reason = Reason::None; ///< None, wrong_value or unwritten_output.
  std::string detail;           ///< The first offending element, what it holds and what was expected.
  double worst = 0;             ///< Largest |error| over scale; infinite when NaN or infinity patterns differ.
  double norm = 0;
};

/// `bytes` as the device gave them back against the expected values. They must be of one length.
Comparison compareOutput(const Argument &argument, std::string_view bytes, const std::vector<double> &expected, const Bounds &bounds);

/// What the oracle says of one call: one entry an argument, empty for inputs and scalars.
using Expected = std::vector<std::vector<double>>;

/// The first control that would be taken for a right answer on this instance, or empty. Controls: zeros, ones, a copy of an input,
/// the last output (`previous`: the expected outputs for other data of the same instance).
std::string passingControl(const Workload &workload, const Instance &instance, const Inputs &inputs, const Expected &expected,
                           const Expected &previous);

} // namespace klineage
