// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace surrogate::tool {

/// Prediction and reference: tensors of n numbers in one order.
struct Evidence {
    const float* official =
        nullptr;  ///< check/output, the official run in single precision, or null
    const double* exact =
        nullptr;   ///< check/output64, the official run in double precision, or null
    size_t n = 0;  ///< at least one; at most one pointer is null

    /// Returns true if the case has check/output64. Otherwise the single precision run is the
    /// truth.
    bool is_double() const { return exact != nullptr; }
    double truth(size_t i) const { return exact != nullptr ? exact[i] : double{official[i]}; }
};

/// a - truth| / |truth|; if the truth is all zero, |a - truth| / sqrt(n), a root mean square.
struct CheckOutcome {
    double relative_l2 = 0;           ///< of y
    double official_relative_l2 = 0;  ///< of check/output; NaN unless both outputs exist
    double bound = 0;                 ///< allowed relative_l2
    double max_abs = 0;               ///< max |y - truth|; NaN if any value is
    bool is_absolute = false;         ///< the truth is all zero
    bool is_contradictory = false;    ///< the two outputs of the case differ too much
    bool is_passed = false;           ///< relative_l2 <= bound, and the case is not contradictory
};

/// Largest difference of two runs of one model. A case with a larger difference is contradictory.
constexpr double largest_official_error = 0.1;

/// Returns the allowed error; see surrogate_model_check_bound.
using Bound = std::function<double(bool is_double, double official)>;

/// Compares y by the rules of share/doc/reference/model-file.md.
CheckOutcome judge(const Evidence& evidence, const double* y, const Bound& bound);

}  // namespace surrogate::tool
