// SPDX-License-Identifier: Apache-2.0
// The passes of FLARE's backward pass on devices, compiled for the host, against the reference in
// double.
#include "kernels/flare/flare_gradient_cuda.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/norm/norm.hpp"

namespace surrogate::tests {
namespace {

using kernels::Activation;
using kernels::Operand;
using kernels::RowNormArgs;
using kernels::RowNormGradientArgs;
using kernels::RowProductArgs;
using kernels::Tile;
using kernels::flare::AttentionArgs;
using kernels::flare::GradientKernels;
using kernels::flare::LatentSums;
using kernels::flare::Sizes;

size_t at(int64_t i) {
    return static_cast<size_t>(i);
}
std::vector<float> wave(int64_t n, double step, double offset = 0) {
    std::vector<float> values(at(n));
    for (int64_t i = 0; i < n; ++i)
        values[at(i)] =
            static_cast<float>(offset + std::sin(step * static_cast<double>(i + 1) +
                                                 1e-3 * static_cast<double>(i * i % 97)));
    return values;
}
std::vector<double> wide(const std::vector<float>& values) {
    return {values.begin(), values.end()};
}
/// Everything that a kernel should write begins as this.
std::vector<float> unwritten(int64_t n) {
    return std::vector<float>(at(n), 777);
}

const GradientKernels& passes() {
    static const GradientKernels made = kernels::flare::cuda::gradient_kernels();
    return made;
}
const kernels::DeviceProperties device{};

/// Relative to the largest.
void expect_near(const std::vector<float>& found, const std::vector<double>& expected,
                 double tolerance, const char* what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    double size = 0;
    for (const double value : expected) size = std::max(size, std::abs(value));
    for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], tolerance * size) << what << " " << i;
}

// ---- products ----

double activated(Activation activation, double u) {
    if (activation == Activation::silu) return u / (1 + std::exp(-u));
    if (activation == Activation::identity) return u;
    return u / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (u + 0.044715 * u * u * u)));
}
double slope(Activation activation, double u) {
    constexpr double h = 1e-5;
    return (activated(activation, u + h) - activated(activation, u - h)) / (2 * h);
}

struct ProductCase {
    int64_t n_row, n_column, n_step;
    Operand operand;
    bool by_row_a, by_row_b;  // else rows are contiguous

    /// Operands of 11 bits: products of numbers up to 1 err by 2^-10 at most, their sum by the root
    /// of its length, as long as the sum itself; and three times that in the worst of a thousand.
    double tolerance() const { return operand == Operand::fp32 ? 1e-6 : 3 * 0x1p-10; }
};

class RowProducts : public testing::TestWithParam<ProductCase> {
protected:
    const ProductCase c = GetParam();
    const std::vector<float> a = wave(c.n_row * c.n_step, 0.37),
                             b = wave(c.n_column * c.n_step, 1.31);

    RowProductArgs args() const {
        RowProductArgs made;
        made.operand = c.operand;
        made.a = {a.data(), c.by_row_a ? c.n_step : 1, c.by_row_a ? 1 : c.n_row};
        made.b = {b.data(), c.by_row_b ? c.n_step : 1, c.by_row_b ? 1 : c.n_column};
        made.n_row = c.n_row;
        made.n_column = c.n_column;
        made.n_step = c.n_step;
        return made;
    }
    double left(int64_t i, int64_t s) const {
        return a[at(c.by_row_a ? i * c.n_step + s : s * c.n_row + i)];
    }
    double right(int64_t j, int64_t s) const {
        return b[at(c.by_row_b ? j * c.n_step + s : s * c.n_column + j)];
    }
    std::vector<double> sums(int64_t begin, int64_t end) const {
        std::vector<double> result;
        for (int64_t i = 0; i < c.n_row; ++i) {
            for (int64_t j = 0; j < c.n_column; ++j) {
                double sum = 0;
                for (int64_t s = begin; s < end; ++s) sum += left(i, s) * right(j, s);
                result.push_back(sum);
            }
        }
        return result;
    }
};

TEST_P(RowProducts, AreLayersWithWhatStandsBehindThem) {
    const int64_t n = c.n_row * c.n_column;
    const std::vector<float> bias = wave(c.n_column, 0.7), first = wave(n, 0.2),
                             second = wave(n, 0.9);
    for (const Activation activation :
         {Activation::identity, Activation::gelu_tanh, Activation::silu}) {
        std::vector<double> sum = sums(0, c.n_step), result;
        for (int64_t i = 0; i < n; ++i) sum[at(i)] += bias[at(i % c.n_column)];
        for (int64_t i = 0; i < n; ++i)
            result.push_back(activated(activation, sum[at(i)]) + first[at(i)] + second[at(i)]);
        std::vector<float> found_sum = unwritten(n), found = second;
        RowProductArgs layer = args();
        layer.bias = bias.data();
        layer.activation = activation;
        layer.sum = found_sum.data();
        layer.add = {first.data(), found.data()};
        layer.result = found.data();
        passes().product(device, layer, nullptr);
        expect_near(found_sum, sum, c.tolerance(), "sum");
        expect_near(found, result, c.tolerance(), "result");
    }
}

TEST_P(RowProducts, GoBackThroughAnActivation) {
    const int64_t n = c.n_row * c.n_column;
    const std::vector<float> u = wave(n, 0.43), before = wave(n, 0.2);
    for (const Activation activation : {Activation::gelu_tanh, Activation::silu}) {
        std::vector<double> result = sums(0, c.n_step), sloped;
        for (int64_t i = 0; i < n; ++i) {
            result[at(i)] += before[at(i)];
            sloped.push_back(result[at(i)] * slope(activation, 3.0 * u[at(i)]));
        }
        std::vector<float> thrice = u, found = before, found_sloped = unwritten(n);
        for (float& value : thrice) value *= 3;
        RowProductArgs layer = args();
        layer.activation = activation;
        layer.add[0] = found.data();
        layer.result = found.data();
        layer.slope_at = thrice.data();
        layer.sloped = found_sloped.data();
        passes().product(device, layer, nullptr);
        expect_near(found, result, c.tolerance(), "result");
        expect_near(found_sloped, sloped, c.tolerance(), "sloped");
    }
}

TEST_P(RowProducts, InPartsAddUpInDouble) {
    RowProductArgs weights = args();
    weights.steps_per_part = 20;
    const int64_t n = c.n_row * c.n_column, n_part = weights.n_part();
    std::vector<float> parts = unwritten(n_part * n), row_sums = unwritten(n_part * c.n_row);
    weights.result = parts.data();
    weights.row_sums = row_sums.data();
    passes().product(device, weights, nullptr);
    std::vector<double> all, rows;
    for (int64_t begin = 0; begin < c.n_step; begin += 20) {
        const int64_t end = std::min(begin + 20, c.n_step);
        const std::vector<double> part = sums(begin, end);
        all.insert(all.end(), part.begin(), part.end());
        for (int64_t i = 0; i < c.n_row; ++i) {
            double sum = 0;
            for (int64_t s = begin; s < end; ++s) sum += left(i, s);
            rows.push_back(sum);
        }
    }
    expect_near(parts, all, c.tolerance(), "parts");
    expect_near(row_sums, rows, 1e-6, "sums of rows");

    std::vector<double> total(at(n), 0.5);
    passes().part_sums(device, {parts.data(), n_part, n, total.data()}, nullptr);
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t p = 0; p < n_part; ++p) sum += static_cast<double>(parts[at(p * n + i)]);
        EXPECT_EQ(total[at(i)], 0.5 + sum);
    }
}

INSTANTIATE_TEST_SUITE_P(, RowProducts,
                         testing::Values(ProductCase{1, 1, 1, Operand::fp32, true, true},
                                         ProductCase{70, 5, 33, Operand::fp32, true, true},
                                         ProductCase{65, 67, 40, Operand::fp32, true, false},
                                         ProductCase{17, 66, 90, Operand::fp32, false, false},
                                         ProductCase{17, 66, 90, Operand::tf32, false, false}),
                         [](const auto& tested) {
                             const ProductCase& c = tested.param;
                             return std::to_string(c.n_row) + "_" + std::to_string(c.n_column) +
                                    "_" + std::to_string(c.n_step) + "_" + kernels::name(c.operand);
                         });

// ---- norms ----

TEST(RowNorms, AreThoseOfTheReference) {
    for (const auto& [n_row, n_channel] :
         {std::array<int64_t, 2>{1, 3}, {9, 8}, {37, 40}, {5, 140}}) {
        for (const kernels::NormKind kind : {kernels::NormKind::layer, kernels::NormKind::rms}) {
            const bool has_bias = kind == kernels::NormKind::layer;
            const int64_t n = n_row * n_channel;
            const std::vector<float> x = wave(n, 0.61, 0.3), dy = wave(n, 0.27),
                                     weight = wave(n_channel, 0.5, 1), bias = wave(n_channel, 0.9),
                                     before = wave(n, 0.11);
            const std::vector<double> x64 = wide(x), dy64 = wide(dy), w64 = wide(weight),
                                      b64 = wide(bias), before64 = wide(before);
            const kernels::Norm<double> norm{kind, 1e-5, w64.data(),
                                             has_bias ? b64.data() : nullptr};
            const auto rows = [&](auto* data) {
                using T = std::remove_pointer_t<decltype(data)>;
                return Tile<T>{data, {n_channel, n_row}, {1, n_channel}};
            };
            std::vector<double> y64(at(n)), dx64(at(n)), dw(at(n_channel)), db(at(n_channel));
            kernels::ref::normalise<double>(norm, rows(x64.data()), rows(y64.data()));
            kernels::ref::normalise_backward<double>(norm, rows(x64.data()), rows(dy64.data()),
                                                     rows(before64.data()), rows(dx64.data()),
                                                     {dw.data(), has_bias ? db.data() : nullptr});

            std::vector<float> y = unwritten(n), dx = before, moments = unwritten(2 * n_row);
            RowNormArgs args{kind,  1e-5F,     weight.data(), has_bias ? bias.data() : nullptr,
                             n_row, n_channel, x.data(),      y.data()};
            passes().norm(device, args, nullptr);
            expect_near(y, y64, 1e-6, "y");
            args.dy = dy.data();
            args.residual = dx.data();
            args.dx = dx.data();
            args.moments = moments.data();
            passes().norm_backward(device, args, nullptr);
            expect_near(dx, dx64, 2e-6, "dx");

            RowNormGradientArgs sums{n_row, n_channel, 4, x.data(), dy.data(), moments.data()};
            std::vector<float> parts = unwritten(sums.n_part() * 2 * n_channel);
            sums.parts = parts.data();
            passes().norm_gradient(device, sums, nullptr);
            std::vector<double> found_dw(at(n_channel)), found_db(at(n_channel));
            passes().part_sums(
                device, {parts.data(), sums.n_part(), n_channel, found_dw.data(), 2 * n_channel},
                nullptr);
            passes().part_sums(device,
                               {parts.data() + n_channel, sums.n_part(), n_channel, found_db.data(),
                                2 * n_channel},
                               nullptr);
            for (int64_t c = 0; c < n_channel; ++c) {
                EXPECT_NEAR(found_dw[at(c)], dw[at(c)], 1e-5);
                if (has_bias) {
                    EXPECT_NEAR(found_db[at(c)], db[at(c)], 1e-5);
                }
            }
        }
    }
}

// ---- attention ----

struct AttentionCase {
    Sizes sizes;
    int64_t n_point;
};

class FlareAttentionBack : public testing::TestWithParam<AttentionCase> {};

TEST_P(FlareAttentionBack, IsThatOfTheReference) {
    const auto& [sizes, n_point] = GetParam();
    const auto& [n_head, n_latent, n_dim] = sizes;
    const int64_t width = sizes.n_channel(), n = n_point * width, n_row = n_head * n_latent;
    const int64_t points_per_part = 40;
    const std::vector<float> queries = wave(n_row * n_dim, 0.77), z = wave(n_row * n_dim, 0.31),
                             k = wave(n, 0.53), v = wave(n, 0.19), dy = wave(n, 0.41),
                             dz = wave(n_row * n_dim, 0.23);
    const std::vector<double> q64 = wide(queries), z64 = wide(z), k64 = wide(k), v64 = wide(v),
                              dy64 = wide(dy);
    // (H, D, n_row of the host) from (H, M, D).
    const auto by_dim = [&](const std::vector<float>& from) {
        std::vector<double> to(at(LatentSums<double>::size(sizes)));
        for (int64_t row = 0; row < n_row; ++row)
            for (int64_t d = 0; d < n_dim; ++d)
                to[at((row / n_latent * n_dim + d) * sizes.n_row() + row % n_latent)] =
                    from[at(row * n_dim + d)];
        return to;
    };
    const auto by_latent = [&](const std::vector<double>& from) {
        std::vector<double> to;
        for (int64_t row = 0; row < n_row; ++row)
            for (int64_t d = 0; d < n_dim; ++d)
                to.push_back(
                    from[at((row / n_latent * n_dim + d) * sizes.n_row() + row % n_latent)]);
        return to;
    };
    const auto rows = [&](auto* data, int64_t n_channel) {
        using T = std::remove_pointer_t<decltype(data)>;
        return Tile<T>{data, {n_channel, n_point}, {1, n_channel}};
    };
    const std::vector<double> dz_rows = by_dim(dz);
    std::vector<double> gamma64(at(n_head * sizes.n_row())), log_sum64 = gamma64;
    std::vector<float> gamma, log_sum;
    for (int64_t row = 0; row < n_row; ++row) {
        const int64_t to = row / n_latent * sizes.n_row() + row % n_latent;
        for (int64_t d = 0; d < n_dim; ++d)
            gamma64[at(to)] += double{dz[at(row * n_dim + d)]} * double{z[at(row * n_dim + d)]};
        log_sum64[at(to)] = static_cast<float>(3 + 0.01 * static_cast<double>(row));
        gamma.push_back(static_cast<float>(gamma64[at(to)]));
        log_sum.push_back(static_cast<float>(log_sum64[at(to)]));
    }
    const std::vector<double> query_rows = by_dim(queries);
    const kernels::flare::Queries<double> q{sizes, q64.data(), query_rows.data()};
    const int64_t of_point = kernels::flare::point_rows * n_head;
    std::vector<double> y64(at(n)), points64(at(n_point * of_point)), dk64(at(n)), dv64(at(n));
    std::vector<double> local(dz_rows.size()), dq(dz_rows.size());
    kernels::flare::ref::decode_backward<double>(
        q, rows(k64.data(), width), z64.data(), rows(dy64.data(), width), rows(y64.data(), width),
        rows(points64.data(), of_point), {sizes, local.data()});
    kernels::flare::ref::mix_backward<double>(
        q, {z64.data(), dz_rows.data(), gamma64.data(), log_sum64.data()}, rows(k64.data(), width),
        rows(v64.data(), width), rows(dy64.data(), width), rows(points64.data(), of_point),
        rows(dk64.data(), width), rows(dv64.data(), width), {sizes, dq.data()});

    std::vector<float> y = unwritten(n), points = unwritten(n_point * of_point), dk = unwritten(n),
                       dv = unwritten(n);
    AttentionArgs args;
    args.sizes = sizes;
    args.n_point = n_point;
    args.queries = queries.data();
    args.z = z.data();
    args.k = k.data();
    args.v = v.data();
    args.dy = dy.data();
    args.y = y.data();
    args.of_points = points.data();
    args.dz = dz.data();
    args.gamma = gamma.data();
    args.log_sum = log_sum.data();
    args.dk = dk.data();
    args.dv = dv.data();
    args.points_per_part = points_per_part;
    std::vector<float> parts = unwritten(args.n_part() * n_row * n_dim);
    args.parts = parts.data();
    const auto total = [&] {
        std::vector<float> sum(at(n_row * n_dim));
        for (size_t i = 0; i < parts.size(); ++i) sum[i % sum.size()] += parts[i];
        return sum;
    };
    passes().decode_points(device, args, nullptr);
    expect_near(y, y64, 2e-6, "y");
    passes().decode_sums(device, args, nullptr);
    expect_near(points, points64, 2e-6, "numbers of points");
    expect_near(total(), by_latent(local), 2e-6, "dz");
    std::ranges::fill(parts, 777);
    passes().mix_points(device, args, nullptr);
    passes().mix_sums(device, args, nullptr);
    expect_near(dk, dk64, 5e-6, "dk");
    expect_near(dv, dv64, 5e-6, "dv");
    expect_near(total(), by_latent(dq), 5e-6, "dq");
}

INSTANTIATE_TEST_SUITE_P(, FlareAttentionBack,
                         testing::Values(AttentionCase{{1, 1, 1}, 1}, AttentionCase{{2, 3, 4}, 5},
                                         AttentionCase{{2, 35, 8}, 130},
                                         AttentionCase{{1, 70, 11}, 90},
                                         AttentionCase{{2, 130, 20}, 41}),
                         [](const auto& tested) {
                             const Sizes& s = tested.param.sizes;
                             return std::to_string(s.n_head) + "_" + std::to_string(s.n_latent) +
                                    "_" + std::to_string(s.n_dim) + "_" +
                                    std::to_string(tested.param.n_point);
                         });

}  // namespace
}  // namespace surrogate::tests
