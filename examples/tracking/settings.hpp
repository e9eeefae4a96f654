// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event.hpp"

namespace tracking {

/// The command line.
struct Settings {
    bool asks_for_help = false;
    EventShape shape;
    int64_t n_event = 1;
    uint64_t seed = 1;  ///< of the first event; the next ones follow
    std::string model;  ///< file of the surrogate; "": without one
    double radius = 0;  ///< in the embedding; 0: the default of the embedding
    bool is_reproducible = false;
    std::string output;   ///< directory; "": no files
    std::string samples;  ///< data set of events to train on; then the program only writes it

    /// Reads the arguments after the program's name. Throws std::invalid_argument for an unknown
    /// option or a value out of its range.
    static Settings read(const std::vector<std::string>& arguments);
    /// Returns the text of -help.
    static std::string help();
};

}  // namespace tracking
