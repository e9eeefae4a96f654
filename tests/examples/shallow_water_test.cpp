// SPDX-License-Identifier: Apache-2.0
// The spectral solver of the example: transforms against formulas and stored numbers, steps against
// stored states, bitwise identical results on any number of ranks.
#include <gtest/gtest.h>

#include <bit>
#include <numbers>
#include <stdexcept>

#include "tests/examples/shallow_water_support.hpp"

namespace {

using shallow_water::Batch;
using shallow_water::Complex;
using shallow_water::Fields;
using shallow_water::Latitudes;
using shallow_water::Layout;
using shallow_water::Planet;
using shallow_water::Resolution;
using shallow_water::Solver;
using shallow_water::State;
using shallow_water::Transform;
using surrogate::test::distance;
using surrogate::test::own_part;
using surrogate::test::read_golden;

const std::string operators = SURROGATE_TEST_DATA "/sphere/operators/";
using std::numbers::pi;
const Resolution small{32, 64, 11};

/// Deterministic numbers in -1 .. 1, the same for a coefficient on any rank.
double wiggle(int64_t f, int64_t l, int64_t m, int64_t part) {
    return std::sin(1.3 * double(((f * 97 + l) * 89 + m) * 2 + part) + 0.4);
}

/// n_field fields of coefficients, real where m = 0; l = 0 left out where asked (vectors).
std::vector<Complex> coefficients(const Layout& layout, int64_t n_field, bool has_mean) {
    std::vector<Complex> c;
    for (int64_t f = 0; f < n_field; ++f)
        for (const int64_t m : layout.orders())
            for (int64_t l = 0; l < layout.resolution().n_degree; ++l) {
                const bool is_there = l >= m && (l > 0 || has_mean);
                c.emplace_back(is_there ? wiggle(f, l, m, 0) : 0,
                               is_there && m > 0 ? wiggle(f, l, m, 1) : 0);
            }
    return c;
}

double largest_difference(const std::vector<Complex>& a, const std::vector<Complex>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double d = std::abs(a[i] - b[i]);
        if (!(d <= largest)) largest = d;  // NaN stays
    }
    return largest;
}

TEST(ShallowWaterGrid, NodesAndWeightsIntegratePolynomials) {
    for (const int64_t n : {2, 3, 31, 64, 721}) {
        const Latitudes rows(n);
        double sum = 0, square = 0;
        for (std::size_t k = 0; k < rows.weight.size(); ++k) {
            sum += rows.weight[k];
            square += rows.weight[k] * rows.sine[k] * rows.sine[k];
            EXPECT_LT(rows.sine[k], k > 0 ? rows.sine[k - 1] : 1) << n;
        }
        EXPECT_NEAR(sum, 2, 1e-13) << n;
        EXPECT_NEAR(square, 2.0 / 3, 1e-13) << n;
    }
    EXPECT_NEAR(Latitudes(2).sine[0], 1 / std::sqrt(3.0), 3e-16);
    EXPECT_NEAR(Latitudes(3).weight[1], 8.0 / 9, 1e-15);
}

TEST(ShallowWaterGrid, RowsAndOrdersAreDealtOnce) {
    const Layout layout(MPI_COMM_WORLD, {33, 64, 13});
    std::vector<int> count(13);
    for (int r = 0; r < layout.size(); ++r)
        for (const int64_t m : layout.orders(r)) ++count[static_cast<std::size_t>(m)];
    EXPECT_EQ(count, std::vector<int>(13, 1));
    EXPECT_EQ(layout.first_row(0), 0);
    EXPECT_EQ(layout.first_row(layout.size()), 33);
}

TEST(ShallowWaterGrid, ResolutionsWithoutATransformAreRefused) {
    const Resolution bad[] = {{1, 8, 2},  {8, 2, 2},    {8, 16, 1},
                              {8, 16, 9}, {16, 16, 10}, {-4, 8, 2}};
    for (const Resolution& r : bad)
        EXPECT_THROW(Layout(MPI_COMM_WORLD, r), std::invalid_argument) << r.n_lat << " " << r.n_lon;
    EXPECT_THROW(Layout(MPI_COMM_WORLD, small, {0, 31}), std::invalid_argument);
}

TEST(ShallowWaterTransform, ScalarsComeBackFromTheGrid) {
    for (const Resolution& r : {small, Resolution{16, 31, 16}, Resolution{13, 26, 13}}) {
        const Layout layout(MPI_COMM_WORLD, r);
        Transform transform(layout, false);
        const std::vector<Complex> c = coefficients(layout, 3, true);
        std::vector<Complex> back(c.size(), Complex(NAN, NAN));
        Fields grid(static_cast<std::size_t>(3 * layout.n_point()), NAN);
        transform.to_grid({3, 0}, c.data(), grid.data());
        transform.to_coefficients({3, 0}, grid.data(), back.data());
        EXPECT_LE(largest_difference(back, c), 1e-13);
    }
}

TEST(ShallowWaterTransform, VectorsComeBackFromTheGridBesideScalars) {
    const Layout layout(MPI_COMM_WORLD, {24, 48, 15});
    Transform transform(layout, false);
    const std::vector<Complex> c = coefficients(layout, 5, false);
    std::vector<Complex> back(c.size(), Complex(NAN, NAN));
    Fields grid(static_cast<std::size_t>(5 * layout.n_point()), NAN);
    transform.to_grid({1, 2}, c.data(), grid.data());
    transform.to_coefficients({1, 2}, grid.data(), back.data());
    EXPECT_LE(largest_difference(back, c), 1e-13);
}

/// Y(2, 1) = sqrt(15 / (8 pi)) sin(theta) cos(theta), without phase, and its gradient by hand.
TEST(ShallowWaterTransform, OneHarmonicIsItsFormula) {
    const Layout layout(MPI_COMM_WORLD, small);
    Transform transform(layout, false);
    std::vector<Complex> c(static_cast<std::size_t>(3 * transform.n_coefficient()));
    Fields grid(static_cast<std::size_t>(3 * layout.n_point()));
    std::size_t at = 0;
    for (int64_t f = 0; f < 3; ++f)
        for (const int64_t m : layout.orders())
            for (int64_t l = 0; l < small.n_degree; ++l, ++at)
                if (f < 2 && l == 2 && m == 1) c[at] = {0.5, -0.25};  // scalar, spheroidal
    transform.to_grid({1, 1}, c.data(), grid.data());
    const double norm = std::sqrt(15 / (8 * pi));
    const auto n = static_cast<std::size_t>(layout.n_point());
    for (std::size_t i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(layout.first_row()) + i / 64;
        const double longitude = 2 * pi * double(i % 64) / 64;
        const double z = transform.latitudes().sine[k], s = transform.latitudes().cosine[k];
        const Complex wave = Complex(0.5, -0.25) * std::polar(1.0, longitude);
        ASSERT_NEAR(grid[i], 2 * norm * s * z * wave.real(), 1e-14);
        ASSERT_NEAR(grid[n + i], 2 * norm * (z * z - s * s) * wave.real(), 1e-14);
        ASSERT_NEAR(grid[2 * n + i], -2 * norm * z * wave.imag(), 1e-14);
    }
}

TEST(ShallowWaterTransform, StoredCoefficientsAreFound) {
    const auto input = read_golden(operators + "sht_1.safetensors", "check/input/x");
    const auto re = read_golden(operators + "sht_1.safetensors", "check/coefficients_re");
    const auto im = read_golden(operators + "sht_1.safetensors", "check/coefficients_im");
    const Layout layout(MPI_COMM_WORLD, {16, 32, 16});
    Transform transform(layout, false);
    std::vector<Complex> c(static_cast<std::size_t>(2 * transform.n_coefficient()));
    const std::vector<double> own = own_part(layout, input.values);
    transform.to_coefficients({2, 0}, own.data(), c.data());
    std::size_t at = 0;
    for (int64_t f = 0; f < 2; ++f)
        for (const int64_t m : layout.orders())
            for (int64_t l = 0; l < 16; ++l, ++at) {
                const auto stored = static_cast<std::size_t>((f * 16 + l) * 16 + m);
                const double sign = m % 2 ? -1 : 1;  // they are stored with the phase
                EXPECT_NEAR(c[at].real(), sign * re.values[stored], 2e-13) << l << " " << m;
                EXPECT_NEAR(c[at].imag(), sign * im.values[stored], 2e-13) << l << " " << m;
            }
}

/// Jet, 12 steps in one call, 6 steps twice: the published solver's states in double.
void compare_with_stored(bool official_rounding, double tolerance) {
    const Layout layout(MPI_COMM_WORLD, small);
    Solver solver(layout, 150, official_rounding);
    State jet = solver.new_state();
    shallow_water::galewsky_jet(solver, &jet);
    State whole = jet, halves = jet;
    solver.step(12, &whole);
    solver.step(6, &halves);
    solver.step(6, &halves);
    const std::pair<const char*, const State*> states[] = {{"check/initial", &jet},
                                                           {"check/after_one_call", &whole},
                                                           {"check/after_two_half_calls", &halves}};
    for (const auto& [name, state] : states) {
        Fields grid = solver.new_fields();
        solver.to_grid(*state, &grid);
        const auto stored =
            own_part(layout, read_golden(operators + "swe_0_f8.safetensors", name).values);
        for (int64_t f = 0; f < shallow_water::n_field; ++f)
            EXPECT_LE(distance(layout, grid, stored, f), tolerance) << name << ", field " << f;
    }
}

TEST(ShallowWaterSolver, StoredStatesInDouble) {
    compare_with_stored(false, 1e-7);
}

TEST(ShallowWaterSolver, StoredStatesWithOfficialRounding) {
    compare_with_stored(true, 1e-11);
}

/// Numbers of the spec of the sphere's models, section 11.
TEST(ShallowWaterSolver, ShortWavesGiveTheNumbersOfTheSpec) {
    const Layout layout(MPI_COMM_WORLD, small);
    Solver solver(layout, 150, false);
    State state = solver.new_state();
    const double amplitude[] = {12 * Planet::gravity, 1e-6, 1e-7};
    std::size_t at = 0;
    for (const double a : amplitude)
        for (const int64_t m : layout.orders())
            for (int64_t l = 0; l < small.n_degree; ++l, ++at) {
                if (m >= 1 && m <= l && l <= 5) state[at] = a * std::polar(1.0, double(l + 2 * m));
                if (at == 0 && m == 0 && l == 0)
                    state[at] = std::sqrt(4 * pi) * Planet::gravity * 1e4;
            }
    solver.step(12, &state);
    Fields grid = solver.new_fields();
    solver.to_grid(state, &grid);
    std::vector<double> per_row(static_cast<std::size_t>(3 * layout.n_row()));
    for (std::size_t i = 0; i < grid.size(); ++i) {
        const std::size_t f = i / static_cast<std::size_t>(layout.n_point());
        const std::size_t row = i / 64 - f * static_cast<std::size_t>(layout.n_row());
        per_row[row * 3 + f] += grid[i] * grid[i];
    }
    const std::vector<double> square = layout.sum_rows(per_row, 3);
    EXPECT_NEAR(square[0] / 1.969374802393816e13, 1, 1e-14);
    EXPECT_NEAR(square[1] / 3.76801060e-9, 1, 2e-9);
    EXPECT_NEAR(square[2] / 3.68260829e-10, 1, 2e-9);
    if (layout.first_row() > 10 || layout.first_row() + layout.n_row() <= 10) return;
    const double expected[] = {98070.951509, 1.50381764e-7, -8.111042e-8};
    const double digit[] = {5e-7, 5e-16, 5e-15};  // half of the last one printed there
    for (std::size_t f = 0; f < 3; ++f) {
        const auto row = static_cast<std::size_t>(10 - layout.first_row());
        const auto n_row = static_cast<std::size_t>(layout.n_row());
        EXPECT_NEAR(grid[(f * n_row + row) * 64 + 20], expected[f], digit[f]);
    }
}

TEST(ShallowWaterSolver, MassOfTheFluidIsKept) {
    const Layout layout(MPI_COMM_WORLD, {64, 128, 22});
    Solver solver(layout, 150, false);
    State state = solver.new_state();
    shallow_water::galewsky_jet(solver, &state);
    const State before = state;
    for (int hour = 0; hour < 24; ++hour) solver.step(24, &state);
    if (layout.orders().empty() || layout.orders().front() != 0) return;
    EXPECT_EQ(state[0], before[0]);  // the mean geopotential
    const auto n = static_cast<std::size_t>(solver.transform().n_coefficient());
    EXPECT_EQ(state[n], Complex(0));  // vorticity and divergence have no mean
    EXPECT_EQ(state[2 * n], Complex(0));
    EXPECT_NE(state[3], before[3]) << "nothing moved";
}

void make_jet(Solver& solver, State* state) {
    shallow_water::galewsky_jet(solver, state);
}
void make_waves(Solver& solver, State* state) {
    shallow_water::random_waves(solver, 5, state);
}
void make_perturbed(Solver& solver, State* state) {
    shallow_water::perturbed_jet(solver, 5, state);
}

/// An hour from each initial state: bits of one rank alone and of all ranks, bands as they come.
TEST(ShallowWaterSolver, EveryNumberOfRanksGivesTheSameBits) {
    const Layout one(MPI_COMM_SELF, small), balanced(MPI_COMM_WORLD, small);
    const Layout awkward(MPI_COMM_WORLD, small,
                         surrogate::test::awkward_bands(small.n_lat, balanced.size()));
    for (const auto make : {make_jet, make_waves, make_perturbed}) {
        Fields expected;
        for (const Layout* layout : {&one, &balanced, &awkward}) {
            Solver solver(*layout, 150, false);
            State state = solver.new_state();
            make(solver, &state);
            solver.step(24, &state);
            Fields grid = solver.new_fields();
            solver.to_grid(state, &grid);
            if (layout == &one)
                expected = grid;
            else
                EXPECT_EQ(grid, own_part(*layout, expected));
        }
    }
}

TEST(ShallowWaterInitial, SeedsDifferAndAreReproducible) {
    const Layout layout(MPI_COMM_WORLD, small);
    Solver solver(layout, 150, false);
    State a = solver.new_state(), b = a, c = a;
    shallow_water::random_waves(solver, 1, &a);
    shallow_water::random_waves(solver, 1, &b);
    shallow_water::random_waves(solver, 2, &c);
    EXPECT_EQ(a, b);
    EXPECT_TRUE(a.empty() || a != c);
}

/// Standard deviations that the spec's amplitudes give: hamp L / 120.5 of the depth.
TEST(ShallowWaterInitial, RandomWavesHaveTheSpectrumOfTheSpec) {
    const Layout layout(MPI_COMM_WORLD, {64, 128, 22});
    Solver solver(layout, 150, false);
    State state = solver.new_state();
    Fields grid = solver.new_fields();
    double variance = 0;
    const int n_seed = 20;
    for (uint64_t seed = 0; seed < n_seed; ++seed) {
        shallow_water::random_waves(solver, seed, &state);
        solver.to_grid(state, &grid);
        std::vector<double> per_row(static_cast<std::size_t>(layout.n_row()));
        for (std::size_t i = 0; i < static_cast<std::size_t>(layout.n_point()); ++i) {
            const auto row = static_cast<std::size_t>(layout.first_row()) + i / 128;
            const double depth = grid[i] / Planet::gravity - Planet::mean_depth_m;
            per_row[i / 128] += solver.transform().latitudes().weight[row] / 256 * depth * depth;
        }
        variance += layout.sum_rows(per_row, 1)[0] / n_seed;
    }
    EXPECT_NEAR(std::sqrt(variance), 120 * 22 / 120.5, 2);
}

TEST(ShallowWaterInitial, SouthernJetIsTheNorthernOneUpsideDown) {
    // Seeds of both hemispheres exist; both geopotential fields belong to a balanced jet.
    const Layout layout(MPI_COMM_WORLD, small);
    Solver solver(layout, 150, false);
    State jet = solver.new_state(), other = jet;
    Fields grid = solver.new_fields();
    int n_southern = 0;
    for (uint64_t seed = 0; seed < 12; ++seed) {
        shallow_water::perturbed_jet(solver, seed, &other);
        std::vector<double> u(static_cast<std::size_t>(2 * layout.n_point()));
        solver.velocity(other, u.data());
        double fastest = 0, latitude = 0;
        for (std::size_t i = 0; i < u.size() / 2; ++i)
            if (u[i] > fastest) {
                fastest = u[i];
                latitude =
                    solver.transform().latitudes().latitude(layout.first_row() + int64_t(i) / 64);
            }
        struct {
            double speed;
            int rank;
        } best = {fastest, layout.rank()};
        MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
        MPI_Bcast(&latitude, 1, MPI_DOUBLE, best.rank, MPI_COMM_WORLD);
        EXPECT_NEAR(std::abs(latitude), pi / 4, 0.15) << seed;
        EXPECT_GT(best.speed, 40) << seed;  // blows to the east in both hemispheres
        n_southern += latitude < 0;
    }
    EXPECT_GT(n_southern, 1);
    EXPECT_LT(n_southern, 11);
}

}  // namespace
