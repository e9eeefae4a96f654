// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/train.hpp"

namespace surrogate::tool {

Exit train(Job& /*job*/, const TrainArguments& /*arguments*/) {
    throw Failure(
        Exit::bad_usage,
        "this build has no `train`: it needs HDF5, in which training sets are stored, and "
        "toml++ (Debian: libhdf5-openmpi-dev libtomlplusplus-dev)");
}

}  // namespace surrogate::tool
