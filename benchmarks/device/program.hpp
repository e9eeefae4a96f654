// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

#include "benchmarks/device/platform.hpp"
#include "kernels/device/operand.hpp"

namespace surrogate::benchmarks {

struct Options {
    std::string command;       ///< check, limits, time, turns
    std::FILE* json = stdout;  ///< one record per line
    bool is_tiny = false;      ///< reduces the run to seconds on a slow or emulated device
    std::string only;          ///< runs only the cases with this name
    int variant = 0;           ///< of the timed tiling (flare_tiling.hpp)
};

/// Checks every pass against the reference in double, on awkward sizes, with all operands, twice
/// for bitwise identical results. Returns the number of failed cases.
int check_passes(Platform& platform, const Options& options);

/// Measures copy bandwidth and the rates of exponentials and of products, as references for times.
void measure_limits(Platform& platform, const Options& options);

/// Measures milliseconds of each pass, of a block, of eight blocks, launched one by one and as a
/// graph.
void time_passes(Platform& platform, const Options& options);

/// Times a block of the case `only` once for each line of standard input, and ends with its end of
/// file. Another program can thus alternate with this one, with the data of both in memory. Returns
/// 0, or 2 if there is no such case.
int take_turns(Platform& platform, const Options& options);

}  // namespace surrogate::benchmarks
