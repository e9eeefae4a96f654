// SPDX-License-Identifier: Apache-2.0
// Neighborhood attention of a pair of query rows: weights from scores, and weighted sums of values,
// one vector of columns at a time. This file is compiled once per SIMD instruction set; see
// sphere.md.
#if defined(SURROGATE_NEIGHBORHOOD_AVERAGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_NEIGHBORHOOD_AVERAGES_INL_H_
#undef SURROGATE_NEIGHBORHOOD_AVERAGES_INL_H_
#else
#define SURROGATE_NEIGHBORHOOD_AVERAGES_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/attention/lanes-inl.h"
#include "kernels/sphere/neighborhood_chunk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {

/// Weights are at least 2^-90: multiplied by a quadrature weight, the product is still a normal
/// number.
constexpr float lowest_exponent = -90;

/// Largest scores of n_line rows, and running sums of weights.
template <int n_line>
struct Weights {
    Vector largest[n_line], lowest[n_line], sum[n_line];
};

/// Replaces n_row entries of scores by weights, each multiplied by its factor.
template <int n_row, int n_line, class Factor>
HWY_INLINE void weigh_entries(const Factor& factor, float* scores, Weights<n_line>& weights) {
    Vector x[n_row * n_line];
#pragma GCC unroll 4
    for (int j = 0; j < n_row * n_line; ++j) {
        const Vector score = at_least(weights.lowest[j % n_line], load(scores + j * width));
        x[j] = hn::Sub(score, weights.largest[j % n_line]);
    }
    powers_of_two(x);
#pragma GCC unroll 4
    for (int j = 0; j < n_row * n_line; ++j) {
        x[j] = factor(x[j], j / n_line, j % n_line);
        weights.sum[j % n_line] = hn::Add(weights.sum[j % n_line], x[j]);
        store(x[j], scores + j * width);
    }
}

template <int n_line>
HWY_NOINLINE void weigh_offsets(const Chunk& chunk, const Run& run, float* scores,
                                Weights<n_line>& state) {
    constexpr int n_row = 4 / n_line;
    Weights<n_line> weights = state;
    const float(*weight)[2] = chunk.weights + run.first_entry;
    const int first_line = n_line == 2 ? 0 : run.first_line;
    const auto factor = [&](Vector power, int r, int l) HWY_ATTR {
        return hn::Mul(power, broadcast(weight[r][first_line + l]));
    };
    int64_t t = 0;
    for (; t + n_row <= run.n_entry; t += n_row, weight += n_row, scores += n_row * n_line * width)
        weigh_entries<n_row>(factor, scores, weights);
    for (; t < run.n_entry; ++t, ++weight, scores += n_line * width)
        weigh_entries<1>(factor, scores, weights);
    state = weights;
}

template <int n_line>
HWY_NOINLINE void weigh_band(const Run& run, float* scores, Weights<n_line>& state) {
    constexpr int n_row = 4 / n_line;
    Weights<n_line> weights = state;
    const Vector row_weight = broadcast(run.row_weight);
    int64_t t = 0;
    const auto whole = [&](Vector power, int, int) HWY_ATTR { return hn::Mul(power, row_weight); };
    const auto masked = [&](Vector power, int r, int l) HWY_ATTR {
        return hn::IfThenElseZero(sees(run.strip, run.first_line + l, t + r),
                                  hn::Mul(power, row_weight));
    };
    while (t < run.n_entry) {
        const bool is_whole = is_seen_by_all(run.strip, t, n_row);
        if (is_whole)
            weigh_entries<n_row>(whole, scores, weights);
        else
            weigh_entries<1>(masked, scores, weights);
        t += is_whole ? n_row : 1;
        scores += (is_whole ? n_row : 1) * n_line * width;
    }
    state = weights;
}

/// Replaces the scores of a run by weights. `maximum` and `sum` hold, for both rows, largest scores
/// and running sums of weights.
template <int n_line>
HWY_INLINE void weigh_lines(const Chunk& chunk, const Run& run, float* scores,
                            float* const (&maximum)[2], float* const (&sum)[2]) {
    Weights<n_line> weights;
    for (int l = 0; l < n_line; ++l) {
        weights.largest[l] = load(maximum[run.first_line + l]);
        weights.lowest[l] = hn::Add(weights.largest[l], broadcast(lowest_exponent));
        weights.sum[l] = load(sum[run.first_line + l]);
    }
    run.is_band ? weigh_band(run, scores, weights) : weigh_offsets(chunk, run, scores, weights);
    for (int l = 0; l < n_line; ++l) store(weights.sum[l], sum[run.first_line + l]);
}
HWY_INLINE void weigh_run(const Chunk& chunk, const Run& run, float* scores,
                          float* const (&maximum)[2], float* const (&sum)[2]) {
    run.n_line == 2 ? weigh_lines<2>(chunk, run, scores, maximum, sum)
                    : weigh_lines<1>(chunk, run, scores, maximum, sum);
}

/// Sums y(c, lane) of both rows: row l at y[l] + c * row[l]. If there is only one row, both entries
/// point to it and the second adds nothing. Sums start at zero in the first chunk, else with the
/// contents of y; in the last chunk they are multiplied by `inverse`, one vector per row.
struct PairSums {
    float* y[2];
    int64_t row[2];
    const float* inverse[2];
};

/// Adds sum(r, first + l) += weight(t, l) v(r, t), v the first of n_row channels.
template <bool is_band, int n_line, int first, int n_row>
HWY_INLINE const float* gather_entry(const float* v, int64_t step, const float* weights,
                                     Vector (&sum)[n_row][2]) {
    // A pointer for every three channels: with one for each, the compiler would keep the stack in
    // the loop.
    constexpr int n_pointer = (n_row + 2) / 3;
    const float* values[n_pointer];
#pragma GCC unroll 4
    for (int r = 0; r < n_pointer; ++r) {
        values[r] = v + 3 * r * step;
        asm("" : "+r"(values[r]));
    }
    Vector weight[n_line];
#pragma GCC unroll 2
    for (int l = 0; l < n_line; ++l) weight[l] = load(weights + l * width);
#pragma GCC unroll 12
    for (int r = 0; r < n_row; ++r) {
        const float* at = values[r / 3] + r % 3 * step;
        const Vector x = is_band ? broadcast(*at) : in_register(load(at));
#pragma GCC unroll 2
        for (int l = 0; l < n_line; ++l)
            sum[r][first + l] = mul_add(weight[l], x, sum[r][first + l]);
    }
    return weights + n_line * width;
}

/// Processes a run for n_row channels from c on. Meanwhile it prefetches one line of the next
/// channels per entry.
template <int n_line, int first, int n_row>
HWY_INLINE void gather_run(const Chunk& chunk, const Run& run, int64_t lane, int64_t c,
                           const float* weights, Vector (&sum)[n_row][2]) {
    const int64_t step = run.step, offset = c * step + lane;
    if (run.is_band) {
        const float* v = run.band + offset;
#pragma GCC unroll 4
        for (const float* const end = v + run.n_entry; v < end; ++v)
            weights = gather_entry<true, n_line, first>(v, step, weights, sum);
        return;
    }
    const float* const* entry = chunk.entries + run.first_entry;
    const float* const* const end = entry + run.n_entry;
    const int64_t* ahead = chunk.ahead + run.first_entry;
#pragma GCC unroll 2
    for (; entry < end; ++entry, ++ahead) {
        const float* v = *entry + offset;
        hwy::Prefetch(v + n_row * step + *ahead);
        if (n_row > 6) hwy::Prefetch(v + (n_row + 6) * step + *ahead);
        weights = gather_entry<false, n_line, first>(v, step, weights, sum);
    }
}

/// Adds y(c, lane) += sum_j weight(j, lane) v(c, j) over a chunk, for n_row channels from c on.
template <int n_row>
HWY_NOINLINE void gather_rows(const Chunk& chunk, int64_t lane, int64_t c, const float* weights,
                              const PairSums& sums) {
    Vector sum[n_row][2];
#pragma GCC unroll 12
    for (int r = 0; r < n_row; ++r) sum[r][0] = sum[r][1] = broadcast(0.0f);
    if (!chunk.is_first) {
#pragma GCC unroll 12
        for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
            for (int l = 0; l < 2; ++l) sum[r][l] = load(sums.y[l] + (c + r) * sums.row[l]);
        }
    }
    for (int i = 0; i < chunk.n_run; ++i) {
        const Run& run = chunk.runs[i];
        if (run.n_line == 2)
            gather_run<2, 0>(chunk, run, lane, c, weights, sum);
        else if (run.first_line == 0)
            gather_run<1, 0>(chunk, run, lane, c, weights, sum);
        else
            gather_run<1, 1>(chunk, run, lane, c, weights, sum);
        weights += run.n_score();
    }
    if (chunk.is_last) {
#pragma GCC unroll 12
        for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
            for (int l = 0; l < 2; ++l) sum[r][l] = hn::Mul(sum[r][l], load(sums.inverse[l]));
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int l = 1; l >= 0; --l) store(sum[r][l], sums.y[l] + (c + r) * sums.row[l]);
    }
}

}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
