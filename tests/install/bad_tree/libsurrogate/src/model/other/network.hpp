// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/family/network.hpp"
