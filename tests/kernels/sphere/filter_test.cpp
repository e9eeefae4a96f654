// SPDX-License-Identifier: Apache-2.0
// Weights of convolutions. Sums marked official were made with torch-harmonics 0.9.1 in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "kernels/sphere/stencil.hpp"
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

Filter filter(Basis basis, std::array<int64_t, 2> shape, BasisNorm norm, double theta_cutoff) {
    return {basis, shape, norm, false, theta_cutoff};
}

/// Numbers that tell all entries of Psi apart.
double signature(const std::vector<double>& psi) {
    double sum = 0;
    for (size_t n = 0; n < psi.size(); ++n) sum += psi[n] * std::cos(0.7 * static_cast<double>(n));
    return sum;
}

/// Sums of the weights of every list.
std::vector<double> sums(const Stencil& stencil) {
    std::vector<double> all;
    for (size_t list = 0; list + 1 < stencil.value_begin.size(); ++list) {
        double sum = 0;
        for (int64_t v = stencil.value_begin[list]; v < stencil.value_begin[list + 1]; ++v)
            sum += stencil.values[static_cast<size_t>(v)];
        all.push_back(sum);
    }
    return all;
}

/// 16 x 32 equiangular to 8 x 16 Gauss; transposed 8 x 16 equiangular to 15 x 32 Gauss. Left out:
/// support and modal of angular hats, whose supports end on nodes (0.5 % between official runs).
TEST(SphereFilter, HasTheOfficialWeights) {
    struct Case {
        bool is_transposed;
        Basis basis;
        std::array<int64_t, 2> shape;
        BasisNorm norm;
        double official;
    };
    const Case cases[] = {
        {false, Basis::piecewise_linear, {5, 4}, BasisNorm::nodal, 2.32375561396405},
        {false, Basis::piecewise_linear, {5, 4}, BasisNorm::mean, 2.49521176388616},
        {false, Basis::piecewise_linear, {5, 4}, BasisNorm::geometric, 0.339407697386976},
        {false, Basis::piecewise_linear, {5, 4}, BasisNorm::none, 0.0116410840735897},
        {true, Basis::piecewise_linear, {5, 4}, BasisNorm::nodal, -3.4871167165355},
        {true, Basis::piecewise_linear, {5, 4}, BasisNorm::mean, -2.94078635671393},
        {false, Basis::piecewise_linear, {3, 1}, BasisNorm::nodal, 0.459705927830118},
        {false, Basis::piecewise_linear, {3, 1}, BasisNorm::mean, 0.469322769918601},
        {false, Basis::piecewise_linear, {3, 1}, BasisNorm::support, 0.140996785666043},
        {false, Basis::piecewise_linear, {3, 1}, BasisNorm::geometric, 0.117471912361727},
        {false, Basis::piecewise_linear, {3, 1}, BasisNorm::modal, 0.459705927830118},
        {false, Basis::piecewise_linear, {3, 1}, BasisNorm::none, 0.00402907894728466},
        {true, Basis::piecewise_linear, {3, 1}, BasisNorm::nodal, 1.76788649298634},
        {true, Basis::piecewise_linear, {3, 1}, BasisNorm::mean, -1.35322441557038},
        {true, Basis::piecewise_linear, {3, 1}, BasisNorm::modal, 1.76788649298634},
        {false, Basis::piecewise_linear, {4, 1}, BasisNorm::nodal, -0.236115063235764},
        {false, Basis::piecewise_linear, {4, 1}, BasisNorm::mean, -0.240451945803533},
        {false, Basis::piecewise_linear, {4, 1}, BasisNorm::support, -0.124931261661791},
        {false, Basis::piecewise_linear, {4, 1}, BasisNorm::geometric, -0.0433701098302086},
        {false, Basis::piecewise_linear, {4, 1}, BasisNorm::modal, -0.236115063235764},
        {false, Basis::piecewise_linear, {4, 1}, BasisNorm::none, -0.00148751810492572},
        {true, Basis::piecewise_linear, {4, 1}, BasisNorm::nodal, 1.19404512129041},
        {true, Basis::piecewise_linear, {4, 1}, BasisNorm::mean, 0.96161300880905},
        {true, Basis::piecewise_linear, {4, 1}, BasisNorm::modal, 1.19404512129041},
        {false, Basis::piecewise_linear, {4, 4}, BasisNorm::nodal, 1.15262951242763},
        {false, Basis::piecewise_linear, {4, 4}, BasisNorm::mean, 1.11490608885073},
        {false, Basis::piecewise_linear, {4, 4}, BasisNorm::geometric, 0.0384883696525038},
        {false, Basis::piecewise_linear, {4, 4}, BasisNorm::none, 0.00132008304593444},
        {true, Basis::piecewise_linear, {4, 4}, BasisNorm::nodal, -4.27350470301894},
        {true, Basis::piecewise_linear, {4, 4}, BasisNorm::mean, -1.83250299237145},
        {false, Basis::piecewise_linear, {2, 3}, BasisNorm::nodal, 0.340419668461482},
        {false, Basis::piecewise_linear, {2, 3}, BasisNorm::mean, 0.332091551649188},
        {false, Basis::piecewise_linear, {2, 3}, BasisNorm::geometric, 0.107772544034309},
        {false, Basis::piecewise_linear, {2, 3}, BasisNorm::none, 0.00369640775853596},
        {true, Basis::piecewise_linear, {2, 3}, BasisNorm::nodal, -0.822698109714413},
        {true, Basis::piecewise_linear, {2, 3}, BasisNorm::mean, -0.156771850149812},
        {false, Basis::zernike, {4, 1}, BasisNorm::nodal, -1.88893057955639},
        {false, Basis::zernike, {4, 1}, BasisNorm::mean, -1.9154349623677},
        {false, Basis::zernike, {4, 1}, BasisNorm::support, -0.749272378821512},
        {false, Basis::zernike, {4, 1}, BasisNorm::geometric, -1.47652394420962},
        {false, Basis::zernike, {4, 1}, BasisNorm::modal, -1.93239803020718},
        {false, Basis::zernike, {4, 1}, BasisNorm::none, -0.0506421613403042},
        {true, Basis::zernike, {4, 1}, BasisNorm::nodal, -5.0777324132434},
        {true, Basis::zernike, {4, 1}, BasisNorm::mean, -4.810041030202},
        {true, Basis::zernike, {4, 1}, BasisNorm::modal, -4.83940517695939},
        {false, Basis::harmonic, {3, 3}, BasisNorm::nodal, -0.0786858039778886},
        {false, Basis::harmonic, {3, 3}, BasisNorm::mean, -0.122112844084223},
        {false, Basis::harmonic, {3, 3}, BasisNorm::support, -0.0721143161827275},
        {false, Basis::harmonic, {3, 3}, BasisNorm::geometric, -0.113141383218776},
        {false, Basis::harmonic, {3, 3}, BasisNorm::modal, -0.313464134514133},
        {false, Basis::harmonic, {3, 3}, BasisNorm::none, -0.00388054945244899},
        {true, Basis::harmonic, {3, 3}, BasisNorm::nodal, 0.443336795692408},
        {true, Basis::harmonic, {3, 3}, BasisNorm::mean, -0.114729357369717},
        {true, Basis::harmonic, {3, 3}, BasisNorm::modal, -0.728740868410073},
        {false, Basis::morlet, {3, 2}, BasisNorm::nodal, -0.258621295237919},
        {false, Basis::morlet, {3, 2}, BasisNorm::mean, -0.144646133221534},
        {false, Basis::morlet, {3, 2}, BasisNorm::support, 0.000408271391389541},
        {false, Basis::morlet, {3, 2}, BasisNorm::geometric, -0.027000614887527},
        {false, Basis::morlet, {3, 2}, BasisNorm::modal, -0.0193652887592826},
        {false, Basis::morlet, {3, 2}, BasisNorm::none, -0.000926073363580654},
        {true, Basis::morlet, {3, 2}, BasisNorm::nodal, -1.22342845693894},
        {true, Basis::morlet, {3, 2}, BasisNorm::mean, -0.17016728108934},
        {true, Basis::morlet, {3, 2}, BasisNorm::modal, -0.57801327234626},
        {false, Basis::fourier_bessel, {3, 2}, BasisNorm::nodal, 1.19957081744993},
        {false, Basis::fourier_bessel, {3, 2}, BasisNorm::mean, 1.24030912141452},
        {false, Basis::fourier_bessel, {3, 2}, BasisNorm::support, 0.579917361901368},
        {false, Basis::fourier_bessel, {3, 2}, BasisNorm::geometric, 1.14100944016235},
        {false, Basis::fourier_bessel, {3, 2}, BasisNorm::modal, 1.18528026556002},
        {false, Basis::fourier_bessel, {3, 2}, BasisNorm::none, 0.0391346069165462},
        {true, Basis::fourier_bessel, {3, 2}, BasisNorm::nodal, -7.43809104665665},
        {true, Basis::fourier_bessel, {3, 2}, BasisNorm::mean, -8.95591230886108},
        {true, Basis::fourier_bessel, {3, 2}, BasisNorm::modal, -5.6351837147821},
    };
    const surrogate::test::TrapGuard traps;
    for (const Case& c : cases) {
        SCOPED_TRACE("basis " + std::to_string(static_cast<int>(c.basis)) + ", norm " +
                     std::to_string(static_cast<int>(c.norm)));
        const Grid in{equiangular, c.is_transposed ? 8 : 16, c.is_transposed ? 16 : 32};
        const Filter f = filter(c.basis, c.shape, c.norm, 0.53);
        const Stencil stencil = c.is_transposed
                                    ? transposed_convolution({legendre_gauss, 15, 32}, in, f, 0, 15)
                                    : convolution({legendre_gauss, 8, 16}, in, f, 0, 8);
        EXPECT_EQ(stencil.n_basis, f.n_basis());
        EXPECT_NEAR(signature(dense(stencil, in)), c.official, 1e-11);
    }
}

TEST(SphereFilter, OnUnlikeGridsHasTheOfficialWeights) {
    const Grid in{lobatto, 33, 45}, out{equiangular_trapezoidal, 12, 15};
    const Filter f = filter(Basis::piecewise_linear, {5, 4}, BasisNorm::nodal, 0.53);
    EXPECT_NEAR(signature(dense(convolution(out, in, f, 0, 12), in)), 0.2157117820723657, 1e-11);
}

TEST(SphereFilter, NodalWeightsOfPositiveFunctionsSumToOne) {
    const std::pair<Basis, std::array<int64_t, 2>> bases[] = {
        {Basis::piecewise_linear, {5, 4}}, {Basis::piecewise_linear, {3, 1}},
        {Basis::piecewise_linear, {4, 1}}, {Basis::piecewise_linear, {4, 4}},
        {Basis::piecewise_linear, {1, 5}}, {Basis::zernike, {1, 0}}};
    for (const auto& [basis, shape] : bases) {
        const Filter f = filter(basis, shape, BasisNorm::nodal, 3 * pi / 20);
        for (const Grid& in : {Grid{equiangular, 33, 60}, {lobatto, 32, 45}, {equiangular, 21, 30}})
            for (double sum : sums(convolution({legendre_gauss, 21, 15}, in, f, 0, 21)))
                EXPECT_NEAR(sum, 1, 1e-13);
    }
}

TEST(SphereFilter, KnowsItsNumberOfFunctions) {
    const auto n_basis = [](Basis basis, int64_t a, int64_t b) {
        return filter(basis, {a, b}, BasisNorm::nodal, 1).n_basis();
    };
    EXPECT_EQ(n_basis(Basis::piecewise_linear, 5, 4), 9);
    EXPECT_EQ(n_basis(Basis::piecewise_linear, 3, 1), 2);
    EXPECT_EQ(n_basis(Basis::piecewise_linear, 4, 4), 8);
    EXPECT_EQ(n_basis(Basis::harmonic, 2, 3), 6);
    EXPECT_EQ(n_basis(Basis::morlet, 3, 3), 9);
    EXPECT_EQ(n_basis(Basis::zernike, 4, 0), 10);
    EXPECT_EQ(n_basis(Basis::fourier_bessel, 3, 2), 11);
    EXPECT_EQ(n_basis(Basis::fourier_bessel, 2, 2), 6);
}

TEST(SphereFilter, OfSomeRowsIsPartOfTheWhole) {
    const Grid out{equiangular, 9, 12}, in{equiangular, 17, 24};
    for (BasisNorm norm : {BasisNorm::nodal, BasisNorm::mean, BasisNorm::modal}) {
        const Filter f = filter(Basis::piecewise_linear, {5, 4}, norm, 3 * pi / 16);
        const Stencil whole = convolution(out, in, f, 0, 9);
        const Stencil part = convolution(out, in, f, 4, 7);
        const auto first = static_cast<size_t>(whole.value_of(4, 0, 0));
        ASSERT_LE(first + part.values.size(), whole.values.size());
        EXPECT_TRUE(std::equal(part.values.begin(), part.values.end(),
                               whole.values.begin() + static_cast<std::ptrdiff_t>(first)));
    }
}

TEST(SphereFilter, OfOldReleasesAddsEpsilonToTheMean) {
    const Grid grid{equiangular, 9, 12};
    Filter f = filter(Basis::zernike, {2, 0}, BasisNorm::mean, 1e-3);
    // Supports of one point: sums about 1e-2 of a pole's weight, so that 1e-9 shows.
    const Stencil plain = convolution(grid, grid, f, 3, 4);
    f.adds_epsilon = true;
    const Stencil old = convolution(grid, grid, f, 3, 4);
    ASSERT_EQ(plain.values.size(), old.values.size());
    const Filter raw = filter(Basis::zernike, {2, 0}, BasisNorm::none, 1e-3);
    const double mean_size = convolution(grid, grid, raw, 3, 4).values[0] / plain.values[0];
    EXPECT_GT(mean_size, 0);
    EXPECT_NEAR(old.values[0] / plain.values[0], mean_size / (mean_size + 1e-9), 1e-13);
    EXPECT_LT(old.values[0], plain.values[0]);
}

/// From a pole all directions to the other are noise, and ours is zero.
TEST(SphereFilter, AtTheAntipodeDoesNotDependOnLongitude) {
    const Grid grid{equiangular, 3, 8};
    const Filter f = filter(Basis::piecewise_linear, {5, 4}, BasisNorm::none, pi);
    const auto psi = dense(convolution(grid, grid, f, 0, 3), grid);  // (9, 3, 3, 8)
    for (int k = 0; k < 9; ++k) {
        for (const auto& [row, hi] : {std::pair{0, 0}, {0, 2}, {2, 0}, {2, 2}}) {
            const auto first = static_cast<size_t>(((k * 3 + row) * 3 + hi) * 8);
            for (size_t j = 1; j < 8; ++j) EXPECT_EQ(psi[first + j], psi[first]);
        }
    }
}

TEST(SphereFilter, RefusesWhatItCannotDo) {
    const Grid fine{equiangular, 8, 16}, coarse{equiangular, 4, 8}, other{equiangular, 4, 6};
    const Filter f = filter(Basis::piecewise_linear, {3, 1}, BasisNorm::nodal, 1);
    const Refusal refined = refusal([&] { convolution(fine, coarse, f, 0, 8); });
    EXPECT_EQ(refined.status, Status::shape);
    EXPECT_TRUE(refined.says("output has 16 longitudes, input only 8")) << refined.text;
    EXPECT_EQ(refusal([&] { transposed_convolution(coarse, fine, f, 0, 4); }).status,
              Status::shape);
    EXPECT_TRUE(refusal([&] { convolution(other, fine, f, 0, 4); }).says("outputs of 4 and 8"));
    const auto status_of_shape = [&](Basis basis, int64_t a, int64_t b) {
        return refusal([&] {
                   convolution(coarse, fine, filter(basis, {a, b}, BasisNorm::nodal, 1), 0, 4);
               })
            .status;
    };
    EXPECT_EQ(status_of_shape(Basis::piecewise_linear, 0, 1), Status::invalid_argument);
    EXPECT_EQ(status_of_shape(Basis::piecewise_linear, 3, 0), Status::invalid_argument);
    EXPECT_EQ(status_of_shape(Basis::harmonic, 3, 0), Status::invalid_argument);
    EXPECT_EQ(status_of_shape(Basis::zernike, 0, 0), Status::invalid_argument);
    EXPECT_EQ(status_of_shape(Basis::fourier_bessel, 0, 0), Status::invalid_argument);
    EXPECT_EQ(
        refusal([&] {
            convolution(coarse, fine, filter(Basis::zernike, {1, 0}, BasisNorm::nodal, -1), 0, 4);
        }).status,
        Status::invalid_argument);
}

/// Half of the decoder of a global 0.25 degree model.
TEST(SphereFilter, OfAGlobalGridIsSmall) {
    const Grid grid{equiangular, 721, 1440};
    const Filter f = filter(Basis::piecewise_linear, {5, 4}, BasisNorm::nodal, 3 * pi / 360);
    EXPECT_LT(convolution(grid, grid, f, 0, 360).bytes(), 6'000'000);
}

}  // namespace
}  // namespace surrogate::kernels::sphere
