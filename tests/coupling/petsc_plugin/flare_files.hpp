// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/golden_file.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// An input of a card: a coordinate if axis is 0 or more. Values are taken as they are.
struct CardInput {
    std::string name;
    int axis = -1;
    double min = -1e30, max = 1e30;
};
struct CardOutput {
    std::string name;
    double mean = 0;
};

/// The weights of flare/tiny, first and last layer repeated to as many inputs and outputs.
///   is_constant  true: predicts the means of the outputs, whatever the inputs
///                false: means + 1000 times what these weights give, which solves nothing
inline ModelWriter small_flare(const std::vector<CardInput>& inputs,
                               const std::vector<CardOutput>& outputs, bool is_constant) {
    const GoldenFile file(SURROGATE_TEST_DATA "/flare/tiny.safetensors");
    const auto n_in = int64_t(inputs.size()), n_out = int64_t(outputs.size());
    ModelWriter writer;
    for (const std::string& name : file.names()) {
        if (name.starts_with("check/")) continue;
        GoldenTensor tensor = file.tensor(name);
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        if (name == "in_proj.fc1.weight") tensor.shape[1] = n_in;
        if (name.starts_with("out_proj.1.fc2.")) {
            tensor.shape[0] = n_out;
            if (is_constant) std::ranges::fill(values, 0.f);
        }
        size_t n = 1;
        for (const int64_t extent : tensor.shape) n *= size_t(extent);
        std::vector<float> repeated(n);
        for (size_t k = 0; k < n; ++k) repeated[k] = values[k % values.size()];
        writer.tensors.push_back(float_tensor(name, tensor.shape, repeated));
    }
    writer.card = file.card();
    writer.card["network"]["in_dim"] = n_in;
    writer.card["network"]["out_dim"] = n_out;
    for (const CardInput& input : inputs) {
        nlohmann::json entry = {{"name", input.name}, {"mean", 0},        {"std", 1},
                                {"unit", ""},         {"min", input.min}, {"max", input.max}};
        if (input.axis >= 0) entry.update({{"role", "coordinate"}, {"axis", input.axis}});
        writer.card["inputs"].push_back(entry);
    }
    for (const CardOutput& output : outputs)
        writer.card["outputs"].push_back(
            {{"name", output.name}, {"unit", ""}, {"mean", output.mean}, {"std", 1000}});
    return writer;
}

inline void write_file(const std::string& path, const ModelWriter& writer) {
    std::ofstream(path, std::ios::binary) << writer.bytes();
}

}  // namespace surrogate::test
