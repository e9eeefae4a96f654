// SPDX-License-Identifier: Apache-2.0
// `surrogate spectrum` in a build without Eigen.
#include "coupling/spectrum/spectrum.hpp"

namespace surrogate::tool {

void spectrum(const Job&, const SpectrumArguments&) {
    throw Failure(
        Exit::bad_usage,
        "spectrum solves eigenvalue problems by Eigen, and this program was built without "
        "it; configure where Eigen >= 3.3 is found (Debian: apt-get install libeigen3-dev)");
}

}  // namespace surrogate::tool
