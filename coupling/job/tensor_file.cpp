// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/tensor_file.hpp"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "coupling/job/output_files.hpp"

namespace surrogate::tool {

namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

template <class T>
std::string bytes_of(const std::vector<double>& values) {
    const std::vector<T> converted(values.begin(), values.end());
    return {reinterpret_cast<const char*>(converted.data()), converted.size() * sizeof(T)};
}

}  // namespace

void write_tensor_file(const std::string& path, const std::string& name,
                       const std::vector<int64_t>& shape, const std::vector<double>& values,
                       bool is_double) {
    const std::string data = is_double ? bytes_of<double>(values) : bytes_of<float>(values);
    nlohmann::json header;
    header[name] = {{"dtype", is_double ? "F64" : "F32"},
                    {"shape", shape},
                    {"data_offsets", {size_t{0}, data.size()}}};
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin at a multiple of 8
    const uint64_t n_header = text.size();
    std::string length(sizeof n_header, '\0');
    std::memcpy(length.data(), &n_header, sizeof n_header);
    write_output(path, length + text + data);
}

}  // namespace surrogate::tool
