// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"
#include "coupling/job/text_hash.hpp"

namespace surrogate::tool {

/// 16 hex digits that tell data sets apart: XXH3-64 of the XXH3-64 of the file's pieces of 64 MiB,
/// each a little-endian word; the ranks read different pieces. Collective; errors are Failure, on
/// all ranks.
std::string file_hash(const Job& job, const std::string& path);

}  // namespace surrogate::tool
