// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <surrogate/surrogate_petsc.h>

#include <array>
#include <filesystem>

#include "feature.hpp"

namespace airflow {

namespace {

constexpr const char* coordinate_names[] = {"x", "y", "z"};
constexpr const char* axis_names[] = {"X", "Y", "Z"};

/// Returns the first row of each body on meshes of about n_point points, and the number of rows.
std::vector<int64_t> offsets(const Settings& settings, PetscInt n_point) {
    std::vector<int64_t> offset = {0};
    for (PetscInt k = 0; k < settings.n_shape; ++k) {
        const Body body = car_body(random_car(uint64_t(settings.seed + k)));
        offset.push_back(offset.back() + BoxGrid::of_points(n_point, body.extent).n_point());
    }
    return offset;
}

std::string path_of(const Settings& settings, PetscInt n_point) {
    return settings.samples + "/cars_" + std::to_string(n_point) + ".h5";
}

}  // namespace

void Samples::describe(const Settings& settings, PetscInt n_point, File* file) const {
    surrogate::NewDataset& set = file->set;
    set.set("title", "Pressure coefficient on car-like bodies, by a panel method");
    set.set("source", settings.samples_command(n_point));
    set.add_axis("sample", settings.n_shape);
    set.add_axis("row", file->offset.back());
    set.add_axis("offset", settings.n_shape + 1);
    set.add("offset", {"offset"}, nullptr, "first row of a body", SURROGATE_INT64);
    for (int a = 0; a < 3; ++a)
        set.add(coordinate_names[a], {"row"}, "m", nullptr, SURROGATE_FLOAT32, axis_names[a]);
    for (int f = 0; f < n_feature; ++f)
        set.add(feature_names[f], {"row"}, feature_units[f], nullptr, SURROGATE_FLOAT32);
    set.add("pressure_coefficient", {"row"}, "1", "(p - p_0) / (rho v_0^2 / 2)", SURROGATE_FLOAT32);
    set.begin();
}

PetscErrorCode Samples::create(MPI_Comm comm, const Settings& settings) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0;
    surrogate_context* context = nullptr;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCall(surrogate_context_create_petsc(comm, nullptr, &context));
    context_.emplace(context);
    std::error_code ignored;  // a file that cannot be created is reported, on all ranks
    std::filesystem::create_directories(settings.samples, ignored);
    for (const PetscInt n_point : settings.sample_points) {
        files_.push_back({offsets(settings, n_point),
                          surrogate::NewDataset(*context_, path_of(settings, n_point))});
        auto& [offset, set] = files_.back();
        describe(settings, n_point, &files_.back());
        if (rank == 0) set.put("offset", 0, surrogate::column(offset.data(), settings.n_shape + 1));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode Samples::write(std::size_t file, PetscInt body, const Surface& surface,
                              Vec pressure) {
    PetscFunctionBegin;
    auto& [offset, set] = *std::next(files_.begin(), std::ptrdiff_t(file));
    const int64_t first = offset[std::size_t(body)], n = surface.n_owned();
    const PetscScalar* value = nullptr;
    std::array<std::vector<double>, 3 + n_feature> columns;
    for (int64_t p = 0; p < n; ++p) {
        const Vector3 &x = surface.coordinates()[p], &normal = surface.normal()[p];
        const auto features = feature_of(x, normal);
        for (int a = 0; a < 3; ++a) columns[a].push_back(std::array{x.x, x.y, x.z}[a]);
        for (int f = 0; f < n_feature; ++f) columns[3 + f].push_back(features[f]);
    }
    PetscCall(VecGetArrayRead(pressure, &value));
    const std::vector<double> target(value, value + n);
    PetscCall(VecRestoreArrayRead(pressure, &value));
    const surrogate::Domain domain(
        *context_, surrogate::matrix(&surface.coordinates().data()->x, n, 3), surface.id().data());
    set.set_points(domain);
    for (int a = 0; a < 3; ++a)
        set.write(coordinate_names[a], first, surrogate::column(columns[a].data(), n));
    for (int f = 0; f < n_feature; ++f)
        set.write(feature_names[f], first, surrogate::column(columns[3 + f].data(), n));
    set.write("pressure_coefficient", first, surrogate::column(target.data(), n));
    PetscFunctionReturn(0);
}

PetscErrorCode Samples::finish() {
    PetscFunctionBegin;
    for (File& file : files_) file.set.finish();
    PetscFunctionReturn(0);
}

}  // namespace airflow
