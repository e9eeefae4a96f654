// SPDX-License-Identifier: Apache-2.0
// `surrogate predict` in a build without VTK.
#include "coupling/tool/predict.hpp"

namespace surrogate::tool {

namespace {

[[noreturn]] void refuse() {
    throw Failure(Exit::bad_usage,
                  "predict reads VTK meshes, and this program was built without VTK; configure "
                  "with SURROGATE_VTK=ON (Debian: apt-get install libvtk9-dev)");
}

}  // namespace

void predict(Job&, const PredictArguments&) {
    refuse();
}

}  // namespace surrogate::tool
