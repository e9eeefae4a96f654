// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/mlp/chain.hpp"

namespace surrogate::kernels::test {
namespace {

class MlpBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(MlpBackwardOn);

/// Gradients of all layers, one after the other: weight, bias, weight, bias, ..
class Gradients {
public:
    template <class T>
    explicit Gradients(const ResidualMlp<T>& mlp) : values_(n_parameter(mlp)) {
        double* at = values_.data();
        for (const Linear<T>& layer : mlp.layers) {
            layers_.push_back({at, at + layer.n_in * layer.n_out});
            at += layer.n_out * (layer.n_in + 1);
        }
    }
    std::span<const LinearGradient> layers() const { return layers_; }
    Tile<const double> all() const { return make_view(values_.data(), 1, values_.size()); }
    double largest() const {
        double size = 0;
        for (double value : values_) size = std::max(size, std::abs(value));
        return size;
    }

private:
    template <class T>
    static int64_t n_parameter(const ResidualMlp<T>& mlp) {
        int64_t n = 0;
        for (const Linear<T>& layer : mlp.layers) n += layer.n_out * (layer.n_in + 1);
        return n;
    }
    Buffer<double> values_;
    std::vector<LinearGradient> layers_;
};

/// One tile through a chain, forward and backward.
template <class T>
struct Problem {
    Problem(const ResidualMlp<T>& chain, const TileCase& tile)
        : mlp(chain),
          x(TileBox<T>::input, mlp.n_in(), tile.n_point, tile.layout),
          dy(TileBox<T>::input, mlp.n_out(), tile.n_point, {1, 3}),
          saved(TileBox<T>::output, mlp.n_saved(), tile.n_point, tile.layout),
          scratch(TileBox<T>::output, 2 * mlp.n_hidden(), tile.n_point, {1, 1}),
          y(TileBox<T>::output, mlp.n_out(), tile.n_point, tile.layout),
          dx(TileBox<T>::input, mlp.n_in(), tile.n_point, tile.layout),
          gradients(mlp) {}

    void fill(std::mt19937& random) {
        x.fill_normal(random);
        dy.fill_normal(random);
        dx.fill_normal(random);
    }
    template <class U>
    void fill_from(const Problem<U>& other) {
        x.fill_from(other.x);
        dy.fill_from(other.dy);
        dx.fill_from(other.dx);
    }
    void forward(const Queue& queue) {
        Traps traps;
        residual_mlp_forward<T>(queue, mlp, x.input_view(), saved.view(), false, y.view());
    }
    void backward(const Queue& queue, bool accumulate) {
        Traps traps;
        residual_mlp_backward<T>(queue, mlp, x.input_view(), saved.input_view(), dy.input_view(),
                                 gradients.layers(), scratch.view(), accumulate, dx.view());
    }

    ResidualMlp<T> mlp;
    TileBox<T> x, dy, saved, scratch, y, dx;
    Gradients gradients;
};

TEST(MlpBackwardReference, GivesNumbersOfTheFormulas) {
    // Width 1, identity, x = 1: a_0 = 2x + 1 + x = 4, a_1 = 3 a_0 + a_0 = 16, y = a_1 - 1 + a_1.
    // dy = 1: da_1 = 2, da_0 = 4 * 2, dx = 3 * 8.
    const double parameters[] = {2, 1, 3, 0, 1, -1};
    const Linear<double> layers[] = {{1, 1, &parameters[0], &parameters[1]},
                                     {1, 1, &parameters[2], &parameters[3]},
                                     {1, 1, &parameters[4], &parameters[5]}};
    Problem<double> problem({layers, Activation::identity, true, true}, {1, {}});
    problem.x.fill([](int64_t, int64_t) { return 1; });
    problem.dy.fill([](int64_t, int64_t) { return 1; });
    problem.dx.fill([](int64_t, int64_t) { return 1000; });
    problem.forward(Queue());
    EXPECT_EQ(problem.mlp.n_saved(), 4);
    EXPECT_EQ(problem.y.view()(0, 0), 31);
    problem.backward(Queue(), true);
    EXPECT_EQ(problem.dx.view()(0, 0), 1024);
    const double want[] = {8, 8, 8, 2, 16, 1};  // x da_0, da_0, a_0 da_1, da_1, a_1 dy, dy
    for (int64_t k = 0; k < 6; ++k) EXPECT_EQ(problem.gradients.all()(0, k), want[k]);
}

TEST(MlpBackwardReference, AgreesWithDifferences) {
    auto random = generator();
    for (const Chain& chain : chains) {
        ChainWeights weights(chain, random);
        for (int64_t n_point : {1, 33}) {
            Problem<double> problem(weights.reference(), {n_point, {}});
            problem.fill(random);
            problem.forward(Queue());
            problem.backward(Queue(), false);
            const auto loss = [&] {
                problem.forward(Queue());
                return inner_product(problem.dy.input_view(), problem.y.view());
            };
            const auto& layers = problem.mlp.layers;
            for (size_t j = 0; j < layers.size(); ++j) {
                const int64_t n_weight = layers[j].n_in * layers[j].n_out;
                const LinearGradient& gradient = problem.gradients.layers()[j];
                // The chain belongs to this test, which may change it.
                expect_slopes("weight", const_cast<double*>(layers[j].weight), gradient.weight,
                              n_weight, loss, 1e-8);
                expect_slopes("bias", const_cast<double*>(layers[j].bias), gradient.bias,
                              layers[j].n_out, loss, 1e-8);
            }
            for (int64_t c : {int64_t(0), problem.mlp.n_in() - 1})
                expect_slopes("x", &problem.x.view()(c, 0), &problem.dx.view()(c, 0), n_point, loss,
                              1e-8);
        }
    }
}

TEST_P(MlpBackwardOn, ForwardHasTheBitsOfInference) {
    auto random = generator();
    for (const Chain& chain : chains) {
        const ChainWeights weights(chain, random);
        for (const TileCase& tile : tile_cases) {
            Problem<float> problem(weights.single(), tile);
            problem.fill(random);
            for (bool accumulate : {false, true}) {
                TileBox<float> y(TileBox<float>::input, problem.mlp.n_out(), tile.n_point);
                TileBox<float> again(TileBox<float>::input, problem.mlp.n_out(), tile.n_point);
                y.fill_normal(random);
                again.fill_from(y);
                Traps traps;
                residual_mlp<float>(queue(), problem.mlp, problem.x.input_view(),
                                    problem.scratch.view(), accumulate, y.view());
                residual_mlp_forward<float>(queue(), problem.mlp, problem.x.input_view(),
                                            problem.saved.view(), accumulate, again.view());
                expect_same_bits<float>(again.view(), y.view());
            }
            problem.x.expect_unchanged("x");
            problem.saved.expect_kept_inside("saved");
        }
    }
}

TEST_P(MlpBackwardOn, AgreesWithDoubleOnAwkwardTiles) {
    auto random = generator();
    for (const Chain& chain : chains) {
        const ChainWeights weights(chain, random);
        for (const TileCase& tile : tile_cases) {
            for (bool accumulate : {false, true}) {
                Problem<float> problem(weights.single(), tile);
                Problem<double> problem64(weights.reference(), {tile.n_point, {}});
                problem.fill(random);
                problem64.fill_from(problem);
                problem.forward(queue());
                problem64.forward(Queue());
                problem.backward(queue(), accumulate);
                problem64.backward(Queue(), accumulate);
                // Rounding grows with the number of layers; values stay below about 10, and those
                // of parameters' gradients below 10 times the root of the number of points.
                const double depth = static_cast<double>(chain.widths.size());
                const double root = std::sqrt(static_cast<double>(tile.n_point));
                expect_close<float>(problem.dx.view(), problem64.dx.view(),
                                    8 * epsilon<float> * depth * 10);
                expect_close<double>(problem.gradients.all(), problem64.gradients.all(),
                                     8 * epsilon<float> * depth * 10 * root);
                problem.x.expect_unchanged("x");
                problem.dy.expect_unchanged("dy");
                problem.dx.expect_kept_inside("dx");
                problem.scratch.expect_kept_inside("scratch");
            }
        }
    }
}

TEST_P(MlpBackwardOn, GradientsDoNotNeedThatOfTheInput) {
    auto random = generator();
    for (const Chain& chain : chains) {
        const ChainWeights weights(chain, random);
        Problem<float> problem(weights.single(), {65, {}});
        problem.fill(random);
        problem.forward(queue());
        problem.backward(queue(), false);
        Gradients gradients(problem.mlp);
        residual_mlp_backward<float>(queue(), problem.mlp, problem.x.input_view(),
                                     problem.saved.input_view(), problem.dy.input_view(),
                                     gradients.layers(), problem.scratch.view(), false, {});
        expect_same_bits<double>(gradients.all(), problem.gradients.all());
    }
}

TEST_P(MlpBackwardOn, GradientsOfTilesAddUp) {
    auto random = generator();
    const ChainWeights weights(chains[5], random);
    Problem<float> whole(weights.single(), {200, {}});
    whole.fill(random);
    whole.forward(queue());
    whole.backward(queue(), false);
    Gradients gradients(whole.mlp);
    TileBox<float> dx(TileBox<float>::output, whole.mlp.n_in(), 200);
    for (int64_t first = 0; first < 200; first += 64) {
        const auto some = [&](auto tile) {
            return points(tile, first, std::min<int64_t>(64, 200 - first));
        };
        residual_mlp_backward<float>(queue(), whole.mlp, some(whole.x.input_view()),
                                     some(whole.saved.input_view()), some(whole.dy.input_view()),
                                     gradients.layers(), whole.scratch.view(), false,
                                     some(dx.view()));
    }
    expect_same_bits<float>(dx.view(), whole.dx.view());
    const bool is_simd = queue().backend() == Backend::simd;  // ref sums a tile at once, in float
    const double bound = is_simd ? 0 : 200 * epsilon<float> * whole.gradients.largest();
    expect_close<double>(gradients.all(), whole.gradients.all(), bound);
}

TEST(MlpBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    for (const Chain& chain : chains) {
        const ChainWeights weights(chain, random);
        for (int64_t n_point : {1, 33, 64, 65}) {
            Problem<float> one(weights.single(), {n_point, {}});
            one.fill(random);
            const auto run = [](Problem<float>& problem, VectorLevel level) {
                const Queue queue(Backend::simd, level, 1);
                problem.forward(queue);
                problem.backward(queue, true);
            };
            for (VectorLevel level : wide_levels()) {
                Problem<float> wide(weights.single(), {n_point, {1, 1}});
                wide.fill_from(one);
                run(wide, level);
                Problem<float> narrow(weights.single(), {n_point, {}});
                narrow.fill_from(one);
                run(narrow, VectorLevel::scalar);
                expect_same_bits<float>(wide.dx.view(), narrow.dx.view());
                expect_same_bits<double>(wide.gradients.all(), narrow.gradients.all());
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
