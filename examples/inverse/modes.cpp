// SPDX-License-Identifier: Apache-2.0
#include "modes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace inverse {

using std::numbers::pi;

namespace {

/// Returns s_kl. The waves with (k, l) != (0, 0) have the sum 1 of their mean squares over the
/// square, as the random fluids have: they are divided by their standard deviation.
std::vector<double> amplitudes(PetscInt n_mode) {
    std::vector<double> s;
    double variance = 0;
    for (PetscInt k = 0; k < n_mode; ++k)
        for (PetscInt l = 0; l < n_mode; ++l) {
            s.push_back(1 / (pi * pi * double(k * k + l * l) + 9));
            if (k + l > 0) variance += s.back() * s.back() * (k > 0 ? 0.5 : 1) * (l > 0 ? 0.5 : 1);
        }
    for (double& value : s) value /= std::sqrt(variance);
    return s;
}

}  // namespace

PetscErrorCode Modes::create(const darcy::Grid& grid, PetscInt n_mode, PetscReal width,
                             const darcy::Mobilities& mobilities) {
    PetscFunctionBegin;
    mobilities_ = mobilities;
    PetscInt n_local = 0;
    PetscCall(grid.new_vec(&level_));
    PetscCall(grid.new_vec(&slope_));
    PetscCall(VecGetLocalSize(level_, &n_local));
    PetscCall(MatCreateDense(grid.comm(), n_local, PETSC_DECIDE, grid.n * grid.n, n_mode * n_mode,
                             nullptr, basis_.out()));
    PetscCall(fill(grid, n_mode, width));
    PetscFunctionReturn(0);
}

PetscErrorCode Modes::fill(const darcy::Grid& grid, PetscInt n_mode, PetscReal width) {
    PetscFunctionBegin;
    const std::vector<double> s = amplitudes(n_mode);
    darcy::Box box;
    PetscScalar* entry = nullptr;  // column by column
    PetscCall(box.of(grid));
    PetscCall(MatDenseGetArrayWrite(basis_, &entry));
    PetscScalar* next = entry;
    for (PetscInt k = 0; k < n_mode; ++k)
        for (PetscInt l = 0; l < n_mode; ++l)
            for (PetscInt j = box.j0; j < box.j1; ++j)
                for (PetscInt i = box.i0; i < box.i1; ++i)
                    *next++ = s[std::size_t(k * n_mode + l)] / width *
                              std::cos(pi * double(k) * (double(i) + 0.5) * grid.h) *
                              std::cos(pi * double(l) * (double(j) + 0.5) * grid.h);
    PetscCall(MatDenseRestoreArrayWrite(basis_, &entry));
    PetscCall(MatAssemblyBegin(basis_, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(basis_, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

PetscErrorCode Modes::new_parameters(darcy::OwnedVec* theta) const {
    PetscFunctionBegin;
    PetscCall(MatCreateVecs(basis_, theta->out(), nullptr));
    PetscFunctionReturn(0);
}

PetscErrorCode Modes::mobility(Vec theta, Vec a) {
    PetscFunctionBegin;
    PetscCall(MatMult(basis_, theta, level_));
    PetscInt n = 0;
    const PetscScalar* level = nullptr;
    PetscScalar *value = nullptr, *slope = nullptr;
    PetscCall(VecGetLocalSize(a, &n));
    PetscCall(VecGetArrayRead(level_, &level));
    PetscCall(VecGetArrayWrite(a, &value));
    PetscCall(VecGetArrayWrite(slope_, &slope));
    const PetscReal span = mobilities_.injected - mobilities_.resident;
    for (PetscInt i = 0; i < n; ++i) {
        const PetscReal c = 1 / (1 + std::exp(-std::clamp<PetscReal>(level[i], -50, 50)));
        value[i] = mobilities_.resident + span * c;
        slope[i] = span * c * (1 - c);
    }
    PetscCall(VecRestoreArrayRead(level_, &level));
    PetscCall(VecRestoreArrayWrite(a, &value));
    PetscCall(VecRestoreArrayWrite(slope_, &slope));
    PetscFunctionReturn(0);
}

PetscErrorCode Modes::pull_back(Vec g, Vec gradient) {
    PetscFunctionBegin;
    PetscCall(VecPointwiseMult(level_, slope_, g));
    PetscCall(MatMultTranspose(basis_, level_, gradient));
    PetscFunctionReturn(0);
}

}  // namespace inverse
