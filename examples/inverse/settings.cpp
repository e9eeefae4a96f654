// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <array>

namespace inverse {

namespace {

PetscErrorCode check(MPI_Comm comm, const Settings& s) {
    PetscFunctionBegin;
    PetscCheck(s.n >= 2, comm, PETSC_ERR_USER_INPUT,
               "-n is %" PetscInt_FMT ", expected at least 2 cells", s.n);
    PetscCheck(s.n_mode >= 1 && s.n_mode <= s.n, comm, PETSC_ERR_USER_INPUT,
               "-modes is %" PetscInt_FMT ", expected 1 to the number of cells, %" PetscInt_FMT,
               s.n_mode, s.n);
    PetscCheck(s.n_sensor >= 1 && s.n_sensor <= s.n, comm, PETSC_ERR_USER_INPUT,
               "-sensors is %" PetscInt_FMT ", expected 1 to the number of cells, %" PetscInt_FMT,
               s.n_sensor, s.n);
    PetscCheck(s.noise > 0, comm, PETSC_ERR_USER_INPUT, "-noise is %g, expected a positive number",
               double(s.noise));
    PetscCheck(s.width > 0, comm, PETSC_ERR_USER_INPUT, "-width is %g, expected a positive number",
               double(s.width));
    PetscCheck(s.prior >= 0, comm, PETSC_ERR_USER_INPUT, "-prior is %g, expected 0 or more",
               double(s.prior));
    PetscCheck(s.seed >= 0, comm, PETSC_ERR_USER_INPUT,
               "-seed is %" PetscInt_FMT ", expected 0 or more", s.seed);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Settings::read(MPI_Comm comm) {
    PetscFunctionBegin;
    static const char* const gradients[] = {"all", "adjoint", "surrogate", "differences"};
    std::array<char, PETSC_MAX_PATH_LEN> file{}, folder{};
    PetscBool has_file = PETSC_FALSE, has_folder = PETSC_FALSE;
    PetscInt chosen = 0;
    model = INVERSE_MODEL;
    PetscOptionsBegin(comm, nullptr, "inverse", nullptr);
    PetscCall(PetscOptionsInt("-n", "cells in x and y", "", n, &n, nullptr));
    PetscCall(
        PetscOptionsInt("-modes", "waves in x and in y to recover", "", n_mode, &n_mode, nullptr));
    PetscCall(
        PetscOptionsInt("-sensors", "sensors in x and in y", "", n_sensor, &n_sensor, nullptr));
    PetscCall(PetscOptionsReal("-noise", "deviation of the noise by the largest pressure", "",
                               noise, &noise, nullptr));
    PetscCall(PetscOptionsReal("-width", "width of the front between the recovered fluids", "",
                               width, &width, nullptr));
    PetscCall(PetscOptionsReal("-prior", "weight of the regularization; 1: that of the prior", "",
                               prior, &prior, nullptr));
    PetscCall(PetscOptionsInt("-seed", "seed of the true fluid and of the noise", "", seed, &seed,
                              nullptr));
    PetscCall(PetscOptionsEList("-gradient", "method for the gradient", "", gradients, 4,
                                gradients[0], &chosen, nullptr));
    PetscCall(PetscOptionsString("-model", "model file of the surrogate", "", model.c_str(),
                                 file.data(), file.size(), &has_file));
    PetscCall(PetscOptionsString("-output", "folder for fields.png", "", output.c_str(),
                                 folder.data(), folder.size(), &has_folder));
    PetscOptionsEnd();
    gradient = gradients[chosen];
    if (has_file) model = file.data();
    if (has_folder) output = folder.data();
    PetscCall(check(comm, *this));
    PetscFunctionReturn(0);
}

}  // namespace inverse
