// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "event.hpp"
#include "options.hpp"

namespace tracking {

/// The command line.
struct Settings : CommonSettings {
    EventShape shape;
    double radius = 0;  ///< in the embedding; 0: the default of the embedding

    /// Reads the arguments after the program's name. Throws std::invalid_argument for an unknown
    /// option or a value out of its range.
    static Settings read(const std::vector<std::string>& arguments);
    /// Returns the text of -help.
    static std::string help();
};

}  // namespace tracking
