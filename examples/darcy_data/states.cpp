// SPDX-License-Identifier: Apache-2.0
#include "states.hpp"

#include <algorithm>
#include <fluid/random.hpp>
#include <numeric>

namespace darcy {

namespace {

/// Indices of the streams of a run. They differ from the indices of its initial fluid, which begin
/// at 0 and are below 2^63 (pairs of modes), and from the index of its width, 2^64 - 1.
constexpr uint64_t of_steps = uint64_t{1} << 63, of_images = of_steps | uint64_t{1} << 62;

/// Returns n of 0 .. n_all - 1, by the beginning of a shuffle (Fisher and Yates).
template <class Int>
std::vector<Int> drawn(uint64_t seed, uint64_t stream, Int n_all, Int n) {
    std::vector<Int> all(static_cast<std::size_t>(n_all));
    std::iota(all.begin(), all.end(), Int{0});
    for (Int i = 0; i < n; ++i) {
        const double u = uniform(seed, stream + static_cast<uint64_t>(i));
        const auto j = i + static_cast<Int>(u * double(n_all - i));
        std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(j)]);
    }
    all.resize(static_cast<std::size_t>(n));
    return all;
}

}  // namespace

std::vector<PetscInt> drawn_steps(uint64_t seed, PetscInt n_step, PetscInt per_run) {
    std::vector<PetscInt> steps = drawn(seed, of_steps, n_step, per_run);
    std::sort(steps.begin(), steps.end());
    return steps;
}

std::vector<int> drawn_images(uint64_t seed, PetscInt step, PetscInt n) {
    if (n == 1) return {0};
    return drawn(seed, of_images + 8 * static_cast<uint64_t>(step), 8, static_cast<int>(n));
}

std::vector<double> image_of(const std::vector<double>& values, PetscInt n, int image) {
    if (image == 0) return values;
    std::vector<double> moved(values.size());
    for (PetscInt i = 0; i < n; ++i)
        for (PetscInt j = 0; j < n; ++j) {
            PetscInt k = i, l = j;
            if (image & 1) std::swap(k, l);
            if (image & 2) k = n - 1 - k;
            if (image & 4) l = n - 1 - l;
            moved[static_cast<std::size_t>(k * n + l)] =
                values[static_cast<std::size_t>(i * n + j)];
        }
    return moved;
}

PetscErrorCode RunMaker::create(PetscInt n, const Mobilities& mobilities) {
    PetscFunctionBegin;
    mobilities_ = mobilities;
    PetscCall(grid_.create(PETSC_COMM_SELF, n));
    PetscCall(pressure_.create_direct(grid_));
    PetscCall(transport_.create(grid_));
    PetscCall(grid_.new_vec(&a_));
    PetscCall(grid_.new_vec(&p_));
    PetscFunctionReturn(0);
}

PetscErrorCode RunMaker::copy(Vec vec, std::vector<double>* values) const {
    PetscFunctionBegin;
    const PetscInt n = grid_.n;
    values->resize(static_cast<std::size_t>(n * n));
    const CellsRead cell(grid_, vec);
    for (PetscInt i = 0; i < n; ++i)
        for (PetscInt j = 0; j < n; ++j)
            (*values)[static_cast<std::size_t>(i * n + j)] = cell(i, j);
    PetscFunctionReturn(0);
}

PetscErrorCode RunMaker::run(Vec c, PetscInt n_step, PetscReal dt, const Visit& visit) {
    PetscFunctionBegin;
    std::vector<double> mobility, pressure;
    for (PetscInt step = 0; step < n_step; ++step) {
        PetscInt n_iteration = 0;
        TransportReport report;
        PetscCall(mobility_of(mobilities_, c, a_));
        PetscCall(pressure_.solve(a_, false, p_, &n_iteration));
        PetscCall(copy(a_, &mobility));
        PetscCall(copy(p_, &pressure));
        PetscCall(visit(step, mobility, pressure));
        PetscCall(transport_.step(dt, a_, p_, false, c, &report));
    }
    PetscFunctionReturn(0);
}

}  // namespace darcy
