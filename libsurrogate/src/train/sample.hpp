// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::impl {

/// A sample as this rank has it, in units of the fields.
struct Sample {
    const double* prediction = nullptr;  ///< (n_output, n_point), see row_stride()
    const double* target = nullptr;      ///< (n_output, n_point), the same; null with labels
    const double* weight = nullptr;      ///< (n_point); null: 1
    int64_t n_point = 0;
    const int64_t* label = nullptr;  ///< (n_point), negative: ignored; of classes, else null
    int64_t stride = 0;              ///< between outputs; 0: n_point

    int64_t row_stride() const { return stride > 0 ? stride : n_point; }
    double weight_of(int64_t point) const { return weight ? weight[point] : 1; }
};

/// Returns the derivative of |x|; 0 at x = 0, as PyTorch.
constexpr double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/// Errors of a sample that ranks know. The larger number is worse.
///   not_finite  a prediction is not finite, although all inputs are: the step is left out
///   failed      a rank has an error
enum class SampleOutcome { good, not_finite, failed };

}  // namespace surrogate::impl
