// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/sphere/stencil.hpp"

namespace surrogate::kernels::sphere::test {

/// A stencil written out: weights (1 for neighborhoods) of all input points in the sums of output
/// column 0 of every phase, (n_basis, row, phase, n_lat_in, n_lon_in).
inline std::vector<double> dense(const Stencil& stencil, const Grid& in) {
    const int64_t n_row = stencil.end_row - stencil.first_row, p = stencil.n_phase_in;
    std::vector<double> psi(static_cast<size_t>(stencil.n_list() * in.n_lat * in.n_lon));
    for (int64_t row = 0; row < n_row; ++row) {
        for (int64_t phase = 0; phase < stencil.n_phase_out; ++phase) {
            for (int64_t k = 0; k < stencil.n_basis; ++k) {
                const int64_t global = stencil.first_row + row;
                const int64_t list = (k * n_row + row) * stencil.n_phase_out + phase;
                const double* value =
                    stencil.values.empty()
                        ? nullptr
                        : stencil.values.data() + stencil.value_of(global, phase, k);
                for (const Strip& strip : stencil.list(global, phase, k)) {
                    for (int64_t j = 0; j < strip.count; ++j) {
                        const int64_t u =
                            (strip.first + j + 4 * stencil.n_column) % stencil.n_column;
                        const int64_t point =
                            (list * in.n_lat + strip.row / p) * in.n_lon + u * p + strip.row % p;
                        psi[static_cast<size_t>(point)] += value ? *value++ : 1;
                    }
                }
            }
        }
    }
    return psi;
}

}  // namespace surrogate::kernels::sphere::test
