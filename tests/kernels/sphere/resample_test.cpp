// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/resample.hpp"

#include <cmath>
#include <numbers>
#include <string>

#include "kernels/base/error.hpp"
#include "tests/kernels/base/tile_box.hpp"
#include "tests/kernels/sphere/disco.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

using enum GridKind;
using kernels::test::OnTarget;
using kernels::test::TileBox;
using kernels::test::Traps;
using std::numbers::pi;
using surrogate::test::GoldenFile;

class SphereResampleOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SphereResampleOn);

/// A whole field (n_channel, n_lat, n_lon), row by row, as a plan does it.
template <class T>
std::vector<double> resample(const Queue& queue, const Resampling& table, int64_t n_channel,
                             const std::vector<double>& x, bool accumulate = false) {
    const Grid &in = table.in, &out = table.out;
    TileBox<T> upper(TileBox<T>::input, n_channel, in.n_lon, {1, 3});
    TileBox<T> lower(TileBox<T>::input, n_channel, in.n_lon, {0, 1});
    TileBox<T> scratch(TileBox<T>::output, n_channel, in.n_lon, {0, 2});
    const auto load = [&](int64_t extended_row, TileBox<T>& box) {
        const int64_t last = in.n_lat - 1;
        const int64_t row = extended_row - (table.has_poles ? 1 : 0);
        const int64_t stored = std::clamp<int64_t>(row, 0, last);
        TileBox<T> plain(TileBox<T>::input, n_channel, in.n_lon);
        plain.fill([&](int64_t c, int64_t j) {
            return x[static_cast<size_t>((c * in.n_lat + stored) * in.n_lon + j)];
        });
        if (row != stored) pole_row<T>(plain.input_view(), plain.view());
        box.fill_from(plain);
    };
    std::vector<double> y(static_cast<size_t>(n_channel * out.n_lat * out.n_lon));
    for (int64_t row = 0; row < out.n_lat; ++row) {
        load(table.above[static_cast<size_t>(row)], upper);
        load(table.above[static_cast<size_t>(row)] + 1, lower);
        TileBox<T> tile(accumulate ? TileBox<T>::input : TileBox<T>::output, n_channel, out.n_lon);
        if (accumulate) tile.fill([](int64_t c, int64_t j) { return c + 0.5 * (j % 2); });
        resample_row<T>(queue, table, row, upper.input_view(), lower.input_view(), scratch.view(),
                        accumulate, tile.view());
        upper.expect_unchanged("upper");
        lower.expect_unchanged("lower");
        tile.expect_kept_inside("y");
        scratch.expect_kept_inside("scratch");
        for (int64_t c = 0; c < n_channel; ++c)
            for (int64_t j = 0; j < out.n_lon; ++j)
                y[static_cast<size_t>((c * out.n_lat + row) * out.n_lon + j)] = tile.view()(c, j);
    }
    return y;
}

struct GridPair {
    Grid out, in;
};
const GridPair grid_pairs[] = {
    {{equiangular, 16, 32}, {legendre_gauss, 8, 16}},  // poles beyond the input; doubling
    {{equiangular, 9, 40}, {equiangular, 5, 20}},      // doubling, lanes left over
    {{equiangular, 9, 2}, {equiangular, 5, 1}},        // one column
    {{legendre_gauss, 8, 16}, {equiangular, 16, 32}},  // coarser
    {{lobatto, 17, 30}, {equiangular, 9, 20}},         // no integer ratio
    {{equiangular_trapezoidal, 12, 64}, {lobatto, 4, 8}},
    {{equiangular, 7, 33}, {legendre_gauss, 7, 33}},  // same shape, other grid
};

/// 2 x 4 equiangular to 3 x 8: halfway between the poles, and between columns.
TEST_P(SphereResampleOn, GivesNumbersOfTheFormula) {
    const Resampling table =
        resampling({equiangular, 3, 8}, {equiangular, 2, 4}, Interpolation::bilinear);
    EXPECT_FALSE(table.has_poles);
    const std::vector<double> x = {0, 1, 2, 3, 10, 20, 30, 40};
    const std::vector<double> want = {0,  0.5,  1,    1.5,   2,  2.5,   3,    1.5,  //
                                      5,  7.75, 10.5, 13.25, 16, 18.75, 21.5, 13.25,
                                      10, 15,   20,   25,    30, 35,    40,   25};
    Traps traps;
    EXPECT_EQ(resample<float>(queue(), table, 1, x), want);
}

/// Gauss rows do not reach the poles: there the mean of the nearest row stands.
TEST_P(SphereResampleOn, PolesHoldTheMeanOfTheNearestRow) {
    const Resampling table =
        resampling({equiangular, 3, 4}, {legendre_gauss, 2, 4}, Interpolation::bilinear);
    EXPECT_TRUE(table.has_poles);
    const std::vector<double> x = {1, 2, 3, 6, 10, 20, 30, 60};
    const auto y = resample<float>(queue(), table, 1, x);
    for (size_t j = 0; j < 4; ++j) {
        EXPECT_EQ(y[j], 3);
        EXPECT_NEAR(y[4 + j], (x[j] + x[4 + j]) / 2, 1e-6 * 33);
        EXPECT_EQ(y[8 + j], 30);
    }
}

TEST_P(SphereResampleOn, AgreesWithReferenceInDouble) {
    std::mt19937 random = kernels::test::generator();
    std::normal_distribution<float> normal;
    const Queue exact(Backend::ref, VectorLevel::scalar, 1);
    Traps traps;
    for (const GridPair& p : grid_pairs) {
        for (Interpolation kind : {Interpolation::bilinear, Interpolation::bilinear_spherical}) {
            const Resampling table = resampling(p.out, p.in, kind);
            for (bool accumulate : {false, true}) {
                std::vector<double> x(static_cast<size_t>(3 * p.in.n_lat * p.in.n_lon));
                for (double& value : x) value = normal(random);
                const auto want = resample<double>(exact, table, 3, x, accumulate);
                EXPECT_LE(relative_l2(resample<float>(queue(), table, 3, x, accumulate), want),
                          2e-7);
            }
        }
    }
}

TEST(SphereResample, HasSameBitsOnAllVectorLevels) {
    for (const GridPair& p : grid_pairs) {
        for (Interpolation kind : {Interpolation::bilinear, Interpolation::bilinear_spherical}) {
            const Resampling table = resampling(p.out, p.in, kind);
            const auto x = wave(2 * p.in.n_lat * p.in.n_lon, 0.2);
            for (bool accumulate : {false, true}) {
                const auto want = resample<float>(Queue(Backend::simd, VectorLevel::scalar, 1),
                                                  table, 2, x, accumulate);
                for (VectorLevel level : kernels::test::wide_levels())
                    EXPECT_EQ(
                        resample<float>(Queue(Backend::simd, level, 1), table, 2, x, accumulate),
                        want);
            }
        }
    }
}

TEST_P(SphereResampleOn, KeepsConstantsToTheBit) {
    for (const GridPair& p : grid_pairs) {
        const Resampling table = resampling(p.out, p.in, Interpolation::bilinear);
        const std::vector<double> x(static_cast<size_t>(p.in.n_lat * p.in.n_lon), 0.7f);
        for (double y : resample<float>(queue(), table, 1, x)) EXPECT_EQ(y, 0.7f);
    }
}

TEST_P(SphereResampleOn, EqualGridsAreCopiedToTheBit) {
    for (Interpolation kind : {Interpolation::bilinear, Interpolation::bilinear_spherical}) {
        for (const Grid& grid : {Grid{equiangular, 7, 12}, {legendre_gauss, 6, 33}}) {
            const Resampling table = resampling(grid, grid, kind);
            EXPECT_TRUE(table.is_identity);
            const auto x = wave(grid.n_lat * grid.n_lon, 0.3);
            EXPECT_EQ(resample<float>(queue(), table, 1, x), x);
        }
    }
}

TEST_P(SphereResampleOn, ShiftOfInputShiftsOutputToTheBit) {
    const Grid in{legendre_gauss, 8, 20}, out{equiangular, 16, 40};
    const Resampling table = resampling(out, in, Interpolation::bilinear);
    // A constant row beside each pole: its mean does not depend on the order of the sum.
    auto x = wave(8 * 20, 0.3);
    std::fill_n(x.begin(), 20, 1.0);
    std::fill_n(x.end() - 20, 20, 2.0);
    std::vector<double> moved(x.size());
    for (size_t i = 0; i < x.size(); ++i) moved[i - i % 20 + (i + 1) % 20] = x[i];
    const auto y = resample<float>(queue(), table, 1, x);
    const auto z = resample<float>(queue(), table, 1, moved);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(z[i - i % 40 + (i % 40 + 2) % 40], y[i]);
}

TEST_P(SphereResampleOn, GivesTheOfficialOutputs) {
    const Queue exact(Backend::ref, VectorLevel::scalar, 1);
    for (int i = 0; i < 3; ++i) {
        SCOPED_TRACE("resample_" + std::to_string(i));
        const GoldenFile file(SURROGATE_TEST_DATA "/sphere/operators/resample_" +
                              std::to_string(i) + ".safetensors");
        const auto network = file.card().at("network");
        const auto grid = [&](const char* side) {
            const auto shape = network.at(std::string(side) + "_shape").get<std::vector<int64_t>>();
            const std::string kind = network.at(std::string("grid_") + side);
            return Grid{parse_grid_kind(kind), shape[0], shape[1]};
        };
        const Resampling table = resampling(grid("out"), grid("in"), Interpolation::bilinear);
        const auto x = file.tensor("check/input/x").values;
        const auto want = file.tensor("check/output64/y").values;
        const double official = relative_l2(file.tensor("check/output/y").values, want);
        EXPECT_LE(relative_l2(resample<double>(exact, table, 2, x), want), 1e-6);
        EXPECT_LE(relative_l2(resample<float>(queue(), table, 2, x), want),
                  std::max(3 * official, 2e-6));
    }
}

/// Spec of the sphere, section 10.
TEST_P(SphereResampleOn, GivesTheNumbersOfTheSelfCheck) {
    const Resampling table =
        resampling({equiangular, 8, 16}, {legendre_gauss, 4, 8}, Interpolation::bilinear);
    const auto y = resample<float>(queue(), table, 1, wave(32, 0.5));
    EXPECT_NEAR(y[0], 0.1721747, 1e-6);
    EXPECT_NEAR(y[3 * 16 + 5], 0.5781210, 1e-6);
    EXPECT_NEAR(y[7 * 16 + 15], 0.1811264, 1e-6);
    double sum = 0;
    for (double value : y) sum += value * value;
    EXPECT_NEAR(sum, 19.42968, 2e-5);
}

/// Great circles: the function cos(lambda) on the equator is met exactly between columns.
TEST_P(SphereResampleOn, SphericalWeightsFollowTheCircle) {
    const Resampling table =
        resampling({equiangular, 3, 24}, {equiangular, 3, 8}, Interpolation::bilinear_spherical);
    std::vector<double> x(24);
    for (size_t i = 0; i < 24; ++i) x[i] = std::cos(2 * pi / 8 * static_cast<double>(i % 8));
    const auto y = resample<float>(queue(), table, 1, x);
    for (size_t i = 0; i < y.size(); ++i)
        EXPECT_NEAR(y[i], std::cos(2 * pi / 24 * static_cast<double>(i % 24)), 3e-7);
}

TEST(SphereResample, RefusesGridsWithoutRowsOrColumns) {
    EXPECT_THROW(resampling({equiangular, 4, 8}, {equiangular, 1, 4}, Interpolation::bilinear),
                 Error);
    EXPECT_THROW(resampling({equiangular, 4, 0}, {equiangular, 4, 4}, Interpolation::bilinear),
                 Error);
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
