// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "options.hpp"
#include "pileup/particles.hpp"

namespace pileup {

/// The command line.
struct Settings : tracking::CommonSettings {
    EventShape shape;

    /// Reads the arguments after the program's name. Throws std::invalid_argument for an unknown
    /// option or a value out of its range.
    static Settings read(const std::vector<std::string>& arguments);
    /// Returns the text of -help.
    static std::string help();
};

}  // namespace pileup
