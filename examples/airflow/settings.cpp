// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <array>

#include "picture.hpp"

namespace airflow {

namespace {

PetscErrorCode read_text(PetscOptionItems* PetscOptionsObject, const char* flag, const char* help,
                         std::string* value) {
    PetscFunctionBegin;
    std::array<char, PETSC_MAX_PATH_LEN> text{};
    PetscBool is_set = PETSC_FALSE;
    PetscCall(
        PetscOptionsString(flag, help, "", value->c_str(), text.data(), text.size(), &is_set));
    if (is_set) *value = text.data();
    PetscFunctionReturn(0);
}

PetscErrorCode read_texts(PetscOptionItems* PetscOptionsObject, const char* flag, const char* help,
                          std::vector<std::string>* list) {
    PetscFunctionBegin;
    std::array<char*, 16> texts{};
    auto n = PetscInt(texts.size());
    PetscCall(PetscOptionsStringArray(flag, help, "", texts.data(), &n, nullptr));
    for (PetscInt i = 0; i < n; ++i) {
        list->push_back(texts[std::size_t(i)]);
        PetscCall(PetscFree(texts[std::size_t(i)]));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode read_list(PetscOptionItems* PetscOptionsObject, const char* flag, const char* help,
                         std::vector<PetscInt>* list) {
    PetscFunctionBegin;
    std::array<PetscInt, 16> numbers{};
    auto n = PetscInt(numbers.size());
    PetscBool is_set = PETSC_FALSE;
    PetscCall(PetscOptionsIntArray(flag, help, "", numbers.data(), &n, &is_set));
    if (is_set) list->assign(numbers.begin(), numbers.begin() + n);
    PetscFunctionReturn(0);
}

PetscErrorCode check_range(MPI_Comm comm, const char* flag, PetscInt value, PetscInt least,
                           PetscInt most) {
    PetscFunctionBegin;
    PetscCheck(value >= least && value <= most, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "%s is %d, expected a number from %d to %d", flag, int(value), int(least),
               int(most));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Settings::read(MPI_Comm comm) {
    PetscFunctionBegin;
    model = AIRFLOW_MODEL;
    PetscBool sweep = PETSC_FALSE;
    PetscOptionsBegin(comm, nullptr, "airflow", nullptr);
    PetscCall(PetscOptionsInt("-points", "approximate number of points on each body", "", n_point,
                              &n_point, nullptr));
    PetscCall(PetscOptionsInt("-panels",
                              "approximate number of panels around each body, half of them unknown",
                              "", n_panel, &n_panel, nullptr));
    PetscCall(PetscOptionsReal("-near",
                               "diameters of a panel within which the integrals over it are exact, "
                               "in the solver; not of the reference of -sweep",
                               "", near, &near, nullptr));
    PetscCall(PetscOptionsInt("-seed", "seed of the first body; further bodies use the next seeds",
                              "", seed, &seed, nullptr));
    PetscCall(PetscOptionsInt("-shapes", "number of bodies", "", n_shape, &n_shape, nullptr));
    PetscCall(
        read_text(PetscOptionsObject, "-model", "model file of the surrogate; \"\": none", &model));
    PetscCall(read_text(PetscOptionsObject, "-output", "directory for cars.pvd and .png", &output));
    PetscCall(read_texts(PetscOptionsObject, "-compare",
                         "up to three model files; with -output, compare_<seed>.png has their "
                         "differences from the solver",
                         &compared));
    PetscCall(read_text(PetscOptionsObject, "-samples",
                        "directory for data sets for training, cars_<points>.h5; the program only "
                        "writes these",
                        &samples));
    PetscCall(read_list(PetscOptionsObject, "-sample_points",
                        "numbers of points, one data set each, such as 1900,3800", &sample_points));
    PetscCall(PetscOptionsBool("-sweep",
                               "error and seconds of the surrogate and of the solver with fewer "
                               "panels, against the solver with -panels",
                               "", sweep, &sweep, nullptr));
    PetscCall(read_list(PetscOptionsObject, "-sweep_panels", "numbers of panels, ascending",
                        &sweep_panels));
    PetscCall(read_list(PetscOptionsObject, "-sweep_points", "numbers of points, one table each",
                        &sweep_points));
    PetscCall(PetscOptionsInt("-sweep_rounds", "number of timings of each method", "",
                              n_sweep_round, &n_sweep_round, nullptr));
    PetscCall(PetscOptionsReal("-training_seconds",
                               "seconds of training and its data, for the break-even of a sweep",
                               "", training_seconds, &training_seconds, nullptr));
    PetscOptionsEnd();
    is_sweep = sweep;
    if (sample_points.empty()) sample_points = {n_point};
    PetscCall(check(comm));
    PetscFunctionReturn(0);
}

std::string Settings::samples_command(PetscInt n_sample_point) const {
    return "airflow -samples .. -seed " + std::to_string(seed) + " -shapes " +
           std::to_string(n_shape) + " -panels " + std::to_string(n_panel) + " -sample_points " +
           std::to_string(n_sample_point) +
           (near == usual_near ? "" : " -near " + std::to_string(near));
}

PetscErrorCode Settings::check(MPI_Comm comm) const {
    PetscFunctionBegin;
    constexpr PetscInt min_points = 500, max_points = 100000000;
    PetscCall(check_range(comm, "-points", n_point, min_points, max_points));
    // Twice as many panels take four times the time and memory: 30,000 take 2 GB.
    PetscCall(check_range(comm, "-panels", n_panel, 500, 50000));
    PetscCheck(near >= 1 && near <= 1000, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-near is %g, expected a number from 1 to 1000", double(near));
    PetscCall(check_range(comm, "-seed", seed, 0, 1000000000));
    PetscCall(check_range(comm, "-shapes", n_shape, 1, 100000));
    for (const PetscInt n : sample_points)
        PetscCall(check_range(comm, "-sample_points", n, min_points, max_points));
    for (const PetscInt n : sweep_points)
        PetscCall(check_range(comm, "-sweep_points", n, min_points, max_points));
    PetscCheck(compared.size() <= max_fields, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-compare has %d model files, expected at most %d", int(compared.size()),
               max_fields);
    PetscCheck(compared.empty() || !output.empty(), comm, PETSC_ERR_ARG_INCOMP,
               "-output is empty, expected the directory for the figure of -compare");
    if (is_sweep) PetscCall(check_sweep(comm));
    PetscFunctionReturn(0);
}

PetscErrorCode Settings::check_sweep(MPI_Comm comm) const {
    PetscFunctionBegin;
    PetscCheck(output.empty() && samples.empty(), comm, PETSC_ERR_ARG_INCOMP,
               "-sweep writes no files; remove -output and -samples");
    PetscCheck(!model.empty(), comm, PETSC_ERR_ARG_INCOMP,
               "-model is empty, expected a model file; -sweep compares it with the solver");
    PetscCheck(!sweep_panels.empty() && !sweep_points.empty(), comm, PETSC_ERR_ARG_INCOMP,
               "-sweep_panels or -sweep_points is empty, expected at least one number");
    PetscInt least = 100;
    for (const PetscInt n : sweep_panels) {
        PetscCheck(n >= least && n < n_panel, comm, PETSC_ERR_ARG_OUTOFRANGE,
                   "-sweep_panels has %d, expected rising numbers from 100 to below -panels %d",
                   int(n), int(n_panel));
        least = n + 1;
    }
    PetscCall(check_range(comm, "-sweep_rounds", n_sweep_round, 1, 1000));
    PetscCheck(training_seconds >= 0, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-training_seconds is %g, expected 0 or more", double(training_seconds));
    PetscFunctionReturn(0);
}

}  // namespace airflow
