// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "coupling/hdf5/contiguous.hpp"
#include "coupling/hdf5/own_storage.hpp"
#include "coupling/hdf5/type.hpp"
#include "coupling/timeloop/checkpoint_content.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

[[noreturn]] void fail_layout(const std::string& name) {
    fail(SURROGATE_BAD_FILE,
         "data set '" + name + "' has a type or a layout that checkpoints do not use");
}

/// Returns, for example, "big-endian float of 8 bytes".
std::string type_text(hid_t type) {
    const H5T_class_t kind = H5Tget_class(type);
    const std::string text = kind == H5T_FLOAT     ? "float"
                             : kind == H5T_INTEGER ? "integer"
                                                   : "number of another class";
    return (H5Tget_order(type) == H5T_ORDER_BE ? "big-endian " : "little-endian ") + text + " of " +
           std::to_string(H5Tget_size(type)) + " bytes";
}

void set_type(const h5::Handle& dataset, const std::string& name, Rows* rows) {
    const h5::Handle type(H5Dget_type(dataset), H5Tclose, "read a type");
    for (const int32_t dtype : {SURROGATE_FLOAT32, SURROGATE_FLOAT64, SURROGATE_INT64}) {
        rows->dtype = dtype;
        if (H5Tequal(type, h5::type_of(rows->dtype)) > 0) return;
    }
    fail(SURROGATE_BAD_FILE, "data set '" + name + "': type is " + type_text(type) +
                                 ", expected float32, float64 or int64 in the byte order of this "
                                 "machine");
}

/// Returns type, extents and offset of a data set.
Rows rows_of(const h5::Handle& dataset, const std::string& name) {
    const h5::Handle space(H5Dget_space(dataset), H5Sclose, "read a data space");
    const h5::Handle how(H5Dget_create_plist(dataset), H5Pclose, "read a layout");
    const int n_axis = H5Sget_simple_extent_ndims(space);
    if (n_axis < 1 || n_axis > 2 || H5Pget_layout(how) != H5D_CONTIGUOUS) fail_layout(name);
    h5::require_own_storage(dataset);
    hsize_t extents[2] = {0, 1};
    H5Sget_simple_extent_dims(space, extents, nullptr);
    constexpr hsize_t most = INT64_MAX / 8;  // numbers whose bytes fit in int64
    if (extents[0] > most || extents[1] > most / std::max<hsize_t>(extents[0], 1))
        fail(SURROGATE_BAD_FILE, "data set '" + name + "': shape is " + std::to_string(extents[0]) +
                                     " x " + std::to_string(extents[1]) +
                                     ", expected at most 2^60 numbers");
    Rows rows;
    rows.n_row = static_cast<int64_t>(extents[0]);
    rows.n_column = static_cast<int64_t>(extents[1]);
    set_type(dataset, name, &rows);
    if (rows.n_byte() > 0) rows.offset = h5::offset_of(dataset);
    return rows;
}

h5::Handle open_dataset(hid_t group, const std::string& name) {
    return {H5Dopen2(group, name.c_str(), H5P_DEFAULT), H5Dclose, "open a data set"};
}

void read_head(hid_t file, CheckpointContent* content) {
    const h5::Handle head = h5::group(file, "timeloop");
    h5::get(head, "time_s", &content->time_s);
    h5::get(head, "step", &content->step);
    h5::get(head, "n_skip", &content->n_skip);
    h5::get(head, "model_family", &content->family);
    h5::get(head, "model_hash", &content->model_hash);
    const h5::Handle integrals = h5::group(file, "integrals");
    for (const std::string& name : h5::names_in(integrals)) {
        const h5::Handle group = h5::group(integrals, name);
        ExpectedIntegral integral;
        int64_t is_known = 0;
        h5::get(group, "long_name", &integral.name);
        h5::get(group, "is_known", &is_known);
        h5::get(group, "value", &integral.value);
        h5::get(group, "scale", &integral.scale);
        integral.is_known = is_known != 0;
        content->integrals.push_back(integral);
    }
}

PointsContent read_points(hid_t file, const std::string& name) {
    const h5::Handle group = h5::group(file, name);
    PointsContent points;
    points.group = name;
    std::string kind;
    h5::get(group, "kind", &kind);
    h5::get(group, "n_global", &points.n_global);
    points.is_sphere = kind == "sphere";
    if (points.is_sphere) {
        h5::get(group, "grid", &points.grid);
        h5::get(group, "n_lat", &points.n_lat);
        h5::get(group, "n_lon", &points.n_lon);
    }
    for (const std::string& part : h5::names_in(group)) {
        const Rows rows = rows_of(open_dataset(group, part), name + "/" + part);
        if (part == "x") points.x = rows;
        if (part == "id") points.id = rows;
    }
    return points;
}

void read_fields(hid_t file, CheckpointContent* content) {
    const h5::Handle fields = h5::group(file, "fields");
    for (const std::string& name : h5::names_in(fields)) {
        const h5::Handle dataset = open_dataset(fields, name);
        FieldContent field;
        h5::get(dataset, "long_name", &field.name);
        h5::get(dataset, "units", &field.unit);
        h5::get(dataset, "points", &field.points);
        field.rows = rows_of(dataset, name);
        content->fields.push_back(field);
    }
}

/// Checks that each data set has a row for each of its points.
void check_rows(const CheckpointContent& content) {
    for (const PointsContent& points : content.points) {
        for (const Rows* rows : {&points.x, &points.id})
            if (rows->n_column > 0 && rows->n_row != points.n_global) fail_layout(points.group);
        for (const FieldContent& field : content.fields)
            if (field.points == points.group && field.rows.n_row != points.n_global)
                fail_layout(field.name);
    }
}

/// Checks that step numbers are not negative and that the time is finite.
void check_head(const CheckpointContent& content) {
    if (!std::isfinite(content.time_s))
        fail(SURROGATE_BAD_FILE, "attribute 'timeloop/time_s' is " +
                                     std::to_string(content.time_s) + ", expected a finite number");
    const auto check_count = [](const char* name, int64_t value) {
        if (value < 0)
            fail(SURROGATE_BAD_FILE, "attribute 'timeloop/" + std::string(name) + "' is " +
                                         std::to_string(value) + ", expected 0 or more");
    };
    check_count("step", content.step);
    check_count("n_skip", content.n_skip);
}

CheckpointContent read_all(h5::Driver* driver) {
    h5::Handle file(H5Fopen("checkpoint", H5F_ACC_RDONLY, driver->access()), H5Fclose,
                    "open the file as HDF5");
    CheckpointContent content;
    read_head(file, &content);
    check_head(content);
    for (const std::string& name : h5::names_in(file))
        if (name.starts_with("points")) content.points.push_back(read_points(file, name));
    read_fields(file, &content);
    check_rows(content);
    file.close("close the file");
    return content;
}

}  // namespace

CheckpointContent read_content(h5::Storage* storage) {
    const h5::QuietErrors quiet;
    const h5::NoPlugins none;
    h5::Driver driver(storage);
    try {
        CheckpointContent content = read_all(&driver);
        content.file_bytes = storage->size();
        return content;
    } catch (const std::exception&) {
        driver.check_storage();  // has more detail than HDF5's text
        throw;
    }
}

}  // namespace surrogate::timeloop
