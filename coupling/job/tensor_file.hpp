// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace surrogate::tool {

/// Writes a safetensors file with one tensor atomically, row-major: float32, or float64 if
/// `is_double`. Throws file::Error if the file cannot be written.
void write_tensor_file(const std::string& path, const std::string& name,
                       const std::vector<int64_t>& shape, const std::vector<double>& values,
                       bool is_double);

}  // namespace surrogate::tool
