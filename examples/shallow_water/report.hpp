// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "forecast.hpp"

namespace shallow_water {

/// Prints grid, steps, ranks, surrogate. problem: the reason why there is no surrogate. Local; rank
/// 0 prints.
void print_head(const Settings& settings, const Layout& layout, const Emulator* emulator,
                const std::string& problem);

/// Prints errors against lead time, drifts of mass and energy, seconds per simulated day.
/// Collective.
void print_report(const Settings& settings, const Layout& layout, const Record& record);

}  // namespace shallow_water
