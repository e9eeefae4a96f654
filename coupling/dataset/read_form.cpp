// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/read_form.hpp"

#include <algorithm>
#include <optional>

#include "coupling/dataset/axes_text.hpp"
#include "coupling/dataset/coordinate_axes.hpp"
#include "coupling/error/error.hpp"
#include "coupling/hdf5/own_storage.hpp"

namespace surrogate::dataset {

namespace {

using Names = std::vector<std::string>;
using Variables = std::vector<StoredVariable>;

[[noreturn]] void refuse(const std::string& text) {
    coupling::fail(SURROGATE_BAD_FILE, text);
}

[[noreturn]] void refuse_axes(const StoredVariable& variable, const Names& expected) {
    refuse("'" + variable.name + "' has the axes " + axes_text(variable.axes) + " and the shape " +
           h5::shape_text(variable.shape) + ", expected the axes " + axes_text(expected));
}

bool is_real(const StoredVariable& variable) {
    return variable.kind == StoredVariable::Kind::real;
}

bool has_numbers(const StoredVariable& variable) {
    return is_real(variable) || variable.kind == StoredVariable::Kind::integer;
}

bool is_coordinate(const StoredVariable& variable) {
    return !variable.axis.empty() && variable.axis != "T" && is_real(variable);
}

/// Returns the number of axes before the axes of points: sample, time.
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

/// Returns true for the axes of numbers per cloud, in a file with clouds.
bool has_axes_of_clouds(const Variables& variables, const StoredVariable& variable) {
    const StoredVariable* const clouds = find(variables, "cloud_index");
    return clouds != nullptr && points_of(*clouds) != Names{"cloud"} && !variable.axes.empty() &&
           variable.axes[0] == "sample" && points_of(variable) == Names{"cloud"};
}

// ---- variables that exist and are not fields ----

/// Returns the reason why no floating-point variable is a field, in a file in which no variable
/// defines the axes.
std::string why_no_field_at_all(const Variables& variables, bool is_ragged) {
    for (const StoredVariable& variable : variables) {
        const bool is_other = !is_real(variable) || is_coordinate(variable) ||
                              variable.name == "weight" || variable.shape.empty() ||
                              variable.axes == Names{variable.name};
        if (is_other) continue;
        Names expected = {is_ragged ? "row" : "sample"};
        if (!is_ragged) {
            // The axes that the file names, in an order that fields have.
            for (const std::string& axis : variable.axes)
                if (axis == "time") expected.push_back(axis);
            for (const std::string& axis : variable.axes)
                if (axis != "sample" && axis != "time") expected.push_back(axis);
            if (expected.size() == 1) expected.emplace_back("point");
        }
        const bool is_many = expected.size() != variable.shape.size();
        if (variable.axes.empty() && is_many)
            return "'" + variable.name + "' has the shape " + h5::shape_text(variable.shape) +
                   " and no axes (dimension scales); see how-to/prepare-data.md, \"Writing with "
                   "h5py\"";
        if (is_many) continue;
        return wrong_axes(variable, expected, variable.shape);
    }
    return "";
}

/// Returns the first variable that can be a field, of real numbers if there is one. It defines the
/// axes of all other variables.
const StoredVariable& first_field(const Variables& variables, bool is_ragged) {
    for (const auto kind : {StoredVariable::Kind::real, StoredVariable::Kind::integer}) {
        for (const StoredVariable& variable : variables) {
            const bool is_other = variable.kind != kind || is_coordinate(variable) ||
                                  variable.name == "weight" || variable.name == "cloud_index" ||
                                  has_axes_of_clouds(variables, variable);
            if (is_other) continue;
            const bool is_axis = variable.axes == Names{variable.name};
            if (is_axis || variable.axes.empty() || points_of(variable).empty()) continue;
            if (is_ragged ? variable.name != "offset" : variable.axes[0] == "sample")
                return variable;
        }
    }
    const std::string why = why_no_field_at_all(variables, is_ragged);
    refuse(
        "the file has no field: a variable of float32 or float64 over an axis 'sample' and axes of "
        "points, each of which is a dimension scale" +
        (why.empty() ? "" : "; " + why));
}

int64_t extent_of(const StoredVariable& variable, const std::string& axis) {
    const auto at = std::find(variable.axes.begin(), variable.axes.end(), axis);
    return variable.shape[static_cast<size_t>(at - variable.axes.begin())];
}

int32_t axis_number(const StoredVariable& variable) {
    const size_t index = index_of_axis(variable.axis);
    if (index == coordinate_axes.size())
        refuse("'" + variable.name + "' has the axis '" + variable.axis + "', expected " +
               coordinate_axes_text);
    return static_cast<int32_t>(index);
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
            refuse("coordinate " + std::to_string(i) + " is '" + found[i].name + "' of axis " +
                   std::to_string(found[i].axis) +
                   ", expected one coordinate for each of the axes X, Y, Z, 4 .. 8 from X on");
    return found;
}

void check_sphere(const StoredForm& form, const Variables& variables) {
    if (form.point_axes != Names{"lat", "lon"})
        refuse("the attribute 'grid' is for fields over (lat, lon); these have " +
               axes_text(form.point_axes));
    for (const std::string& axis : form.point_axes) {
        const StoredVariable* const at = find(variables, axis);
        if (at == nullptr || !is_real(*at)) refuse("the axis '" + axis + "' has no degrees");
        if (at->axes != Names{axis}) refuse_axes(*at, {axis});
    }
}

/// Checks the times, which are read. An axis without numbers has no times.
void check_time(const Variables& variables) {
    const StoredVariable* const time = find(variables, "time");
    if (time == nullptr || time->kind == StoredVariable::Kind::none) return;
    if (!has_numbers(*time))
        refuse("'time' holds no numbers of a known type, expected integers or floats: seconds");
    if (time->axes != Names{"time"}) refuse_axes(*time, {"time"});
}

void check_offset(const Variables& variables, StoredForm* form) {
    const StoredVariable& offset = *find(variables, "offset");
    if (offset.kind != StoredVariable::Kind::integer || offset.shape.size() != 1 ||
        offset.shape[0] < 1)
        refuse("'offset' is not a list of integers, expected one more of them than samples");
    if (form->point_axes.size() != 1)
        refuse("with 'offset' fields have one axis, that of rows; these have " +
               axes_text(form->point_axes));
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
        refuse("fields have the axes " + axes_text(form.point_axes) +
               ": each must hold its coordinates, with the attribute axis = X, Y or Z");
    return is_moving ? PointForm::moving_cloud : PointForm::cloud;
}

/// Returns the extent of an axis in the fields; nullopt for an axis that fields do not have.
std::optional<int64_t> known_extent(const StoredForm& form, const std::string& axis) {
    const auto at = std::find(form.point_axes.begin(), form.point_axes.end(), axis);
    if (at != form.point_axes.end())
        return form.extents[static_cast<size_t>(at - form.point_axes.begin())];
    if (axis == "time" && form.is_series) return form.n_time;
    if (axis == "sample" && form.points != PointForm::rows) return form.n_sample;
    if (axis == "cloud" && form.n_cloud > 0) return form.n_cloud;
    return std::nullopt;
}

/// Checks that an axis has the same length in every variable, including its own list of numbers, as
/// in the fields. netCDF leaves an axis without numbers at the extent 0 if it may grow.
void check_extents(const StoredForm& form, const StoredVariable& variable) {
    if (variable.kind == StoredVariable::Kind::none) return;
    std::vector<int64_t> expected = variable.shape;
    for (size_t i = 0; i < variable.axes.size(); ++i)
        expected[i] = known_extent(form, variable.axes[i]).value_or(expected[i]);
    if (variable.shape != expected)
        refuse("'" + variable.name + "' has the shape " + h5::shape_text(variable.shape) +
               ", expected " + h5::shape_text(expected) + ", the extents of the axes " +
               axes_text(variable.axes) + " in the fields");
}

/// Returns true if all axes before the axes of points are axes of the fields.
bool has_axes_of_fields(const StoredForm& form, const StoredVariable& variable) {
    const size_t n = n_leading(variable.axes);
    if (form.points == PointForm::rows) return n == 0;
    return n == 0 || variable.axes[n - 1] != "time" || form.is_series;
}

/// Checks the axes. Weights and coordinates of scattered points have the axes of points, which
/// 'sample' and 'time' may precede. Coordinates of a structured grid are its axes. Other variables
/// over samples also have the axes of points, unless they have one number per sample.
void check_axes(const StoredForm& form, const StoredVariable& variable) {
    const bool is_weight = variable.name == "weight";
    if (is_weight && !is_real(variable))
        refuse("'weight' holds no numbers of a known type, expected floats");
    if (!is_real(variable)) return;
    const bool is_placed = is_coordinate(variable) && form.points != PointForm::sphere;
    if (is_placed && form.points == PointForm::lattice) {
        if (!known_extent(form, variable.name) || variable.axes != Names{variable.name})
            refuse_axes(variable, {variable.name});
        return;
    }
    const Names points = points_of(variable);
    const bool is_over_samples = !is_coordinate(variable) && !points.empty() &&
                                 variable.axes[0] == "sample" && !is_over_clouds(form, variable);
    if (!is_weight && !is_placed && !is_over_samples) return;
    if (points == form.point_axes && has_axes_of_fields(form, variable)) return;
    Names expected = form.point_axes;
    if (is_over_samples && form.points != PointForm::rows)
        expected.insert(expected.begin(), "sample");
    refuse_axes(variable, expected);
}

/// Checks the clouds of points.
void check_clouds(const StoredForm& form, const StoredVariable& clouds) {
    if (clouds.kind != StoredVariable::Kind::integer)
        refuse(
            "'cloud_index' holds no integers of up to 8 bytes, expected the cloud of each point");
    if (form.points == PointForm::sphere)
        refuse(
            "'cloud_index' is in a data set on the sphere, expected scattered points or a "
            "structured grid; remove it");
    if (points_of(clouds) != form.point_axes || !has_axes_of_fields(form, clouds))
        refuse_axes(clouds, form.point_axes);
}

/// Checks that each axis of fields occurs once, and that fields have points.
void check_form(const StoredForm& form) {
    Names axes = form.point_axes;
    for (const std::string& axis : form.point_axes)
        if (axis == "sample" || axis == "time" || std::count(axes.begin(), axes.end(), axis) > 1)
            refuse("fields have the axes " + axes_text(axes) +
                   " behind 'sample' and 'time', expected different axes of points");
    const bool is_empty =
        form.n_time == 0 || std::count(form.extents.begin(), form.extents.end(), 0) > 0;
    if (is_empty && form.points != PointForm::rows)
        refuse("fields have " + std::to_string(form.n_time) + " states and points of the shape " +
               h5::shape_text(form.extents) + ", expected at least one number");
}

/// Returns true for variables over samples and points, without regard to their type.
bool is_over_points(const StoredForm& form, const StoredVariable& variable) {
    if (form.points == PointForm::rows) return variable.axes == form.point_axes;
    return n_leading(variable.axes) > 0 && variable.axes[0] == "sample" &&
           points_of(variable) == form.point_axes;
}

}  // namespace

const StoredVariable* find(const Variables& variables, const std::string& name) {
    for (const StoredVariable& variable : variables)
        if (variable.name == name) return &variable;
    return nullptr;
}

bool is_field(const StoredForm& form, const StoredVariable& variable) {
    if (!is_real(variable) || is_coordinate(variable) || variable.name == "weight") return false;
    return is_over_points(form, variable);
}

bool is_integer_field(const StoredForm& form, const StoredVariable& variable) {
    return variable.kind == StoredVariable::Kind::integer && variable.name != "cloud_index" &&
           variable.axes != Names{variable.name} && is_over_points(form, variable);
}

bool is_over_clouds(const StoredForm& form, const StoredVariable& variable) {
    return form.n_cloud > 0 && !variable.axes.empty() && variable.axes[0] == "sample" &&
           points_of(variable) == Names{"cloud"};
}

bool is_sample_field(const StoredForm& form, const StoredVariable& variable) {
    const bool is_other = !has_numbers(variable) || is_coordinate(variable) ||
                          variable.name == "sample" || variable.name == "weight";
    if (is_other || variable.axes.empty() || variable.axes[0] != "sample") return false;
    if (variable.shape[0] != form.n_sample) return false;
    if (!points_of(variable).empty() && !is_over_clouds(form, variable)) return false;
    return form.is_series || n_leading(variable.axes) == 1;
}

std::string why_no_field(const StoredForm& form, const StoredVariable& variable) {
    if (is_field(form, variable)) return "";
    const std::string name = "'" + variable.name + "'";
    if (is_coordinate(variable)) return name + " is a coordinate (attribute 'axis')";
    if (variable.name == "weight") return name + " is the weight of the points in losses";
    if (variable.name == "cloud_index") return name + " is the cloud of each point";
    if (variable.axes == Names{variable.name}) return name + " is an axis";
    if (!is_real(variable))
        return name + " does not hold float32 or float64; h5py: f['" + variable.name +
               "'] = values.astype('float64')";
    if (form.points == PointForm::rows) return wrong_axes(variable, form.point_axes, form.extents);
    Names expected = {"sample"};
    std::vector<int64_t> extents = {form.n_sample};
    const bool has_time =
        std::count(variable.axes.begin(), variable.axes.end(), "time") > 0 ||
        (variable.axes.empty() && variable.shape.size() == form.point_axes.size() + 2);
    if (form.is_series && has_time) {
        expected.emplace_back("time");
        extents.push_back(form.n_time);
    }
    expected.insert(expected.end(), form.point_axes.begin(), form.point_axes.end());
    extents.insert(extents.end(), form.extents.begin(), form.extents.end());
    if (variable.axes.empty() && variable.shape.size() != expected.size() &&
        variable.shape != std::vector<int64_t>{form.n_sample})
        return name + " has the shape " + h5::shape_text(variable.shape) +
               " and no axes, expected the shape " + h5::shape_text(extents) + " of " +
               axes_text(expected);
    return wrong_axes(variable, expected, extents);
}

bool is_read(const StoredForm& form, const StoredVariable& variable) {
    if (!has_numbers(variable)) return false;
    const bool is_list = variable.axes == Names{variable.name};
    const bool is_axis = is_list && known_extent(form, variable.name) && variable.name != "sample";
    const bool is_offset = form.points == PointForm::rows && variable.name == "offset";
    return is_axis || is_offset || variable.name == "weight" || variable.name == "cloud_index" ||
           is_coordinate(variable) || is_field(form, variable) ||
           is_integer_field(form, variable) || is_sample_field(form, variable);
}

StoredForm form_of(const Variables& variables, const std::string& grid) {
    StoredForm form;
    form.grid = grid;
    const StoredVariable& field = first_field(variables, find(variables, "offset") != nullptr);
    form.point_axes = points_of(field);
    for (const std::string& axis : form.point_axes) form.extents.push_back(extent_of(field, axis));
    form.points = form_of_points(form, variables);
    const StoredVariable* const weight = find(variables, "weight");
    form.has_weight = weight != nullptr;
    form.has_sample_weight =
        weight != nullptr && (form.points == PointForm::rows || n_leading(weight->axes) > 0);
    if (form.points == PointForm::rows)
        check_offset(variables, &form);
    else
        form.n_sample = extent_of(field, "sample");
    const StoredVariable* const clouds = find(variables, "cloud_index");
    form.has_clouds = clouds != nullptr;
    form.has_sample_clouds =
        clouds != nullptr && (form.points == PointForm::rows || n_leading(clouds->axes) > 0);
    for (const StoredVariable& variable : variables)
        if (form.n_cloud == 0 && has_axes_of_clouds(variables, variable))
            form.n_cloud = extent_of(variable, "cloud");
    // Fields without times are allowed in addition to fields of a series.
    for (const StoredVariable& variable : variables) {
        if (form.points == PointForm::rows || !is_field(form, variable)) continue;
        if (form.is_series || n_leading(variable.axes) < 2) continue;
        form.is_series = true;
        form.n_time = extent_of(variable, "time");
    }
    check_form(form);
    if (form.is_series) check_time(variables);
    if (clouds != nullptr) check_clouds(form, *clouds);
    if (form.points == PointForm::sphere)
        check_sphere(form, variables);
    else
        form.coordinates = coordinates_of(variables);
    for (const StoredVariable& variable : variables) {
        check_extents(form, variable);
        check_axes(form, variable);
    }
    return form;
}

}  // namespace surrogate::dataset
