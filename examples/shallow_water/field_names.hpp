// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "solver.hpp"

namespace shallow_water {

struct FieldName {
    const char *name, *unit;
};

/// As model cards, series and data sets have them.
inline constexpr FieldName field_names[n_field] = {
    {"geopotential", "m^2/s^2"}, {"vorticity", "1/s"}, {"divergence", "1/s"}};

}  // namespace shallow_water
