// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include "kernels/linear/linear.hpp"
