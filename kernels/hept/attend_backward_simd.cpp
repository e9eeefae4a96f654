// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hept/attend_backward_simd.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/hept/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::hept::HWY_NAMESPACE {
namespace {

/// Replaces squares and products <G_i, v_j> of n rows of lanes by weights a and z = a (<G_i, v_j> -
/// D_i), in place.
template <int n_vector>
HWY_NOINLINE void weigh_and_slope(int64_t n, const float* delta, float* squares, float* products) {
    Vector minus[n_vector];
    for (int j = 0; j < n_vector; ++j) minus[j] = load(delta + j * width);
    weigh_rows<n_vector>(n, squares, [&](int64_t r, int j, Vector weight) HWY_ATTR {
        float* const at = products + (r * n_vector + j) * width;
        store(hn::Mul(weight, hn::Sub(load(at), minus[j])), at);
    });
}

/// Data of a strip of queries besides its lanes.
template <int n_vector>
struct StripGradient : Strip<n_vector> {
    using Strip<n_vector>::n_lane;

    StripGradient(const BlockOf& of, int64_t first, const float* given_, float* scratch)
        : Strip<n_vector>(of, first, scratch), n(std::min(n_lane, of.n_query() - first)) {
        const int64_t d = of.shape.n_channel, row = of.key_row();
        given = this->rows + n_lane * row;
        slopes = given + (d + 1) * n_lane;
        dqueries = slopes + max_keys * n_lane;
        const float* from[n_lane];
        for (int64_t l = 0; l < n_lane; ++l)
            from[l] = given_ + std::min(first + l, of.n_query() - 1) * of.shape.n_sum();
        transpose<n_vector>(from, 0, d + 1, given);
        for (int64_t i = 0; i < n; ++i) copy_query(of, first + i, from[i], this->rows + i * row);
        std::fill_n(dqueries, n * of.query_row(), 0.0f);
    }

    const float* delta(const BlockOf& of) const { return given + of.shape.n_channel * n_lane; }

    int64_t n;        ///< number of queries
    float* given;     ///< (d + 1, n_lane): G, D
    float* slopes;    ///< z (max_keys, n_lane)
    float* dqueries;  ///< (n, query_row): gradients of s x, q

private:
    /// Copies a query as [ s x | q | zeros ][ G | zeros ], the layout of a key.
    HWY_NOINLINE static void copy_query(const BlockOf& of, int64_t i, const float* given_,
                                        float* to) {
        const auto [d, n_coordinate] = of.shape;
        const float* from = of.row_of(of.block.queries[i]);
        copy_padded(from, d, to + n_coordinate);
        std::fill(to + of.shape.n_query(), to + of.query_row(), 0.0f);
        copy(from + d, n_coordinate, to);
        copy_padded(given_, d, to + of.query_row());
    }
};

/// Computes the gradients of the queries of a strip, including the term of a key of zeros.
template <int n_vector>
HWY_NOINLINE void write_queries(const BlockOf& of, const StripGradient<n_vector>& strip,
                                float* dqueries) {
    const auto [d, n_coordinate] = of.shape;
    alignas(64) float zero_weight[strip.n_lane];
    const auto n_zero = static_cast<float>(of.block.n_zero_key);
    if (of.block.n_zero_key > 0) strip.weigh_zero_key(of, zero_weight);
    for (int64_t i = 0; i < strip.n; ++i, dqueries += of.shape.n_query()) {
        float* const from = strip.dqueries + i * of.query_row();
        if (of.block.n_zero_key > 0) {
            const float* query = strip.rows + i * of.key_row();
            const float z = n_zero * zero_weight[i] * strip.delta(of)[i];
            for (int64_t c = 0; c < of.query_row(); c += width)
                store(mul_add(broadcast(z), load(query + c), load(from + c)), from + c);
        }
        copy(from + n_coordinate, d, dqueries);
        copy(from, n_coordinate, dqueries + d);
    }
}

/// Computes the gradients of the queries first, first + 1, .. of a strip; adds those for keys
/// (n_key, key_row) to dkeys.
template <int n_vector>
void strip_backward(const BlockOf& of, int64_t first, const float* given, NextRows& next,
                    float* scratch, float* dqueries, float* dkeys) {
    const StripGradient<n_vector> strip(of, first, given, scratch);
    constexpr int64_t n_lane = Strip<n_vector>::n_lane;
    const int64_t n_dim = of.shape.n_query(), d = of.shape.n_channel;
    const NumberRows<const float> queries{strip.rows, of.key_row()};
    for (int64_t j = 0; j < of.n_key(); j += max_keys) {
        const int64_t n_key = std::min(max_keys, of.n_key() - j);
        const NumberRows<const float> keys{of.key(j), of.key_row()};
        pair<n_vector, Pair::square>(strip.queries, n_dim, of.key(j), of.key_row(), n_key,
                                     strip.weights, nullptr, [&] { next.step(); });
        pair<n_vector, Pair::product>(strip.given, d, of.value(j), of.key_row(), n_key,
                                      strip.slopes, nullptr, [] {});
        weigh_and_slope<n_vector>(n_key, strip.delta(of), strip.weights, strip.slopes);
        add_rows<true>({strip.slopes, n_lane, 1}, n_key, keys, queries, strip.n, n_dim,
                       {strip.dqueries, of.query_row()});
        float* const to = dkeys + j * of.key_row();
        add_rows<true>({strip.slopes, 1, n_lane}, strip.n, queries, keys, n_key, n_dim,
                       {to, of.key_row()});
        add_rows<false>({strip.weights, 1, n_lane}, strip.n,
                        {strip.rows + of.query_row(), of.key_row()}, {}, n_key, d,
                        {to + of.query_row(), of.key_row()});
    }
    write_queries(of, strip, dqueries);
}

void attend_block_backward(const RowShape& shape, const Block<float>& block, const float* given,
                           float* scratch, float* dqueries, float* dkeys) {
    const BlockOf of(shape, block, scratch);
    float* const key_sums = of.rest;  // in the layout of keys
    float* const rest = key_sums + of.n_key() * of.key_row();
    std::fill(key_sums, rest, 0.0f);
    NextRows next(of, of.n_query() * of.n_key() / 256 + 1);
    for_lanes(of.n_query(), [&](int64_t i, auto n_vector) HWY_ATTR {
        strip_backward<decltype(n_vector)::value>(of, i, given, next, rest,
                                                  dqueries + i * shape.n_query(), key_sums);
    });
    for (int64_t j = 0; j < of.n_key(); ++j, dkeys += shape.n_query() + shape.n_channel) {
        const float* from = key_sums + j * of.key_row();
        copy(from, shape.n_query(), dkeys);
        copy(from + of.query_row(), shape.n_channel, dkeys + shape.n_query());
    }
}

}  // namespace
}  // namespace surrogate::kernels::hept::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::hept::simd {

void attend_block_backward(VectorLevel level, const RowShape& shape, const Block<float>& block,
                           const float* given, float* scratch, float* dqueries, float* dkeys) {
    SURROGATE_AT_LEVEL(level, attend_block_backward)
    (shape, block, given, scratch, dqueries, dkeys);
}

}  // namespace surrogate::kernels::hept::simd
#endif
