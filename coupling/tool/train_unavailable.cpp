// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/train.hpp"
#include "coupling/training/dataset_trial.hpp"

namespace surrogate::tool {

Exit train(Job& /*job*/, const TrainArguments& /*arguments*/) {
    throw Failure(
        Exit::bad_usage,
        "this build has no `train`: it needs HDF5, in which training sets are stored, and "
        "toml++ (Debian: libhdf5-openmpi-dev libtomlplusplus-dev)");
}

bool is_dataset_trial(int, char**) {
    return false;
}

int run_dataset_trial(char**) {
    return static_cast<int>(Exit::bad_usage);
}

}  // namespace surrogate::tool
