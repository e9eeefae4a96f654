// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/tool/job.hpp"

namespace surrogate::tool {

/// Tells a person, on rank 0's stdout, what a model file is; without a file what this build and
/// machine offer. Collective. Errors: surrogate::Error, the same on every rank.
void info(const Job& job, const std::string& file);

/// Memory a plan of `model` takes on this rank, as two numbers fitted to two sizes.
struct MemoryNeed {
    double fixed_bytes = 0, bytes_per_point = 0;
};
MemoryNeed memory_need(const Job& job, const Context& context, const Model& model);

}  // namespace surrogate::tool
