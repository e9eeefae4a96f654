// SPDX-License-Identifier: Apache-2.0
#include "maker.hpp"

#include <surrogate/surrogate_dataset.h>
#include <surrogate/surrogate_petsc.h>

#include <algorithm>
#include <fluid/initial.hpp>
#include <memory>

#include "states.hpp"

namespace darcy {

namespace {

struct Destroy {
    void operator()(surrogate_dataset* set) const { surrogate_dataset_destroy(&set); }
};
using OwnedSet = std::unique_ptr<surrogate_dataset, Destroy>;

PetscErrorCode describe(surrogate_dataset* set, const DataSettings& settings, PetscInt n) {
    PetscFunctionBegin;
    const char *const of_x[] = {"x"}, *const of_y[] = {"y"},
                      *const of_cells[] = {"sample", "x", "y"};
    const int32_t dtype = settings.single ? SURROGATE_FLOAT32 : SURROGATE_FLOAT64;
    const surrogate_variable variables[] = {
        {"x", "m", "centers of the cells", "X", of_x, 1, SURROGATE_FLOAT64},
        {"y", "m", "centers of the cells", "Y", of_y, 1, SURROGATE_FLOAT64},
        {"mobility", "m^2/(Pa s)", "mobility of the fluid", nullptr, of_cells, 3, dtype},
        {"pressure", "Pa", "pressure of that mobility", nullptr, of_cells, 3, dtype},
    };
    PetscCallSurrogate(surrogate_dataset_set(set, "title", "Two fluids in a porous square"));
    PetscCallSurrogate(surrogate_dataset_set(set, "source", settings.command(n).c_str()));
    PetscCallSurrogate(surrogate_dataset_add_axis(set, "sample", settings.n_sample()));
    PetscCallSurrogate(surrogate_dataset_add_axis(set, "x", n));
    PetscCallSurrogate(surrogate_dataset_add_axis(set, "y", n));
    for (const surrogate_variable& variable : variables)
        PetscCallSurrogate(surrogate_dataset_add(set, &variable));
    PetscFunctionReturn(0);
}

/// Writes numbers. A write error is reported by finish, on all ranks.
void put(surrogate_dataset* set, const char* name, int64_t first,
         const std::vector<double>& values) {
    const surrogate_array array =
        surrogate_column_f64(values.data(), static_cast<int64_t>(values.size()), 1);
    surrogate_dataset_put(set, name, first, &array);
}

void put_centres(surrogate_dataset* set, const Grid& grid) {
    std::vector<double> centres;
    for (PetscInt i = 0; i < grid.n; ++i) centres.push_back((double(i) + 0.5) * grid.h);
    put(set, "x", 0, centres);
    put(set, "y", 0, centres);
}

PetscErrorCode make_run(surrogate_dataset* set, const DataSettings& settings, RunMaker* maker,
                        PetscInt run, Vec c) {
    PetscFunctionBegin;
    const auto seed = uint64_t(settings.seed) + uint64_t(run);
    const PetscInt n = maker->grid().n;
    const std::vector<PetscInt> steps = drawn_steps(seed, settings.n_step, settings.per_run);
    int64_t first = int64_t(run) * settings.per_run * settings.n_symmetry * n * n;
    PetscCall(random_fluid(maker->grid(), seed, c));
    PetscCall(maker->run(c, steps.back() + 1, settings.dt_s,
                         [&](PetscInt step, const std::vector<double>& mobility,
                             const std::vector<double>& pressure) {
                             PetscFunctionBegin;
                             if (!std::binary_search(steps.begin(), steps.end(), step))
                                 PetscFunctionReturn(0);
                             for (const int image : drawn_images(seed, step, settings.n_symmetry)) {
                                 put(set, "mobility", first, image_of(mobility, n, image));
                                 put(set, "pressure", first, image_of(pressure, n, image));
                                 first += int64_t(n) * n;
                             }
                             PetscFunctionReturn(0);
                         }));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode make_data(MPI_Comm comm, surrogate_context* context, const DataSettings& settings,
                         PetscInt n_cell) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0, size = 1;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    surrogate_dataset* created = nullptr;
    PetscCallSurrogate(surrogate_dataset_create(context, settings.path(n_cell).c_str(), &created));
    const OwnedSet set(created);
    PetscCall(describe(set.get(), settings, n_cell));
    PetscCallSurrogate(surrogate_dataset_begin(set.get()));
    RunMaker maker;
    OwnedVec c;
    PetscCall(maker.create(n_cell, settings.mobilities));
    PetscCall(maker.grid().new_vec(&c));
    if (rank == 0) put_centres(set.get(), maker.grid());
    for (PetscInt run = rank; run < settings.n_run; run += size)
        PetscCall(make_run(set.get(), settings, &maker, run, c));
    PetscCallSurrogate(surrogate_dataset_finish(set.get()));
    PetscFunctionReturn(0);
}

}  // namespace darcy
