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

/// A safetensors file, read without the library, for tests of what lies on top of it. Throws if
/// what is asked for is not there.
class GoldenFile {
public:
    explicit GoldenFile(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::ostringstream stream;
        stream << file.rdbuf();
        bytes_ = stream.str();
        if (bytes_.size() < 8) throw std::runtime_error(path + " cannot be read");
        uint64_t n_header = 0;
        std::memcpy(&n_header, bytes_.data(), 8);
        header_ = nlohmann::json::parse(bytes_.substr(8, n_header));
        first_byte_ = 8 + n_header;
    }

    bool has(const std::string& name) const { return header_.contains(name); }

    /// Returns the names of all tensors.
    std::vector<std::string> names() const {
        std::vector<std::string> list;
        for (const auto& [name, entry] : header_.items())
            if (name != "__metadata__") list.push_back(name);
        return list;
    }

    /// A tensor of type F64, or of F32, I64, I32, I8 or U8 converted.
    GoldenTensor tensor(const std::string& name) const {
        const auto entry = header_.at(name);
        GoldenTensor golden{entry.at("shape").get<std::vector<int64_t>>(), {}};
        const std::string type = entry.at("dtype");
        if (type == "F64") {
            golden.values = read<double>(entry);
        } else if (type == "F32") {
            golden.values = widened<float>(entry);
        } else if (type == "I64") {
            golden.values = widened<int64_t>(entry);
        } else if (type == "I32") {
            golden.values = widened<int32_t>(entry);
        } else if (type == "I8") {
            golden.values = widened<int8_t>(entry);
        } else if (type == "U8") {
            golden.values = widened<uint8_t>(entry);
        } else {
            throw std::runtime_error(name + " is neither F64, F32, I64, I32, I8 nor U8");
        }
        return golden;
    }

    /// A tensor of type I32, I64 or U16, row-major.
    std::vector<int64_t> integers(const std::string& name) const {
        const auto entry = header_.at(name);
        if (entry.at("dtype") == "I64") return read<int64_t>(entry);
        if (entry.at("dtype") == "U16") {
            const std::vector<uint16_t> narrow = read<uint16_t>(entry);
            return {narrow.begin(), narrow.end()};
        }
        if (entry.at("dtype") != "I32")
            throw std::runtime_error(name + " is neither I64, I32 nor U16");
        const std::vector<int32_t> narrow = read<int32_t>(entry);
        return {narrow.begin(), narrow.end()};
    }

    nlohmann::json card() const {
        return nlohmann::json::parse(
            header_.at("__metadata__").at("surrogate.card").get<std::string>());
    }

private:
    template <class T>
    std::vector<double> widened(const nlohmann::json& entry) const {
        const std::vector<T> values = read<T>(entry);
        return {values.begin(), values.end()};
    }
    template <class T>
    std::vector<T> read(const nlohmann::json& entry) const {
        const auto begin = entry.at("data_offsets").at(0).get<size_t>();
        const auto end = entry.at("data_offsets").at(1).get<size_t>();
        std::vector<T> values((end - begin) / sizeof(T));
        std::memcpy(values.data(), bytes_.data() + first_byte_ + begin, end - begin);
        return values;
    }

    std::string bytes_;
    nlohmann::json header_;
    size_t first_byte_ = 0;
};

/// One tensor of a file.
inline GoldenTensor read_golden(const std::string& path, const std::string& name) {
    return GoldenFile(path).tensor(name);
}

}  // namespace surrogate::test
