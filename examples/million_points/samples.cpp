// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <surrogate/surrogate_petsc.h>

#include <algorithm>
#include <numeric>
#include <surrogate/surrogate_dataset.hpp>

#include "heat.hpp"
#include "random.hpp"

namespace million {

namespace {

constexpr int n_image = 8;  // symmetries of a square

/// Returns numbers of n of n_whole points; all sets have equal probability.
std::vector<std::size_t> draw(std::size_t n_whole, std::size_t n, uint64_t seed) {
    std::vector<std::size_t> numbers(n_whole);
    std::iota(numbers.begin(), numbers.end(), 0);
    for (std::size_t i = 0; i < n; ++i)
        std::swap(numbers[i], numbers[i + std::size_t(uniform(seed, i) * double(n_whole - i))]);
    numbers.resize(n);
    return numbers;
}

void describe(surrogate::NewDataset& set, const Settings& settings) {
    set.set("title", "Temperature of concrete that sets, with cooling pipes");
    set.set("source", settings.command());
    set.add_axis("sample", n_image * settings.n_plate);
    set.add_axis("point", settings.n_sample_point);
    set.add("x", {"sample", "point"}, "m", nullptr, SURROGATE_FLOAT32, "X");
    set.add("y", {"sample", "point"}, "m", nullptr, SURROGATE_FLOAT32, "Y");
    set.add("distance", {"sample", "point"}, "m", "to the nearest pipe", SURROGATE_FLOAT32);
    set.add("temperature", {"sample", "point"}, "K", "above that of the water", SURROGATE_FLOAT32);
    if (settings.is_weighted)
        set.add("weight", {"sample", "point"}, "m^2", "area of the point", SURROGATE_FLOAT32);
}

/// Writes a plate under one of the symmetries of its square; each image has its own points.
void put_image(const Settings& settings, const Mesh& mesh, const std::vector<PetscScalar>& solved,
               const std::vector<double>& areas, int64_t number, int image,
               surrogate::NewDataset& set) {
    const int64_t sample = n_image * number + image;
    std::vector<double> columns[5];
    for (const std::size_t p : draw(solved.size(), std::size_t(settings.n_sample_point),
                                    uint64_t(n_image * settings.seed + sample))) {
        auto [x, y] = mesh.coordinates()[p];
        if (image & 1) x = Plate::side - x;
        if (image & 2) y = Plate::side - y;
        if (image & 4) std::swap(x, y);
        const double row[] = {x, y, mesh.distance()[p], solved[p], areas[p]};
        for (int c = 0; c < 5; ++c) columns[c].push_back(row[c]);
    }
    const char* const names[] = {"x", "y", "distance", "temperature", "weight"};
    for (int c = 0; c < (settings.is_weighted ? 5 : 4); ++c)
        set.put(names[c], sample * settings.n_sample_point,
                surrogate::column(columns[c].data(), settings.n_sample_point));
}

PetscErrorCode put_plate(const Settings& settings, PetscInt number, surrogate::NewDataset& set) {
    PetscFunctionBegin;
    const auto seed = uint64_t(settings.seed + number);
    Mesh mesh;
    OwnedVec temperature;
    PetscInt n_iteration = 0;
    std::vector<PetscScalar> solved;
    std::vector<double> areas;
    PetscCall(
        mesh.distribute(PETSC_COMM_SELF, make_mesh(random_plate(seed), settings.n_point, seed)));
    PetscCheck(mesh.n_local() >= settings.n_sample_point, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-sample_points is %d, expected at most the %d points of the mesh",
               int(settings.n_sample_point), int(mesh.n_local()));
    PetscCall(mesh.new_field(&temperature));
    PetscCall(solve_heat(mesh, Concrete(), temperature, &n_iteration));
    PetscCall(mesh.local_values(temperature, &solved));
    PetscCall(mesh.areas(&areas));
    for (int image = 0; image < n_image; ++image)
        put_image(settings, mesh, solved, areas, int64_t(number), image, set);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode write_samples(MPI_Comm comm, const Settings& settings) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0, size = 1;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    surrogate_context* created = nullptr;
    PetscCall(surrogate_context_create_petsc(comm, nullptr, &created));
    const surrogate::Context context(created);
    surrogate::NewDataset set(context, settings.samples);
    describe(set, settings);
    set.begin();
    for (PetscInt number = rank; number < settings.n_plate; number += size)
        PetscCall(put_plate(settings, number, set));
    set.finish();
    PetscCall(PetscPrintf(comm, "%s: %d samples of %d points\n", settings.samples.c_str(),
                          int(n_image * settings.n_plate), int(settings.n_sample_point)));
    PetscFunctionReturn(0);
}

}  // namespace million
