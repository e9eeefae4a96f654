// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/convolve.hpp"

#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

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

class SphereConvolveOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SphereConvolveOn);

std::vector<double> random_floats(int64_t count, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<double> x(static_cast<size_t>(count));
    for (double& value : x) value = normal(random);
    return x;
}

/// Two functions, three columns of two phases; every number by hand.
TEST_P(SphereConvolveOn, GivesNumbersOfTheFormula) {
    Stencil stencil;
    stencil.n_column = 3;
    stencil.n_phase_in = 2;
    stencil.end_row = 1;
    stencil.n_basis = 2;
    stencil.begin = {0, 1, 3};
    stencil.strips = {{1, -1, 2}, {0, 0, 3}, {3, 1, 1}};
    stencil.value_begin = {0, 2, 6};
    stencil.values = {1, 10, 1, 10, 100, 1000};
    const std::vector<float> values = rounded<float>(stencil.values);
    // Row 0: phase 0 holds 0, 2, 4, phase 1 holds 1, 3, 5; row 1 has 10 more.
    const std::vector<double> x = {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};
    const Field<float> field(stencil, {equiangular, 2, 6}, 1, x);
    TileBox<float> z(TileBox<float>::output, 2, 3), y(TileBox<float>::input, 1, 2);
    Traps traps;
    apply_basis<float>(queue(), {&stencil, values.data()}, 0, 0, 0, field.rings(), z.view());
    const float want[2][3] = {{15, 31, 53}, {13420, 15042, 11204}};
    for (int k = 0; k < 2; ++k)
        for (int i = 0; i < 3; ++i) EXPECT_EQ(z.view()(k, i), want[k][i]);
    // The other order: t_0 = x, t_1 = -x; columns 1 and 2, on top of 1.
    std::vector<double> t = x;
    for (double value : x) t.push_back(-value);
    const Field<float> of_weights(stencil, {equiangular, 2, 6}, 2, t);
    y.fill([](int64_t, int64_t) { return 1; });
    sum_basis<float>(queue(), {&stencil, values.data()}, 0, 0, 1, of_weights.rings(), true,
                     y.view());
    EXPECT_EQ(y.view()(0, 0), 1 + 31 - 15042);
    EXPECT_EQ(y.view()(0, 1), 1 + 53 - 11204);
}

struct Convolution {
    Grid out, in;
    double theta_cutoff;
    bool is_transposed;
};
const Convolution convolutions[] = {
    {{equiangular, 5, 17}, {equiangular, 9, 17}, 0.8, false},       // odd, one lane over
    {{legendre_gauss, 8, 15}, {equiangular, 17, 45}, 0.55, false},  // three phases
    {{lobatto, 7, 33}, {legendre_gauss, 12, 66}, 0.6, false},       // two phases
    {{equiangular, 6, 4}, {equiangular, 6, 8}, 3.2, false},         // full rings, fewer than lanes
    {{equiangular, 9, 32}, {equiangular, 9, 32}, 0.5, false},       // whole vectors
    {{equiangular, 17, 45}, {legendre_gauss, 8, 15}, 0.55, true},   // three phases of the output
    {{equiangular, 9, 40}, {equiangular, 5, 20}, 1.0, true},
};

TEST_P(SphereConvolveOn, AgreesWithReferenceInDouble) {
    std::mt19937 random = kernels::test::generator();
    for (const Convolution& c : convolutions) {
        for (int64_t n_channel : {1, 2, 3, 5, 7}) {
            Disco disco{c.out,
                        c.in,
                        {Basis::piecewise_linear, {5, 4}},
                        c.is_transposed,
                        n_channel,
                        n_channel,
                        1,
                        {},
                        {}};
            disco.filter.theta_cutoff = c.theta_cutoff;
            disco.weight = random_floats(n_channel * n_channel * 9, random);
            const auto x = random_floats(n_channel * c.in.n_lat * c.in.n_lon, random);
            const Queue exact(Backend::ref, VectorLevel::scalar, 1);
            const auto want = geometry_first<double>(exact, disco, x, 64);
            const auto other = weights_first<double>(exact, disco, x, 64);
            EXPECT_LE(relative_l2(other, want), 1e-14);
            Traps traps;
            // Sums of some hundred products of either sign, rounded weights.
            EXPECT_LE(relative_l2(geometry_first<float>(queue(), disco, x, 64), want), 4e-7);
            EXPECT_LE(relative_l2(weights_first<float>(queue(), disco, x, 64), want), 4e-7);
        }
    }
}

TEST_P(SphereConvolveOn, KeepsInsideItsTileForEverySplit) {
    std::mt19937 random = kernels::test::generator();
    const Convolution& c = convolutions[2];
    Filter filter{Basis::piecewise_linear, {5, 4}};
    filter.theta_cutoff = c.theta_cutoff;
    const Stencil stencil = convolution(c.out, c.in, filter, 0, c.out.n_lat);
    const std::vector<float> values = rounded<float>(stencil.values);
    const Field<float> x(stencil, c.in, 18, random_floats(18 * c.in.n_lat * c.in.n_lon, random));
    const ConvolutionTable<float> table{&stencil, values.data()};
    TileBox<float> z(TileBox<float>::output, 18 * 9, 33), y(TileBox<float>::output, 2, 33);
    for (int64_t row : {int64_t{0}, c.out.n_lat / 2}) {
        apply_basis<float>(queue(), table, row, 0, 0, x.rings(), z.view());
        sum_basis<float>(queue(), table, row, 0, 0, x.rings(), false, y.view());
        for (const auto& [first, count] :
             {std::pair<int64_t, int64_t>{0, 1}, {32, 1}, {5, 17}, {1, 32}, {16, 16}, {3, 0}}) {
            TileBox<float> part_z(TileBox<float>::output, 18 * 9, count, {1, 3});
            TileBox<float> part_y(TileBox<float>::output, 2, count, {0, 1});
            apply_basis<float>(queue(), table, row, 0, first, x.rings(), part_z.view());
            sum_basis<float>(queue(), table, row, 0, first, x.rings(), false, part_y.view());
            part_z.expect_kept_inside("z");
            part_y.expect_kept_inside("y");
            const Tile<const float> of_z{z.view().data + first, {18 * 9, count}, z.view().stride};
            const Tile<const float> of_y{y.view().data + first, {2, count}, y.view().stride};
            kernels::test::expect_same_bits(part_z.input_view(), of_z);
            kernels::test::expect_same_bits(part_y.input_view(), of_y);
        }
    }
}

TEST(SphereConvolve, HasSameBitsOnAllVectorLevels) {
    std::mt19937 random = kernels::test::generator();
    for (const Convolution& c : convolutions) {
        Disco disco{c.out, c.in, {Basis::piecewise_linear, {5, 4}}, c.is_transposed, 4, 6, 2,
                    {},    {}};
        disco.filter.theta_cutoff = c.theta_cutoff;
        disco.weight = random_floats(6 * 2 * 9, random);
        const auto x = random_floats(4 * c.in.n_lat * c.in.n_lon, random);
        const Queue scalar(Backend::simd, VectorLevel::scalar, 1);
        const auto geometry = geometry_first<float>(scalar, disco, x, 64);
        const auto weights = weights_first<float>(scalar, disco, x, 64);
        for (VectorLevel level : kernels::test::wide_levels()) {
            const Queue queue(Backend::simd, level, 1);
            EXPECT_EQ(geometry_first<float>(queue, disco, x, 11), geometry);
            EXPECT_EQ(weights_first<float>(queue, disco, x, 11), weights);
        }
    }
}

/// One coarse step of longitude.
std::vector<double> shifted(const std::vector<double>& x, int64_t n_lon, int64_t step) {
    std::vector<double> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        const auto column = static_cast<int64_t>(i) % n_lon;
        y[i - static_cast<size_t>(column) + static_cast<size_t>((column + step) % n_lon)] = x[i];
    }
    return y;
}

TEST_P(SphereConvolveOn, ShiftOfInputShiftsOutputToTheBit) {
    std::mt19937 random = kernels::test::generator();
    for (const Convolution& c : convolutions) {
        Disco disco{c.out, c.in, {Basis::piecewise_linear, {5, 4}}, c.is_transposed, 2, 3, 1,
                    {},    {}};
        disco.filter.theta_cutoff = c.theta_cutoff;
        disco.weight = random_floats(3 * 2 * 9, random);
        const auto x = random_floats(2 * c.in.n_lat * c.in.n_lon, random);
        const int64_t n_column = std::min(c.in.n_lon, c.out.n_lon);
        const auto moved = shifted(x, c.in.n_lon, c.in.n_lon / n_column);
        const int64_t step = c.out.n_lon / n_column;
        EXPECT_EQ(geometry_first<float>(queue(), disco, moved, 64),
                  shifted(geometry_first<float>(queue(), disco, x, 64), c.out.n_lon, step));
        EXPECT_EQ(weights_first<float>(queue(), disco, moved, 64),
                  shifted(weights_first<float>(queue(), disco, x, 64), c.out.n_lon, step));
    }
}

TEST_P(SphereConvolveOn, NodalFilterKeepsConstants) {
    const Disco disco{{equiangular, 13, 24},
                      {equiangular, 25, 48},
                      {Basis::piecewise_linear, {5, 4}, BasisNorm::nodal, false, 3 * pi / 24},
                      false,
                      1,
                      9,
                      1,
                      // Output o is function o alone.
                      [] {
                          std::vector<double> w(81);
                          for (size_t k = 0; k < 9; ++k) w[k * 9 + k] = 1;
                          return w;
                      }(),
                      {}};
    const std::vector<double> x(25 * 48, 0.7f);
    // Weights of up to 240 points, rounded one by one: eps * sqrt(240), and the scale of x.
    constexpr double bound = 1.4e-6;
    for (double y : geometry_first<float>(queue(), disco, x, 64)) EXPECT_NEAR(y, 0.7f, bound);
    for (double y : weights_first<float>(queue(), disco, x, 64)) EXPECT_NEAR(y, 0.7f, bound);
}

/// A row of thousands of terms is as accurate as its blocks.
TEST(SphereConvolve, PolarRowsOfFineGridsKeepTheirDigits) {
    const Grid grid{equiangular, 361, 720};
    Filter filter{Basis::zernike, {1, 0}};
    filter.theta_cutoff = 8 * pi / 360;
    const Stencil stencil = convolution(grid, grid, filter, 0, 1);
    EXPECT_GT(stencil.pairs(0), 5000);
    const std::vector<float> values = rounded<float>(stencil.values);
    const Field<float> x(stencil, grid, 1, std::vector<double>(361 * 720, 1.0));
    TileBox<float> y(TileBox<float>::output, 1, 16);
    simd::apply_basis(best_vector_level(), {&stencil, values.data()}, 0, 0, 0, x.rings(), y.view());
    EXPECT_NEAR(y.view()(0, 0), 1, 5e-7);
}

Disco golden_layer(const GoldenFile& file) {
    const auto network = file.card().at("network");
    const auto grid = [&](const char* side) {
        const auto shape = network.at(std::string(side) + "_shape").get<std::vector<int64_t>>();
        const std::string kind = network.at(std::string("grid_") + side);
        return Grid{parse_grid_kind(kind), shape[0], shape[1]};
    };
    auto shape = network.at("kernel_shape").get<std::vector<int64_t>>();
    shape.resize(2, 1);
    const std::string basis = network.at("basis_type"), layer = network.at("layer"),
                      norm = network.value("basis_norm_mode", "nodal");
    Disco disco{grid("out"),
                grid("in"),
                {},
                layer == "DiscreteContinuousConvTransposeS2",
                network.at("in_channels"),
                network.at("out_channels"),
                network.value("groups", 1),
                file.tensor("weight").values,
                {}};
    disco.filter = {basis == "harmonic"  ? Basis::harmonic
                    : basis == "zernike" ? Basis::zernike
                                         : Basis::piecewise_linear,
                    {shape[0], shape[1]},
                    norm == "mean" ? BasisNorm::mean : BasisNorm::nodal,
                    false,
                    network.at("theta_cutoff")};
    if (file.has("bias")) disco.bias = file.tensor("bias").values;
    return disco;
}

TEST_P(SphereConvolveOn, GivesTheOfficialOutputs) {
    const Queue exact(Backend::ref, VectorLevel::scalar, 1);
    for (int i = 0; i < 6; ++i) {
        SCOPED_TRACE("disco_" + std::to_string(i));
        const GoldenFile file(SURROGATE_TEST_DATA "/sphere/operators/disco_" + std::to_string(i) +
                              ".safetensors");
        const Disco disco = golden_layer(file);
        const auto x = file.tensor("check/input/x").values;
        const auto want = file.tensor("check/output64/y").values;
        const double official = relative_l2(file.tensor("check/output/y").values, want);
        EXPECT_LE(relative_l2(geometry_first<double>(exact, disco, x, 64), want), 1e-6);
        const double bound = std::max(3 * official, 2e-6);
        EXPECT_LE(relative_l2(geometry_first<float>(queue(), disco, x, 64), want), bound);
        EXPECT_LE(relative_l2(weights_first<float>(queue(), disco, x, 64), want), bound);
    }
}

/// Spec of the sphere, section 10.
TEST_P(SphereConvolveOn, GivesTheNumbersOfTheSelfCheck) {
    const Disco disco{{legendre_gauss, 8, 16},
                      {equiangular, 16, 32},
                      {Basis::piecewise_linear, {5, 4}, BasisNorm::nodal, false, 3 * pi / 15},
                      false,
                      2,
                      3,
                      1,
                      wave(3 * 2 * 9, 0.4),
                      {}};
    const auto y = geometry_first<float>(queue(), disco, wave(2 * 16 * 32, 0.3), 64);
    const auto at = [&](size_t o, size_t h, size_t w) { return y[(o * 8 + h) * 16 + w]; };
    EXPECT_NEAR(at(0, 0, 0), -0.1811501, 2e-6);
    EXPECT_NEAR(at(1, 3, 5), 0.6495987, 2e-6);
    EXPECT_NEAR(at(2, 7, 15), 0.1243724, 2e-6);
    double sum = 0;
    for (double value : y) sum += value * value;
    EXPECT_NEAR(sum, 149.8964, 2e-4);
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
