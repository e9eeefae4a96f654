// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/norm-inl.h"
#include "kernels/norm/norm.hpp"
#include <surrogate/surrogate.h>
