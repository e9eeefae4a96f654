// SPDX-License-Identifier: Apache-2.0
// Transposed maps: <dy, A x> = <A^T dy, x> for random x and dy, in double.
#include <cmath>
#include <numbers>
#include <random>

#include "kernels/sphere/resample_backward.hpp"
#include "tests/kernels/base/tile_box.hpp"
#include "tests/kernels/sphere/dense.hpp"
#include "tests/kernels/sphere/disco.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

using enum GridKind;
using kernels::test::OnTarget;
using kernels::test::Traps;

std::vector<double> random_field(int64_t count, std::mt19937& random) {
    std::normal_distribution<double> normal;
    std::vector<double> x(static_cast<size_t>(count));
    for (double& value : x) value = normal(random);
    return x;
}

/// (channel, lat, lon) values as tiles of rows.
class RowsOf {
public:
    RowsOf(const Grid& grid, int64_t n_channel, std::vector<double> values = {})
        : grid_(grid), n_channel_(n_channel), step_(round_up(grid.n_lon, lane_count)) {
        memory_ = Buffer<double>(grid.n_lat * n_channel * step_);
        for (size_t i = 0; i < values.size(); ++i) {
            const auto [c, row, j] = place(static_cast<int64_t>(i));
            (*this)(row)(c, j) = values[i];
        }
    }
    Tile<double> operator()(int64_t row) {
        return {memory_.data() + row * n_channel_ * step_, {n_channel_, grid_.n_lon}, {step_, 1}};
    }
    double times(const std::vector<double>& values) {
        double sum = 0;
        for (size_t i = 0; i < values.size(); ++i) {
            const auto [c, row, j] = place(static_cast<int64_t>(i));
            sum += (*this)(row)(c, j) * values[i];
        }
        return sum;
    }

private:
    std::array<int64_t, 3> place(int64_t i) const {
        const int64_t n_lon = grid_.n_lon, n_lat = grid_.n_lat;
        return {i / (n_lat * n_lon), i / n_lon % n_lat, i % n_lon};
    }
    Grid grid_;
    int64_t n_channel_, step_;
    Buffer<double> memory_;
};

struct Case {
    Grid out, in;
    double theta_cutoff;
    bool is_transposed;
};
const Case cases[] = {
    {{equiangular, 5, 17}, {equiangular, 9, 17}, 0.8, false},       // odd
    {{legendre_gauss, 8, 15}, {equiangular, 17, 45}, 0.55, false},  // three phases
    {{equiangular, 6, 4}, {equiangular, 6, 8}, 3.2, false},         // full rings
    {{equiangular, 17, 45}, {legendre_gauss, 8, 15}, 0.55, true},   // three phases of the output
};

/// Every weight where the formula of the transposed matrix puts it, and only there.
TEST(SphereTranspose, HoldsTheWeightsOfTheStencilTransposed) {
    for (const Case& c : cases) {
        const Filter filter{.shape = {3, 4}, .theta_cutoff = c.theta_cutoff};
        const Stencil stencil = c.is_transposed
                                    ? transposed_convolution(c.out, c.in, filter, 0, c.out.n_lat)
                                    : convolution(c.out, c.in, filter, 0, c.out.n_lat);
        const Stencil turned = transpose(stencil, 0, c.in.n_lat);
        const std::vector<double> psi = dense(stencil, c.in), back = dense(turned, c.out);
        const int64_t p = stencil.n_phase_in, q = stencil.n_phase_out, n = stencil.n_column;
        const auto at = [&](const std::vector<double>& values, int64_t list, const Grid& grid,
                            int64_t row, int64_t column) {
            return values[static_cast<size_t>((list * grid.n_lat + row) * grid.n_lon + column)];
        };
        double total = 0;
        for (int64_t k = 0; k < stencil.n_basis; ++k) {
            for (int64_t ho = 0; ho < c.out.n_lat; ++ho)
                for (int64_t hi = 0; hi < c.in.n_lat; ++hi)
                    for (int64_t s = 0; s < q; ++s)
                        for (int64_t i = 0; i < c.in.n_lon; ++i) {
                            // Input column i = u p + r of output column s is output column
                            // (n - u) q + s of input column r.
                            const int64_t u = i / p, r = i % p, o = (n - u) % n * q + s;
                            const double weight =
                                at(psi, (k * c.out.n_lat + ho) * q + s, c.in, hi, i);
                            total += std::abs(weight);
                            ASSERT_EQ(weight, at(back, (k * c.in.n_lat + hi) * p + r, c.out, ho, o))
                                << ho << " " << hi << " " << s << " " << i;
                        }
        }
        EXPECT_GT(total, 1);
    }
}

/// A band of input rows has the lists of the whole, from the outputs that see it alone.
TEST(SphereTranspose, OfABandIsPartOfTheWhole) {
    const Grid grid{equiangular, 12, 24};
    const double cutoff = 0.6;
    const Stencil whole = transpose(neighborhood(grid, grid, cutoff, 0, 12), 0, 12);
    const Latitudes rows = latitudes(grid.kind, grid.n_lat);
    const RowRange seen = rows_within(rows, rows, cutoff, 4, 7);
    ASSERT_LT(seen.end - seen.begin, 12);
    const Stencil band = transpose(neighborhood(grid, grid, cutoff, seen.begin, seen.end), 4, 7);
    EXPECT_TRUE(band.values.empty());
    for (int64_t row = 4; row < 7; ++row) {
        const auto expected = whole.list(row, 0), found = band.list(row, 0);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].row, expected[i].row);
            EXPECT_EQ(found[i].first, expected[i].first);
            EXPECT_EQ(found[i].count, expected[i].count);
        }
    }
}

struct Pair {
    Grid out, in;
    Interpolation interpolation = Interpolation::bilinear;
};
const Pair pairs[] = {
    {{equiangular, 16, 32}, {legendre_gauss, 8, 16}},  // poles beyond the input
    {{equiangular, 16, 32}, {legendre_gauss, 8, 16}, Interpolation::bilinear_spherical},
    {{equiangular, 9, 2}, {equiangular, 5, 1}},        // one column
    {{legendre_gauss, 8, 16}, {equiangular, 16, 32}},  // coarser: rows that are not read
    {{lobatto, 17, 30}, {equiangular, 9, 20}},         // no integer ratio
    {{equiangular, 7, 14}, {equiangular, 7, 14}},      // identity
};

/// A field of three channels, extended by its poles, through resample_row.
std::vector<double> resampled(const Resampling& table, RowsOf& x) {
    RowsOf scratch({equiangular, 3, table.in.n_lon}, 3), y({equiangular, 1, table.out.n_lon}, 3);
    const auto extended = [&](int64_t row, int64_t slot) {
        const int64_t plain = row - (table.has_poles ? 1 : 0);
        if (plain >= 0 && plain < table.in.n_lat) return x(plain);
        pole_row<double>(x(plain < 0 ? 0 : table.in.n_lat - 1), scratch(slot));
        return scratch(slot);
    };
    std::vector<double> values(static_cast<size_t>(3 * table.out.n_lat * table.out.n_lon));
    for (int64_t row = 0; row < table.out.n_lat; ++row) {
        const int64_t above = table.above[static_cast<size_t>(row)];
        ref::resample_row<double>(table, row, extended(above, 0), extended(above + 1, 1),
                                  scratch(2), false, y(0));
        for (int64_t c = 0; c < 3; ++c)
            for (int64_t j = 0; j < table.out.n_lon; ++j)
                values[static_cast<size_t>((c * table.out.n_lat + row) * table.out.n_lon + j)] =
                    y(0)(c, j);
    }
    return values;
}

TEST(SphereTranspose, OfResamplingIsItsAdjoint) {
    std::mt19937 random(7);
    for (const Pair& pair : pairs) {
        const Resampling table = resampling(pair.out, pair.in, pair.interpolation);
        const ResamplingTranspose turned = transpose(table);
        const std::vector<double> x = random_field(3 * pair.in.n_lat * pair.in.n_lon, random),
                                  dy = random_field(3 * pair.out.n_lat * pair.out.n_lon, random);
        RowsOf x_rows(pair.in, 3, x), dy_rows(pair.out, 3, dy), dx(pair.in, 3);
        const std::vector<double> y = resampled(table, x_rows);
        std::vector<double> scratch(static_cast<size_t>(turned.n_scratch()));
        {
            Traps traps;
            for (int64_t row = 0; row < pair.in.n_lat; ++row) {
                const RowRange reads = turned.out_rows(row, row + 1);
                const auto source = [&](int64_t ho) {
                    EXPECT_TRUE(ho >= reads.begin && ho < reads.end);
                    return Tile<const double>(dy_rows(ho));
                };
                resample_row_backward<double>(turned, row, source, false, scratch.data(), dx(row));
                resample_row_backward<double>(turned, row, source, true, scratch.data(), dx(row));
            }
        }
        double size = 0;
        for (size_t i = 0; i < y.size(); ++i) size += std::abs(y[i] * dy[i]);
        // Written, then added: twice.
        EXPECT_NEAR(dx.times(x), 2 * dy_rows.times(y), 1e-14 * size);
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
