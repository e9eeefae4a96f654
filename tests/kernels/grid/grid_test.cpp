// SPDX-License-Identifier: Apache-2.0
#include "kernels/grid/grid.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::kernels::sphere {
namespace {

using std::numbers::pi;
const GridKind kinds[] = {GridKind::equiangular, GridKind::legendre_gauss, GridKind::lobatto,
                          GridKind::equiangular_trapezoidal};
const int64_t sizes[] = {2, 3, 4, 5, 8, 9, 33, 64, 721, 2000};

TEST(SphereGrid, IsThatOfTheOfficialCode) {
    const surrogate::test::GoldenFile file(SURROGATE_TEST_DATA
                                           "/sphere/operators/grid.safetensors");
    const std::pair<const char*, int64_t> cases[] = {
        {"equiangular", 4},    {"equiangular", 5},
        {"equiangular", 16},   {"equiangular", 33},
        {"legendre-gauss", 8}, {"legendre-gauss", 33},
        {"lobatto", 9},        {"equiangular-trapezoidal", 12}};
    for (const auto& [kind, n] : cases) {
        const std::string entry = "check/" + std::string(kind) + "_" + std::to_string(n);
        const Latitudes rows = latitudes(parse_grid_kind(kind), n);
        const auto theta = file.tensor(entry + "/colatitude").values;
        const auto weight = file.tensor(entry + "/weight").values;
        ASSERT_EQ(theta.size(), rows.theta.size());
        for (size_t k = 0; k < theta.size(); ++k) {
            EXPECT_NEAR(rows.theta[k], theta[k], 1e-14) << entry << ", row " << k;
            EXPECT_NEAR(rows.weight[k], weight[k], 1e-14) << entry << ", row " << k;
        }
    }
}

TEST(SphereGrid, WeightsArePositiveAndSumToTwo) {
    const surrogate::test::TrapGuard traps;
    for (GridKind kind : kinds) {
        for (int64_t n : sizes) {
            double sum = 0;
            for (double weight : latitudes(kind, n).weight) {
                EXPECT_GT(weight, 0) << name(kind) << " " << n;
                sum += weight;
            }
            EXPECT_NEAR(sum, 2, 1e-14 * std::sqrt(static_cast<double>(n))) << name(kind) << n;
        }
    }
}

TEST(SphereGrid, NodesAscendAndMirrorAtTheEquator) {
    for (GridKind kind : kinds) {
        for (int64_t n : sizes) {
            const Latitudes rows = latitudes(kind, n);
            const auto last = static_cast<size_t>(n - 1);
            for (size_t k = 0; k < last; ++k) EXPECT_LT(rows.theta[k], rows.theta[k + 1]);
            for (size_t k = 0; k <= last; ++k) {
                EXPECT_NEAR(rows.theta[k] + rows.theta[last - k], pi, 1e-15 * 4);
                EXPECT_NEAR(rows.weight[k], rows.weight[last - k], 1e-15);
            }
            if (kind == GridKind::legendre_gauss) {
                EXPECT_GT(rows.theta[0], 0);
            } else {
                EXPECT_EQ(rows.theta[0], 0);
                EXPECT_EQ(rows.theta[last], pi);
            }
        }
    }
}

/// n points of Gauss integrate polynomials up to degree 2n - 1, of Lobatto to 2n - 3, of
/// Clenshaw-Curtis to n - 1.
TEST(SphereGrid, IntegratesPowersOfTheCosineExactly) {
    for (GridKind kind : {GridKind::equiangular, GridKind::legendre_gauss, GridKind::lobatto}) {
        for (int64_t n : {4, 5, 33, 721}) {
            const Latitudes rows = latitudes(kind, n);
            const int64_t degree = kind == GridKind::equiangular      ? n - 1
                                   : kind == GridKind::legendre_gauss ? 2 * n - 1
                                                                      : 2 * n - 3;
            for (int64_t power : {int64_t{2}, int64_t{3}, degree / 2 * 2}) {
                double sum = 0;
                for (size_t k = 0; k < rows.theta.size(); ++k)
                    sum += rows.weight[k] *
                           std::pow(std::cos(rows.theta[k]), static_cast<double>(power));
                const double exact = power % 2 == 1 ? 0 : 2 / static_cast<double>(power + 1);
                EXPECT_NEAR(sum, exact, 2e-14) << name(kind) << " " << n << ", power " << power;
            }
        }
    }
}

TEST(SphereGrid, LargestGapIsThatOfTheCoarsestNodes) {
    EXPECT_NEAR(largest_gap(latitudes(GridKind::equiangular, 721)), pi / 720, 1e-15);
    // Equally spaced cosines: the rows beside the poles stand far from them.
    EXPECT_NEAR(largest_gap(latitudes(GridKind::equiangular_trapezoidal, 3)), pi / 2, 1e-15);
    EXPECT_NEAR(largest_gap(latitudes(GridKind::equiangular_trapezoidal, 5)), pi / 3, 1e-15);
}

TEST(SphereGrid, RefusesOneRowAndUnknownNames) {
    for (GridKind kind : kinds) {
        EXPECT_EQ(parse_grid_kind(name(kind)), kind);
        EXPECT_THROW(latitudes(kind, 1), Error);
    }
    const auto unknown = surrogate::test::refusal([] { parse_grid_kind("gaussian"); });
    EXPECT_EQ(unknown.status, Status::invalid_argument);
    EXPECT_TRUE(unknown.says("'legendre-gauss'")) << unknown.text;
}

}  // namespace
}  // namespace surrogate::kernels::sphere
