// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/golden_file.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {

/// The network of flare/tiny as a model of DarcyCase's points: coordinate and mobility to pressure.
/// Emulation of a trained model takes seconds a run, of this one milliseconds. Returns the path.
inline std::string small_darcy_model() {
    const GoldenFile file(SURROGATE_TEST_DATA "/flare/tiny.safetensors");
    ModelWriter writer;
    for (const std::string& name : file.names()) {
        if (name.starts_with("check/")) continue;
        const GoldenTensor tensor = file.tensor(name);
        const std::vector<float> values(tensor.values.begin(), tensor.values.end());
        writer.tensors.push_back(float_tensor(name, tensor.shape, values));
    }
    writer.card = file.card();
    writer.card["inputs"] = {{{"name", "x"},
                              {"role", "coordinate"},
                              {"axis", 0},
                              {"unit", ""},
                              {"mean", 0.5},
                              {"std", 0.3},
                              {"min", 0},
                              {"max", 1}},
                             {{"name", "mobility"},
                              {"role", "field"},
                              {"unit", "m^2/(Pa s)"},
                              {"mean", 7.5},
                              {"std", 4.5},
                              {"min", 3},
                              {"max", 12}}};
    writer.card["outputs"] = {
        {{"name", "pressure"}, {"unit", "Pa"}, {"mean", 0.01}, {"std", 0.004}}};
    const std::string path =
        testing::TempDir() + "/small_darcy_" + std::to_string(getpid()) + ".safetensors";
    std::ofstream(path, std::ios::binary) << writer.bytes();
    return path;
}

}  // namespace surrogate::test
