// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <array>

namespace million {

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
               "%s is %d, expected a number from %d to %d", flag, int(value), int(least),
               int(most));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Settings::read(MPI_Comm comm) {
    PetscFunctionBegin;
    model = MILLION_MODEL;
    PetscOptionsBegin(comm, nullptr, "million_points", nullptr);
    PetscCall(PetscOptionsInt("-points", "approximate number of points of the mesh", "", n_point,
                              &n_point, nullptr));
    PetscCall(PetscOptionsInt(
        "-seed", "seed of the first plate and its mesh; further plates use the next seeds", "",
        seed, &seed, nullptr));
    PetscCall(PetscOptionsInt("-plates", "number of plates", "", n_plate, &n_plate, nullptr));
    PetscCall(read_text(
        PetscOptionsObject, "-mesh",
        "a .vtu of triangles to read, with the array `distance`; \"\": create a mesh", &mesh));
    PetscCall(
        read_text(PetscOptionsObject, "-model", "model file of the surrogate; \"\": none", &model));
    PetscCall(read_text(PetscOptionsObject, "-output",
                        "directory for plate_*.vtu, parts.pvd and plate_*.png", &output));
    PetscCall(read_text(PetscOptionsObject, "-samples",
                        "a data set (.h5) for training; the program only writes it", &samples));
    PetscCall(PetscOptionsInt("-sample_points", "number of points of each plate that are stored",
                              "", n_sample_point, &n_sample_point, nullptr));
    PetscCall(PetscOptionsBool("-weights",
                               "points have their areas as weights, for models that need them", "",
                               is_weighted, &is_weighted, nullptr));
    PetscOptionsEnd();
    PetscCall(check(comm));
    PetscFunctionReturn(0);
}

PetscErrorCode Settings::check(MPI_Comm comm) const {
    PetscFunctionBegin;
    PetscCall(check_range(comm, "-points", n_point, 500, 100000000));
    PetscCall(check_range(comm, "-seed", seed, 0, 1000000000));
    PetscCall(check_range(comm, "-plates", n_plate, 1, 100000));
    PetscCall(check_range(comm, "-sample_points", n_sample_point, 1, 100000000));
    PetscCheck(mesh.empty() || n_plate == 1, comm, PETSC_ERR_ARG_INCOMP,
               "-mesh is one plate; remove -plates");
    PetscFunctionReturn(0);
}

std::string Settings::command() const {
    return "million_points -samples .. -points " + std::to_string(n_point) + " -seed " +
           std::to_string(seed) + " -plates " + std::to_string(n_plate) + " -sample_points " +
           std::to_string(n_sample_point) + (is_weighted ? " -weights" : "");
}

}  // namespace million
