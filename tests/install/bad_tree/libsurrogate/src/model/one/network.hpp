// SPDX-License-Identifier: Apache-2.0
#include "kernels/one/one.hpp"
#include "libsurrogate/src/model/other/network.hpp"
