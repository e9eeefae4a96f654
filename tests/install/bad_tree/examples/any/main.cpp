// SPDX-License-Identifier: Apache-2.0
#include <surrogate/surrogate.hpp>

#include "not_there.hpp"
