// SPDX-License-Identifier: Apache-2.0
// What a pair of query rows sees, in pieces of a size that suits the caches. Compiled once per
// vector level: bands grow by the width of a vector.
#if defined(SURROGATE_NEIGHBORHOOD_CHUNK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_NEIGHBORHOOD_CHUNK_INL_H_
#undef SURROGATE_NEIGHBORHOOD_CHUNK_INL_H_
#else
#define SURROGATE_NEIGHBORHOOD_CHUNK_INL_H_
#endif

#include "kernels/base/vector-inl.h"
#include "kernels/sphere/pair_strips.hpp"
#include "kernels/sphere/rings.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Keeps a loaded vector in a register. GCC 12 reads memory again for every use of an unaligned
/// load, as operand of each multiply-add: twice the loads, which are what short strips wait for.
HWY_INLINE Vector in_register(Vector v) {
#if HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86 && HWY_COMPILER_GCC
    asm("" : "+v"(v.raw));
#endif
    return v;
}

/// Entries that are computed alike: neighbors by offset (lane i meets column i + offset), of one or
/// several strips; or one band: the columns that any lane sees, each broadcast to all lanes. An
/// entry has one score vector for each row of the pair that shares it.
struct Run {
    bool is_band = false;
    int n_line = 2, first_line = 0;
    int64_t n_entry = 0, step = 0;
    int64_t first_entry = 0;  ///< by offset: in the chunk
    PairStrip strip;          ///< band
    const float* band = nullptr;
    float row_weight = 0;

    int64_t n_score() const { return n_entry * n_line * width; }
};

/// Consecutive strips of a pair over one kind of rings, for the columns from some `column` on.
struct Chunk {
    static constexpr int64_t most_runs = 24, most_entries = 128;
    /// Enough to keep sums in registers for long, few enough for their weights to stay in the
    /// first-level cache.
    static constexpr int64_t enough_entries = 40;

    Run runs[most_runs];
    int n_run = 0;
    int64_t n_score = 0;
    bool is_first = false, is_last = false;

    /// Entries by offset: where channel 0 of lane 0 is, weight of each row (0 where it sees
    /// nothing), and how far the entry's share of the next channels lies ahead.
    const float* entries[most_entries];
    float weights[most_entries][2];
    bool is_seen[most_entries][2];
    int64_t ahead[most_entries];
    int64_t n_entry = 0;

    /// False at the end. at(row): channel 0 of the head in the first column; weight_of(row).
    template <class At, class WeightOf>
    bool read(PairWalk& walk, const RingLayout& layout, const At& at, const WeightOf& weight_of) {
        if (is_last) return false;
        is_first = n_run == 0;
        n_run = 0;
        n_entry = n_score = 0;
        int64_t n_all = 0;
        while (!walk.is_at_end() && n_all < enough_entries && n_run < most_runs) {
            const PairStrip strip = walk.peek();
            if (!strip.is_band() && n_entry + strip.count > most_entries) break;
            walk.step();
            add(strip, layout.step(strip.row), at(strip.row) + strip.first, weight_of(strip.row));
            n_all += strip.count;
        }
        for (int r = 0; r < n_run; ++r) n_score += runs[r].n_score();
        is_last = walk.is_at_end();
        return n_run > 0;
    }

private:
    void add(const PairStrip& strip, int64_t step, const float* first, float weight) {
        const int n_line = strip.n_line(), line = strip.shared ? 0 : strip.line();
        if (strip.is_band()) {
            runs[n_run++] = {true,  n_line, line,  strip.count + width - 1, step, 0,
                             strip, first,  weight};
            return;
        }
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

/// The lanes of row `line` that see column t of a band.
HWY_INLINE auto sees(const PairStrip& strip, int line, int64_t t) {
    const Vector offset = hn::Sub(broadcast(static_cast<float>(t)), hn::Iota(Tag(), 0.0f));
    return hn::And(hn::Ge(offset, broadcast(static_cast<float>(strip.from[line]))),
                   hn::Lt(offset, broadcast(static_cast<float>(strip.to[line]))));
}

/// All lanes of the rows of a band see columns [t, t + n).
HWY_INLINE bool is_seen_by_all(const PairStrip& strip, int64_t t, int64_t n) {
    return t - (width - 1) >= strip.common_from && t + n <= strip.common_to;
}

}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
