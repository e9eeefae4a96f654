// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace surrogate::petsc {

/// Returns the keys of the options -surrogate_<key> that surrogate_context_create_petsc reads.
std::vector<std::string> context_option_keys();

}  // namespace surrogate::petsc
