// SPDX-License-Identifier: Apache-2.0
// Neighbors of a pair of query rows, in chunks whose size fits the caches. This file is compiled
// once per SIMD instruction set, because bands grow by the width of a vector.
#if defined(SURROGATE_NEIGHBORHOOD_CHUNK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_NEIGHBORHOOD_CHUNK_INL_H_
#undef SURROGATE_NEIGHBORHOOD_CHUNK_INL_H_
#else
#define SURROGATE_NEIGHBORHOOD_CHUNK_INL_H_
#endif

#include "kernels/base/block_size.hpp"
#include "kernels/base/vector-inl.h"
#include "kernels/sphere/pair_strips.hpp"
#include "kernels/sphere/rings.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Keeps a loaded vector in a register. GCC 12 reads memory again for every use of an unaligned
/// load, as operand of each multiply-add. This doubles the loads, which limit the speed of short
/// strips.
HWY_INLINE Vector in_register(Vector v) {
#if HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86 && HWY_COMPILER_GCC
    asm("" : "+v"(v.raw));
#endif
    return v;
}

/// Entries that are computed alike: neighbors by offset (lane i is combined with column i +
/// offset), of one or several strips; or one band: the columns that any lane attends to, each
/// broadcast to all lanes. An entry has one score vector for each row of the pair that shares it.
struct Run {
    bool is_band = false;
    int n_line = 2, first_line = 0;
    int64_t n_entry = 0, step = 0;
    int64_t first_entry = 0;  ///< by offset: index in the chunk
    PairStrip strip;          ///< band
    const float* band = nullptr;
    float row_weight = 0;

    int64_t n_score() const { return n_entry * n_line * width; }
};

/// Consecutive strips of a pair over one kind of rings, for the columns from some `column` on.
struct Chunk {
    static constexpr int64_t most_runs = 24, most_entries = 64;
    /// Enough entries to keep sums in registers for long, few enough for their weights to stay in
    /// the first-level cache.
    static constexpr int64_t enough_entries = 40;
    /// Longer bands are continued in the next chunk: pieces of 64 are 2 % slower, of 32 5 %.
    static constexpr int64_t most_band = 160;
    /// Upper bound of the entries of a chunk.
    static constexpr int64_t most_of_all = enough_entries - 1 + most_band;

    Run runs[most_runs];
    int n_run = 0;
    int64_t n_score = 0;
    bool is_first = false, is_last = false;
    int64_t band_done = 0;  ///< processed columns of the next strip

    /// Entries by offset: address of channel 0 of lane 0, weight for each row (0 if the row does
    /// not attend to it), and the distance to the entry's part of the next channels, for
    /// prefetching.
    const float* entries[most_entries];
    float weights[most_entries][2];
    bool is_seen[most_entries][2];
    int64_t ahead[most_entries];
    int64_t n_entry = 0;

    /// Fills the next chunk; returns false at the end. at(row): channel 0 of the head in the first
    /// column; weight_of(row).
    template <class At, class WeightOf>
    bool read(PairWalk& walk, const RingLayout& layout, const At& at, const WeightOf& weight_of) {
        if (is_last) return false;
        is_first = n_run == 0;
        n_run = 0;
        n_entry = n_score = 0;
        int64_t n_all = 0;
        while (!walk.is_at_end() && n_all < enough_entries && n_run < most_runs) {
            const PairStrip strip = walk.peek();
            const float* const first = at(strip.row) + strip.first;
            const int64_t step = layout.step(strip.row);
            if (strip.is_band()) {
                n_all += add_band(strip, step, first, weight_of(strip.row));
                if (band_done == 0) walk.step();
            } else {
                walk.step();
                add_offsets(strip, step, first, weight_of(strip.row));
                n_all += strip.count;
            }
        }
        for (int r = 0; r < n_run; ++r) n_score += runs[r].n_score();
        is_last = walk.is_at_end();
        return n_run > 0;
    }

private:
    /// Adds the next columns of a band; returns their number.
    int64_t add_band(PairStrip strip, int64_t step, const float* first, float weight) {
        const int64_t all = strip.count + width - 1, done = band_done;
        const int64_t n = block_size(all - done, most_band);
        for (int l = 0; l < 2; ++l) {
            strip.from[l] -= done;
            strip.to[l] -= done;
        }
        strip.common_from -= done;
        strip.common_to = std::min(strip.common_to - done, n);
        const int line = strip.shared ? 0 : strip.line();
        runs[n_run++] = {true, strip.n_line(), line, n, step, 0, strip, first + done, weight};
        band_done = done + n < all ? done + n : 0;
        return n;
    }
    void add_offsets(const PairStrip& strip, int64_t step, const float* first, float weight) {
        const int n_line = strip.n_line(), line = strip.shared ? 0 : strip.line();
        Run* run = n_run > 0 ? &runs[n_run - 1] : nullptr;
        if (!run || run->is_band || run->n_line != n_line || run->first_line != line ||
            run->step != step)
            *(run = &runs[n_run++]) = {false, n_line, line, 0, step, n_entry, {}, nullptr, 0};
        run->n_entry += strip.count;
        for (int64_t o = 0; o < strip.count; ++o, ++n_entry) {
            entries[n_entry] = first + o;
            ahead[n_entry] = o % 6 * step + strip.count - 1 - o + width - 1;
            for (int l = 0; l < 2; ++l) {
                is_seen[n_entry][l] = o >= strip.from[l] && o < strip.to[l];
                weights[n_entry][l] = is_seen[n_entry][l] ? weight : 0;
            }
        }
    }
};

/// Returns the lanes of row `line` that attend to column t of a band.
HWY_INLINE auto sees(const PairStrip& strip, int line, int64_t t) {
    const Vector offset = hn::Sub(broadcast(static_cast<float>(t)), hn::Iota(Tag(), 0.0f));
    return hn::And(hn::Ge(offset, broadcast(static_cast<float>(strip.from[line]))),
                   hn::Lt(offset, broadcast(static_cast<float>(strip.to[line]))));
}

/// Returns true if all lanes of the rows of a band attend to columns [t, t + n).
HWY_INLINE bool is_seen_by_all(const PairStrip& strip, int64_t t, int64_t n) {
    return t - (width - 1) >= strip.common_from && t + n <= strip.common_to;
}

}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
