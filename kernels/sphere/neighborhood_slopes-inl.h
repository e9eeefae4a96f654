// SPDX-License-Identifier: Apache-2.0
// Backward pass of neighborhood attention: weights p and score gradients ds of a run from scores
// and from products of gradients and values. This file is compiled once per SIMD instruction set;
// see sphere.md.
#if defined(SURROGATE_NEIGHBORHOOD_SLOPES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_NEIGHBORHOOD_SLOPES_INL_H_
#undef SURROGATE_NEIGHBORHOOD_SLOPES_INL_H_
#else
#define SURROGATE_NEIGHBORHOOD_SLOPES_INL_H_
#endif

#include "kernels/sphere/neighborhood_chunk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {

/// Limits of (s - L) / 2. Powers are at most the inverse of a quadrature weight, far below 2^64;
/// only lanes in the padding and pairs outside the neighborhood reach this limit.
constexpr float lowest_half = lowest_power / 2, highest_half = 32;

/// Layout of the log_sum and delta of queries for one vector of columns.
///   queries in lanes: values for each row of the pair
///   keys in lanes: values of the entries, in a chunk over the ring of sums, with delta the given
///   number of rows of the ring further; and quadrature weights of the two rows
struct SumsOfLanes {
    const float *log_sum[2], *delta[2];
};
struct SumsOfEntries {
    const Chunk* chunk;
    int64_t lane, delta_rows;
    const float* weight;
};

/// Returns log_sum and delta of entry t of a run and row l of the pair.
template <int n_line>
struct LaneSums {
    static constexpr bool are_in_lanes = true;
    Vector log_sums[n_line], deltas[n_line];

    LaneSums(const SumsOfLanes& of, const Run& run) {
        for (int l = 0; l < n_line; ++l) {
            log_sums[l] = load(of.log_sum[run.first_line + l]);
            deltas[l] = load(of.delta[run.first_line + l]);
        }
    }
    HWY_INLINE Vector log_sum(int64_t, int l) const { return log_sums[l]; }
    HWY_INLINE Vector delta(int64_t, int l) const { return deltas[l]; }
    /// Returns weights for keys in lanes.
    HWY_INLINE Vector weigh(Vector power, int) const { return power; }
};
template <int n_line, bool is_band>
struct EntrySums {
    static constexpr bool are_in_lanes = false;
    const float* const* entries;
    const float* band;
    int64_t lane, delta_offset;
    Vector weights[n_line];

    EntrySums(const SumsOfEntries& of, int r)
        : entries(of.chunk->entries + of.chunk->runs[r].first_entry),
          band(of.chunk->runs[r].band + of.lane),
          lane(of.lane),
          delta_offset(of.delta_rows * of.chunk->runs[r].step) {
        for (int l = 0; l < n_line; ++l)
            weights[l] = broadcast(of.weight[of.chunk->runs[r].first_line + l]);
    }
    HWY_INLINE Vector log_sum(int64_t t, int) const {
        return is_band ? broadcast(band[t]) : load(entries[t] + lane);
    }
    HWY_INLINE Vector delta(int64_t t, int) const {
        return is_band ? broadcast(band[t + delta_offset]) : load(entries[t] + lane + delta_offset);
    }
    HWY_INLINE Vector weigh(Vector power, int l) const { return hn::Mul(power, weights[l]); }
};

/// Processes n_row entries from t on: products become ds, and scores become p if keys are in lanes
/// (with queries in lanes, p is not needed). s - L is halved first: scores of 3e38 of both signs do
/// not overflow, and rounding is the same as without halving. No p is above 1, even in unused
/// lanes, so that products with it do not overflow.
template <int n_row, int n_line, class Sums, class Factor>
HWY_INLINE void slope_entries(const Sums& sums, const Factor& factor, int64_t t, float* scores,
                              float* slopes) {
    constexpr int n = n_row * n_line;
    Vector x[n];
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
        const Vector log_sum = sums.log_sum(t + j / n_line, j % n_line);
        const Vector below =
            mul_add(load(scores + j * width), broadcast(0.5f), hn::Mul(log_sum, broadcast(-0.5f)));
        x[j] = at_most(broadcast(highest_half), at_least(broadcast(lowest_half), below));
        x[j] = hn::Add(x[j], x[j]);
    }
    powers_of_two(x);
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
        const Vector weighed = sums.weigh(factor(x[j], j / n_line, j % n_line), j % n_line);
        const Vector p = at_most(broadcast(1.0f), weighed);
        if constexpr (!Sums::are_in_lanes) store(p, scores + j * width);
        const Vector delta = sums.delta(t + j / n_line, j % n_line);
        store(hn::Mul(p, hn::Sub(load(slopes + j * width), delta)), slopes + j * width);
    }
}

/// Number of entries whose exponentials are in flight together: 4 vectors, 8 with AVX-512.
template <int n_line>
constexpr int slope_rows = (width == 16 ? 8 : 4) / n_line;

template <int n_line, class Sums>
HWY_NOINLINE void slope_offsets(const Chunk& chunk, const Run& run, const Sums& of, float* scores,
                                float* slopes) {
    constexpr int n_row = slope_rows<n_line>;
    constexpr int64_t step = n_line * width;
    const Sums sums = of;
    const float(*weight)[2] = chunk.weights + run.first_entry;
    const int first_line = n_line == 2 ? 0 : run.first_line;
    int64_t t = 0;
    const auto factor = [&](Vector power, int r, int l) HWY_ATTR {
        return hn::Mul(power, broadcast(weight[t + r][first_line + l]));
    };
    for (; t + n_row <= run.n_entry; t += n_row)
        slope_entries<n_row, n_line>(sums, factor, t, scores + t * step, slopes + t * step);
    for (; t < run.n_entry; ++t)
        slope_entries<1, n_line>(sums, factor, t, scores + t * step, slopes + t * step);
}

template <int n_line, class Sums>
HWY_NOINLINE void slope_band(const Run& run, const Sums& of, float* scores, float* slopes) {
    constexpr int n_row = slope_rows<n_line>;
    constexpr int64_t step = n_line * width;
    const Sums sums = of;
    const Vector row_weight = broadcast(run.row_weight);
    int64_t t = 0;
    const auto whole = [&](Vector power, int, int) HWY_ATTR { return hn::Mul(power, row_weight); };
    const auto masked = [&](Vector power, int r, int l) HWY_ATTR {
        return hn::IfThenElseZero(sees(run.strip, run.first_line + l, t + r),
                                  hn::Mul(power, row_weight));
    };
    for (; t + n_row <= run.n_entry; t += n_row) {
        if (is_seen_by_all(run.strip, t, n_row))
            slope_entries<n_row, n_line>(sums, whole, t, scores + t * step, slopes + t * step);
        else
            slope_entries<n_row, n_line>(sums, masked, t, scores + t * step, slopes + t * step);
    }
    for (; t < run.n_entry; ++t)
        slope_entries<1, n_line>(sums, masked, t, scores + t * step, slopes + t * step);
}

/// Processes one vector of columns of run r of a chunk.
template <int n_line>
HWY_INLINE void slope_lines(const Chunk& chunk, int r, const SumsOfLanes& of, float* scores,
                            float* slopes) {
    const Run& run = chunk.runs[r];
    const LaneSums<n_line> sums(of, run);
    run.is_band ? slope_band<n_line>(run, sums, scores, slopes)
                : slope_offsets<n_line>(chunk, run, sums, scores, slopes);
}
template <int n_line>
HWY_INLINE void slope_lines(const Chunk& chunk, int r, const SumsOfEntries& of, float* scores,
                            float* slopes) {
    const Run& run = chunk.runs[r];
    run.is_band
        ? slope_band<n_line>(run, EntrySums<n_line, true>(of, r), scores, slopes)
        : slope_offsets<n_line>(chunk, run, EntrySums<n_line, false>(of, r), scores, slopes);
}

/// Replaces scores by p and products by ds, for one vector of columns of a chunk.
template <class Sums>
HWY_INLINE void slope_chunk(const Chunk& chunk, const Sums& sums, float* scores, float* slopes) {
    for (int r = 0; r < chunk.n_run; ++r) {
        if (chunk.runs[r].n_line == 2)
            slope_lines<2>(chunk, r, sums, scores, slopes);
        else
            slope_lines<1>(chunk, r, sums, scores, slopes);
        scores += chunk.runs[r].n_score();
        slopes += chunk.runs[r].n_score();
    }
}

}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
