// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/layers/gradient_sums.hpp"

namespace surrogate::test {

using impl::GradientOrder;
using impl::GradientSums;

/// Weights of three tensors, with gaps between: 3, 20 and 1 elements.
inline std::shared_ptr<impl::MasterWeights> three_tensors() {
    std::vector<impl::Tensor> tensors;
    for (const int64_t size : {3, 20, 1}) {
        tensors.push_back({{std::to_string(size), impl::DType::float32, {size}, 0, 0},
                           kernels::Buffer<std::byte>(4 * size)});
    }
    return std::make_shared<impl::MasterWeights>(tensors);
}

/// Returns gradients of a chunk, in the shape of an arena of three_tensors(). Sizes grow or shrink
/// with the chunk by 2^step, and sizes of elements differ by up to 2^30; signs change.
inline std::vector<double> chunk(const impl::MasterWeights& master, int number, int step) {
    std::vector<double> values(master.values().size());
    for (const auto& entry : master.entries()) {
        for (int64_t i = entry.first; i < entry.first + entry.size; ++i) {
            const double wave = std::sin(1.3 * static_cast<double>(i) + 0.7 * number);
            values[static_cast<size_t>(i)] =
                std::ldexp(wave, number * step - static_cast<int>(7 * i % 30));
        }
    }
    return values;
}

inline void add(GradientSums& sums, int thread, const std::vector<double>& values) {
    const std::span<double> arena = sums.open(thread);
    for (size_t i = 0; i < values.size(); ++i) arena[i] += values[i];
    sums.close(thread);
}

inline std::vector<double> total_of(const GradientSums& sums) {
    return {sums.total().begin(), sums.total().end()};
}

}  // namespace surrogate::test
