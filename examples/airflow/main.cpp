// SPDX-License-Identifier: Apache-2.0
// Air around car-like bodies: the pressure on their surface from a panel method with PETSc, and
// from a trained model (FLARE, Ball Sparse Attention or Sequoia) whose inputs are the points of the
// surface and their normals.
//
// Build, with libsurrogate installed in PREFIX (or in its own build tree, where this program is
// build/bin/airflow):
//     cmake -S examples/airflow -B build-airflow -DCMAKE_PREFIX_PATH=PREFIX
//     cmake --build build-airflow
//
// Sample runs:
//     mpirun -n 2 airflow -output out                 one body of 20,000 points; out/cars.pvd,
//                                                     out/car_1.png
//     mpirun -n 2 airflow -seed 3000 -shapes 20       twenty bodies that are not in the training
//     data
//     mpirun -n 4 airflow -surrogate_reproducible     bitwise identical on any number of ranks
//     airflow -panels 20000 -points 100000            a finer flow, a finer mesh
//     airflow -model "" -ksp_monitor                  the solver alone; every option of PETSc works
//     airflow -seed 3001 -output out -compare A.safetensors,B.safetensors
//                                                     the differences of two models from the
//                                                     solver: out/compare_3001.png
//     airflow -sweep -seed 3001 -shapes 6             error and seconds of the surrogate and of
//                                                     coarser solvers (tutorials/airflow.md)
//     airflow -samples data -sample_points 1900,3800 -seed 1000 -shapes 200
//                                                     data for training (tutorials/airflow.md)
//
// Prints one row per body: seconds of the solver, of planning, and of the surrogate, the distance
// of the two pressures, drag and lift of both.
//
// The coupling is in predictor.cpp (all calls of libsurrogate) and output.cpp (files).
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "measure.hpp"
#include "output.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "samples.hpp"
#include "sweep_report.hpp"

namespace airflow {

namespace {

PetscErrorCode write_samples(MPI_Comm comm, const Settings& settings, Study& study) {
    PetscFunctionBegin;
    Samples samples;
    PetscCall(samples.create(comm, settings));
    for (PetscInt k = 0; k < settings.n_shape; ++k) {
        Result result;
        PetscCall(
            study.solve(settings.seed + k, settings.sample_points[0], settings.n_panel, &result));
        for (std::size_t file = 0; file < settings.sample_points.size(); ++file) {
            PetscCall(study.sample(settings.sample_points[file]));
            PetscCall(samples.write(file, k, study.surface(), study.pressure()));
        }
        PetscCall(
            PetscPrintf(comm, "body %d: %s\n", int(settings.seed + k), study.body_text().c_str()));
    }
    PetscCall(samples.finish());
    PetscFunctionReturn(0);
}

/// Writes the files of one body: a step of the series, and its figure.
PetscErrorCode write_files(const Settings& settings, const Study& study, const Result& result,
                           int number, Output* output) {
    PetscFunctionBegin;
    std::vector<NamedField> fields = {
        {"pressure_coefficient", "solver", study.pressure(), -1.5, 1, false}};
    if (result.is_compared) {
        fields.push_back(
            {"pressure_coefficient_surrogate", "surrogate", study.prediction(), -1.5, 1, false});
        fields.push_back({"error", "surrogate minus solver", study.error(), -0.25, 0.25, true});
    }
    PetscCall(output->write(number, study.surface(), fields));
    const std::string car = std::to_string(result.seed);
    PetscCall(write_picture(settings.output + "/car_" + car + ".png", "Car " + car, study.surface(),
                            fields));
    PetscFunctionReturn(0);
}

/// Writes a figure of one body: the difference of each model of -compare from the solver.
PetscErrorCode write_comparison(MPI_Comm comm, const Settings& settings, const Study& study,
                                int64_t seed) {
    PetscFunctionBegin;
    const std::size_t n_model = settings.compared.size();
    std::vector<OwnedVec> difference(n_model);
    std::vector<std::string> title(n_model);
    std::vector<NamedField> fields;
    for (std::size_t m = 0; m < n_model; ++m) {
        const std::string& file = settings.compared[m];
        Predictor predictor;
        double error = 0;
        PetscCall(study.surface().new_field(&difference[m]));
        PetscCall(predictor.create(comm, file));
        if (predictor.is_ready()) PetscCall(predictor.plan(study.surface()));
        if (predictor.is_ready()) PetscCall(predictor.predict(difference[m]));
        PetscCheck(predictor.is_ready(), comm, PETSC_ERR_LIB, "-compare: %s",
                   predictor.problem().c_str());
        PetscCall(relative_distance(difference[m], study.pressure(), &error));
        PetscCall(VecAXPY(difference[m], -1, study.pressure()));
        std::array<char, 16> percent{};
        std::snprintf(percent.data(), percent.size(), ", %.1f %%", 100 * error);
        title[m] = std::filesystem::path(file).stem().string() + percent.data();
        fields.push_back({"difference", title[m].c_str(), difference[m], -0.25, 0.25, true});
    }
    const std::string car = std::to_string(seed);
    PetscCall(write_picture(settings.output + "/compare_" + car + ".png", "Car " + car,
                            study.surface(), fields));
    PetscFunctionReturn(0);
}

PetscErrorCode run(MPI_Comm comm, const Settings& settings, Study& study) {
    PetscFunctionBegin;
    Output output;
    if (!settings.output.empty()) PetscCall(output.create(comm, settings.output));
    PetscCall(print_head(comm, settings, study.predictor()));
    std::vector<Result> results(std::size_t(settings.n_shape));
    for (int k = 0; k < settings.n_shape; ++k) {
        Result& result = results[std::size_t(k)];
        PetscCall(study.solve(settings.seed + k, settings.n_point, settings.n_panel, &result));
        if (study.predictor().is_ready()) {
            PetscCall(study.compare(&result));
            PetscCall(print_problem(comm, study.predictor()));
        }
        PetscCall(print_row(comm, result));
        if (!settings.output.empty()) PetscCall(write_files(settings, study, result, k, &output));
        if (!settings.compared.empty())
            PetscCall(write_comparison(comm, settings, study, result.seed));
    }
    PetscCall(print_end(comm, results));
    if (!settings.output.empty())
        PetscCall(PetscPrintf(
            comm,
            "%s/cars.pvd: for ParaView, one body per step; car_*.png: solver, surrogate, "
            "their difference (-0.25 .. 0.25)\n",
            settings.output.c_str()));
    if (!settings.compared.empty())
        PetscCall(PetscPrintf(comm,
                              "%s/compare_*.png: models of -compare minus the solver "
                              "(-0.25 .. 0.25)\n",
                              settings.output.c_str()));
    PetscFunctionReturn(0);
}

/// Measures all bodies and prints one table per number of points.
PetscErrorCode run_sweep(MPI_Comm comm, const Settings& settings) {
    PetscFunctionBegin;
    Sweep sweep;
    PetscCall(sweep.create(comm, settings));
    PetscCall(print_sweep_head(comm, settings));
    std::vector<std::vector<SweepCase>> bodies(std::size_t(settings.n_shape));
    for (PetscInt k = 0; k < settings.n_shape; ++k) {
        PetscCall(sweep.measure(settings.seed + k, &bodies[std::size_t(k)]));
        PetscCall(print_sweep_cases(comm, bodies[std::size_t(k)]));
    }
    PetscCall(print_sweep_tables(comm, settings, bodies));
    PetscFunctionReturn(0);
}

PetscErrorCode program(MPI_Comm comm) {
    PetscFunctionBegin;
    Settings settings;
    PetscCall(settings.read(comm));
    if (settings.is_sweep) {
        PetscCall(run_sweep(comm, settings));
        PetscFunctionReturn(0);
    }
    Study study;
    PetscCall(study.create(comm, settings.samples.empty() ? settings.model : "", settings.near));
    if (settings.samples.empty())
        PetscCall(run(comm, settings, study));
    else
        PetscCall(write_samples(comm, settings, study));
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace airflow

int main(int argc, char** argv) {
    PetscCall(
        PetscInitialize(&argc, &argv, nullptr,
                        "Air around car-like bodies: a panel method, and a trained surrogate.\n"));
    PetscErrorCode error = 0;
    try {
        error = airflow::program(PETSC_COMM_WORLD);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "airflow: %s\n", problem.what());
        error = PETSC_ERR_LIB;
    }
    if (error) MPI_Abort(PETSC_COMM_WORLD, int(error));
    PetscCall(PetscFinalize());
    return 0;
}
