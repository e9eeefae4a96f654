// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "kernels/activation/activation.hpp"
#include "kernels/device/device.hpp"
#include "kernels/device/operand.hpp"

/// Products of matrices whose rows are points, for training on a device: layers, their backward
/// pass and the gradients of their weights are all sums over one common index. Arrays are float,
/// contiguous rows without padding. All pointers are device memory that the caller owns.
namespace surrogate::kernels {

/// One side of a product: element (row, step) is data[row * row_stride + step * step_stride]. One
/// of the strides must be 1 for contiguous loads.
struct RowSide {
    const float* data = nullptr;
    int64_t row_stride = 0, step_stride = 0;
};

/// Arguments of a product and the operations of a layer after it. With c(i, j) = sum_s a(i, s) b(j,
/// s) [+ bias(j)]:
///   sum     = c                                 result = f(c) + add[0] + add[1]
///   sloped  = result f'(slope_at)
/// Only outputs with a pointer are computed. Element by element, the added arrays may be the
/// result. With steps_per_part the sums over that many steps are stored one after the other in
/// `result`, each (n_row, n_column), and no other operation is applied. Accuracy: operand (fp32 or
/// tf32), sums of float in a fixed order, bitwise identical in every launch.
struct RowProductArgs {
    Operand operand = Operand::fp32;
    RowSide a, b;
    int64_t n_row = 0, n_column = 0, n_step = 0;
    int64_t steps_per_part = 0;  ///< 0: one part
    const float* bias = nullptr;
    std::array<const float*, 2> add = {};          ///< (n_row, n_column)
    Activation activation = Activation::identity;  ///< identity, gelu_tanh or silu
    float* sum = nullptr;
    float* result = nullptr;
    const float* slope_at = nullptr;
    float* sloped = nullptr;
    float* row_sums = nullptr;  ///< (part, n_row) sum_s a(i, s)

    int64_t n_part() const {
        return steps_per_part == 0 ? 1 : (n_step + steps_per_part - 1) / steps_per_part;
    }
};

/// Arguments of to(i) += sum over p of parts(p, i), in the order of p and in double.
struct PartSumsArgs {
    const float* parts = nullptr;  ///< (n_part, n), or n of every n_between
    int64_t n_part = 0, n = 0;
    double* to = nullptr;   ///< (n)
    int64_t n_between = 0;  ///< stride between parts; 0: n
};

}  // namespace surrogate::kernels
