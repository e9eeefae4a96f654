// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <array>
#include <cstdio>

namespace darcy {

namespace {

constexpr PetscInt max_files = 16;

PetscErrorCode check(MPI_Comm comm, const DataSettings& s) {
    PetscFunctionBegin;
    for (const PetscInt n : s.n)
        PetscCheck(n >= 2, comm, PETSC_ERR_USER_INPUT, "-n %" PetscInt_FMT ": at least 2 cells", n);
    PetscCheck(s.n_run >= 1, comm, PETSC_ERR_USER_INPUT, "-runs %" PetscInt_FMT ": at least 1",
               s.n_run);
    PetscCheck(s.n_step >= 1, comm, PETSC_ERR_USER_INPUT,
               "-steps is %" PetscInt_FMT ", expected at least 1", s.n_step);
    PetscCheck(s.dt_s > 0, comm, PETSC_ERR_USER_INPUT, "-dt is %g, expected a positive number",
               double(s.dt_s));
    PetscCheck(s.seed >= 0, comm, PETSC_ERR_USER_INPUT,
               "-seed is %" PetscInt_FMT ", expected 0 or more", s.seed);
    PetscCheck(s.per_run >= 1 && s.per_run <= s.n_step, comm, PETSC_ERR_USER_INPUT,
               "-per_run is %" PetscInt_FMT ", expected 1 to the number of steps, %" PetscInt_FMT,
               s.per_run, s.n_step);
    PetscCheck(s.n_symmetry >= 1 && s.n_symmetry <= 8, comm, PETSC_ERR_USER_INPUT,
               "-symmetries is %" PetscInt_FMT ", expected 1 to 8", s.n_symmetry);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode DataSettings::read(MPI_Comm comm) {
    PetscFunctionBegin;
    std::array<PetscInt, max_files> cells = {40};
    PetscInt n_cells = max_files;
    PetscBool are_set = PETSC_FALSE, is_single = single ? PETSC_TRUE : PETSC_FALSE;
    std::array<char, PETSC_MAX_PATH_LEN> folder{};
    PetscBool has_folder = PETSC_FALSE;
    PetscOptionsBegin(comm, nullptr, "darcy_data", nullptr);
    PetscCall(PetscOptionsIntArray("-n", "cells in x and y; several numbers give one file each", "",
                                   cells.data(), &n_cells, &are_set));
    PetscCall(PetscOptionsInt("-runs", "number of runs, each with a different fluid", "", n_run,
                              &n_run, nullptr));
    PetscCall(PetscOptionsInt("-per_run", "states of each run", "", per_run, &per_run, nullptr));
    PetscCall(PetscOptionsInt("-steps", "time steps of a run", "", n_step, &n_step, nullptr));
    PetscCall(PetscOptionsReal("-dt", "time step in s", "", dt_s, &dt_s, nullptr));
    PetscCall(PetscOptionsInt("-seed", "seed of the first run; further runs use the next seeds", "",
                              seed, &seed, nullptr));
    PetscCall(PetscOptionsInt("-symmetries", "images of the square in which each state is stored",
                              "", n_symmetry, &n_symmetry, nullptr));
    PetscCall(PetscOptionsReal("-injected", "mobility of the injected fluid, in m^2/(Pa s)", "",
                               mobilities.injected, &mobilities.injected, nullptr));
    PetscCall(
        PetscOptionsBool("-single", "store single precision", "", is_single, &is_single, nullptr));
    PetscCall(PetscOptionsString("-output", "folder of darcy_<n>.h5", "", output.c_str(),
                                 folder.data(), folder.size(), &has_folder));
    PetscOptionsEnd();
    if (are_set) n.assign(cells.begin(), cells.begin() + n_cells);
    if (has_folder) output = folder.data();
    single = is_single == PETSC_TRUE;
    PetscCall(check(comm, *this));
    PetscFunctionReturn(0);
}

std::string DataSettings::path(PetscInt n_cell) const {
    return output + "/darcy_" + std::to_string(n_cell) + ".h5";
}

std::string DataSettings::command(PetscInt n_cell) const {
    std::array<char, 256> text{};
    std::snprintf(
        text.data(), text.size(),
        "darcy_data -n %d -runs %d -per_run %d -steps %d -dt %.9g -seed %d -symmetries %d "
        "-injected %.9g%s",
        int(n_cell), int(n_run), int(per_run), int(n_step), double(dt_s), int(seed),
        int(n_symmetry), double(mobilities.injected), single ? " -single" : "");
    return text.data();
}

}  // namespace darcy
