// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// The command line of `surrogate predict MODEL --mesh IN --out OUT`.
struct PredictArguments {
    std::string model;  ///< MODEL, a model file
    std::string
        mesh;         ///< --mesh: .vtu .vti .vtp .vts or their parallel .pvtu .., or a series, .pvd
    std::string out;  ///< --out: the same kind; .vtu: one file, .pvtu: one piece a rank
    std::vector<std::pair<std::string, std::string>>
        maps;        ///< --map field=array, repeatable; "array:2" is component 2
    std::string at;  ///< --at points | cells; "": wherever the arrays are
    std::vector<std::pair<std::string, std::string>>
        options;                ///< of surrogate_options_set: threads, backend, ..
    std::string compress = "zlib";  ///< --compress none | zlib | lz4: of the arrays in the output
    bool ignore_units = false;  ///< --ignore-units: accept arrays whose unit is not the card's
    bool overwrite = false;     ///< --overwrite: an output that exists is replaced
    bool resume = false;        ///< --resume: a series goes on after the steps that are there
    bool strict = false;        ///< --strict: inputs outside the training ranges are an error
    bool quiet = false;         ///< --quiet: warnings and errors only
};

/// Evaluates a model at the points or cell centres of a mesh file, or of each of a series (see
/// predict_series.hpp), and writes the mesh with the predicted arrays. Outputs that are one number
/// for all points are printed; a model that has no others writes no mesh. Collective over the job;
/// a report goes to rank 0's stdout, progress and warnings (inputs outside the training ranges) to
/// its stderr. Names, --at and --map are looked at before the mesh is read. Errors: Failure, on
/// every rank with the same text: not_passed for --strict and for results that are not finite, else
/// bad_usage; nothing is written then, and an earlier output stays. In a build without VTK: Failure
/// that says so.
void predict(Job& job, const PredictArguments& arguments);

}  // namespace surrogate::tool
