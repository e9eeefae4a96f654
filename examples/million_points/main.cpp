// SPDX-License-Identifier: Apache-2.0
// An unstructured mesh of a million points: created by VTK, written as one file, read by one rank,
// and partitioned by PT-Scotch. On all ranks, the temperature of setting concrete with cooling
// pipes is computed by finite elements with PETSc and predicted by a trained FLARE model. The
// prediction is bitwise identical on any number of ranks.
//
// Build, with libsurrogate installed in PREFIX (or in its own build tree, where this program is
// build/bin/million_points):
//     cmake -S examples/million_points -B build-million -DCMAKE_PREFIX_PATH=PREFIX
//     cmake --build build-million
//
// Sample runs:
//     mpirun -n 4 million_points -output out          out/plate_1.vtu: the mesh in one file;
//     out/parts.pvd:
//                                                     pieces with both temperatures;
//                                                     out/plate_1.png
//     mpirun -n 2 million_points -mesh out/plate_1.vtu
//                                                     an existing mesh
//     mpirun -n 2 million_points -points 20000 -seed 3000 -plates 20
//                                                     twenty plates that are not in the training
//                                                     data
//     mpirun -n 2 million_points -petscpartitioner_type simple -ksp_monitor
//                                                     every option of PETSc works
//     million_points -samples plates.h5 -points 10000 -seed 100000 -plates 2000
//                                                     data for `surrogate train` (train.toml)
//
// Prints one row per plate: seconds of each part, the distance of the two temperatures, the hottest
// point by both; then points, bytes read, and memory of each rank, and a hash of the prediction.
//
// The coupling is in predictor.cpp (all calls of libsurrogate) and output.cpp (files).
#include <cstdio>
#include <exception>

#include "output.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "samples.hpp"

namespace million {

namespace {

/// Writes the files of one plate: a step of the series, and its figure.
PetscErrorCode write_files(const Settings& settings, const Study& study, const Result& result,
                           int number, Output* output) {
    PetscFunctionBegin;
    std::vector<NamedField> fields = {{"temperature", "solver", study.temperature(), false}};
    if (result.is_compared) {
        fields.push_back({"temperature_surrogate", "surrogate", study.prediction(), false});
        fields.push_back({"error", "surrogate minus solver", study.error(), true});
    }
    PetscCall(output->write(number, study.mesh(), fields));
    PetscCall(write_picture(
        settings.output + "/plate_" + result.name + ".png",
        "Concrete that sets, cooled by pipes: " + std::to_string(result.n_point) + " points",
        study.mesh(), fields, result.hottest_solver));
    PetscFunctionReturn(0);
}

PetscErrorCode run_plate(const Settings& settings, int number, Study* study, Result* result) {
    PetscFunctionBegin;
    const PetscInt seed = settings.seed + number;
    const std::string path =
        settings.output.empty() ? "" : settings.output + "/plate_" + std::to_string(seed) + ".vtu";
    if (settings.mesh.empty())
        PetscCall(study->make(seed, settings.n_point, path, result));
    else
        PetscCall(study->read(settings.mesh, result));
    PetscCall(study->solve(result));
    PetscCall(study->compare(result));
    PetscFunctionReturn(0);
}

PetscErrorCode run(MPI_Comm comm, const Settings& settings, Study& study) {
    PetscFunctionBegin;
    Output output;
    if (!settings.output.empty()) PetscCall(output.create(comm, settings.output));
    PetscCall(print_head(comm, settings, study.predictor()));
    std::vector<Result> results(std::size_t(settings.n_plate));
    for (int k = 0; k < settings.n_plate; ++k) {
        Result& result = results[std::size_t(k)];
        const bool was_ready = study.predictor().is_ready();
        PetscCall(run_plate(settings, k, &study, &result));
        if (was_ready) PetscCall(print_problem(comm, study.predictor()));
        PetscCall(print_row(comm, result));
        if (!settings.output.empty()) PetscCall(write_files(settings, study, result, k, &output));
    }
    PetscCall(print_ranks(comm, results.back()));
    PetscCall(print_end(comm, results));
    if (!settings.output.empty())
        PetscCall(PetscPrintf(comm,
                              "%s/parts.pvd: for ParaView, one plate per step; plate_*.png: both "
                              "temperatures, their difference, the parts\n",
                              settings.output.c_str()));
    PetscFunctionReturn(0);
}

PetscErrorCode program(MPI_Comm comm) {
    PetscFunctionBegin;
    Settings settings;
    PetscCall(settings.read(comm));
    if (!settings.samples.empty()) {
        PetscCall(write_samples(comm, settings));
        PetscFunctionReturn(0);
    }
    Study study;
    PetscCall(study.create(comm, settings.model, settings.is_weighted));
    PetscCall(run(comm, settings, study));
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace million

int main(int argc, char** argv) {
    PetscCall(PetscInitialize(
        &argc, &argv, nullptr,
        "Concrete with cooling pipes on a mesh of a million points, and a trained surrogate.\n"));
    PetscErrorCode error = 0;
    try {
        error = million::program(PETSC_COMM_WORLD);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "million_points: %s\n", problem.what());
        error = PETSC_ERR_LIB;
    }
    if (error) MPI_Abort(PETSC_COMM_WORLD, int(error));
    PetscCall(PetscFinalize());
    return 0;
}
