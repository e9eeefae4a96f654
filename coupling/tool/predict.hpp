// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate predict MODEL --mesh IN --out OUT`.
struct PredictArguments {
    std::string model;  ///< MODEL, a model file
    std::string
        mesh;         ///< --mesh: .vtu .vti .vtp .vts or their parallel .pvtu .., or a series, .pvd
    std::string out;  ///< --out: the same kind; .vtu: one file, .pvtu: one piece per rank
    std::vector<std::pair<std::string, std::string>>
        maps;  ///< --map field=array, repeatable; "array:2" is component 2
    std::vector<std::pair<std::string, double>>
        numbers;         ///< --set input=value, repeatable: numbers per cloud
    std::string clouds;  ///< --clouds array: the cloud of each point; "": all are one cloud
    std::string at;      ///< --at points | cells, the location, or a mesh; "": where the arrays are
    std::string weights;  ///< --weights: the array with the weights of the points; "": none
    std::vector<double> receptive_field;  ///< an id, or a location; empty: none
    std::vector<std::pair<std::string, std::string>>
        options;                    ///< for surrogate_options_set: threads, backend, ..
    std::string compress = "zlib";  ///< --compress none | zlib | lz4: of the arrays in the output
    bool logits = false;            ///< --logits: of a classifier, also write the logits
    bool ignore_units = false;      ///< --ignore-units: accept arrays with a different unit
    bool overwrite = false;         ///< --overwrite: replace an existing output
    bool resume = false;            ///< --resume: continue a series after its existing steps
    bool strict = false;            ///< --strict: inputs outside the training ranges are an error
    bool quiet = false;             ///< --quiet: warnings and errors only
};

/// Returns true if --at is a mesh: predictions are for its points, which do not influence others.
bool has_probes(const PredictArguments& arguments);

/// Returns the mesh that is written: --at if it is a mesh, else --mesh.
const std::string& written_mesh(const PredictArguments& arguments);

/// Evaluates a model at the points or cell centers of a mesh file, or of each mesh of a series
/// (see predict_series.hpp), and writes the mesh with the predicted arrays; a classifier gives the
/// class and the probabilities (see class_output.hpp). Outputs with one number for all points are
/// printed; a model with no other outputs writes no mesh. Collective over the job; a report is
/// printed to rank 0's stdout, progress and warnings (inputs outside the training ranges) to its
/// stderr. Names, --at and --map are checked before the mesh is read. Errors: Failure, on all
/// ranks with the same text: not_passed for --strict and for results that are not finite,
/// otherwise bad_usage. After an error nothing is written, and an earlier output is unchanged. A
/// build without VTK throws Failure.
void predict(Job& job, const PredictArguments& arguments);

}  // namespace surrogate::tool
