// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/read_form.hpp"

#include <algorithm>

#include "coupling/error/error.hpp"

namespace surrogate::dataset {

namespace {

using Names = std::vector<std::string>;
using Variables = std::vector<StoredVariable>;

[[noreturn]] void refuse(const std::string& text) {
    coupling::fail(SURROGATE_BAD_FILE, text);
}

std::string joined(const Names& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return "(" + text + ")";
}

bool is_real(const StoredVariable& variable) {
    return variable.kind == StoredVariable::Kind::real;
}

bool is_coordinate(const StoredVariable& variable) {
    return !variable.axis.empty() && variable.axis != "T" && is_real(variable);
}

/// Axes in front of those of the points: sample, time.
size_t n_leading(const Names& axes) {
    size_t n = 0;
    if (n < axes.size() && axes[n] == "sample") ++n;
    if (n < axes.size() && axes[n] == "time") ++n;
    return n;
}

Names points_of(const StoredVariable& variable) {
    return {variable.axes.begin() + static_cast<ptrdiff_t>(n_leading(variable.axes)),
            variable.axes.end()};
}

/// The first variable that can be a field: it tells the axes of all others.
const StoredVariable& first_field(const Variables& variables, bool is_ragged) {
    for (const StoredVariable& variable : variables) {
        if (!is_real(variable) || is_coordinate(variable) || variable.name == "weight") continue;
        const bool is_axis = variable.axes == Names{variable.name};
        if (is_axis || variable.axes.empty() || points_of(variable).empty()) continue;
        if (is_ragged || variable.axes[0] == "sample") return variable;
    }
    refuse(
        "the file has no field: a variable of float32 or float64 over an axis 'sample' and axes of "
        "points, each of which is a dimension scale");
}

int64_t extent_of(const StoredVariable& variable, const std::string& axis) {
    const auto at = std::find(variable.axes.begin(), variable.axes.end(), axis);
    return variable.shape[static_cast<size_t>(at - variable.axes.begin())];
}

int32_t axis_number(const StoredVariable& variable) {
    const Names known = {"X", "Y", "Z"};
    const auto at = std::find(known.begin(), known.end(), variable.axis);
    if (at == known.end())
        refuse("'" + variable.name + "' has the axis '" + variable.axis + "'; X, Y and Z exist");
    return static_cast<int32_t>(at - known.begin());
}

std::vector<StoredCoordinate> coordinates_of(const Variables& variables) {
    std::vector<StoredCoordinate> found;
    for (const StoredVariable& variable : variables)
        if (is_coordinate(variable))
            found.push_back({variable.name, variable.unit, axis_number(variable)});
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.axis < b.axis; });
    for (size_t i = 0; i < found.size(); ++i)
        if (found[i].axis != static_cast<int32_t>(i))
            refuse("coordinates must be one of each of X, Y, Z from X on; '" + found[i].name +
                   "' does not continue them");
    return found;
}

void check_sphere(const StoredForm& form, const Variables& variables) {
    if (form.point_axes != Names{"lat", "lon"})
        refuse("the attribute 'grid' is for fields over (lat, lon); these have " +
               joined(form.point_axes));
    for (const std::string& axis : form.point_axes)
        if (const StoredVariable* at = find(variables, axis); at == nullptr || !is_real(*at))
            refuse("the axis '" + axis + "' has no degrees");
}

void check_offset(const Variables& variables, StoredForm* form) {
    const StoredVariable& offset = *find(variables, "offset");
    if (offset.kind != StoredVariable::Kind::integer || offset.shape.size() != 1 ||
        offset.shape[0] < 1)
        refuse("'offset' must be a list of integers, one more than samples");
    if (form->point_axes.size() != 1)
        refuse("with 'offset' fields have one axis, that of rows; these have " +
               joined(form->point_axes));
    form->n_sample = offset.shape[0] - 1;
}

PointForm form_of_points(const StoredForm& form, const Variables& variables) {
    if (find(variables, "offset") != nullptr) return PointForm::rows;
    if (!form.grid.empty()) return PointForm::sphere;
    bool has_axes = true, is_moving = false;
    for (const std::string& axis : form.point_axes) {
        const StoredVariable* const at = find(variables, axis);
        has_axes = has_axes && at != nullptr && is_coordinate(*at) && at->axes == Names{axis};
    }
    for (const StoredVariable& variable : variables)
        is_moving = is_moving || (is_coordinate(variable) && n_leading(variable.axes) > 0);
    if (has_axes) return PointForm::lattice;
    if (form.point_axes.size() != 1)
        refuse("fields have the axes " + joined(form.point_axes) +
               ": each must hold its coordinates, with the attribute axis = X, Y or Z");
    return is_moving ? PointForm::moving_cloud : PointForm::cloud;
}

/// Fields have one form, and coordinates and weights fit it.
void check_variable(const StoredForm& form, const StoredVariable& variable) {
    if (!is_real(variable) || variable.axes.empty()) return;
    const bool is_leading = !is_coordinate(variable) && variable.axes[0] == "sample";
    const bool has_axes = form.points == PointForm::lattice || form.points == PointForm::sphere;
    const bool is_placed = is_coordinate(variable) && !has_axes;
    if (!is_leading && !is_placed && variable.name != "weight") return;
    if (points_of(variable).empty()) return;
    if (points_of(variable) != form.point_axes)
        refuse("'" + variable.name + "' has the axes " + joined(variable.axes) +
               ", points have the axes " + joined(form.point_axes));
    const size_t first = n_leading(variable.axes);
    for (size_t i = 0; i < form.extents.size(); ++i)
        if (variable.shape[first + i] != form.extents[i])
            refuse("'" + variable.name + "' has " + std::to_string(variable.shape[first + i]) +
                   " numbers along '" + form.point_axes[i] + "', others have " +
                   std::to_string(form.extents[i]));
}

}  // namespace

const StoredVariable* find(const Variables& variables, const std::string& name) {
    for (const StoredVariable& variable : variables)
        if (variable.name == name) return &variable;
    return nullptr;
}

bool is_field(const StoredForm& form, const StoredVariable& variable) {
    if (!is_real(variable) || is_coordinate(variable) || variable.name == "weight") return false;
    if (variable.axes.empty() || points_of(variable) != form.point_axes) return false;
    return form.points == PointForm::rows || variable.axes[0] == "sample";
}

StoredForm form_of(const Variables& variables, const std::string& grid) {
    StoredForm form;
    form.grid = grid;
    const StoredVariable& field = first_field(variables, find(variables, "offset") != nullptr);
    form.point_axes = points_of(field);
    for (const std::string& axis : form.point_axes) form.extents.push_back(extent_of(field, axis));
    form.points = form_of_points(form, variables);
    form.has_weight = find(variables, "weight") != nullptr;
    if (form.points == PointForm::rows)
        check_offset(variables, &form);
    else
        form.n_sample = extent_of(field, "sample");
    form.is_series = form.points != PointForm::rows && n_leading(field.axes) == 2;
    if (form.is_series) form.n_time = extent_of(field, "time");
    if (form.points == PointForm::sphere)
        check_sphere(form, variables);
    else
        form.coordinates = coordinates_of(variables);
    for (const StoredVariable& variable : variables) check_variable(form, variable);
    return form;
}

}  // namespace surrogate::dataset
