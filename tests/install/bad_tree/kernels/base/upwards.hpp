// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "kernels/base/neighbor.hpp"
#include "libsurrogate/src/core/file.hpp"
