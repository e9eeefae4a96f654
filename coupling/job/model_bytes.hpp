// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace surrogate::tool {

/// The parts of a safetensors file, for replacing its card or adding a check case (see
/// reference/model-file.md). Checks only the structure of the file; the library checks its content
/// when it loads the file before or the new file afterwards.
class ModelBytes {
public:
    /// Throws Failure if the file cannot be read or is not a safetensors file.
    static ModelBytes read(const std::string& path);

    bool has_card() const;
    bool has_check_case() const;

    /// Replaces the card and removes the checksums, which belong to the old content.
    void set_card(const std::string& card);
    nlohmann::json card() const;

    /// Adds the checksums of all tensors to the card, and the checksum of the card to the metadata.
    /// bytes() is then final.
    void add_checksums();
    void remove_check_case();

    /// Renames tensors to the names that `new_name` returns, and removes tensors with an empty new
    /// name.
    void rename(const std::function<std::string(const std::string& name)>& new_name);

    bool has(const std::string& name) const;
    /// Returns the numbers of a tensor of type F32, F64, F16 or BF16 in single precision (F64 is
    /// rounded, as in the library). Throws Failure for other types, and for a missing tensor.
    std::vector<double> values(const std::string& name) const;

    /// Adds a tensor. `type` is "F32", "F64" or "I64"; numbers are in C order.
    void add(const std::string& name, const std::string& type, const std::vector<int64_t>& shape,
             const void* data, size_t n_byte);

    /// Returns the whole file.
    std::string bytes() const;

private:
    std::string_view bytes_of(const nlohmann::json& entry) const;

    nlohmann::json header_;
    std::string data_;
};

}  // namespace surrogate::tool
