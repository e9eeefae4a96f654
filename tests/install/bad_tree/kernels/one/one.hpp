// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/norm.hpp"
#include "kernels/other/other.hpp"
