// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate evaluate MODEL --data FILE`.
struct EvaluateArguments {
    std::string model;              ///< MODEL
    std::vector<std::string> data;  ///< --data: data sets, may be repeated
    /// --map: variable of the data set, by field of the card
    std::vector<std::pair<std::string, std::string>> maps;
    std::string labels;          ///< --labels: variable with the classes; the model is a classifier
    std::vector<int64_t> top_k;  ///< --top-k: with --labels, may be repeated
    std::string particles;       ///< --particles: variable with ids; the model is an embedding
    std::string min_pt;          ///< --min-pt: with --particles, a number of the variable 'pt'
    std::string lead;            ///< --lead: seconds between input and target of a series
    std::string csv;             ///< --csv: errors of every sample and output, or confusion matrix
    std::string json;            ///< --json: all numbers
    std::string plot;        ///< --plot: target, prediction and difference of the worst sample, PNG
    std::string worst;       ///< --worst: the worst sample as a series with one step, .pvd
    bool overwrite = false;  ///< --overwrite: replace outputs that exist
    /// Options for surrogate_options_set.
    std::vector<std::pair<std::string, std::string>> options;
};

/// Evaluates a model on data sets and prints its errors on rank 0. Collective over the job. Errors:
/// Failure or Error, on all ranks with the same text; outputs are then not written. A build without
/// HDF5 throws Failure.
void evaluate(const Job& job, const EvaluateArguments& arguments);

}  // namespace surrogate::tool
