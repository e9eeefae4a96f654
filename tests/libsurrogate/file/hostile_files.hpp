// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace surrogate::test {

struct HostileCase {
    std::string name;
    std::function<std::string()> bytes;
    std::vector<std::string> says;  ///< parts of the error text
};

std::vector<HostileCase> length_cases();
std::vector<HostileCase> json_cases();
std::vector<HostileCase> tensor_cases();
std::vector<HostileCase> offset_cases();
std::vector<HostileCase> metadata_cases();
std::vector<HostileCase> content_cases();

/// A file with a good card, whose header has these members beside the metadata.
std::string model_bytes(std::string_view members, std::string_view data);

}  // namespace surrogate::test
