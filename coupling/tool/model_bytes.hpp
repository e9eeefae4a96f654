// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace surrogate::tool {

/// A model file taken apart, to give it another card or a check case (page model-file.md). For files
/// that the library has loaded: only their frame is checked here.
class ModelBytes {
public:
    /// Throws Failure if the file cannot be read.
    static ModelBytes read(const std::string& path);

    /// Replaces the card; checksums go, as they were of what is replaced.
    void set_card(const std::string& card);
    nlohmann::json card() const;
    void remove_check_case();

    /// `type`: "F32" or "F64", of numbers in C order.
    void add(const std::string& name, const std::string& type, const std::vector<int64_t>& shape,
             const void* data, size_t n_byte);

    /// The whole file.
    std::string bytes() const;

private:
    nlohmann::json header_;
    std::string data_;
};

}  // namespace surrogate::tool
