// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace surrogate::tool {

/// A safetensors file taken apart, to give it another card or a check case (page
/// reference/model-file.md). Only its frame is checked here: what it holds is for the library to
/// check, which loads the file before or the new one after.
class ModelBytes {
public:
    /// Throws Failure if the file cannot be read, or is no safetensors file.
    static ModelBytes read(const std::string& path);

    bool has_card() const;
    bool has_check_case() const;

    /// Replaces the card; checksums go, as they were of what is replaced.
    void set_card(const std::string& card);
    nlohmann::json card() const;

    /// Gives the card the checksums of all tensors, and the metadata that of the card; bytes() is
    /// then final.
    void add_checksums();
    void remove_check_case();

    /// Gives tensors the names that `new_name` returns; those with an empty one go.
    void rename(const std::function<std::string(const std::string& name)>& new_name);

    bool has(const std::string& name) const;
    /// The numbers of a tensor of type F32, F64, F16 or BF16, as single precision has them (F64 is
    /// rounded, as the library does). Throws Failure for others, and if there is none.
    std::vector<double> values(const std::string& name) const;

    /// `type`: "F32" or "F64", of numbers in C order.
    void add(const std::string& name, const std::string& type, const std::vector<int64_t>& shape,
             const void* data, size_t n_byte);

    /// The whole file.
    std::string bytes() const;

private:
    std::string_view bytes_of(const nlohmann::json& entry) const;

    nlohmann::json header_;
    std::string data_;
};

}  // namespace surrogate::tool
