// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "tests/support/golden_file.hpp"

namespace surrogate::test {

/// The card and the weights of a model file, as a caller of surrogate_model_create has them.
template <class T>
struct ModelParts {
    explicit ModelParts(const std::string& path) {
        const GoldenFile file(path);
        card = file.card();
        card.erase("checksums");
        for (const std::string& name : file.names()) {
            if (name.starts_with("check/")) continue;
            const GoldenTensor golden = file.tensor(name);
            names.push_back(name);
            shapes.push_back(golden.shape);
            values.emplace_back(golden.values.begin(), golden.values.end());
        }
    }

    /// They belong to this object.
    std::vector<surrogate_tensor> tensors() const {
        std::vector<surrogate_tensor> list;
        for (size_t i = 0; i < names.size(); ++i) {
            surrogate_tensor tensor{};
            tensor.name = names[i].c_str();
            tensor.data = values[i].data();
            tensor.n_dim = static_cast<int32_t>(shapes[i].size());
            std::ranges::copy(shapes[i], tensor.shape);
            tensor.dtype = sizeof(T) == 8 ? SURROGATE_FLOAT64 : SURROGATE_FLOAT32;
            list.push_back(tensor);
        }
        return list;
    }

    nlohmann::json card;
    std::vector<std::string> names;
    std::vector<std::vector<int64_t>> shapes;
    std::vector<std::vector<T>> values;
};

}  // namespace surrogate::test
