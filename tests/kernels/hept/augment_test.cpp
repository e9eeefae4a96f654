// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/hept/block_problem.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::kernels::hept::test {
namespace {

class HeptAugmentOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(HeptAugmentOn);

struct AugmentCase {
    RowShape shape;
    int64_t n_in, n_table, n_point;
    Layout layout;
};

const std::vector<AugmentCase> augment_cases = {
    {{24, 6}, 24, 3, 64, {}},      // as published
    {{1, 2}, 1, 1, 1, {}},         // the smallest
    {{4, 3}, 4, 2, 7, {1, 3}},     // less than any vector, misaligned
    {{17, 15}, 9, 7, 17, {0, 1}},  // a stride without zeros behind; more tables than go together
    {{12, 4}, 12, 4, 33, {}},      //
    {{6, 2}, 5, 3, 0, {}},         // no points
};

/// A head with its points.
template <class T>
struct AugmentProblem {
    AugmentProblem(const AugmentCase& size_, std::mt19937& random)
        : size(size_),
          weight(static_cast<size_t>(3 * size.shape.n_channel * size.n_in)),
          scale(static_cast<size_t>(size.shape.n_coordinate)),
          alpha(static_cast<size_t>(size.n_table * size.shape.n_query())),
          u(TileBox<T>::input, size.n_in, size.n_point, size.layout),
          x(TileBox<T>::input, size.shape.n_coordinate, size.n_point, size.layout) {
        std::normal_distribution<float> normal;
        for (T& w : weight) w = static_cast<T>(0.3f * normal(random));
        for (T& s : scale) s = static_cast<T>(std::abs(normal(random)));
        for (float& a : alpha) a = normal(random);
        u.fill_normal(random);
        x.fill_normal(random);
    }

    Head<T> head() const {
        return {size.shape,
                {size.n_in, 3 * size.shape.n_channel, weight.data(), nullptr},
                scale.data(),
                alpha.data(),
                size.n_table};
    }
    int64_t n_hash() const { return 2 * size.n_table * size.n_point; }

    bool run(const Queue& queue, Output<T>& rows, std::vector<uint32_t>& hashes) const {
        Buffer<T> scratch = poisoned<T>(augment_scratch(head()));
        hashes.assign(static_cast<size_t>(n_hash()), 0);
        const Traps traps;
        return augment<T>(queue, head(), u.input_view(), x.input_view(), scratch.data(),
                          rows.data(), {hashes.data(), size.n_point});
    }

    AugmentCase size;
    std::vector<T> weight, scale;
    std::vector<float> alpha;
    TileBox<T> u, x;
};

/// Number e of the row of point i, by the formula.
template <class T>
double row_number(const AugmentProblem<T>& p, int64_t i, int64_t e) {
    const auto [d, n_coordinate] = p.size.shape;
    if (e >= d && e < d + n_coordinate)
        return static_cast<double>(p.scale[static_cast<size_t>(e - d)]) *
               static_cast<double>(p.x.input_view()(e - d, i));
    if (e >= p.size.shape.n_used()) return 0;
    double sum = 0;
    for (int64_t c = 0; c < p.size.n_in; ++c)
        sum +=
            static_cast<double>(
                p.weight[static_cast<size_t>((e < d ? e : e - n_coordinate) * p.size.n_in + c)]) *
            static_cast<double>(p.u.input_view()(c, i));
    return sum;
}

/// The hash of a row as it was written, exactly.
uint32_t hash_of(const AugmentProblem<float>& p, const float* row, int64_t table, bool is_key) {
    const auto [d, n_coordinate] = p.size.shape;
    const float* channel = is_key ? row + d + n_coordinate : row;
    const float* alpha = p.alpha.data() + table * (d + n_coordinate);
    double sum = 0;
    for (int64_t e = 0; e < d + n_coordinate; ++e)
        sum = std::fma(static_cast<double>(e < d ? channel[e] : row[e]),
                       static_cast<double>(alpha[e]), sum);
    return ordered_bits(static_cast<float>(sum));
}

TEST_P(HeptAugmentOn, RowsAgreeWithTheFormulaAndHashesAreThoseOfTheRows) {
    auto random = generator();
    for (const AugmentCase& size : augment_cases) {
        const AugmentProblem<float> p(size, random);
        const int64_t stride = size.shape.stride();
        Output<float> rows(size.n_point * stride);
        std::vector<uint32_t> hashes;
        ASSERT_TRUE(p.run(queue(), rows, hashes));
        rows.expect_kept_inside("rows");
        p.u.expect_unchanged("u");
        const double bound =
            4 * test::epsilon<float> * std::sqrt(static_cast<double>(size.n_in)) * 5;
        for (int64_t i = 0; i < size.n_point; ++i) {
            for (int64_t e = 0; e < stride; ++e)
                ASSERT_NEAR(rows[i * stride + e], row_number(p, i, e), bound);
            for (int64_t t = 0; t < 2 * size.n_table; ++t)
                ASSERT_EQ(
                    hashes[static_cast<size_t>(t * size.n_point + i)],
                    hash_of(p, rows.data() + i * stride, t % size.n_table, t >= size.n_table));
        }
    }
}

TEST(HeptAugmentLevels, GiveTheSameBits) {
    auto random = generator();
    for (const AugmentCase& size : augment_cases) {
        const AugmentProblem<float> p(size, random);
        const int64_t n = size.n_point * size.shape.stride();
        Output<float> want(n);
        std::vector<uint32_t> want_hashes, hashes;
        p.run(Queue(Backend::simd, VectorLevel::scalar, 1), want, want_hashes);
        for (VectorLevel level : wide_levels()) {
            Output<float> rows(n);
            p.run(Queue(Backend::simd, level, 1), rows, hashes);
            expect_same_bits(rows, want);
            EXPECT_EQ(hashes, want_hashes);
        }
    }
}

TEST_P(HeptAugmentOn, APointDoesNotSeeItsPlaceInTheTile) {
    auto random = generator();
    AugmentProblem<float> p(augment_cases[0], random), shifted(augment_cases[0], random);
    shifted.weight = p.weight, shifted.scale = p.scale, shifted.alpha = p.alpha;
    shifted.u.fill([&](int64_t c, int64_t i) { return p.u.input_view()(c, (i + 5) % 64); });
    shifted.x.fill([&](int64_t c, int64_t i) { return p.x.input_view()(c, (i + 5) % 64); });
    const int64_t stride = p.size.shape.stride();
    Output<float> rows(64 * stride), other(64 * stride);
    std::vector<uint32_t> hashes, other_hashes;
    p.run(queue(), rows, hashes);
    shifted.run(queue(), other, other_hashes);
    for (size_t i = 0; i < 64; ++i) {
        const size_t from = (i + 5) % 64;
        ASSERT_EQ(std::memcmp(other.data() + i * 80, rows.data() + from * 80, 80 * sizeof(float)),
                  0);
        for (size_t t = 0; t < 6; ++t) ASSERT_EQ(other_hashes[t * 64 + i], hashes[t * 64 + from]);
    }
}

TEST_P(HeptAugmentOn, SquaresThatMayOverflowAreReported) {
    auto random = generator();
    for (const int64_t point : {0, 5, 32}) {
        AugmentProblem<float> p({{12, 4}, 12, 4, 33, {}}, random);
        Output<float> rows(33 * p.size.shape.stride());
        std::vector<uint32_t> hashes;
        p.scale = {1, 1, 1, 1};
        p.x.view()(2, point) = 9e18f;
        EXPECT_TRUE(p.run(queue(), rows, hashes));
        p.x.view()(2, point) = 1e19f;
        EXPECT_FALSE(p.run(queue(), rows, hashes));
        p.x.view()(2, point) = 1;
        p.u.view()(2, point) = std::numeric_limits<float>::quiet_NaN();
        EXPECT_FALSE(p.run(queue(), rows, hashes));
    }
}

/// Gradients that augment_backward() accumulates, each starting at 0.5.
template <class T>
struct AugmentGradient {
    explicit AugmentGradient(const AugmentProblem<T>& p)
        : du(TileBox<T>::output, p.size.n_in, p.size.n_point),
          dx(TileBox<T>::output, p.size.shape.n_coordinate, p.size.n_point),
          weight(p.weight.size(), 0.5),
          scale(p.scale.size(), 0.5) {
        for (TileBox<T>* box : {&du, &dx}) box->fill([](int64_t, int64_t) { return 0.5; });
    }
    void run(const Queue& queue, const AugmentProblem<T>& p, const std::vector<T>& drows,
             bool has_dx = true) {
        Buffer<T> scratch = poisoned<T>(augment_scratch(p.head()));
        const Traps traps;
        augment_backward<T>(queue, p.head(), p.u.input_view(), p.x.input_view(), drows.data(),
                            scratch.data(), du.view(), has_dx ? dx.view() : Tile<T>{},
                            {weight.data(), nullptr}, scale.data());
    }
    TileBox<T> du, dx;
    std::vector<double> weight, scale;
};

template <class T>
std::vector<T> some_drows(const AugmentCase& size) {
    std::vector<T> drows(static_cast<size_t>(size.n_point * size.shape.stride()));
    for (size_t k = 0; k < drows.size(); ++k)
        drows[k] = static_cast<float>(std::sin(static_cast<double>(1 + 7 * k)));
    return drows;
}

TEST(HeptAugmentBackwardReference, AgreesWithFiniteDifferences) {
    auto random = generator();
    for (const AugmentCase& size : augment_cases) {
        if (size.n_point == 0) continue;
        AugmentProblem<double> p(size, random);
        const std::vector<double> drows = some_drows<double>(size);
        AugmentGradient<double> got(p);
        got.run(Queue(), p, drows);
        const int64_t n_used = size.shape.n_used(), stride = size.shape.stride();
        const auto loss = [&] {
            Output<double> rows(size.n_point * stride);
            std::vector<uint32_t> hashes;
            p.run(Queue(), rows, hashes);
            double sum = 0;
            for (int64_t k = 0; k < rows.size(); ++k)
                if (k % stride < n_used) sum += rows[k] * drows[static_cast<size_t>(k)];
            return sum;
        };
        const auto expect = [&](const char* what, double* at, const double* gradient, int64_t n) {
            std::vector<double> slopes(gradient, gradient + n);
            for (double& x : slopes) x -= 0.5;
            expect_slopes(what, at, slopes.data(), n, loss, 1e-9);
        };
        for (int64_t c = 0; c < size.n_in; ++c)
            expect("u", &p.u.view()(c, 0), &got.du.view()(c, 0), size.n_point);
        for (int64_t r = 0; r < size.shape.n_coordinate; ++r)
            expect("x", &p.x.view()(r, 0), &got.dx.view()(r, 0), size.n_point);
        expect("weight", p.weight.data(), got.weight.data(), std::ssize(p.weight));
        expect("scale", p.scale.data(), got.scale.data(), std::ssize(p.scale));
    }
}

TEST_P(HeptAugmentOn, GradientsAgreeWithTheReferenceInDouble) {
    auto random = generator();
    for (const AugmentCase& size : augment_cases) {
        AugmentProblem<float> p(size, random);
        AugmentProblem<double> exact(size, random);
        exact.u.fill_from(p.u), exact.x.fill_from(p.x);
        std::copy(p.weight.begin(), p.weight.end(), exact.weight.begin());
        std::copy(p.scale.begin(), p.scale.end(), exact.scale.begin());
        AugmentGradient<float> got(p), without(p);
        AugmentGradient<double> want(exact);
        got.run(queue(), p, some_drows<float>(size));
        without.run(queue(), p, some_drows<float>(size), false);
        want.run(Queue(), exact, some_drows<double>(size));
        const double n = static_cast<double>(size.n_point + 3 * size.shape.n_channel);
        const double bound = 8 * test::epsilon<float> * 5 * std::sqrt(n) * 3;
        expect_close<float>(got.du.view(), want.du.view(), bound);
        expect_close<float>(got.dx.view(), want.dx.view(), bound);
        got.du.expect_kept_inside("du");
        got.dx.expect_kept_inside("dx");
        for (size_t k = 0; k < want.weight.size(); ++k)
            ASSERT_NEAR(got.weight[k], want.weight[k], bound);
        for (size_t k = 0; k < want.scale.size(); ++k)
            ASSERT_NEAR(got.scale[k], want.scale[k], bound);
        EXPECT_EQ(without.weight, got.weight);
        EXPECT_EQ(without.scale, got.scale);
        for (int64_t i = 0; i < size.n_point; ++i) EXPECT_EQ(without.dx.view()(0, i), 0.5f);
    }
}

}  // namespace
}  // namespace surrogate::kernels::hept::test
