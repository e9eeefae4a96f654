// SPDX-License-Identifier: Apache-2.0
#include <surrogate/surrogate.h>

#include "kernels/norm/norm-inl.h"
#include "kernels/norm/norm.hpp"
