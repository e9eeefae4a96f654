// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace surrogate::test {

/// Doubles of a safetensors file, row-major.
struct GoldenTensor {
    std::vector<int64_t> shape;
    std::vector<double> values;

    /// Entry `index` of the first axis.
    std::vector<double> part(int64_t index) const {
        const auto size = static_cast<int64_t>(values.size()) / shape.at(0);
        return {values.begin() + index * size, values.begin() + (index + 1) * size};
    }
};

/// Reads a tensor of type F64 without the library, for tests of what lies on top of it. Throws if
/// it is not there.
inline GoldenTensor read_golden(const std::string& path, const std::string& name) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream stream;
    stream << file.rdbuf();
    const std::string bytes = stream.str();
    if (bytes.size() < 8) throw std::runtime_error(path + " cannot be read");
    uint64_t n_header = 0;
    std::memcpy(&n_header, bytes.data(), 8);
    const auto tensor = nlohmann::json::parse(bytes.substr(8, n_header)).at(name);
    if (tensor.at("dtype") != "F64") throw std::runtime_error(name + " is not F64");
    const auto begin = tensor.at("data_offsets").at(0).get<size_t>();
    const auto end = tensor.at("data_offsets").at(1).get<size_t>();
    GoldenTensor golden{tensor.at("shape").get<std::vector<int64_t>>(), {}};
    golden.values.resize((end - begin) / sizeof(double));
    std::memcpy(golden.values.data(), bytes.data() + 8 + n_header + begin, end - begin);
    return golden;
}

}  // namespace surrogate::test
