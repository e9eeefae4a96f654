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

/// Card and weights of a golden file, to be written as a model. Of its checks only those are taken
/// along whose names begin with `kept`, if that is not empty.
inline ModelWriter writer_of(const GoldenFile& file, const std::string& kept = "") {
    ModelWriter writer;
    writer.card = file.card();
    for (const std::string& name : file.names()) {
        const bool is_kept = !kept.empty() && name.starts_with(kept);
        if (name.starts_with("check/") && !is_kept) continue;
        const GoldenTensor tensor = file.tensor(name);
        const std::vector<float> values(tensor.values.begin(), tensor.values.end());
        writer.tensors.push_back(float_tensor(name, tensor.shape, values));
    }
    return writer;
}

/// Writes a model into this process's own file of that name; returns the path.
inline std::string written(const ModelWriter& model, const std::string& name) {
    const std::string path =
        testing::TempDir() + "/" + name + "_" + std::to_string(getpid()) + ".safetensors";
    std::ofstream(path, std::ios::binary) << model.bytes();
    return path;
}

}  // namespace surrogate::test
