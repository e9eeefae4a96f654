// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fluid/grid.hpp>
#include <fluid/pressure.hpp>
#include <fluid/transport.hpp>
#include <functional>
#include <vector>

namespace darcy {

/// Returns the steps of a run whose states are stored: per_run of 0 .. n_step - 1, ascending, drawn
/// without repetition; a function of the run's seed.
std::vector<PetscInt> drawn_steps(uint64_t seed, PetscInt n_step, PetscInt per_run);

/// Returns n of the eight images of a square, drawn without repetition: a function of seed and
/// step. With n = 8 each occurs once; with n = 1 it is the original state.
std::vector<int> drawn_images(uint64_t seed, PetscInt step, PetscInt n);

/// Returns the values [x][y] of a square in one of its eight images: bit 0 swaps x and y, then bit
/// 1 mirrors x and bit 2 mirrors y.
std::vector<double> image_of(const std::vector<double>& values, PetscInt n, int image);

/// Computes runs of the two fluids on one rank, with the exact pressure.
class RunMaker {
public:
    PetscErrorCode create(PetscInt n, const Mobilities& mobilities);
    const Grid& grid() const { return grid_; }

    /// Called in every step with mobility and pressure as [x][y].
    using Visit = std::function<PetscErrorCode(PetscInt step, const std::vector<double>& mobility,
                                               const std::vector<double>& pressure)>;
    /// Advances c by n_step steps of dt.
    PetscErrorCode run(Vec c, PetscInt n_step, PetscReal dt, const Visit& visit);

private:
    PetscErrorCode copy(Vec vec, std::vector<double>* values) const;

    Grid grid_;
    PressureSolver pressure_;
    Transport transport_;
    Mobilities mobilities_;
    OwnedVec a_, p_;
};

}  // namespace darcy
