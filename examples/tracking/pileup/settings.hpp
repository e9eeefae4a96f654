// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pileup/particles.hpp"

namespace pileup {

/// The command line.
struct Settings {
    bool asks_for_help = false;
    EventShape shape;
    int64_t n_event = 1;
    uint64_t seed = 1;  ///< of the first event; the next ones follow
    std::string model;  ///< file of the surrogate; "": without one
    bool is_reproducible = false;
    std::string output;   ///< directory of the picture; "": none
    std::string samples;  ///< data set to train on; then the program only writes it

    /// Reads the arguments after the program's name. Throws std::invalid_argument for an unknown
    /// option or a value out of its range.
    static Settings read(const std::vector<std::string>& arguments);
    /// Returns the text of -help.
    static std::string help();
};

}  // namespace pileup
