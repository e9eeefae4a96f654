// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/harmonics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <string>

#include "tests/support/golden_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::kernels::sphere {
namespace {

using enum GridKind;
using Complex = Harmonics::Complex;
using std::numbers::pi;
using surrogate::test::GoldenFile;
using surrogate::test::refusal;

/// Random coefficients a real field can have; `from` is the lowest degree that is not zero.
std::vector<Complex> random_coefficients(int64_t n_degree, int64_t n_lon, int64_t from) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    std::vector<Complex> c(static_cast<size_t>(n_degree * n_degree));
    for (int64_t l = from; l < n_degree; ++l) {
        for (int64_t m = 0; m <= l; ++m) {
            const double re = normal(random), im = normal(random);
            // Order n_lon / 2 has no sine on the grid, and counts once.
            if (2 * m < n_lon) c[static_cast<size_t>(l * n_degree + m)] = {re, m == 0 ? 0 : im};
        }
    }
    return c;
}

void expect_near(const std::vector<Complex>& got, const std::vector<Complex>& want, double bound) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
        ASSERT_LE(std::abs(got[i] - want[i]), bound) << "coefficient " << i;
}

TEST(SphereHarmonics, TruncationFollowsTheGrid) {
    EXPECT_EQ(default_truncation({equiangular, 33, 64}).n_degree, 17);
    EXPECT_EQ(default_truncation({equiangular, 32, 64}).n_degree, 16);
    EXPECT_EQ(default_truncation({legendre_gauss, 32, 64}).n_degree, 32);
    EXPECT_EQ(default_truncation({lobatto, 32, 64}).n_degree, 31);
    EXPECT_EQ(default_truncation({legendre_gauss, 32, 20}).n_degree, 11);
    EXPECT_TRUE(refusal([] {
                    default_truncation({equiangular_trapezoidal, 8, 16});
                }).says("no spherical harmonic transform"));
    EXPECT_TRUE(refusal([] { Harmonics({equiangular, 8, 16}, {10}, true); }).says("1 to 9"));
    EXPECT_THROW(Harmonics({equiangular, 8, 16}, {0}, true), Error);
}

TEST(SphereHarmonics, LegendreFunctionsAreThoseOfTheTextbook) {
    const double theta = 0.8, x = std::cos(theta), s = std::sin(theta);
    double p[16];
    legendre_functions(theta, 4, p);
    const auto at = [&](int m, int l) { return p[m * 4 + l]; };
    EXPECT_NEAR(at(0, 0), std::sqrt(1 / (4 * pi)), 1e-15);
    EXPECT_NEAR(at(0, 1), std::sqrt(3 / (4 * pi)) * x, 1e-15);
    EXPECT_NEAR(at(1, 1), std::sqrt(3 / (8 * pi)) * s, 1e-15);
    EXPECT_NEAR(at(0, 2), std::sqrt(5 / (16 * pi)) * (3 * x * x - 1), 1e-15);
    EXPECT_NEAR(at(1, 2), std::sqrt(15 / (8 * pi)) * s * x, 1e-15);
    EXPECT_NEAR(at(2, 2), std::sqrt(15 / (32 * pi)) * s * s, 1e-15);
    EXPECT_NEAR(at(3, 3), std::sqrt(35 / (64 * pi)) * s * s * s, 1e-15);
    EXPECT_EQ(at(3, 2), 0);
}

TEST(SphereHarmonics, GivesTheOfficialCoefficients) {
    for (int i = 0; i < 2; ++i) {
        SCOPED_TRACE("sht_" + std::to_string(i));
        const GoldenFile file(SURROGATE_TEST_DATA "/sphere/operators/sht_" + std::to_string(i) +
                              ".safetensors");
        const auto network = file.card().at("network");
        const std::string kind = network.at("grid");
        const Grid grid{parse_grid_kind(kind), network.at("nlat"), network.at("nlon")};
        const int64_t n = network.at("lmax");
        EXPECT_EQ(default_truncation(grid).n_degree, n);
        const Harmonics harmonics(grid, {n}, network.at("csphase"));
        const auto x = file.tensor("check/input/x").values;
        const auto re = file.tensor("check/coefficients_re").values;
        const auto im = file.tensor("check/coefficients_im").values;
        const auto inverse = file.tensor("check/inverse").values;
        const auto n_point = static_cast<size_t>(grid.n_lat * grid.n_lon);
        const auto n_coefficient = static_cast<size_t>(n * n);
        for (size_t channel = 0; channel < 2; ++channel) {
            std::vector<Complex> c(n_coefficient), want;
            harmonics.forward(x.data() + channel * n_point, c.data());
            for (size_t j = 0; j < n_coefficient; ++j)
                want.emplace_back(re[channel * n_coefficient + j], im[channel * n_coefficient + j]);
            expect_near(c, want, 1e-13);
            std::vector<double> y(n_point);
            harmonics.inverse(want.data(), y.data());
            for (size_t j = 0; j < n_point; ++j)
                ASSERT_NEAR(y[j], inverse[channel * n_point + j], 1e-13);
        }
    }
}

const Grid round_trip_grids[] = {{equiangular, 17, 33},    {equiangular, 32, 64},
                                 {legendre_gauss, 9, 17},  {legendre_gauss, 16, 32},
                                 {legendre_gauss, 16, 30}, {lobatto, 12, 24}};

TEST(SphereHarmonics, InverseThenForwardIsTheIdentity) {
    const surrogate::test::TrapGuard traps;
    for (const Grid& grid : round_trip_grids) {
        const int64_t n = default_truncation(grid).n_degree;
        for (bool csphase : {false, true}) {
            const Harmonics harmonics(grid, {n}, csphase);
            const auto c = random_coefficients(n, grid.n_lon, 0);
            std::vector<double> f(static_cast<size_t>(grid.n_lat * grid.n_lon));
            harmonics.inverse(c.data(), f.data());
            std::vector<Complex> back(c.size());
            harmonics.forward(f.data(), back.data());
            expect_near(back, c, 3e-14 * static_cast<double>(n));
        }
    }
}

TEST(SphereHarmonics, VectorInverseThenForwardIsTheIdentity) {
    const surrogate::test::TrapGuard traps;
    for (const Grid& grid : round_trip_grids) {
        // One degree less than scalar rules integrate: products of derivatives have a higher one.
        const int64_t n = default_truncation(grid).n_degree - 1;
        const Harmonics harmonics(grid, {n}, true);
        const auto s = random_coefficients(n, grid.n_lon, 1);
        std::vector<Complex> c = s;
        for (const Complex& value : s) c.push_back(0.5 * value + value * value.imag());
        std::vector<double> v(static_cast<size_t>(2 * grid.n_lat * grid.n_lon));
        harmonics.vector_inverse(c.data(), v.data());
        std::vector<Complex> back(c.size());
        harmonics.vector_forward(v.data(), back.data());
        for (int64_t l = 0; l < n; ++l)  // sines of order 0 do not exist
            back[static_cast<size_t>(n * n + l * n)].imag(
                c[static_cast<size_t>(n * n + l * n)].imag());
        expect_near(back, c, 1e-12 * static_cast<double>(n));
    }
}

/// The gradient of f has the coefficients of f as spheroidal ones, and no others.
TEST(SphereHarmonics, GradientOfAnHarmonicIsSpheroidal) {
    const Grid grid{legendre_gauss, 12, 24};
    const Harmonics harmonics(grid, {8}, false);
    const auto rows = latitudes(grid.kind, grid.n_lat);
    std::vector<double> v(2 * 12 * 24);
    // f = sin(theta) cos(lambda): df/dtheta, and df/dlambda / sin(theta).
    for (size_t k = 0; k < 12; ++k) {
        for (size_t j = 0; j < 24; ++j) {
            const double lambda = 2 * pi * static_cast<double>(j) / 24;
            v[k * 24 + j] = std::cos(rows.theta[k]) * std::cos(lambda);
            v[12 * 24 + k * 24 + j] = -std::sin(lambda);
        }
    }
    std::vector<Complex> c(2 * 64);
    harmonics.vector_forward(v.data(), c.data());
    for (size_t i = 0; i < c.size(); ++i) {
        const double want = i == 8 + 1 ? std::sqrt(8 * pi / 3) / 2 : 0;  // l = 1, m = 1
        EXPECT_NEAR(std::abs(c[i] - want), 0, 1e-13) << i;
    }
}

TEST(SphereHarmonics, RowsOfTheInverseNeedOnlyTheirTables) {
    const Grid grid{equiangular, 17, 33};
    const auto c = random_coefficients(9, 33, 0);
    std::vector<double> whole(17 * 33), part(4 * 33);
    Harmonics(grid, {9}, true).inverse(c.data(), whole.data());
    Harmonics(grid, {9}, true, 5, 9).inverse_rows(c.data(), 5, 9, part.data());
    for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], whole[5 * 33 + i]);
}

TEST(SphereHarmonics, FineGridsKeepTheirDigits) {
    const Grid grid{legendre_gauss, 360, 720};
    const Harmonics harmonics(grid, {300}, false);
    const auto c = random_coefficients(300, 720, 290);
    std::vector<double> f(360 * 720);
    harmonics.inverse(c.data(), f.data());
    std::vector<Complex> back(c.size());
    harmonics.forward(f.data(), back.data());
    expect_near(back, c, 1e-11);
}

TEST(SphereEmbedding, SpectralIsThatOfTheOfficialModels) {
    for (const char* name : {"transformer_neighborhood_24x48", "transformer_global_24x48",
                             "transformer_paper_64x128"}) {
        const GoldenFile file(SURROGATE_TEST_DATA "/sphere/" + std::string(name) + ".safetensors");
        const auto want = file.tensor("pos_embed.position_embeddings");  // (1, C, h, w)
        const int64_t n_channel = want.shape[1];
        const Grid grid{legendre_gauss, want.shape[2], want.shape[3]};
        const auto got = spectral_embedding(grid, n_channel, 0, grid.n_lat);
        for (int64_t c = 0; c < n_channel; ++c)
            for (int64_t h = 0; h < grid.n_lat; ++h)
                for (int64_t w = 0; w < grid.n_lon; ++w) {
                    const auto a = static_cast<size_t>((h * n_channel + c) * grid.n_lon + w);
                    const auto b = static_cast<size_t>((c * grid.n_lat + h) * grid.n_lon + w);
                    // Values up to 1; the official transform rounds more than once.
                    ASSERT_NEAR(got[a], want.values[b], 3e-7) << name << ", channel " << c;
                }
    }
}

TEST(SphereEmbedding, OfSomeRowsIsPartOfTheWhole) {
    const Grid grid{legendre_gauss, 8, 16};
    for (const auto& make : {spectral_embedding, sequence_embedding}) {
        const auto whole = make(grid, 9, 0, 8), part = make(grid, 9, 3, 5);
        ASSERT_EQ(part.size(), 2u * 9 * 16);
        for (size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], whole[3 * 9 * 16 + i]);
        EXPECT_TRUE(make(grid, 9, 4, 4).empty());
    }
}

TEST(SphereEmbedding, SequenceCountsPointsOfTheGrid) {
    const auto e = sequence_embedding({equiangular, 4, 6}, 5, 0, 4);
    const double p = 2 * 6 + 3;  // row 2, column 3
    EXPECT_FLOAT_EQ(e[(2 * 5 + 0) * 6 + 3], static_cast<float>(std::sin(p)));
    EXPECT_FLOAT_EQ(e[(2 * 5 + 1) * 6 + 3],
                    static_cast<float>(std::cos(p / std::pow(10000.0, 2.0 / 5))));
}

TEST(SphereEmbedding, RefusesMoreChannelsThanHarmonics) {
    EXPECT_TRUE(refusal([] {
                    spectral_embedding({equiangular, 8, 16}, 17, 0, 8);
                }).says("1 to 16 channels"));
    // Channel 4 (l = 2, m = -2) is a sine without a value on 4 longitudes.
    EXPECT_TRUE(refusal([] {
                    spectral_embedding({legendre_gauss, 8, 4}, 5, 0, 8);
                }).says("channel 4"));
    EXPECT_NO_THROW(spectral_embedding({legendre_gauss, 8, 4}, 4, 0, 8));
}

}  // namespace
}  // namespace surrogate::kernels::sphere
