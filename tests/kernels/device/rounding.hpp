// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <vector>

#include "kernels/device/operand.hpp"

namespace surrogate::tests {

/// Bits of fraction of an operand; fp32 is held to three pieces of 2^-21, 20 bits a piece.
inline int fraction_bits(kernels::Operand operand) {
    return operand == kernels::Operand::fp32 ? 20 : operand == kernels::Operand::bf16 ? 7 : 10;
}

/// |y - truth| / |truth|; y may be truth many times over.
template <class T>
double relative_l2(const std::vector<T>& y, const std::vector<double>& truth) {
    double error = 0, size = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        const double t = truth[i % truth.size()];
        error += (y[i] - t) * (y[i] - t);
        size += t * t;
    }
    return std::sqrt(error / size);
}

}  // namespace surrogate::tests
