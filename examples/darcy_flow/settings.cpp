// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <array>

namespace darcy {

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

PetscErrorCode read_flag(PetscOptionItems* PetscOptionsObject, const char* flag, const char* help,
                         bool* value) {
    PetscFunctionBegin;
    PetscBool answer = *value ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(PetscOptionsBool(flag, help, "", answer, &answer, nullptr));
    *value = answer == PETSC_TRUE;
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Settings::read(MPI_Comm comm) {
    PetscFunctionBegin;
    static const char* const pressures[] = {"solver", "surrogate", "Pressure", "", nullptr};
    static const char* const guesses[] = {"zero", "previous", "surrogate", "Guess", "", nullptr};
    PetscEnum pressure = PetscEnum(0), guess = PetscEnum(1);
    model = DARCY_MODEL;
    PetscOptionsBegin(comm, nullptr, "darcy_flow", nullptr);
    PetscCall(PetscOptionsInt("-n", "cells in x and y", "", n, &n, nullptr));
    PetscCall(PetscOptionsInt("-steps", "time steps", "", n_step, &n_step, nullptr));
    PetscCall(PetscOptionsReal("-dt", "time step in s", "", dt_s, &dt_s, nullptr));
    PetscCall(PetscOptionsReal("-injected",
                               "mobility of the injected fluid, in m^2/(Pa s); the other has 3", "",
                               mobilities.injected, &mobilities.injected, nullptr));
    PetscCall(
        PetscOptionsInt("-seed", "seed of the random initial fluid", "", seed, &seed, nullptr));
    PetscCall(read_text(PetscOptionsObject, "-initial", "file of the initial fluid", &initial));
    PetscCall(read_text(PetscOptionsObject, "-model", "model file of the surrogate", &model));
    PetscCall(read_text(PetscOptionsObject, "-output", "directory for .pvd and .png", &output));
    PetscCall(PetscOptionsEnum("-pressure", "method for the pressure", "", pressures, pressure,
                               &pressure, nullptr));
    PetscCall(PetscOptionsEnum("-guess", "initial guess of a solve", "", guesses, guess, &guess,
                               nullptr));
    PetscCall(
        read_flag(PetscOptionsObject, "-compare", "run four variants, print one table", &compare));
    PetscCall(read_flag(PetscOptionsObject, "-tolerances",
                        "add a table of initial guesses at several tolerances", &tolerances));
    PetscOptionsEnd();
    way = pressure == PetscEnum(1) ? ways[3] : ways[int(guess)];
    PetscFunctionReturn(0);
}

}  // namespace darcy
