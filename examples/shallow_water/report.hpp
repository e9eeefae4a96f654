// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "forecast.hpp"

namespace shallow_water {

/// Prints the run's grid, steps, ranks, surrogate. problem: why there is no surrogate. Local; rank
/// 0 prints.
void print_head(const Settings& settings, const Layout& layout, const Emulator* emulator,
                const std::string& problem);

/// Errors against lead time, drifts of mass and energy, seconds a simulated day. Collective.
void print_report(const Settings& settings, const Layout& layout, const Record& record);

}  // namespace shallow_water
