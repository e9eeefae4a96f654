// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace surrogate::impl {

/// Returns whether `unit` is a valid unit: "" or "1" for none, else symbols and numbers with
/// powers, products, quotients and parentheses: "m^2/(Pa s)", "kg m-3", "m s**-1", "W/m^2", "1e-3
/// mol/l", "degC", "%". Returns "" or what is wrong, with the offset. The symbols themselves are
/// not looked up: a solver may have units of its own.
std::string unit_problem(std::string_view unit);

}  // namespace surrogate::impl
