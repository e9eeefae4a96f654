// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/one/network.hpp"
#include "libsurrogate/src/model/other/network.hpp"
