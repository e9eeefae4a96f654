// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout.hpp"

namespace shallow_water {

enum class Step { solver, surrogate, both };

/// The command line.
struct Settings {
    bool asks_for_help = false;
    Step step = Step::both;
    int64_t n_hour = 24;
    std::string initial = "galewsky";  ///< galewsky, perturbed, random or a file
    uint64_t seed = 1;
    Resolution resolution;
    double dt_s = 150;
    bool official_rounding = false;
    std::string model;        ///< file of the surrogate; default: the installed one
    int64_t check_every = 0;  ///< hours; 0: never
    bool truncates = false;   ///< emulated hours, to the harmonics of the solver
    std::string output;       ///< directory; empty: no files
    int64_t write_every = 1;  ///< hours
    int64_t picture_hour = 12;
    std::string save, restart;  ///< files; empty: none
    std::string data;           ///< a training set instead of a run; empty: none
    int64_t n_run = 20;         ///< of the training set

    /// Reads the arguments after the program's name. Throws std::invalid_argument for an unknown
    /// option, a value out of its range, or options that exclude each other.
    static Settings read(const std::vector<std::string>& arguments);
    /// Returns the text of -help.
    static std::string help();

    int64_t steps_per_hour() const;
};

}  // namespace shallow_water
