// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace surrogate::tool {

/// Prediction and reference: tensors of n numbers in one order.
struct Evidence {
    const float* official =
        nullptr;                    ///< check/output, the official run in single precision, or null
    const double* exact = nullptr;  ///< check/output64, the same in double precision, or null
    size_t n = 0;                   ///< at least one; not both are null

    /// Without check/output64 the single precision run has to be the truth.
    bool is_double() const { return exact != nullptr; }
    double truth(size_t i) const { return exact != nullptr ? exact[i] : double{official[i]}; }
};

/// |a - truth| / |truth|; where the truth is all zero, |a - truth| / sqrt(n), a root mean square.
struct CheckOutcome {
    double relative_l2 = 0;           ///< of y
    double official_relative_l2 = 0;  ///< of check/output; NaN where there are not both
    double bound = 0;                 ///< relative_l2 may be this
    double max_abs = 0;               ///< max |y - truth|; NaN if any is
    bool is_absolute = false;         ///< the truth is all zero
    bool is_contradictory = false;  ///< the case's own two outputs are too far apart to be believed
    bool is_passed = false;         ///< relative_l2 <= bound, and the case is no contradiction
};

/// Two runs of one model are nearer than this: the case that says otherwise contradicts itself.
constexpr double largest_official_error = 0.1;

/// Error that the model allows: see surrogate_model_check_bound.
using Bound = std::function<double(bool is_double, double official)>;

/// Judges y by the rules of share/doc/reference/model-file.md.
CheckOutcome judge(const Evidence& evidence, const double* y, const Bound& bound);

}  // namespace surrogate::tool
