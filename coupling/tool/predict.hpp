// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coupling/tool/job.hpp"

namespace surrogate::tool {

/// The command line of `surrogate predict MODEL --mesh IN --out OUT`.
struct PredictArguments {
    std::string model;  ///< MODEL, a model file
    std::string mesh;   ///< --mesh: .vtu .vti .vtp .vts or their parallel .pvtu ..
    std::string out;    ///< --out: the same kind; .vtu: one file, .pvtu: one piece a rank
    std::vector<std::pair<std::string, std::string>>
        maps;        ///< --map field=array, repeatable; "array:2" is component 2
    std::string at;  ///< --at points | cells; "": wherever the arrays are
    std::vector<std::pair<std::string, std::string>>
        options;                ///< of surrogate_options_set: threads, backend, ..
    bool ignore_units = false;  ///< --ignore-units: accept arrays whose unit is not the card's
    bool quiet = false;         ///< --quiet: errors only
};

/// Evaluates a model at the points or cell centres of a mesh file and writes the mesh with the
/// predicted arrays. Collective over the job; a report goes to rank 0's stdout, progress to its
/// stderr. Errors: Failure, on every rank with the same text. In a build without VTK: Failure that
/// says so.
void predict(Job& job, const PredictArguments& arguments);

/// "field=array" as given to --map. Failure if it is not of that form.
std::pair<std::string, std::string> parse_map(const std::string& text);

}  // namespace surrogate::tool
