// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding.hpp"

#include <limits>
#include <optional>

#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class EmbeddingOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(EmbeddingOn);

/// Fourier features of one tile with their gradients.
template <class T>
struct Fourier {
    Fourier(int64_t n_features, int64_t n_dim, const TileCase& tile)
        : n_feature(n_features),
          weight(n_features * n_dim),
          dweight(n_features * n_dim),
          p(TileBox<T>::input, n_dim, tile.n_point, tile.layout),
          df(TileBox<T>::input, 2 * n_features, tile.n_point, {1, 1}),
          f(TileBox<T>::output, 2 * n_features, tile.n_point, tile.layout),
          scratch(TileBox<T>::output, n_features, tile.n_point, tile.layout),
          dp(TileBox<T>::output, n_dim, tile.n_point, {0, 5}) {}

    void fill(std::mt19937& random, float size) {
        std::normal_distribution<float> normal;
        for (T& w : weight) w = size * normal(random);
        p.fill_normal(random);
        df.fill_normal(random);
    }
    template <class U>
    void fill_from(const Fourier<U>& other) {
        std::copy(other.weight.begin(), other.weight.end(), weight.begin());
        p.fill_from(other.p);
        df.fill_from(other.df);
    }
    void forward(const Queue& queue) {
        Traps traps;
        fourier_features<T>(queue, n_feature, weight.data(), p.input_view(), f.view());
    }
    void backward(const Queue& queue) {
        Traps traps;
        fourier_features_backward<T>(queue, n_feature, weight.data(), p.input_view(),
                                     f.input_view(), df.input_view(), scratch.view(),
                                     dweight.data(), dp.view());
    }

    int64_t n_feature;
    Buffer<T> weight;
    Buffer<double> dweight;
    TileBox<T> p, df, f, scratch, dp;
};

/// cos and sin of the angles themselves: weight 1, one dimension.
template <class T>
Fourier<T> of_angles(const Queue& queue, const std::vector<float>& angles) {
    Fourier<T> fourier(1, 1, {std::ssize(angles), {}});
    fourier.weight[0] = 1;
    fourier.p.fill([&](int64_t, int64_t i) { return angles[static_cast<size_t>(i)]; });
    fourier.forward(queue);
    return fourier;
}

void expect_cos_sin(const Queue& queue, const std::vector<float>& angles, double bound) {
    const Fourier<float> got = of_angles<float>(queue, angles);
    for (size_t i = 0; i < angles.size(); ++i) {
        const double a = angles[i];
        const auto at = static_cast<int64_t>(i);
        ASSERT_LE(std::abs(got.f.input_view()(0, at) - std::cos(a)), bound) << "cos " << a;
        ASSERT_LE(std::abs(got.f.input_view()(1, at) - std::sin(a)), bound) << "sin " << a;
    }
}

TEST_P(EmbeddingOn, SineAndCosineAreWithinTheirBound) {
    auto random = generator();
    std::vector<float> angles{0.0f, -0.0f, 1e-30f, 1e-8f, 0.5f, 1e4f, -1e4f};
    for (float size : {1.0f, 10.0f, 100.0f, 1e4f}) {
        std::uniform_real_distribution<float> uniform(-size, size);
        for (int i = 0; i < 50000; ++i) angles.push_back(uniform(random));
    }
    // Next to multiples of pi/4, where quarters change and results vanish.
    for (int n = -12732; n <= 12732; ++n) {
        const auto a = static_cast<float>(n * 0.78539816339744831);
        if (std::abs(a) > 1e4f) continue;
        for (float x : {a, std::nextafter(a, -1e5f), std::nextafter(a, 1e5f)}) angles.push_back(x);
    }
    expect_cos_sin(queue(), angles, 1e-7);
}

TEST_P(EmbeddingOn, AnglesOfAnySizeStayRight) {
    auto random = generator();
    std::uniform_real_distribution<float> exponent(13, 127.9f);
    std::vector<float> angles{std::nextafter(1e4f, 2e4f), 3.4e38f, -3.4e38f};
    for (int i = 0; i < 2000; ++i)
        angles.push_back(std::exp2(exponent(random)) * (i % 2 == 0 ? 1 : -1));
    expect_cos_sin(queue(), angles, 1e-7);
}

TEST_P(EmbeddingOn, ALargeAngleBesideLeavesBitsAlone) {
    const Fourier<float> calm = of_angles<float>(queue(), {0.1f, 0.2f, 0.3f});
    const Fourier<float> beside = of_angles<float>(queue(), {0.1f, 1e9f, 0.3f});
    for (int64_t i : {0, 2})
        for (int64_t c : {0, 1}) EXPECT_EQ(calm.f.input_view()(c, i), beside.f.input_view()(c, i));
}

TEST_P(EmbeddingOn, NaNStays) {
    Fourier<float> fourier(1, 1, {3, {}});
    fourier.weight[0] = 1;
    fourier.p.fill(
        [](int64_t, int64_t i) { return i == 1 ? std::numeric_limits<float>::quiet_NaN() : 1e9f; });
    fourier_features<float>(queue(), 1, fourier.weight.data(), fourier.p.input_view(),
                            fourier.f.view());
    for (int64_t c : {0, 1}) {
        EXPECT_TRUE(std::isnan(fourier.f.view()(c, 1)));
        EXPECT_FALSE(std::isnan(fourier.f.view()(c, 2)));
    }
}

TEST_P(EmbeddingOn, FourierFeaturesAgreeWithDoubleOnAwkwardTiles) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (int64_t n_dim : {1, 2, 3}) {
            Fourier<float> got(7, n_dim, tile);
            Fourier<double> want(7, n_dim, tile);
            got.fill(random, 3);
            want.fill_from(got);
            got.forward(queue());
            want.forward(reference);
            // Angles of size 30 in float, three products.
            expect_close<float>(got.f.view(), want.f.view(), 1e-7 + 3 * 40 * epsilon<float>);
            got.f.expect_kept_inside("f");
            got.backward(queue());
            want.backward(reference);
            got.scratch.expect_kept_inside("scratch");
            got.dp.expect_kept_inside("dp");
            expect_close<float>(got.dp.view(), want.dp.view(), 2000 * epsilon<float>);
            for (int64_t k = 0; k < want.dweight.size(); ++k)
                ASSERT_NEAR(got.dweight[k], want.dweight[k], 10000 * epsilon<float>);
        }
    }
}

TEST(EmbeddingReference, FourierBackwardAgreesWithDifferences) {
    auto random = generator();
    Fourier<double> fourier(5, 3, {4, {}});
    fourier.fill(random, 1);
    fourier.forward(reference);
    fourier.backward(reference);
    const auto loss = [&] {
        fourier.forward(reference);
        return inner_product(fourier.df.input_view(), fourier.f.view());
    };
    expect_slopes("weight", fourier.weight.data(), fourier.dweight.data(), 15, loss, 1e-9);
    for (int64_t k = 0; k < 3; ++k)
        for (int64_t i = 0; i < 4; ++i)
            ASSERT_NEAR(fourier.dp.view()(k, i), slope(fourier.p.view()(k, i), loss), 1e-9);
}

TEST_P(EmbeddingOn, BackwardAddsToWeightsAndCanLeaveOutPoints) {
    auto random = generator();
    Fourier<float> fourier(5, 3, {17, {}});
    fourier.fill(random, 1);
    fourier.forward(queue());
    fourier.backward(queue());
    const std::vector<double> once(fourier.dweight.begin(), fourier.dweight.end());
    fourier_features_backward<float>(queue(), 5, fourier.weight.data(), fourier.p.input_view(),
                                     fourier.f.input_view(), fourier.df.input_view(),
                                     fourier.scratch.view(), fourier.dweight.data(), {});
    for (size_t k = 0; k < once.size(); ++k)
        EXPECT_EQ(fourier.dweight[static_cast<int64_t>(k)], 2 * once[k]);
}

TEST_P(EmbeddingOn, RowsOfATableAreCopiedOrAdded) {
    const float table[] = {1, 2, 3, 10, 20, 30};  // (2, 3)
    const int64_t row[] = {1, 0, 1, 1};
    TileBox<float> y(TileBox<float>::input, 3, 4, {1, 3});
    y.fill([](int64_t, int64_t) { return 100; });
    Traps traps;
    embed_rows<float>(queue(), table, row, true, y.view());
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.view()(2, i), row[i] == 1 ? 130 : 103);
    embed_rows<float>(queue(), table, row, false, y.view());
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(y.view()(1, i), row[i] == 1 ? 20 : 2);
    y.expect_kept_inside("y");
}

TEST_P(EmbeddingOn, GradientsOfRowsAddUp) {
    const int64_t row[] = {1, 0, 1, 1};
    TileBox<float> dy(TileBox<float>::input, 2, 4);
    dy.fill([](int64_t c, int64_t i) { return 10 * c + i; });
    double dtable[] = {0.5, 0, 0, 0, 7, 7};  // (3, 2)
    Traps traps;
    embed_rows_backward<float>(queue(), row, dy.input_view(), dtable);
    const double want[] = {1.5, 11, 5, 35, 7, 7};
    for (size_t k = 0; k < 6; ++k) EXPECT_EQ(dtable[k], want[k]);
}

TEST(EmbeddingLevels, GiveTheSameBits) {
    auto random = generator();
    for (float size : {3.0f, 1e4f, 1e20f}) {
        Fourier<float> want(9, 3, {37, {}});
        want.fill(random, size);
        want.forward(Queue(Backend::simd, VectorLevel::scalar, 1));
        want.backward(Queue(Backend::simd, VectorLevel::scalar, 1));
        for (VectorLevel level : wide_levels()) {
            Fourier<float> got(9, 3, {37, {}});
            got.fill_from(want);
            got.forward(Queue(Backend::simd, level, 1));
            got.backward(Queue(Backend::simd, level, 1));
            expect_same_bits<float>(got.f.view(), want.f.view());
            expect_same_bits<float>(got.dp.view(), want.dp.view());
            for (int64_t k = 0; k < got.dweight.size(); ++k)
                ASSERT_EQ(got.dweight[k], want.dweight[k]);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
