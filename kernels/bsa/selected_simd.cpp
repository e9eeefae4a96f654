// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bsa/selected_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/bsa/selected-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::bsa::HWY_NAMESPACE {
namespace {

/// Returns the largest of `row` scores.
HWY_INLINE float largest(const float* scores, int64_t row) {
    Vector m = load(scores);
    for (int64_t j = width; j < row; j += width) m = at_least(m, load(scores + j));
    return hn::GetLane(hn::MaxOfLanes(Tag(), m));
}

/// Replaces the scores of a query by 2^(S - maximum), in place. `sum` receives their partial sums,
/// or NaN if a score is NaN, which the exponential alone would not propagate.
HWY_INLINE void weigh(int64_t row, float maximum, float* scores, Vector (&sum)[n_part]) {
    const Vector m = broadcast(maximum), lowest = lowest_beside(m), zero = broadcast(0.0f);
#pragma GCC unroll 2
    for (int j = 0; j < n_part; ++j) sum[j] = zero;
    for (int64_t first = 0; first < row; first += lane_count) {
        Vector x[n_part];
#pragma GCC unroll 2
        for (int j = 0; j < n_part; ++j) {
            const Vector s = load(scores + first + j * width);
            sum[j] = mul_add(s, zero, sum[j]);
            x[j] = at_least(broadcast(lowest_weight), hn::Sub(at_least(lowest, s), m));
        }
        powers_of_two(x);
#pragma GCC unroll 2
        for (int j = 0; j < n_part; ++j) {
            sum[j] = hn::Add(sum[j], x[j]);
            store(x[j], scores + first + j * width);
        }
    }
}

/// Replaces the scores of all queries by weights; writes their maxima (n_query), and their sums in
/// the layout of join_rows().
HWY_NOINLINE void weigh_all(int64_t n_query, int64_t row, float* scores, float* maximum,
                            float* sums) {
    Vector part[n_joined][n_part];
    for (int64_t i = 0; i < n_query; ++i) {
        maximum[i] = largest(scores + i * row, row);
        weigh(row, maximum[i], scores + i * row, part[i]);
    }
    for (int64_t i = n_query; i < n_joined; ++i) {
        for (int j = 0; j < n_part; ++j) part[i][j] = broadcast(0.0f);
    }
    join_rows(part, 1, sums);
}

/// Targets of the results of some queries of one head: channel 0 of the first query, and its log
/// sum.
struct Results {
    float* y;
    int64_t y_row;
    float* log_sum;  ///< null: not computed
};

void attend_queries(const Heads& heads, Queries q, const Packed& keys, float* scores,
                    const Results& to) {
    float maximum[n_joined], sums[lane_count], average[lane_count];
    score(q, keys, heads.n_key_dim, scores);
    weigh_all(q.n, keys.row, scores, maximum, sums);
    for (int64_t i = 0; i < q.n; ++i) {
        const float sum = sums[joined_place(i)], inverse = 1 / sum;
        for (int64_t first = 0; first < heads.n_value_dim; first += n_joined) {
            average_rows(scores + i * keys.row, keys.v + first * keys.row, keys.row, inverse,
                         average);
            const int64_t n = std::min<int64_t>(n_joined, heads.n_value_dim - first);
            float* y = to.y + first * to.y_row + i;
            for (int64_t c = 0; c < n; ++c) y[c * to.y_row] = average[joined_place(c)];
        }
        if (to.log_sum)
            to.log_sum[i] = maximum[i] + static_cast<float>(std::log2(static_cast<double>(sum)));
    }
}

/// Packs keys and values of a group at `scratch`; returns the memory after them in `rest`.
Packed pack(const Heads& heads, const KeyBlock<const float>* blocks,
            const ChosenBlocks<const float>& chosen, float* scratch, float** rest) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    const int64_t l = chosen.l, n = chosen.n_choice, row = round_up(n * l, lane_count);
    const Packed keys{n * l, row, scratch, scratch + round_up(d, n_joined) * row};
    pack_rows(blocks, &KeyBlock<const float>::k, n, l, d, row, keys.k);
    pack_rows(blocks, &KeyBlock<const float>::v, n, l, e, row, keys.v);
    const KeyBlock<const float>* next = blocks + n;
    for (; next < std::min(blocks + 2 * n, chosen.blocks.data() + chosen.blocks.size()); ++next)
        prefetch_rows(*next, heads, l);
    *rest = keys.v + round_up(e, n_joined) * row;
    return keys;
}

void attend_blocks(const Heads& heads, Tile<const float> q, const ChosenBlocks<const float>& chosen,
                   float* scratch, Tile<float> y, Tile<float> log_sum) {
    const int64_t n_query = q.shape[1], d = heads.n_key_dim, e = heads.n_value_dim;
    for (int64_t group = 0; group * chosen.g < n_query; ++group) {
        const int64_t begin = group * chosen.g, end = std::min(n_query, begin + chosen.g);
        for (int64_t h = 0; h < heads.n_head; ++h) {
            float* scores = nullptr;
            const Packed keys = pack(heads, chosen.of(heads, group, h), chosen, scratch, &scores);
            for (int64_t i = begin; i < end; i += max_queries) {
                const Queries queries{&q(h * d, i), q.stride[0], std::min(max_queries, end - i)};
                attend_queries(
                    heads, queries, keys, scores,
                    {&y(h * e, i), y.stride[0], log_sum.data ? &log_sum(h, i) : nullptr});
            }
        }
    }
}

// ---- backward pass

/// Gradients of the packed keys and values of one head, in the packed layout. Null: not wanted.
struct PackedGradient {
    float *k, *v;
};

/// Adds sums(c, j) += sum_i a(c, i) weight(i, j): the weights of some queries, each multiplied by
/// its channel.
HWY_NOINLINE void spread(Queries a, const float* weights, int64_t row, int64_t n_dim, float* sums) {
    for (int64_t j = 0; j < row; j += width) {
        Vector weight[max_queries];
        for (int64_t i = 0; i < a.n; ++i) weight[i] = load(weights + i * row + j);
        for (int64_t c = 0; c < n_dim; ++c) {
            Vector sum = load(sums + c * row + j);
            for (int64_t i = 0; i < a.n; ++i)
                sum = mul_add(weight[i], broadcast(a.data[c * a.row + i]), sum);
            store(sum, sums + c * row + j);
        }
    }
}

/// Replaces scores and products <dy, v> of one query by p and ds ln(2), in place.
HWY_INLINE void weigh_backward(int64_t row, float log_sum, float delta, float* scores, float* ds) {
    const Vector m = broadcast(log_sum), ln_2 = broadcast(std::numbers::ln2_v<float>);
    for (int64_t j = 0; j < row; j += width) {
        const Vector p = power_of_difference(load(scores + j), m);
        const Vector dp = hn::Sub(load(ds + j), broadcast(delta));
        store(p, scores + j);
        store(hn::Mul(hn::Mul(p, dp), ln_2), ds + j);
    }
}

/// Processes queries first .. first + n - 1 of head h.
void queries_backward(const Heads& heads, int64_t h, int64_t first, int64_t n,
                      const AttendGradient<float>& of, const Packed& keys,
                      const PackedGradient& gradient, float* scores, Tile<float> dq) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim, row = keys.row;
    const Queries q{&of.q(h * d, first), of.q.stride[0], n};
    const Queries dy{&of.dy(h * e, first), of.dy.stride[0], n};
    float *ds = scores + max_queries * row, sums[lane_count];
    score(q, keys, d, scores);
    multiply(dy, keys.v, row, e, ds);
    for (int64_t i = 0; i < n; ++i) {
        weigh_backward(row, of.log_sum(h, first + i), of.delta(h, first + i), scores + i * row,
                       ds + i * row);
        for (int64_t c = 0; c < d && dq.data; c += n_joined) {
            average_rows(ds + i * row, keys.k + c * row, row, 1, sums);
            for (int64_t r = 0; r < std::min<int64_t>(n_joined, d - c); ++r)
                dq(h * d + c + r, first + i) += sums[joined_place(r)];
        }
    }
    if (!gradient.k) return;
    spread(q, ds, row, d, gradient.k);
    spread(dy, scores, row, e, gradient.v);
}

void add_rows(const float* from, int64_t row, int64_t n_block, int64_t l, int64_t n_dim,
              const KeyBlock<float>* blocks, float* KeyBlock<float>::*rows) {
    for (int64_t b = 0; b < n_block; ++b) {
        float* to = blocks[b].*rows;
        for (int64_t c = 0; c < n_dim; ++c)
            add_slots(from + c * row + b * l, l, to + c * blocks[b].row);
    }
}

void attend_blocks_backward(const Heads& heads, HeadRange range, const AttendGradient<float>& of,
                            const ChosenBlocks<const float>& chosen,
                            std::span<const KeyBlock<float>> gradients, float* scratch,
                            Tile<float> dq) {
    const int64_t n_query = of.q.shape[1], d = heads.n_key_dim, e = heads.n_value_dim;
    for (int64_t group = 0; group * chosen.g < n_query; ++group) {
        const int64_t begin = group * chosen.g, end = std::min(n_query, begin + chosen.g);
        for (int64_t h = range.first; h < range.end; ++h) {
            const KeyBlock<const float>* blocks = chosen.of(heads, group, h);
            float* rest = nullptr;
            const Packed keys = pack(heads, blocks, chosen, scratch, &rest);
            const auto go_back = [&](const PackedGradient& gradient, float* scores) {
                for (int64_t i = begin; i < end; i += max_queries)
                    queries_backward(heads, h, i, std::min(max_queries, end - i), of, keys,
                                     gradient, scores, dq);
            };
            if (gradients.empty()) {
                go_back({nullptr, nullptr}, rest);
                continue;
            }
            const KeyBlock<float>* to = gradients.data() + (blocks - chosen.blocks.data());
            for (int64_t b = 0; b < chosen.n_choice; ++b)
                prefetch_rows({to[b].k, to[b].v, to[b].row}, heads, chosen.l);
            const PackedGradient gradient{rest, rest + d * keys.row};
            std::fill_n(rest, (d + e) * keys.row, 0.0f);
            go_back(gradient, rest + (d + e) * keys.row);
            add_rows(gradient.k, keys.row, chosen.n_choice, chosen.l, d, to, &KeyBlock<float>::k);
            add_rows(gradient.v, keys.row, chosen.n_choice, chosen.l, e, to, &KeyBlock<float>::v);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::bsa::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::bsa::simd {

void attend_blocks(VectorLevel level, const Heads& heads, Tile<const float> q,
                   const ChosenBlocks<const float>& chosen, float* scratch, Tile<float> y,
                   Tile<float> log_sum) {
    SURROGATE_AT_LEVEL(level, attend_blocks)(heads, q, chosen, scratch, y, log_sum);
}

void attend_blocks_backward(VectorLevel level, const Heads& heads, HeadRange range,
                            const AttendGradient<float>& of,
                            const ChosenBlocks<const float>& chosen,
                            std::span<const KeyBlock<float>> gradients, float* scratch,
                            Tile<float> dq) {
    SURROGATE_AT_LEVEL(level, attend_blocks_backward)
    (heads, range, of, chosen, gradients, scratch, dq);
}

}  // namespace surrogate::kernels::bsa::simd
#endif
