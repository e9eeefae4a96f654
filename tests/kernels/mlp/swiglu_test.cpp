// SPDX-License-Identifier: Apache-2.0
#include "kernels/mlp/swiglu.hpp"

#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class SwiGluOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SwiGluOn);

struct Widths {
    int64_t n_in, n_hidden, n_out;
};
const std::vector<Widths> widths = {{1, 1, 1}, {3, 8, 5}, {16, 33, 7}, {64, 256, 64}};

/// Weights and biases of the three layers in one piece of memory, and their gradients.
template <class T>
struct Parameters {
    explicit Parameters(const Widths& w)
        : values((2 * w.n_hidden * (w.n_in + 1)) + w.n_out * (w.n_hidden + 1)),
          sums(values.size()) {
        const int64_t first = w.n_hidden * (w.n_in + 1);
        const auto layer = [&](int64_t at, int64_t n_in, int64_t n_out) -> Linear<T> {
            return {n_in, n_out, values.data() + at, values.data() + at + n_in * n_out};
        };
        mlp = {layer(0, w.n_in, w.n_hidden), layer(first, w.n_in, w.n_hidden),
               layer(2 * first, w.n_hidden, w.n_out)};
        const Linear<T>* layers[] = {&mlp.w1, &mlp.w2, &mlp.w3};
        for (size_t j = 0; j < 3; ++j)
            gradients[j] = {sums.data() + (layers[j]->weight - values.data()),
                            sums.data() + (layers[j]->bias - values.data())};
    }
    Buffer<T> values;
    Buffer<double> sums;
    SwiGlu<T> mlp;
    std::array<LinearGradient, 3> gradients;
};

/// One tile, forward and backward.
template <class T>
struct Step {
    Step(const Widths& w, const TileCase& tile)
        : parameters(w),
          x(TileBox<T>::input, w.n_in, tile.n_point, tile.layout),
          dy(TileBox<T>::input, w.n_out, tile.n_point, {1, 3}),
          saved(TileBox<T>::output, 2 * w.n_hidden, tile.n_point, tile.layout),
          scratch(TileBox<T>::output, 3 * w.n_hidden, tile.n_point, {1, 1}),
          y(TileBox<T>::input, w.n_out, tile.n_point, tile.layout),
          dx(TileBox<T>::input, w.n_in, tile.n_point, tile.layout) {}

    void fill(std::mt19937& random) {
        std::normal_distribution<float> normal;
        const float scale = 1 / std::sqrt(static_cast<float>(parameters.mlp.w1.n_in));
        for (T& value : parameters.values) value = scale * normal(random);
        for (TileBox<T>* box : {&x, &dy, &y, &dx}) box->fill_normal(random);
    }
    template <class U>
    void fill_from(const Step<U>& other) {
        std::copy(other.parameters.values.begin(), other.parameters.values.end(),
                  parameters.values.begin());
        x.fill_from(other.x);
        dy.fill_from(other.dy);
        y.fill_from(other.y);
        dx.fill_from(other.dx);
    }
    void run(const Queue& queue, bool accumulate) {
        Traps traps;
        swiglu<T>(queue, parameters.mlp, x.input_view(), scratch.view(), accumulate, y.view());
    }
    void forward(const Queue& queue, bool accumulate = false) {
        Traps traps;
        swiglu_forward<T>(queue, parameters.mlp, x.input_view(), saved.view(), scratch.view(),
                          accumulate, y.view());
    }
    void backward(const Queue& queue, bool accumulate) {
        Traps traps;
        swiglu_backward<T>(queue, parameters.mlp, x.input_view(), saved.input_view(),
                           dy.input_view(), parameters.gradients, scratch.view(), accumulate,
                           dx.view());
    }

    Parameters<T> parameters;
    TileBox<T> x, dy, saved, scratch, y, dx;
};

/// Calls body with the same problem in float and in double.
template <class Body>
void for_cases(const Body& body) {
    auto random = generator();
    for (const Widths& w : widths) {
        for (const TileCase& tile : tile_cases) {
            Step<float> step(w, tile);
            Step<double> want(w, tile);
            step.fill(random);
            want.fill_from(step);
            SCOPED_TRACE("hidden " + std::to_string(w.n_hidden) + ", points " +
                         std::to_string(tile.n_point));
            body(step, want);
        }
    }
}

double largest(Tile<const double> x) {
    double size = 0;
    for (int64_t c = 0; c < x.shape[0]; ++c)
        for (int64_t i = 0; i < x.shape[1]; ++i) size = std::max(size, std::abs(x(c, i)));
    return size;
}

void expect_near(const TileBox<float>& got, const TileBox<double>& want, double n) {
    const double bound =
        8 * epsilon<float> * std::sqrt(n) * std::max(1.0, largest(want.input_view()));
    expect_close<float>(got.input_view(), want.input_view(), bound);
}

TEST(SwiGluReference, GivesNumbersOfTheFormula) {
    // u = 2x - 1 = 1, w = 3x = 3, y = 0.5 w silu(u) + 4 with silu(1) = 1 / (1 + 1/e).
    Step<double> step({1, 1, 1}, {1, {}});
    const double values[] = {2, -1, 3, 0, 0.5, 4};
    std::copy(std::begin(values), std::end(values), step.parameters.values.begin());
    step.x.fill([](int64_t, int64_t) { return 1; });
    step.y.fill([](int64_t, int64_t) { return 100; });
    const double want = 1.5 / (1 + std::exp(-1.0)) + 4;
    step.run(reference, true);
    EXPECT_NEAR(step.y.view()(0, 0), 100 + want, 1e-13);
    step.forward(reference);
    EXPECT_NEAR(step.y.view()(0, 0), want, 1e-15);
    EXPECT_EQ(step.saved.view()(0, 0), 1);
    EXPECT_EQ(step.saved.view()(1, 0), 3);
}

TEST(SwiGluReference, BackwardAgreesWithDifferences) {
    auto random = generator();
    for (const Widths& w : {widths[0], widths[1], widths[2]}) {
        Step<double> step(w, {5, {}});
        step.fill(random);
        step.forward(reference);
        step.backward(reference, false);
        const auto loss = [&] {
            step.forward(reference);
            return inner_product(step.dy.input_view(), step.y.view());
        };
        expect_slopes("parameters", step.parameters.values.data(), step.parameters.sums.data(),
                      step.parameters.values.size(), loss, 1e-9);
        for (int64_t c = 0; c < w.n_in; ++c)
            ASSERT_NEAR(step.dx.view()(c, 2), slope(step.x.view()(c, 2), loss), 1e-9);
    }
}

TEST_P(SwiGluOn, AgreesWithDoubleOnAwkwardTiles) {
    for_cases([&](Step<float>& step, Step<double>& want) {
        for (bool accumulate : {false, true}) {
            want.fill_from(step);  // y as it is now
            step.run(queue(), accumulate);
            want.run(reference, accumulate);
            const auto n = static_cast<double>(step.parameters.mlp.n_hidden() + 64);
            expect_near(step.y, want.y, n);
            step.y.expect_kept_inside("y");
            step.scratch.expect_kept_inside("scratch");
            step.x.expect_unchanged("x");
        }
    });
}

TEST_P(SwiGluOn, ForwardHasTheSameBitsAndSavesSums) {
    for_cases([&](Step<float>& step, Step<double>& want) {
        step.run(queue(), true);
        TileBox<float> y(TileBox<float>::output, step.y.view().shape[0], step.y.view().shape[1]);
        y.fill_from(step.y);
        step.y.fill_from(want.y);
        step.forward(queue(), true);
        expect_same_bits<float>(step.y.view(), y.view());
        want.forward(reference);
        expect_near(step.saved, want.saved, 64);
        step.saved.expect_kept_inside("saved");
        step.scratch.expect_kept_inside("scratch");
    });
}

TEST_P(SwiGluOn, BackwardAgreesWithDouble) {
    for_cases([&](Step<float>& step, Step<double>& want) {
        const bool accumulate = step.x.view().shape[1] % 2 == 1;
        step.forward(queue());
        step.backward(queue(), accumulate);
        want.forward(reference);
        want.backward(reference, accumulate);
        const auto n = static_cast<double>(step.parameters.mlp.n_hidden() + 200);
        expect_near(step.dx, want.dx, n);
        step.dx.expect_kept_inside("dx");
        step.scratch.expect_kept_inside("scratch");
        double size = 1;
        for (double value : want.parameters.sums) size = std::max(size, std::abs(value));
        for (int64_t i = 0; i < want.parameters.sums.size(); ++i)
            ASSERT_NEAR(step.parameters.sums[i], want.parameters.sums[i],
                        8 * epsilon<float> * std::sqrt(n) * size);
    });
}

TEST_P(SwiGluOn, BackwardWithoutInputGradientGivesTheSameParameters) {
    auto random = generator();
    Step<float> step(widths[2], {33, {}});
    step.fill(random);
    step.forward(queue());
    step.backward(queue(), false);
    const Tile<float> none;
    Parameters<float> alone(widths[2]);
    swiglu_backward<float>(queue(), step.parameters.mlp, step.x.input_view(),
                           step.saved.input_view(), step.dy.input_view(), alone.gradients,
                           step.scratch.view(), false, none);
    for (int64_t i = 0; i < alone.sums.size(); ++i)
        ASSERT_EQ(alone.sums[i], step.parameters.sums[i]);
}

TEST(SwiGluLevels, GiveTheSameBits) {
    const Queue scalar(Backend::simd, VectorLevel::scalar, 1);
    for_cases([&](Step<float>& want, Step<double>& start) {
        want.forward(scalar, true);
        want.backward(scalar, true);
        for (VectorLevel level : wide_levels()) {
            const auto& mlp = want.parameters.mlp;
            Step<float> step({mlp.w1.n_in, mlp.n_hidden(), mlp.w3.n_out},
                             {want.x.view().shape[1], {}});
            step.fill_from(start);
            step.forward(Queue(Backend::simd, level, 1), true);
            step.backward(Queue(Backend::simd, level, 1), true);
            expect_same_bits<float>(step.y.view(), want.y.view());
            expect_same_bits<float>(step.saved.view(), want.saved.view());
            expect_same_bits<float>(step.dx.view(), want.dx.view());
            for (int64_t i = 0; i < step.parameters.sums.size(); ++i)
                ASSERT_EQ(step.parameters.sums[i], want.parameters.sums[i]);
        }
    });
}

}  // namespace
}  // namespace surrogate::kernels::test
