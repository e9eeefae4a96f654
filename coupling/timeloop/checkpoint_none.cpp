// SPDX-License-Identifier: Apache-2.0
// Checkpoints in a library that is built without HDF5.
#include "coupling/timeloop/checkpoint.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

[[noreturn]] void refuse(const std::string& path) {
    fail(SURROGATE_NOT_SUPPORTED,
         "'" + path +
             "': checkpoints are HDF5 files, and this library is built without HDF5; configure it "
             "with SURROGATE_HDF5=ON");
}

}  // namespace

void save_checkpoint(surrogate_context*, const surrogate_plan*, const Snapshot&,
                     const std::string& path, CheckpointOrders*) {
    refuse(path);
}

void restore_checkpoint(surrogate_context*, const surrogate_plan*, const std::string& path,
                        Snapshot*, CheckpointOrders*) {
    refuse(path);
}

}  // namespace surrogate::timeloop
