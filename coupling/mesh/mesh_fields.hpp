// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <surrogate/surrogate.hpp>
#include <utility>
#include <vector>

#include "coupling/vtk/summary.hpp"

namespace surrogate::tool {

/// The arrays of a mesh, by place.
struct MeshArrays {
    std::vector<vtk::ArrayInfo> at_points, at_cells;
    bool has_float_coordinates = false;

    const std::vector<vtk::ArrayInfo>& at(int location) const;
    /// As bytes for another rank, and back.
    std::string packed() const;
    static MeshArrays unpacked(const std::string& text);
};

/// Source of a field of the card.
struct FieldSource {
    surrogate_field_info field;
    vtk::ArrayInfo array;
    int component = 0;
};

/// Which arrays feed the model, where it is evaluated, and how its outputs are called.
struct FieldPlan {
    int location = 0;             ///< SURROGATE_POINT or SURROGATE_CELL
    bool other_would_do = false;  ///< the arrays are at both
    std::vector<FieldSource> inputs;
    /// Source of coordinates, if not the mesh: a source for each coordinate of the card.
    std::vector<FieldSource> coordinates;
    std::vector<std::pair<surrogate_field_info, std::string>> outputs;  ///< and array names
    bool is_float = false;  ///< type of the outputs: float if every input is
};

struct FieldRequest {
    std::string mesh;  ///< its name, for messages
    /// field -> array, array:component or array.x
    std::vector<std::pair<std::string, std::string>> maps;
    std::string at;  ///< points, cells or ""
    bool ignore_units = false;
};

/// Throws Failure (bad_usage) that names the model's fields if a map is for another. Local and the
/// same on every rank, as the next.
void check_maps(const std::vector<std::pair<std::string, std::string>>& maps,
                const std::vector<surrogate_field_info>& inputs,
                const std::vector<surrogate_field_info>& outputs);

/// Coordinates are arrays of their names, or as mapped, if the model has more than the three of a
/// mesh or a map names one of them.
/// Throws Failure (bad_usage) that names the arrays found, near misses and what would help: missing
/// array, wrong number of components, other unit. Maps and place (at) have been checked.
FieldPlan plan_fields(const FieldRequest& request, const MeshArrays& arrays,
                      const std::vector<surrogate_field_info>& inputs,
                      const std::vector<surrogate_field_info>& outputs);

}  // namespace surrogate::tool
