// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coupling/mesh/field_places.hpp"
#include "coupling/mesh/mesh_fields.hpp"
#include "coupling/tool/mesh_output.hpp"

/// Output of `predict` for classifiers (see coupling/job/classes.hpp).
namespace surrogate::tool {

/// Throws Failure (bad_usage) if two arrays would have one name, if some classes are at points and
/// others are not, or if --logits is given for a model that is not a classifier. `maps` as --map.
void check_class_output(const OutputPlaces& places,
                        const std::vector<std::pair<std::string, std::string>>& maps,
                        bool has_logits);

/// Arrays of a mesh, and the number of points of each class.
struct ClassOutput {
    std::vector<MeshArray> arrays;
    std::vector<int64_t> counts;
};

/// Returns `class`, an integer array, and for each output of the plan the probability of its class
/// and, with `has_logits`, its logit as NAME_logit. Local.
///   logits  [outputs][points]
ClassOutput class_output(const FieldPlan& plan, const std::vector<std::vector<double>>& logits,
                         bool has_logits);

/// Returns lines such as "class = sea" and "sea = 0.93" for logits of all points together.
std::vector<std::string> class_lines(const std::vector<surrogate_field_info>& outputs,
                                     const std::vector<double>& logits, bool has_logits);

/// Returns a text such as "sea 120, land 33": the numbers of points of the classes.
std::string counts_of_classes(const std::vector<surrogate_field_info>& outputs,
                              const std::vector<int64_t>& counts);

}  // namespace surrogate::tool
