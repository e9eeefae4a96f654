// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "solver.hpp"

namespace shallow_water {

struct FieldName {
    const char *name, *unit;
};

/// Names of the fields in model cards, series and data sets.
inline constexpr FieldName field_names[n_field] = {
    {"geopotential", "m^2/s^2"}, {"vorticity", "1/s"}, {"divergence", "1/s"}};

}  // namespace shallow_water
