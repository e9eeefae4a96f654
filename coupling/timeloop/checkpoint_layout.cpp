// SPDX-License-Identifier: Apache-2.0
#include "coupling/hdf5/contiguous.hpp"
#include "coupling/timeloop/checkpoint_content.hpp"
#include "coupling/timeloop/checkpoint_seal.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

h5::Handle new_dataset(hid_t group, const std::string& name, Rows* rows, bool is_matrix) {
    std::vector<hsize_t> extents = {static_cast<hsize_t>(rows->n_row)};
    if (is_matrix) extents.push_back(static_cast<hsize_t>(rows->n_column));
    h5::Handle dataset = h5::new_contiguous(group, name, rows->dtype, extents);
    if (rows->n_byte() > 0) rows->offset = h5::offset_of(dataset);
    return dataset;
}

void put_head(hid_t file, const CheckpointContent& content) {
    const h5::Handle head = h5::new_group(file, "timeloop");
    h5::put(head, "format", static_cast<int64_t>(Seal::known_format));
    h5::put(head, "library_version", std::string(surrogate_version()));
    h5::put(head, "time_s", content.time_s);
    h5::put(head, "step", content.step);
    h5::put(head, "n_skip", content.n_skip);
    h5::put(head, "model_family", content.family);
    h5::put(head, "model_hash", content.model_hash);
    const h5::Handle integrals = h5::new_group(file, "integrals");
    for (const ExpectedIntegral& integral : content.integrals) {
        const h5::Handle group = h5::new_group(integrals, h5::link_name(integral.name));
        h5::put(group, "long_name", integral.name);
        h5::put(group, "is_known", static_cast<int64_t>(integral.is_known));
        h5::put(group, "value", integral.value);
        h5::put(group, "scale", integral.scale);
    }
}

void put_points(hid_t file, PointsContent* points) {
    const h5::Handle group = h5::new_group(file, points->group);
    h5::put(group, "kind", std::string(points->is_sphere ? "sphere" : "points"));
    h5::put(group, "n_global", points->n_global);
    if (points->is_sphere) {
        h5::put(group, "grid", points->grid);
        h5::put(group, "n_lat", points->n_lat);
        h5::put(group, "n_lon", points->n_lon);
    }
    if (points->x.n_column > 0) new_dataset(group, "x", &points->x, true);
    if (points->id.n_column > 0) new_dataset(group, "id", &points->id, false);
}

void put_field(hid_t fields, FieldContent* field) {
    const h5::Handle dataset =
        new_dataset(fields, h5::link_name(field->name), &field->rows, field->rows.n_column != 1);
    h5::put(dataset, "long_name", field->name);
    h5::put(dataset, "units", field->unit);
    h5::put(dataset, "points", field->points);
}

void lay_out_on(h5::Driver* driver, CheckpointContent* content) {
    const h5::Handle access = driver->access();
    const h5::Handle creation = h5::property_list(H5P_FILE_CREATE);
    h5::check(H5Pset_userblock(creation, seal_bytes), "set a property");
    h5::Handle file(H5Fcreate("checkpoint", H5F_ACC_TRUNC, creation, access), H5Fclose,
                    "make a file of HDF5");
    put_head(file, *content);
    for (PointsContent& points : content->points) put_points(file, &points);
    {
        const h5::Handle fields = h5::new_group(file, "fields");
        for (FieldContent& field : content->fields) put_field(fields, &field);
    }
    file.close("finish a file of HDF5");
}

}  // namespace

void lay_out(CheckpointContent* content, h5::SparseFile* memory) {
    const h5::QuietErrors quiet;
    h5::Driver driver(memory);
    try {
        lay_out_on(&driver, content);
    } catch (...) {
        driver.check_storage();  // the text of the storage has more detail than HDF5's
        throw;
    }
    driver.check_storage();
    content->file_bytes = memory->size();
}

}  // namespace surrogate::timeloop
