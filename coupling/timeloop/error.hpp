// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coupling/error/error.hpp"

namespace surrogate::timeloop {

using namespace coupling;

}  // namespace surrogate::timeloop
