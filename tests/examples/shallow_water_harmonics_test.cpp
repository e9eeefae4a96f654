// SPDX-License-Identifier: Apache-2.0
// Compares two independent implementations of the same transforms: the example's on ranks, and the
// library's, which the example does not use.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/sphere/harmonics.hpp"
#include "tests/examples/shallow_water_support.hpp"

namespace {

using shallow_water::Complex;
using shallow_water::Layout;
using shallow_water::Resolution;
using shallow_water::Transform;
using surrogate::kernels::GridKind;
using surrogate::kernels::sphere::Harmonics;
using surrogate::test::distance;
using surrogate::test::own_part;

struct Case {
    Resolution resolution;
    const char* why;
};

class ShallowWaterHarmonics : public testing::TestWithParam<Case> {
protected:
    /// Smooth or not, fields [n][n_lat][n_lon] of a fixed pattern.
    std::vector<double> pattern(int64_t n) const {
        const Resolution& r = GetParam().resolution;
        std::vector<double> values(static_cast<std::size_t>(n * r.n_lat * r.n_lon));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = std::sin(0.37 * double(i)) + std::cos(1.9 * double(i % 101));
        return values;
    }

    /// Coefficients of this rank's orders against [field][l][m] of the library.
    void compare(const std::vector<Complex>& own, const std::vector<Complex>& whole) const {
        const int64_t n_degree = layout_.resolution().n_degree;
        std::size_t at = 0;
        double largest = 0, size = 0;
        for (int64_t f = 0; at < own.size(); ++f)
            for (const int64_t m : layout_.orders())
                for (int64_t l = 0; l < n_degree; ++l, ++at) {
                    const auto i = static_cast<std::size_t>((f * n_degree + l) * n_degree + m);
                    largest = std::max(largest, std::abs(own[at] - whole[i]));
                    size = std::max(size, std::abs(whole[i]));
                }
        EXPECT_LE(largest, 1e-13 * size) << GetParam().why;
    }

    Layout layout_{MPI_COMM_WORLD, GetParam().resolution};
    Transform transform_{layout_, false};
    Harmonics library_{
        {GridKind::legendre_gauss, GetParam().resolution.n_lat, GetParam().resolution.n_lon},
        {GetParam().resolution.n_degree},
        false};
};

TEST_P(ShallowWaterHarmonics, ScalarsAreThoseOfTheLibrary) {
    const int64_t n_degree = layout_.resolution().n_degree;
    const std::vector<double> field = pattern(1);
    std::vector<Complex> own(static_cast<std::size_t>(transform_.n_coefficient()));
    std::vector<Complex> whole(static_cast<std::size_t>(n_degree * n_degree));
    transform_.to_coefficients({1, 0}, own_part(layout_, field).data(), own.data());
    library_.forward(field.data(), whole.data());
    compare(own, whole);

    std::vector<double> back(static_cast<std::size_t>(layout_.n_point())), expected(field.size());
    transform_.to_grid({1, 0}, own.data(), back.data());
    library_.inverse(whole.data(), expected.data());
    EXPECT_LE(distance(layout_, back, own_part(layout_, expected), 0), 1e-13) << GetParam().why;
}

TEST_P(ShallowWaterHarmonics, VectorsAreThoseOfTheLibrary) {
    const int64_t n_degree = layout_.resolution().n_degree;
    const std::vector<double> field = pattern(2);
    std::vector<Complex> own(static_cast<std::size_t>(2 * transform_.n_coefficient()));
    std::vector<Complex> whole(static_cast<std::size_t>(2 * n_degree * n_degree));
    transform_.to_coefficients({0, 1}, own_part(layout_, field).data(), own.data());
    library_.vector_forward(field.data(), whole.data());
    compare(own, whole);

    std::vector<double> back(static_cast<std::size_t>(2 * layout_.n_point()));
    std::vector<double> expected(field.size());
    transform_.to_grid({0, 1}, own.data(), back.data());
    library_.vector_inverse(whole.data(), expected.data());
    for (int64_t part = 0; part < 2; ++part)
        EXPECT_LE(distance(layout_, back, own_part(layout_, expected), part), 1e-13)
            << GetParam().why;
}

INSTANTIATE_TEST_SUITE_P(Grids, ShallowWaterHarmonics,
                         testing::Values(Case{{64, 128, 22}, "the trained model's"},
                                         Case{{33, 64, 20}, "a row on the equator"},
                                         Case{{24, 45, 23}, "odd n_lon, all orders"},
                                         Case{{17, 32, 17}, "an order n_lon / 2"}));

}  // namespace
