// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate create FAMILY OUT`. Fields are texts NAME or NAME=UNIT.
struct CreateArguments {
    std::string family;  ///< "affine"
    std::string out;
    std::vector<std::string> coordinates;  ///< --coordinate: axes 0, 1, .. in this order
    std::vector<std::string> inputs;       ///< --input
    std::vector<std::string> numbers;      ///< --cloud: one number per cloud
    std::vector<std::string> outputs;      ///< --output
    std::string matrix;  ///< --matrix: rows of outputs "1,2;3,4"; columns of coordinates, inputs,
                         ///< numbers per cloud
    std::string offset;  ///< --offset: one number per output; "": zeros
    bool overwrite = false;
};

/// Writes a model file that needs no training: a linear map of the inputs of each point
/// (reference/families/affine.md), with a check case and checksums. The library loads it before it
/// is written. Prints a line on rank 0. Collective; errors are Failure or Error, on all ranks with
/// the same text.
void create(const Job& job, const CreateArguments& arguments);

}  // namespace surrogate::tool
