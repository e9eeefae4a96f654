// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <utility>
#include <vector>

#include "coupling/vtk/summary.hpp"

namespace surrogate::tool {

/// The arrays of a mesh, by location.
struct MeshArrays {
    std::vector<vtk::ArrayInfo> at_points, at_cells;
    bool has_float_coordinates = false;

    const std::vector<vtk::ArrayInfo>& at(int location) const;
    /// Serializes the lists for another rank; unpacked() restores them.
    std::string packed() const;
    static MeshArrays unpacked(const std::string& text);
};

/// Source of a field of the card.
struct FieldSource {
    surrogate_field_info field;
    vtk::ArrayInfo array;
    int component = 0;
};

/// An input of the card that is one number per cloud: its value in all clouds, or its source, which
/// is constant in each cloud.
struct FieldNumber {
    surrogate_field_info field;
    std::optional<double> value;
    std::optional<FieldSource> source;  ///< if there is no value
};

/// The arrays for the inputs of a model, the location of its evaluation, and the names of its
/// outputs.
struct FieldPlan {
    int location = 0;             ///< SURROGATE_POINT or SURROGATE_CELL
    bool other_would_do = false;  ///< the arrays exist at both locations
    std::vector<FieldSource> inputs;
    /// Sources of the coordinates of the card, if they are not taken from the mesh.
    std::vector<FieldSource> coordinates;
    std::vector<FieldNumber> numbers;
    /// Source of the cloud of each point, without a field; none: all points are one cloud.
    std::optional<FieldSource> clouds;
    std::optional<FieldSource> weights;  ///< of the points, without a field
    std::vector<std::pair<surrogate_field_info, std::string>> outputs;  ///< fields and array names
    bool is_float = false;  ///< type of the outputs: float if every input is float

    /// Returns all arrays that are read, except the weights.
    std::vector<FieldSource> sources() const;
};

struct FieldRequest {
    std::string mesh;  ///< name of the mesh, for messages
    /// field -> array, array:component or array.x
    std::vector<std::pair<std::string, std::string>> maps;
    std::string at;  ///< points, cells or ""
    bool ignore_units = false;
    std::string weights = {};  ///< array with the weights of the points, as in maps; "": none
    std::vector<std::pair<std::string, double>> numbers = {};  ///< input -> number in all clouds
    std::string clouds = {};                                   ///< array, as in maps; "": one cloud
};

/// Throws Failure (bad_usage) with the model's fields if a map is for an unknown field. Local; the
/// result is the same on all ranks, as for plan_fields().
void check_maps(const std::vector<std::pair<std::string, std::string>>& maps,
                const std::vector<surrogate_field_info>& inputs,
                const std::vector<surrogate_field_info>& outputs);

/// Throws Failure (bad_usage) if a number is given twice, is for an input that is not a number per
/// cloud, or the input is mapped, too. Local, as check_maps().
void check_numbers(const FieldRequest& request, const std::vector<surrogate_field_info>& inputs);

/// Plans the fields. Coordinates come from arrays of their names, or from mapped arrays, if the
/// model has more than the three coordinates of a mesh or a map names a coordinate. Throws Failure
/// (bad_usage) for a missing array, a wrong number of components or a different unit, with the
/// arrays found, near misses and a remedy. Maps and location (`at`) must have been checked.
FieldPlan plan_fields(const FieldRequest& request, const MeshArrays& arrays,
                      const std::vector<surrogate_field_info>& inputs,
                      const std::vector<surrogate_field_info>& outputs);

}  // namespace surrogate::tool
