// SPDX-License-Identifier: Apache-2.0
// Conversion between rows of numbers and lanes of tokens, and the two products between them that
// attention consists of. This file is compiled once per SIMD instruction set.
#if defined(SURROGATE_HEPT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_HEPT_LANES_INL_H_
#undef SURROGATE_HEPT_LANES_INL_H_
#else
#define SURROGATE_HEPT_LANES_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "kernels/attention/lanes-inl.h"
#include "kernels/base/block_size.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::hept::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

/// Transposes four numbers of each row rows[0 .. width - 1] into lanes: lanes(c, l) = rows[l][c],
/// at to[c * row].
HWY_INLINE void transpose_four(const float* const* rows, int64_t row, float* to) {
    const hn::Repartition<uint64_t, Tag> pairs;
    const auto four = [&](int64_t l) HWY_ATTR {  // rows l and l + 4 (and l + 8 and l + 12)
        const hn::Full128<float> block;
        const auto at = [&](int64_t b) HWY_ATTR { return hn::LoadU(block, rows[l + 4 * b]); };
#if HWY_TARGET == HWY_NEON
        return at(0);
#elif HWY_TARGET == HWY_AVX2
        return hn::Combine(Tag(), at(1), at(0));
#else
        const hn::Half<Tag> half;
        return hn::Combine(Tag(), hn::Combine(half, at(3), at(2)), hn::Combine(half, at(1), at(0)));
#endif
    };
    const Vector a = four(0), b = four(1), c = four(2), d = four(3);
    const auto ab = hn::BitCast(pairs, hn::InterleaveLower(Tag(), a, b));
    const auto cd = hn::BitCast(pairs, hn::InterleaveLower(Tag(), c, d));
    const auto upper_ab = hn::BitCast(pairs, hn::InterleaveUpper(Tag(), a, b));
    const auto upper_cd = hn::BitCast(pairs, hn::InterleaveUpper(Tag(), c, d));
    store(hn::BitCast(Tag(), hn::InterleaveLower(pairs, ab, cd)), to);
    store(hn::BitCast(Tag(), hn::InterleaveUpper(pairs, ab, cd)), to + row);
    store(hn::BitCast(Tag(), hn::InterleaveLower(pairs, upper_ab, upper_cd)), to + 2 * row);
    store(hn::BitCast(Tag(), hn::InterleaveUpper(pairs, upper_ab, upper_cd)), to + 3 * row);
}

#endif

/// Transposes rows into lanes: to(c, l) = rows[l][first + c] for c < n_dim; to (n_dim, n_vector *
/// width).
template <int n_vector>
HWY_INLINE void transpose(const float* const* rows, int64_t first, int64_t n_dim, float* to) {
    constexpr int64_t n_lane = n_vector * width;
#if HWY_TARGET != HWY_SCALAR
    for (int j = 0; j < n_vector && n_dim >= 4; ++j) {
        for (int64_t c = 0; c < n_dim; c += 4) {
            const int64_t from = std::min(c, n_dim - 4);  // the last four may be repeated
            const float* at[width];
            for (int64_t l = 0; l < width; ++l) at[l] = rows[j * width + l] + first + from;
            transpose_four(at, n_lane, to + from * n_lane + j * width);
        }
    }
    if (n_dim >= 4) return;
#endif
    for (int64_t c = 0; c < n_dim; ++c)
        for (int64_t l = 0; l < n_lane; ++l) to[c * n_lane + l] = rows[l][first + c];
}

HWY_INLINE void copy(const float* from, int64_t n, float* to) {
    if (n < width) {
        for (int64_t c = 0; c < n; ++c) to[c] = from[c];
        return;
    }
    for (int64_t c = 0; c + width < n; c += width) store(load(from + c), to + c);
    store(load(from + n - width), to + n - width);  // some may be repeated
}

/// Copies n numbers, then writes zeros up to a multiple of lane_count.
HWY_INLINE void copy_padded(const float* from, int64_t n, float* to) {
    const int64_t n_padded = round_up(n, lane_count);
#if HWY_TARGET == HWY_AVX3
    int64_t c = 0;
    for (; c + width <= n; c += width) store(load(from + c), to + c);
    if (c == n_padded) return;
    // A masked load reads nothing behind the n, but waits for the cache line of its last lane:
    // hence half a vector where that is sufficient.
    const hn::Half<Tag> half;
    const auto rest = static_cast<size_t>(n - c);
    const Vector last =
        n - c <= width / 2
            ? hn::ZeroExtendVector(Tag(), hn::MaskedLoad(hn::FirstN(half, rest), half, from + c))
            : hn::MaskedLoad(hn::FirstN(Tag(), rest), Tag(), from + c);
    store(last, to + c);
#else
    for (int64_t c = n / width * width; c < n_padded; c += width) store(broadcast(0.0f), to + c);
    copy(from, n, to);
#endif
}

/// Replaces squared distances by weights exp(-square / 2); weights below 2^-126 are zero.
template <int n>
HWY_INLINE void weigh(Vector (&square)[n]) {
    const Vector lowest = broadcast(-126.0f);
    Vector exponent[n];
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
        exponent[j] = hn::Mul(square[j], broadcast(-0x1.715476p-1f));  // log2(e) / 2
        square[j] = at_least(lowest, exponent[j]);
    }
    powers_of_two(square);
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j)
        square[j] = hn::IfThenElseZero(hn::Ge(exponent[j], lowest), square[j]);
}

/// Number of vectors whose exponentials are computed together.
constexpr int n_power = width == 1 ? 1 : 4;

/// Result of a pair of a row and a lane.
enum class Pair { product, square, weight };

/// Replaces the squares of a block by weights, and adds them to `total` row by row.
template <int n_row, int n_vector>
HWY_INLINE void weigh_block(Vector (&square)[n_row][n_vector], float* total) {
    constexpr int n_together = std::min(n_row, std::max(n_power / n_vector, 1));
    static_assert(n_row % n_together == 0);
    Vector sum[n_vector];
#pragma GCC unroll 2
    for (int j = 0; j < n_vector; ++j) sum[j] = load(total + j * width);
#pragma GCC unroll 16
    for (int first = 0; first < n_row; first += n_together) {
        Vector weight[n_together * n_vector];
#pragma GCC unroll 8
        for (int i = 0; i < n_together * n_vector; ++i)
            weight[i] = square[first + i / n_vector][i % n_vector];
        weigh(weight);
#pragma GCC unroll 8
        for (int i = 0; i < n_together * n_vector; ++i) {
            square[first + i / n_vector][i % n_vector] = weight[i];
            sum[i % n_vector] = hn::Add(sum[i % n_vector], weight[i]);
        }
    }
#pragma GCC unroll 2
    for (int j = 0; j < n_vector; ++j) store(sum[j], total + j * width);
}

/// Computes, for n_row rows x and all lanes, in order of c from 0:
///   to(r, lane) = sum_c (lanes(c, lane) - x(r, c))^2   or   sum_c lanes(c, lane) x(r, c)
/// or, from such squares, exp(-square / 2), which are also added to total (n_lane).
template <int n_row, int n_vector, Pair kind>
HWY_NOINLINE void pair_block(const float* lanes, int64_t n_dim, const float* x, int64_t x_row,
                             float* to, float* total) {
    constexpr bool is_square = kind != Pair::product;
    constexpr int64_t n_lane = n_vector * width;
    Vector sum[n_row][n_vector];
#pragma GCC unroll 16
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = broadcast(0.0f);
    }
    // Only a few pointers are used; otherwise the compiler keeps one per row.
    const float* x_3 = x + (n_row > 3 ? 3 * x_row : 0);
    const float* x_6 = x + (n_row > 6 ? 6 * x_row : 0);
    const float* x_9 = x + (n_row > 9 ? 9 * x_row : 0);
    for (int64_t c = 0; c < n_dim; ++c) {
        asm("" : "+r"(x), "+r"(x_3), "+r"(x_6), "+r"(x_9));
        Vector lane[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) lane[j] = load(lanes + j * width);
#pragma GCC unroll 16
        for (int r = 0; r < n_row; ++r) {
            const float* base = r < 3 ? x : r < 6 ? x_3 : r < 9 ? x_6 : x_9;
            const Vector value = broadcast(base[r % 3 * x_row]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) {
                const Vector difference = is_square ? hn::Sub(lane[j], value) : value;
                sum[r][j] = mul_add(difference, is_square ? difference : lane[j], sum[r][j]);
            }
        }
        lanes += n_lane;
        ++x, ++x_3, ++x_6, ++x_9;
    }
    if constexpr (kind == Pair::weight) weigh_block(sum, total);
#pragma GCC unroll 16
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) store(sum[r][j], to + r * n_lane + j * width);
    }
}

/// Calls body(first, size) for blocks of n items: as many blocks of 8 or 4 as possible, then single
/// items.
template <int most, class Body>
HWY_INLINE void for_blocks(int64_t n, const Body& body) {
    int64_t first = 0;
    for (; first + most <= n; first += most) body(first, std::integral_constant<int, most>());
    if constexpr (most > 4) {
        for (; first + 4 <= n; first += 4) body(first, std::integral_constant<int, 4>());
    }
    if constexpr (most > 2) {
        for (; first + 2 <= n; first += 2) body(first, std::integral_constant<int, 2>());
    }
    for (; first < n; ++first) body(first, std::integral_constant<int, 1>());
}

/// Runs pair_block() on n rows; calls meanwhile() at intervals.
template <int n_vector, Pair kind, class Meanwhile>
HWY_INLINE void pair(const float* lanes, int64_t n_dim, const float* x, int64_t x_row, int64_t n,
                     float* to, float* total, const Meanwhile& meanwhile) {
    // Sums in registers: 8 x 2 or 12 of 32 with AVX-512, 4 x 2 or 8 of 16 with AVX2.
    constexpr int most = n_vector == 2 ? (width == 16 ? 8 : 4) : width == 16 ? 12 : width;
    for_blocks<most>(n, [&](int64_t r, auto n_row) HWY_ATTR {
        pair_block<decltype(n_row)::value, n_vector, kind>(lanes, n_dim, x + r * x_row, x_row,
                                                           to + r * n_vector * width, total);
        meanwhile();
    });
}

/// Runs weigh_rows() on rows first, first + 1, .. at `squares`.
template <int n_vector, int n_weight, class Body>
HWY_INLINE void weigh_some(int64_t first, float* squares, const Body& body) {
    Vector weight[n_weight];
#pragma GCC unroll 8
    for (int i = 0; i < n_weight; ++i) weight[i] = load(squares + i * width);
    weigh(weight);
#pragma GCC unroll 8
    for (int i = 0; i < n_weight; ++i) {
        store(weight[i], squares + i * width);
        body(first + i / n_vector, i % n_vector, weight[i]);
    }
}

/// Runs weigh() on n rows of lanes, in place; body(r, j, weight) is called for vector j of each row
/// r, in order.
template <int n_vector, class Body>
HWY_INLINE void weigh_rows(int64_t n, float* squares, const Body& body) {
    constexpr int n_row = std::max(n_power / n_vector, 1), n_weight = n_row * n_vector;
    int64_t first = 0;
    for (; first + n_row <= n; first += n_row)
        weigh_some<n_vector, n_weight>(first, squares + first * n_vector * width, body);
    for (; first < n; ++first)
        weigh_some<n_vector, n_vector>(first, squares + first * n_vector * width, body);
}

/// Weights of pairs: the weight of term s and row t is at data[s * term + t * row].
struct Weights {
    const float* data;
    int64_t term, row;
};

/// Rows of numbers, the first at `data`.
template <class T>
struct NumberRows {
    T* data;
    int64_t row;

    T* from(int64_t r, int64_t c) const { return data + r * row + c; }
};

/// Computes, for n_row rows t and n_vector vectors of numbers c, in order of s = 0 .. n - 1:
///   to(t, c) += sum_s w(s, t) x(s, c)   or   sum_s w(s, t) (x(s, c) - own(t, c))
/// `is_first`: the previous contents of `to` count as zero.
template <int n_row, int n_vector, bool is_difference>
HWY_NOINLINE void add_block(Weights w, int64_t n, NumberRows<const float> x,
                            NumberRows<const float> own, NumberRows<float> to) {
    Vector sum[n_row][n_vector], minus[n_row][n_vector];
#pragma GCC unroll 8
    for (int t = 0; t < n_row; ++t) {
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) {
            sum[t][j] = load(to.from(t, j * width));
            if constexpr (is_difference) minus[t][j] = load(own.from(t, j * width));
        }
    }
    // Only a few pointers are used; otherwise the compiler keeps one per row.
    const float *weight = w.data, *at = x.data;
    const float* weight_3 = weight + (n_row > 3 ? 3 * w.row : 0);
    const float* weight_6 = weight + (n_row > 6 ? 6 * w.row : 0);
    for (int64_t s = 0; s < n; ++s) {
        asm("" : "+r"(weight), "+r"(weight_3), "+r"(weight_6));
        Vector value[n_vector];
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) value[j] = load(at + j * width);
#pragma GCC unroll 8
        for (int t = 0; t < n_row; ++t) {
            const float* base = t < 3 ? weight : t < 6 ? weight_3 : weight_6;
            const Vector factor = broadcast(base[t % 3 * w.row]);
#pragma GCC unroll 4
            for (int j = 0; j < n_vector; ++j) {
                const Vector term = is_difference ? hn::Sub(value[j], minus[t][j]) : value[j];
                sum[t][j] = mul_add(factor, term, sum[t][j]);
            }
        }
        at += x.row;
        weight += w.term, weight_3 += w.term, weight_6 += w.term;
    }
#pragma GCC unroll 8
    for (int t = 0; t < n_row; ++t) {
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) store(sum[t][j], to.from(t, j * width));
    }
}

/// Runs add_block() on n_row rows of n_dim numbers. Numbers are read and written up to a multiple
/// of lane_count.
template <bool is_difference>
HWY_INLINE void add_rows(Weights w, int64_t n, NumberRows<const float> x,
                         NumberRows<const float> own, int64_t n_row, int64_t n_dim,
                         NumberRows<float> to) {
    // AVX-512: 8 x 2 sums, with differences 6 x 2 and as many own numbers. AVX2: 4 x 3, with
    // differences 3 x 2.
    constexpr int most_rows = width == 16 ? (is_difference ? 6 : 8) : (is_difference ? 3 : 4);
    constexpr int most_columns = width == 8 && !is_difference ? 3 : 2;
    for_blocks<most_columns>((n_dim + width - 1) / width, [&](int64_t j, auto n_vector) HWY_ATTR {
        const int64_t c = j * width;
        for_blocks<most_rows>(n_row, [&](int64_t t, auto size) HWY_ATTR {
            add_block<decltype(size)::value, decltype(n_vector)::value, is_difference>(
                {w.data + t * w.row, w.term, w.row}, n, {x.data + c, x.row},
                {is_difference ? own.from(t, c) : nullptr, own.row}, {to.from(t, c), to.row});
        });
    });
}

}  // namespace surrogate::kernels::hept::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
