// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace surrogate::test {

/// Path of a stored case: stored_case("flare/options") is tests/data/flare/options.safetensors.
inline std::string stored_case(const std::string& name) {
    return std::string(SURROGATE_TEST_DATA) + "/" + name + ".safetensors";
}

}  // namespace surrogate::test
