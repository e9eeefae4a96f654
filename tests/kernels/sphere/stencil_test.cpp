// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/stencil.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"
#include "tests/kernels/sphere/dense.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::kernels::sphere {
namespace {

using enum GridKind;
using std::numbers::pi;
using surrogate::test::Refusal;
using surrogate::test::refusal;
using test::dense;

/// Spec of the sphere, section 4, written down once more.
double distance(double theta_o, double theta_i, double lambda) {
    const double x = std::cos(theta_o) * std::sin(theta_i) * std::cos(lambda) -
                     std::sin(theta_o) * std::cos(theta_i);
    const double y = std::sin(theta_i) * std::sin(lambda);
    const double z = std::cos(theta_o) * std::cos(theta_i) +
                     std::sin(theta_o) * std::sin(theta_i) * std::cos(lambda);
    return std::acos(z / std::sqrt(x * x + y * y + z * z));
}

void expect_valid(const Stencil& stencil) {
    for (size_t list = 0; list + 1 < stencil.begin.size(); ++list) {
        for (int64_t s = stencil.begin[list]; s < stencil.begin[list + 1]; ++s) {
            const Strip& strip = stencil.strips[static_cast<size_t>(s)];
            EXPECT_GT(strip.count, 0);
            EXPECT_LE(strip.count, stencil.n_column);
            EXPECT_LE(std::abs(strip.first), stencil.n_column / 2 + 1);
            if (s > stencil.begin[list]) {
                EXPECT_GE(strip.row, stencil.strips[static_cast<size_t>(s - 1)].row);
            }
        }
    }
}

/// Table of the spec, section 4.
TEST(SphereNeighborhood, HasTheOfficialCounts) {
    struct Case {
        Grid out, in;
        double theta_cutoff;
        int64_t n_pair, smallest, largest, of_row_0, n_full, sum_of_columns;
    };
    const double paper = 7 / std::sqrt(pi) * pi;
    const Case cases[] = {
        {{equiangular, 6, 12}, {equiangular, 6, 12}, pi / 5, 94, 5, 24, 24, 4, 3288},
        {{legendre_gauss, 64, 128},
         {legendre_gauss, 64, 128},
         paper / 63,
         8240,
         49,
         476,
         476,
         6,
         33715456},
        {{equiangular, 64, 128},
         {equiangular, 64, 128},
         paper / 63,
         9012,
         47,
         554,
         512,
         8,
         36885248},
        {{equiangular, 32, 64}, {equiangular, 32, 64}, paper / 31, 3816, 47, 278, 256, 8, 3900800},
        {{equiangular, 16, 32}, {equiangular, 16, 32}, paper / 15, 1552, 53, 140, 128, 8, 395712},
        {{equiangular, 8, 16}, {equiangular, 8, 16}, paper / 7, 576, 64, 78, 64, 8, 36512},
        {{equiangular, 180, 360}, {equiangular, 180, 360}, 0.017, 1934, 1, 360, 360, 2, 62629200},
        {{equiangular, 180, 360}, {equiangular, 180, 360}, 0.03, 7340, 9, 720, 720, 4, 237719160},
        {{equiangular, 360, 720},
         {equiangular, 360, 720},
         0.017,
         18368,
         9,
         1620,
         1440,
         4,
         2380104720},
        {{equiangular, 180, 360},
         {equiangular, 360, 720},
         0.03,
         29952,
         38,
         2880,
         2880,
         4,
         3881337120}};
    const surrogate::test::TrapGuard traps;
    for (const Case& c : cases) {
        SCOPED_TRACE(std::to_string(c.in.n_lat) + " rows, cutoff " +
                     std::to_string(c.theta_cutoff));
        const Stencil stencil = neighborhood(c.out, c.in, c.theta_cutoff, 0, c.out.n_lat);
        expect_valid(stencil);
        int64_t n_pair = 0, smallest = stencil.pairs(0), largest = 0, n_full = 0, sum = 0;
        for (int64_t row = 0; row < c.out.n_lat; ++row) {
            const int64_t n = stencil.pairs(row);
            n_pair += n;
            smallest = std::min(smallest, n);
            largest = std::max(largest, n);
            bool is_full = false;
            for (const Strip& strip : stencil.list(row, 0)) {
                is_full |= strip.count == stencil.n_column;
                const int64_t p = stencil.n_phase_in;
                for (int64_t j = 0; j < strip.count; ++j)
                    sum += strip.row / p * c.in.n_lon + strip.row % p +
                           (strip.first + j + stencil.n_column) % stencil.n_column * p;
            }
            n_full += is_full;
        }
        EXPECT_EQ(n_pair, c.n_pair);
        EXPECT_EQ(smallest, c.smallest);
        EXPECT_EQ(largest, c.largest);
        EXPECT_EQ(stencil.pairs(0), c.of_row_0);
        EXPECT_EQ(n_full, c.n_full);
        EXPECT_EQ(sum, c.sum_of_columns);
    }
}

struct Pair {
    Grid out, in;
    double theta_cutoff;
};
const Pair pairs[] = {
    {{equiangular, 9, 15}, {equiangular, 9, 15}, 0.6},              // odd rows, odd columns
    {{legendre_gauss, 7, 10}, {lobatto, 12, 30}, 0.7},              // three phases of the input
    {{equiangular, 5, 6}, {equiangular_trapezoidal, 11, 12}, 1.0},  // even number of phases
    {{lobatto, 12, 30}, {legendre_gauss, 7, 10}, 0.7},              // three phases of the output
    {{equiangular, 13, 24}, {equiangular, 4, 12}, 0.9},
    {{equiangular, 4, 8}, {equiangular, 4, 8}, 3.3},  // everybody sees everybody
    {{equiangular, 8, 1}, {equiangular, 8, 1}, 0.6},  // one column
    {{equiangular, 8, 7}, {equiangular, 8, 1}, 1.4},
};

TEST(SphereNeighborhood, IsTheDiskForAllPairsOfGrids) {
    for (const Pair& p : pairs) {
        SCOPED_TRACE(std::to_string(p.in.n_lon) + " to " + std::to_string(p.out.n_lon) +
                     " columns");
        const Stencil stencil = neighborhood(p.out, p.in, p.theta_cutoff, 0, p.out.n_lat);
        expect_valid(stencil);
        const auto got = dense(stencil, p.in);
        const auto out = latitudes(p.out.kind, p.out.n_lat), in = latitudes(p.in.kind, p.in.n_lat);
        size_t i = 0;
        for (double theta_o : out.theta) {
            for (int64_t phase = 0; phase < stencil.n_phase_out; ++phase) {
                for (double theta_i : in.theta) {
                    for (int64_t j = 0; j < p.in.n_lon; ++j, ++i) {
                        const double lambda = 2 * pi *
                                              (static_cast<double>(j) / p.in.n_lon -
                                               static_cast<double>(phase) / p.out.n_lon);
                        const double d = distance(theta_o, theta_i, lambda);
                        ASSERT_EQ(got[i], d <= 1.001 * p.theta_cutoff)
                            << theta_o << " " << theta_i << " column " << j;
                    }
                }
            }
        }
    }
}

TEST(SphereNeighborhood, OfSomeRowsIsPartOfTheWhole) {
    for (const Pair& p : pairs) {
        const Stencil whole = neighborhood(p.out, p.in, p.theta_cutoff, 0, p.out.n_lat);
        const Stencil part = neighborhood(p.out, p.in, p.theta_cutoff, 1, 3);
        for (int64_t row = 1; row < 3; ++row) {
            for (int64_t phase = 0; phase < whole.n_phase_out; ++phase) {
                const auto a = whole.list(row, phase), b = part.list(row, phase);
                ASSERT_TRUE(std::equal(
                    a.begin(), a.end(), b.begin(), b.end(), [](const Strip& s, const Strip& t) {
                        return s.row == t.row && s.first == t.first && s.count == t.count;
                    }));
            }
        }
        const Stencil none = neighborhood(p.out, p.in, p.theta_cutoff, 2, 2);
        EXPECT_EQ(none.n_list(), 0);
        EXPECT_TRUE(none.strips.empty());
    }
}

TEST(SphereNeighborhood, TouchesTheRowsItAnnounces) {
    for (const Pair& p : pairs) {
        const auto out = latitudes(p.out.kind, p.out.n_lat), in = latitudes(p.in.kind, p.in.n_lat);
        const int64_t p_in = std::max<int64_t>(1, p.in.n_lon / p.out.n_lon);
        for (int64_t first = 0; first < p.out.n_lat; ++first) {
            for (int64_t end = first + 1; end <= p.out.n_lat; ++end) {
                const Stencil stencil = neighborhood(p.out, p.in, p.theta_cutoff, first, end);
                int64_t lowest = p.in.n_lat, highest = -1;
                for (const Strip& strip : stencil.strips) {
                    lowest = std::min<int64_t>(lowest, strip.row / p_in);
                    highest = std::max<int64_t>(highest, strip.row / p_in);
                }
                const RowRange rows = rows_within(out, in, p.theta_cutoff, first, end);
                ASSERT_LE(rows.begin, lowest);
                ASSERT_GE(rows.end, highest + 1);
                if (p.out.n_lon > p.in.n_lon) continue;  // a phase may miss the outermost rows
                ASSERT_EQ(rows.begin, lowest);
                ASSERT_EQ(rows.end, highest + 1);
            }
        }
        EXPECT_EQ(rows_within(out, in, p.theta_cutoff, 1, 1).end, 0);
    }
}

TEST(SphereNeighborhood, HasHaloOfThePaperConfigurations) {
    const auto halo = [](GridKind kind, int64_t n, double theta_cutoff) {
        const Latitudes rows = latitudes(kind, n);
        return rows_within(rows, rows, theta_cutoff, n / 2, n / 2 + 1).end - n / 2 - 1;
    };
    const double paper = 7 / std::sqrt(pi) * pi;
    EXPECT_EQ(halo(equiangular, 64, paper / 63), 3);
    EXPECT_EQ(halo(legendre_gauss, 64, paper / 63), 4);
    EXPECT_EQ(halo(equiangular, 128, 3 * pi / 63), 6);  // decoder
}

TEST(SphereNeighborhood, WithoutMembersNamesRowAndRemedy) {
    const Grid out{equiangular, 12, 24}, in{equiangular, 6, 12};
    const Refusal empty = refusal([&] { neighborhood(out, in, 0.1, 0, 12); });
    EXPECT_EQ(empty.status, Status::invalid_argument);
    EXPECT_TRUE(empty.says("output row 1 of 12")) << empty.text;
    const auto at = empty.text.find("from ");
    ASSERT_NE(at, std::string::npos) << empty.text;
    const double remedy = std::stod(empty.text.substr(at + 5));
    EXPECT_NO_THROW(neighborhood(out, in, remedy, 1, 2));
    EXPECT_THROW(neighborhood(out, in, remedy - 2e-6, 1, 2), Error);
    EXPECT_NO_THROW(neighborhood(out, in, 0.1, 0, 1)) << "only rows asked for count";
    EXPECT_EQ(refusal([&] { neighborhood(out, in, 0, 0, 1); }).status, Status::invalid_argument);
}

TEST(SphereNeighborhood, OfColumnsThatDoNotDivideNamesSizesThatWork) {
    const Refusal indivisible = refusal([] {
        neighborhood({equiangular, 6, 10}, {equiangular, 6, 24}, 1, 0, 6);
    });
    EXPECT_EQ(indivisible.status, Status::shape);
    EXPECT_TRUE(indivisible.says("outputs of 8 and 12")) << indivisible.text;
    EXPECT_TRUE(indivisible.says("inputs of 20 and 30")) << indivisible.text;
}

TEST(SphereNeighborhood, OfAGlobalGridIsSmall) {
    const Grid grid{equiangular, 721, 1440};
    const double theta_cutoff = 7 / std::sqrt(pi) * pi / 720;
    EXPECT_LT(neighborhood(grid, grid, theta_cutoff, 0, 721).bytes(), 300'000);
}

}  // namespace
}  // namespace surrogate::kernels::sphere
