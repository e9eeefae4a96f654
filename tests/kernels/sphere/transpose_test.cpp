// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numbers>

#include "tests/kernels/sphere/dense.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

using enum GridKind;
using std::numbers::pi;

/// Grids with equal, coarser and finer outputs, and kinds with and without poles.
struct Pair {
    Grid out, in;
    double theta_cutoff;
};
const Pair pairs[] = {
    {{equiangular, 12, 24}, {equiangular, 12, 24}, 0.6},
    {{legendre_gauss, 6, 12}, {equiangular, 12, 24}, pi / 5},
    {{equiangular, 12, 24}, {equiangular, 6, 12}, pi / 5},
    {{lobatto, 9, 27}, {equiangular, 7, 9}, 0.7},
    {{equiangular, 9, 5}, {equiangular, 11, 15}, 3.2},  // whole rings of odd length
};

/// psi(row, column; input row, input column) of all output columns, from dense() of column 0.
struct Relation {
    Relation(const Stencil& stencil, const Grid& row_grid, const Grid& column_grid)
        : psi(dense(stencil, column_grid)),
          rows(row_grid),
          columns(column_grid),
          p_row(stencil.n_phase_out),
          p_column(stencil.n_phase_in),
          first_row(stencil.first_row),
          n_row(stencil.end_row - stencil.first_row) {}

    double operator()(int64_t k, int64_t row, int64_t i, int64_t other, int64_t j) const {
        const int64_t moved = (j - i / p_row * p_column + columns.n_lon * p_row) % columns.n_lon;
        const int64_t list = (k * n_row + row - first_row) * p_row + i % p_row;
        return psi[static_cast<size_t>((list * columns.n_lat + other) * columns.n_lon + moved)];
    }

    std::vector<double> psi;
    Grid rows, columns;
    int64_t p_row, p_column, first_row, n_row;
};

void expect_transposed(const Stencil& stencil, const Stencil& transposed, const Grid& out,
                       const Grid& in) {
    const Relation there(stencil, out, in), back(transposed, in, out);
    for (int64_t k = 0; k < stencil.n_basis; ++k)
        for (int64_t ho = 0; ho < out.n_lat; ++ho)
            for (int64_t wo = 0; wo < out.n_lon; ++wo)
                for (int64_t hi = transposed.first_row; hi < transposed.end_row; ++hi)
                    for (int64_t wi = 0; wi < in.n_lon; ++wi)
                        ASSERT_EQ(back(k, hi, wi, ho, wo), there(k, ho, wo, hi, wi))
                            << "output " << ho << ", " << wo << ", input " << hi << ", " << wi;
}

TEST(SphereTranspose, HoldsThePairsOfTheNeighborhood) {
    for (const auto& [out, in, cutoff] : pairs) {
        SCOPED_TRACE(out.n_lon);
        const Stencil all = neighborhood(out, in, cutoff, 0, out.n_lat);
        expect_transposed(all, transpose(all, 0, in.n_lat), out, in);
        expect_transposed(all, transposed_neighborhood(out, in, cutoff, 2, 5), out, in);
    }
}

TEST(SphereTranspose, HoldsTheWeightsOfAFilter) {
    const Filter filter{.shape = {3, 3}, .theta_cutoff = 0.6};
    const Grid fine{equiangular, 12, 24}, coarse{legendre_gauss, 7, 12};
    const Stencil down = convolution(coarse, fine, filter, 0, 7);
    expect_transposed(down, transpose(down, 0, 12), coarse, fine);
    const Stencil up = transposed_convolution(fine, coarse, filter, 0, 12);
    expect_transposed(up, transpose(up, 1, 6), fine, coarse);
}

TEST(SphereTranspose, ListsDoNotDependOnTheRowsAskedFor) {
    for (const auto& [out, in, cutoff] : pairs) {
        const Stencil all = transposed_neighborhood(out, in, cutoff, 0, in.n_lat);
        for (int64_t row = 0; row < in.n_lat; ++row) {
            const Stencil one = transposed_neighborhood(out, in, cutoff, row, row + 1);
            for (int64_t phase = 0; phase < one.n_phase_out; ++phase) {
                const auto want = all.list(row, phase), got = one.list(row, phase);
                ASSERT_EQ(got.size(), want.size());
                for (size_t s = 0; s < want.size(); ++s) {
                    EXPECT_EQ(got[s].row, want[s].row);
                    EXPECT_EQ(got[s].first, want[s].first);
                    EXPECT_EQ(got[s].count, want[s].count);
                    EXPECT_GE(got[s].row, got[s > 0 ? s - 1 : 0].row);
                }
            }
        }
    }
}

TEST(SphereTranspose, OfNoRowsIsEmpty) {
    const Grid grid{equiangular, 12, 24};
    const Stencil none = transposed_neighborhood(grid, grid, 0.6, 5, 5);
    EXPECT_EQ(none.n_list(), 0);
    EXPECT_TRUE(none.strips.empty());
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
