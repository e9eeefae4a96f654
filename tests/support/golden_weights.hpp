// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::test {

/// The weights of a file in the order of `layout`, shifted in the direction of a wave.
inline std::shared_ptr<impl::MasterWeights> golden_weights(const GoldenFile& file,
                                                           std::span<const impl::TensorSpec> layout,
                                                           float shift = 0) {
    std::vector<impl::Tensor> tensors;
    for (const impl::TensorSpec& spec : layout) {
        const std::vector<double> values =
            file.tensor(file.has(spec.name) ? spec.name : spec.other_name).values;
        std::vector<float> floats(values.begin(), values.end());
        for (size_t i = 0; i < floats.size(); ++i)
            floats[i] += shift * std::sin(0.7f * static_cast<float>(i + tensors.size()));
        impl::Tensor tensor{{spec.name, impl::DType::float32, spec.shape},
                            kernels::Buffer<std::byte>(std::ssize(floats) * 4)};
        std::ranges::copy(std::as_bytes(std::span(floats)), tensor.data.begin());
        tensors.push_back(std::move(tensor));
    }
    return std::make_shared<impl::MasterWeights>(tensors);
}

}  // namespace surrogate::test
