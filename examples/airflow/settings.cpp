// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <array>

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

PetscErrorCode check_range(MPI_Comm comm, const char* flag, PetscInt value, PetscInt least,
                           PetscInt most) {
    PetscFunctionBegin;
    PetscCheck(value >= least && value <= most, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "%s %d: a number from %d to %d is expected", flag, int(value), int(least),
               int(most));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Settings::read(MPI_Comm comm) {
    PetscFunctionBegin;
    model = AIRFLOW_MODEL;
    std::array<PetscInt, 16> counts{};
    auto n_count = PetscInt(counts.size());
    PetscBool is_set = PETSC_FALSE;
    PetscOptionsBegin(comm, nullptr, "airflow", nullptr);
    PetscCall(PetscOptionsInt("-points", "about so many points on each body", "", n_point, &n_point,
                              nullptr));
    PetscCall(PetscOptionsInt("-panels",
                              "about so many panels around each body, half of them unknown", "",
                              n_panel, &n_panel, nullptr));
    PetscCall(PetscOptionsInt("-seed", "of the first body; the next ones follow", "", seed, &seed,
                              nullptr));
    PetscCall(PetscOptionsInt("-shapes", "how many bodies", "", n_shape, &n_shape, nullptr));
    PetscCall(
        read_text(PetscOptionsObject, "-model", "model file of the surrogate; \"\": none", &model));
    PetscCall(read_text(PetscOptionsObject, "-output", "directory for cars.pvd and .png", &output));
    PetscCall(read_text(PetscOptionsObject, "-samples",
                        "directory for .npy files to train on; then nothing else is done",
                        &samples));
    PetscCall(PetscOptionsIntArray("-sample_points",
                                   "numbers of points, a file each, such as 1900,3800", "",
                                   counts.data(), &n_count, &is_set));
    PetscOptionsEnd();
    if (is_set) sample_points.assign(counts.begin(), counts.begin() + n_count);
    if (sample_points.empty()) sample_points = {n_point};
    PetscCall(check(comm));
    PetscFunctionReturn(0);
}

PetscErrorCode Settings::check(MPI_Comm comm) const {
    PetscFunctionBegin;
    constexpr PetscInt least_points = 500, most_points = 100000000;
    PetscCall(check_range(comm, "-points", n_point, least_points, most_points));
    // Twice as many panels take four times the time and memory: 30,000 take 2 GB.
    PetscCall(check_range(comm, "-panels", n_panel, 500, 50000));
    PetscCall(check_range(comm, "-seed", seed, 0, 1000000000));
    PetscCall(check_range(comm, "-shapes", n_shape, 1, 100000));
    for (const PetscInt n : sample_points)
        PetscCall(check_range(comm, "-sample_points", n, least_points, most_points));
    PetscFunctionReturn(0);
}

}  // namespace airflow
