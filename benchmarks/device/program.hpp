// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

#include "benchmarks/device/platform.hpp"
#include "kernels/device/operand.hpp"

namespace surrogate::benchmarks {

struct Options {
    std::string command;       ///< check, limits, time, turns
    std::FILE* json = stdout;  ///< one record a line
    bool is_tiny = false;      ///< seconds on a slow or emulated device
    std::string only;          ///< the cases with this name alone
    int variant = 0;           ///< of the tiling that is timed (flare_tiling.hpp)
};

/// Every pass against the reference in double, on awkward sizes, with all operands, twice for the
/// same bits. Returns how many cases failed.
int check_passes(Platform& platform, const Options& options);

/// Copy bandwidth, rates of exponentials and of products: what times are measured against.
void measure_limits(Platform& platform, const Options& options);

/// Milliseconds of each pass, of a block, of eight blocks, launched one by one and as a graph.
void time_passes(Platform& platform, const Options& options);

/// Times a block of the case `only` once for each line that standard input brings, and ends with
/// it: for a program that takes turns with this one, both with all they need already there.
/// Returns 0, or 2 if there is no such case.
int take_turns(Platform& platform, const Options& options);

}  // namespace surrogate::benchmarks
