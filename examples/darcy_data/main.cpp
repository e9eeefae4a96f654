// SPDX-License-Identifier: Apache-2.0
// Training sets of darcy_flow: mobilities and pressures of random steps of random runs, as HDF5
// files for `surrogate train`, h5py and xarray.
//
// Build, with libsurrogate installed in PREFIX (or in its own build tree, where this program is
// build/bin/darcy_data):
//     cmake -S examples/darcy_data -B build-data -DCMAKE_PREFIX_PATH=PREFIX
//     cmake --build build-data
//
// Sample runs:
//     mpirun -n 4 darcy_data                                   the set of train.toml: darcy_40.h5,
//                                                              5 states of each of 200 runs
//     mpirun -n 4 darcy_data -n 20,40,80 -runs 1000            one file for each of three
//     resolutions
//     darcy_data -seed 1000 -runs 20 -output held_out          runs that are not in the other sets
//     darcy_data -runs 2 -symmetries 8                         every state in all images of the
//     square
//
// Runs are distributed over the ranks; the files have the same bytes on any number of ranks.
// Pressures come from Cholesky factors and are exact up to rounding.
//
// Prints one line per file: its name, samples, seconds.
#include <petsctime.h>
#include <surrogate/surrogate_petsc.h>

#include <fluid/directory.hpp>
#include <memory>

#include "maker.hpp"

namespace darcy {

namespace {

struct Destroy {
    void operator()(surrogate_context* context) const { surrogate_context_destroy(&context); }
};

PetscErrorCode program(MPI_Comm comm) {
    PetscFunctionBegin;
    DataSettings settings;
    PetscCall(settings.read(comm));
    PetscCall(make_directory(comm, settings.output));
    surrogate_context* created = nullptr;
    PetscCall(surrogate_context_create_petsc(comm, nullptr, &created));
    const std::unique_ptr<surrogate_context, Destroy> context(created);
    for (const PetscInt n : settings.n) {
        PetscLogDouble start = 0, end = 0;
        PetscCall(PetscTime(&start));
        PetscCall(make_data(comm, context.get(), settings, n));
        PetscCall(PetscTime(&end));
        PetscCall(PetscPrintf(comm, "%s: %d samples of %d x %d cells, %.1f s\n",
                              settings.path(n).c_str(), int(settings.n_sample()), int(n), int(n),
                              double(end - start)));
    }
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace darcy

int main(int argc, char** argv) {
    PetscCall(PetscInitialize(&argc, &argv, nullptr,
                              "Training sets of two fluids in a porous square.\n"));
    const PetscErrorCode error = darcy::program(PETSC_COMM_WORLD);
    if (error) MPI_Abort(PETSC_COMM_WORLD, int(error));
    PetscCall(PetscFinalize());
    return 0;
}
