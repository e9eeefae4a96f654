// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coupling/job/job.hpp"
#include "tests/coupling/tool/check_hashes.hpp"

/// Helpers of the programs that run check cases on the ranks of a launch.
namespace surrogate::tool {

inline const char* const partitions[] = {"contiguous", "scattered", "uneven"};

inline const Job& job() {
    static const Job ranks;
    return ranks;
}

/// In the file of this program, SURROGATE_HASH_FILE.
inline Hashes& hashes() {
    static Hashes all(SURROGATE_HASH_FILE, job().size() == 1);
    return all;
}

}  // namespace surrogate::tool
