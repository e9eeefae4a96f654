// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"
#include "coupling/job/text_hash.hpp"

namespace surrogate::tool {

/// Returns a hash of a data set, 16 hex digits: XXH3-64 of the XXH3-64 of the file's pieces of 64
/// MiB, each a little-endian word. The ranks read different pieces. Collective; errors are Failure,
/// on all ranks.
std::string file_hash(const Job& job, const std::string& path);

}  // namespace surrogate::tool
