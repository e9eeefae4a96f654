// SPDX-License-Identifier: Apache-2.0
#include "coupling/petsc/scalar_array.hpp"
