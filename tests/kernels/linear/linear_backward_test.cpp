// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/linear/linear.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class LinearBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(LinearBackwardOn);

/// A layer's gradient in memory of its own, with numbers already in it and NaN behind it.
class Gradient {
public:
    Gradient(int64_t n_in, int64_t n_out, double start = 0)
        : n_weight_(n_in * n_out), n_bias_(n_out), values_(n_weight_ + n_bias_ + 1) {
        for (double& value : values_) value = start;
        values_[n_weight_ + n_bias_] = std::numeric_limits<double>::quiet_NaN();
    }
    LinearGradient view() { return {values_.data(), values_.data() + n_weight_}; }
    Tile<const double> all() const { return make_view(values_.data(), 1, n_weight_ + n_bias_); }
    double* data() { return values_.data(); }
    void expect_kept_inside() const { EXPECT_TRUE(std::isnan(values_[n_weight_ + n_bias_])); }

private:
    int64_t n_weight_, n_bias_;
    Buffer<double> values_;
};

/// A layer, an input, a gradient of the output and a residual. Parameters start off every
/// alignment.
template <class T>
struct Problem {
    Problem(const TileCase& tile, int64_t in, int64_t out)
        : n_in(in),
          n_out(out),
          parameters(in * out + out + 1),
          x(TileBox<T>::input, in, tile.n_point, tile.layout),
          dy(TileBox<T>::input, out, tile.n_point, {1, 3}),
          residual(TileBox<T>::input, in, tile.n_point, {2, 1}) {}

    void fill(std::mt19937& random) {
        std::normal_distribution<float> normal;
        for (T& p : parameters) p = normal(random);
        x.fill_normal(random);
        dy.fill_normal(random);
        residual.fill_normal(random);
    }
    template <class U>
    void fill_from(const Problem<U>& other) {
        std::copy(other.parameters.begin(), other.parameters.end(), parameters.begin());
        x.fill_from(other.x);
        dy.fill_from(other.dy);
        residual.fill_from(other.residual);
    }
    Linear<T> layer() const {
        return {n_in, n_out, parameters.data() + 1, parameters.data() + 1 + n_in * n_out};
    }
    void expect_unchanged() const {
        x.expect_unchanged("x");
        dy.expect_unchanged("dy");
        residual.expect_unchanged("residual");
    }

    int64_t n_in, n_out;
    Buffer<T> parameters;
    TileBox<T> x, dy, residual;
};

TEST_P(LinearBackwardOn, GivesNumbersOfTheFormula) {
    const float weight[] = {1, 2, 3, 4, 5, 6};  // (2, 3)
    TileBox<float> x(TileBox<float>::input, 3, 2), dy(TileBox<float>::input, 2, 2),
        r(TileBox<float>::input, 3, 2), dx(TileBox<float>::output, 3, 2);
    x.fill([](int64_t c, int64_t i) { return i == 0 ? 1 : c; });
    dy.fill([](int64_t o, int64_t i) { return o == 0 ? 1 : 10 * (i + 1); });
    r.fill([](int64_t c, int64_t) { return 100 * c; });
    Traps traps;
    linear_backward<float>(queue(), {3, 2, weight, nullptr}, dy.input_view(), {}, false, dx.view());
    EXPECT_EQ(dx.view()(0, 0), 41);  // 1 + 4 * 10
    EXPECT_EQ(dx.view()(2, 1), 123);
    linear_backward<float>(queue(), {3, 2, weight, nullptr}, dy.input_view(), r.input_view(), true,
                           dx.view());
    EXPECT_EQ(dx.view()(2, 1), 123 + 200 + 123);
    double dweight[] = {0, 0, 0, 0, 0, 1000}, dbias[] = {0, 7};
    linear_gradient<float>(queue(), x.input_view(), dy.input_view(), {dweight, dbias});
    EXPECT_EQ(dweight[0], 1);  // 1 * 1 + 1 * 0
    EXPECT_EQ(dweight[2], 3);
    EXPECT_EQ(dweight[4], 30);
    EXPECT_EQ(dweight[5], 1050);
    EXPECT_EQ(dbias[0], 2);
    EXPECT_EQ(dbias[1], 37);
    linear_gradient<float>(queue(), x.input_view(), dy.input_view(), {dweight, nullptr});
    EXPECT_EQ(dweight[0], 2);
}

TEST(LinearBackwardReference, AgreesWithDifferences) {
    auto random = generator();
    for (int64_t n_point : {1, 3, 31, 33, 64, 65}) {
        for (int64_t n_in : {1, 3, 31, 64})
            for (int64_t n_out : {1, 3, 31, 64}) {
                Problem<double> problem({n_point, {}}, n_in, n_out);
                problem.fill(random);
                TileBox<double> y(TileBox<double>::output, n_out, n_point);
                TileBox<double> dx(TileBox<double>::output, n_in, n_point);
                Gradient gradient(n_in, n_out);
                ref::linear_backward<double>(problem.layer(), problem.dy.input_view(), {}, false,
                                             dx.view());
                ref::linear_gradient<double>(problem.x.input_view(), problem.dy.input_view(),
                                             gradient.view());
                const auto loss = [&] {
                    ref::linear<double>(problem.layer(), problem.x.input_view(), {}, y.view());
                    return inner_product(problem.dy.input_view(), y.view());
                };
                expect_slopes("parameter", problem.parameters.data() + 1, gradient.data(),
                              n_in * n_out + n_out, loss, 1e-8);
                expect_slopes("x of channel 0", &problem.x.view()(0, 0), &dx.view()(0, 0), n_point,
                              loss, 1e-8);
                expect_slopes("x of the last channel", &problem.x.view()(n_in - 1, 0),
                              &dx.view()(n_in - 1, 0), n_point, loss, 1e-8);
            }
    }
}

/// Largest sum of |terms| of a result: what its rounding is a share of.
double size_of_terms(const Problem<double>& problem) {
    const auto row = [&](int64_t o, int64_t c) {
        return std::abs(problem.parameters[1 + o * problem.n_in + c]);
    };
    const Tile<const double> x = problem.x.input_view(), dy = problem.dy.input_view();
    double largest = 1;
    for (int64_t c = 0; c < problem.n_in; ++c) {
        for (int64_t i = 0; i < x.shape[1]; ++i) {
            double sum = 2 * std::abs(problem.residual.input_view()(c, i));
            for (int64_t o = 0; o < problem.n_out; ++o) sum += row(o, c) * std::abs(dy(o, i));
            largest = std::max(largest, sum);
        }
        for (int64_t o = 0; o < problem.n_out; ++o) {
            double sum = 0;
            for (int64_t i = 0; i < x.shape[1]; ++i)
                sum += std::abs(dy(o, i)) * std::max(1.0, std::abs(x(c, i)));
            largest = std::max(largest, sum);
        }
    }
    return largest;
}

void agree_with_double(const Queue& queue, const TileCase& tile, int64_t n_in, int64_t n_out,
                       std::mt19937& random) {
    Problem<float> problem(tile, n_in, n_out);
    Problem<double> problem64({tile.n_point, {}}, n_in, n_out);
    problem.fill(random);
    problem64.fill_from(problem);
    TileBox<float> dx(TileBox<float>::output, n_in, tile.n_point, tile.layout);
    TileBox<double> dx64(TileBox<double>::output, n_in, tile.n_point);
    Gradient gradient(n_in, n_out, 0.5), gradient64(n_in, n_out, 0.5);
    {
        Traps traps;
        linear_backward<float>(queue, problem.layer(), problem.dy.input_view(),
                               problem.residual.input_view(), false, dx.view());
        linear_gradient<float>(queue, problem.x.input_view(), problem.dy.input_view(),
                               gradient.view());
        ref::linear_backward<double>(problem64.layer(), problem64.dy.input_view(),
                                     problem64.residual.input_view(), false, dx64.view());
        ref::linear_gradient<double>(problem64.x.input_view(), problem64.dy.input_view(),
                                     gradient64.view());
    }
    const double bound = 2 * epsilon<float> * size_of_terms(problem64);
    expect_close<float>(dx.view(), dx64.view(), bound);
    expect_close<double>(gradient.all(), gradient64.all(), bound);
    dx.expect_kept_inside("dx");
    gradient.expect_kept_inside();
    problem.expect_unchanged();
}

TEST_P(LinearBackwardOn, AgreesWithDoubleOnAwkwardTiles) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (int64_t n_in : {1, 3, 31, 40, 65})
            for (int64_t n_out : {1, 3, 8, 31, 64})
                agree_with_double(queue(), tile, n_in, n_out, random);
    }
}

TEST_P(LinearBackwardOn, AddsOntoItsOwnResidual) {
    auto random = generator();
    Problem<float> problem({33, {}}, 7, 8);
    problem.fill(random);
    TileBox<float> dx(TileBox<float>::output, 7, 33);
    linear_backward<float>(queue(), problem.layer(), problem.dy.input_view(),
                           problem.residual.input_view(), false, dx.view());
    TileBox<float> onto(TileBox<float>::input, 7, 33);
    onto.fill_from(problem.residual);
    linear_backward<float>(queue(), problem.layer(), problem.dy.input_view(), {}, true,
                           onto.view());
    expect_same_bits<float>(onto.view(), dx.view());
    linear_backward<float>(queue(), problem.layer(), problem.dy.input_view(),
                           problem.residual.input_view(), false, problem.residual.view());
    expect_same_bits<float>(problem.residual.view(), dx.view());
}

TEST_P(LinearBackwardOn, IsLinearInTheGradientOfTheOutput) {
    auto random = generator();
    Problem<float> problem({65, {}}, 24, 17);
    problem.fill(random);
    Gradient once(24, 17), twice(24, 17);
    TileBox<float> dx(TileBox<float>::output, 24, 65), dx2(TileBox<float>::output, 24, 65);
    const auto backward = [&](Gradient& gradient, TileBox<float>& to) {
        linear_backward<float>(queue(), problem.layer(), problem.dy.input_view(), {}, false,
                               to.view());
        linear_gradient<float>(queue(), problem.x.input_view(), problem.dy.input_view(),
                               gradient.view());
    };
    backward(once, dx);
    const Tile<float> dy = problem.dy.view();
    for (int64_t o = 0; o < 17; ++o)
        for (int64_t i = 0; i < 65; ++i) dy(o, i) *= -2;  // exact
    backward(twice, dx2);
    for (int64_t k = 0; k < once.all().shape[1]; ++k)
        ASSERT_EQ(twice.all()(0, k), -2 * once.all()(0, k));
    for (int64_t c = 0; c < 24; ++c)
        for (int64_t i = 0; i < 65; ++i) ASSERT_EQ(dx2.view()(c, i), -2 * dx.view()(c, i));
}

TEST_P(LinearBackwardOn, CutsIntoTilesAgree) {
    auto random = generator();
    Problem<float> problem({200, {}}, 40, 33);
    problem.fill(random);
    const auto gradient_of = [&](int64_t step) {
        Gradient gradient(40, 33);
        for (int64_t first = 0; first < 200; first += step) {
            const int64_t count = std::min<int64_t>(step, 200 - first);
            linear_gradient<float>(queue(), points(problem.x.input_view(), first, count),
                                   points(problem.dy.input_view(), first, count), gradient.view());
        }
        return gradient;
    };
    const Gradient whole = gradient_of(200);
    // The reference sums a whole tile in float, simd tile_points points.
    if (queue().backend() == Backend::simd) {
        expect_same_bits<double>(gradient_of(64).all(), whole.all());
        expect_same_bits<double>(gradient_of(128).all(), whole.all());
    }
    expect_close<double>(gradient_of(16).all(), whole.all(), 2 * epsilon<float> * 200);
}

TEST_P(LinearBackwardOn, PointsMayBePermuted) {
    auto random = generator();
    const int64_t n = 70;
    Problem<float> problem({n, {}}, 20, 9), permuted({n, {}}, 20, 9);
    problem.fill(random);
    permuted.fill_from(problem);
    const auto from = [](int64_t i) { return (i * 33 + 5) % n; };  // 33 and 70 have no divisor
    permuted.x.fill([&](int64_t c, int64_t i) { return problem.x.view()(c, from(i)); });
    permuted.dy.fill([&](int64_t o, int64_t i) { return problem.dy.view()(o, from(i)); });
    TileBox<float> dx(TileBox<float>::output, 20, n), dx2(TileBox<float>::output, 20, n);
    Gradient gradient(20, 9), gradient2(20, 9);
    linear_backward<float>(queue(), problem.layer(), problem.dy.input_view(), {}, false, dx.view());
    linear_backward<float>(queue(), problem.layer(), permuted.dy.input_view(), {}, false,
                           dx2.view());
    linear_gradient<float>(queue(), problem.x.input_view(), problem.dy.input_view(),
                           gradient.view());
    linear_gradient<float>(queue(), permuted.x.input_view(), permuted.dy.input_view(),
                           gradient2.view());
    for (int64_t c = 0; c < 20; ++c)
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(dx2.view()(c, i), dx.view()(c, from(i)));
    expect_close<double>(gradient2.all(), gradient.all(), 2 * epsilon<float> * n);
}

TEST_P(LinearBackwardOn, NaNStaysAtItsPointAndInItsRow) {
    auto random = generator();
    Problem<float> problem({19, {}}, 5, 3);
    problem.fill(random);
    problem.dy.view()(1, 17) = NAN;
    TileBox<float> dx(TileBox<float>::output, 5, 19);
    Gradient gradient(5, 3);
    linear_backward<float>(queue(), problem.layer(), problem.dy.input_view(), {}, false, dx.view());
    linear_gradient<float>(queue(), problem.x.input_view(), problem.dy.input_view(),
                           gradient.view());
    for (int64_t c = 0; c < 5; ++c) {
        for (int64_t i = 0; i < 19; ++i) EXPECT_EQ(std::isnan(dx.view()(c, i)), i == 17);
        for (int64_t o = 0; o < 3; ++o)
            EXPECT_EQ(std::isnan(gradient.view().weight[o * 5 + c]), o == 1);
    }
    for (int64_t o = 0; o < 3; ++o) EXPECT_EQ(std::isnan(gradient.view().bias[o]), o == 1);
}

TEST(LinearBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        Problem<float> problem(tile, 83, 43);
        problem.fill(random);
        TileBox<float> one(TileBox<float>::output, 83, tile.n_point);
        TileBox<float> dx(TileBox<float>::output, 83, tile.n_point);
        Gradient gradient_one(83, 43);
        simd::linear_backward(VectorLevel::scalar, problem.layer(), problem.dy.input_view(), {},
                              false, one.view());
        simd::linear_gradient(VectorLevel::scalar, problem.x.input_view(), problem.dy.input_view(),
                              gradient_one.view());
        for (VectorLevel level : wide_levels()) {
            Gradient gradient(83, 43);
            simd::linear_backward(level, problem.layer(), problem.dy.input_view(), {}, false,
                                  dx.view());
            simd::linear_gradient(level, problem.x.input_view(), problem.dy.input_view(),
                                  gradient.view());
            expect_same_bits<float>(dx.view(), one.view());
            expect_same_bits<double>(gradient.all(), gradient_one.all());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
