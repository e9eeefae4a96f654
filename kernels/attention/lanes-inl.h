// SPDX-License-Identifier: Apache-2.0
// Products of vector lanes with rows of channels: the two micro-steps of attention, in the forward
// and the backward pass. This file is compiled once per SIMD instruction set. Lanes are queries or
// keys; the other factor is broadcast.
#if defined(SURROGATE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_LANES_INL_H_
#undef SURROGATE_LANES_INL_H_
#else
#define SURROGATE_LANES_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/softmax-inl.h"
#include "kernels/base/block_size.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

/// Number of vectors of lanes that are processed together: two on machines with vectors, so that
/// twelve sums are in flight. With AVX-512 this gives 32 lanes, and a rest of 16 is processed
/// alone.
constexpr int most_vectors = width == 1 ? 1 : 2;

/// Calls body(lane, vectors) for groups of lanes; vectors is a constant of the compiler.
template <class Body>
HWY_INLINE void for_lanes(int64_t n, const Body& body) {
    int64_t lane = 0;
    for (; lane + most_vectors * width <= n; lane += most_vectors * width)
        body(lane, std::integral_constant<int, most_vectors>());
    for (; lane < n; lane += width) body(lane, std::integral_constant<int, 1>());
}

/// Calls body(first, end, size) for rows [first, end) that are processed `size` at a time, a
/// constant of the compiler: 6 x 2 sums fit 16 registers, 8 x 2 fit 32. The rest follows in equal
/// parts.
template <class Body>
HWY_INLINE void for_register_rows(int64_t n, const Body& body) {
    constexpr int most = HWY_TARGET == HWY_AVX3 ? 8 : 6;
    const int64_t whole = n / most * most;
    if (whole > 0) body(int64_t{0}, whole, std::integral_constant<int, most>());
    for_blocks_of_6(n - whole, [&](int64_t first, auto size)
                                   HWY_ATTR { body(whole + first, whole + first + size, size); });
}

/// Does the same for rows with many products each: 12 x 2 sums fit 32 registers, and 12 sums alone
/// do not keep two units of 512 bits busy (attention.md).
template <class Body>
HWY_INLINE void for_wide_rows(int64_t n, const Body& body) {
    const int64_t whole = HWY_TARGET == HWY_AVX3 ? n / 12 * 12 : 0;
    if (whole > 0) body(int64_t{0}, whole, std::integral_constant<int, 12>());
    for_register_rows(n - whole, [&](int64_t first, int64_t end, auto size)
                                     HWY_ATTR { body(whole + first, whole + end, size); });
}

/// Calls body(first, size) for register blocks of n rows, as for_wide_rows() for every block.
template <class Body>
HWY_INLINE void for_register_blocks(int64_t n, const Body& body) {
#if HWY_TARGET == HWY_AVX3
    for_blocks_of_12(n, body);
#else
    for_blocks_of_6(n, body);
#endif
}

/// Rows of channels whose columns all have one stride.
struct Rows {
    const float* data;
    int64_t row, n_dim;

    Rows from(int64_t column) const { return {data + column, row, n_dim}; }
};

/// Returns the rows of channels of head h.
inline Rows rows_of_head(Tile<const float> tile, int64_t h, int64_t n_dim) {
    return {tile.data + h * n_dim * tile.stride[0], tile.stride[0], n_dim};
}

/// Bias of the scores of one head: factor * distance(r, lane), added before the products. Null
/// distance: no bias.
struct Bias {
    float factor;
    const float* distance;
    int64_t row;

    Bias from(int64_t r, int64_t lane) const {
        return {factor, distance ? distance + r * row + lane : nullptr, row};
    }
};

inline Bias bias_of_head(const DistanceBias<float>& bias, int64_t h) {
    if (!bias.factor) return {};
    return {bias.factor[h], bias.distance.data, bias.distance.stride[0]};
}

/// Computes sum(r, lane) + sum_c lanes(c, lane) b(c, r) for n_row columns of b, in order of c.
template <int n_row, int n_vector>
HWY_INLINE void add_products(Rows lanes, const float* b, int64_t b_row,
                             Vector (&sum)[n_row][n_vector]) {
    const float* a = lanes.data;
#pragma GCC unroll 4
    for (int64_t c = 0; c < lanes.n_dim; ++c, a += lanes.row, b += b_row) {
        hwy::Prefetch(b + lane_count);  // next cache line: other columns of this channel
        Vector point[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) point[j] = load(a + j * width);
#pragma GCC unroll 12
        for (int r = 0; r < n_row; ++r) {
            const Vector x = broadcast(b[r]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(point[j], x, sum[r][j]);
        }
    }
}

/// Sets the sums of scores to their initial values.
template <bool is_biased, int n_row, int n_vector>
HWY_INLINE void start_scores(const Bias& bias, Vector (&sum)[n_row][n_vector]) {
#pragma GCC unroll 12
    for (int r = 0; r < n_row; ++r) {
        const float* distance = bias.distance + r * bias.row;
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j)
            sum[r][j] = is_biased ? hn::Mul(broadcast(bias.factor), load(distance + j * width))
                                  : broadcast(0.0f);
    }
}

/// Computes the scores (row, lane) of rows [first, end) of `rows`, `size` at a time, and calls
/// each(j, scores) for vector j of each row.
template <int size, int n_vector, bool is_biased, class Each>
HWY_INLINE void compute_scores(Rows lanes, Rows rows, int64_t first, int64_t end, const Bias& bias,
                               float* scores, const Each& each) {
    for (; first < end; first += size) {
        Vector sum[size][n_vector];
        start_scores<is_biased>(bias.from(first, 0), sum);
        add_products(lanes, rows.data + first, rows.row, sum);
#pragma GCC unroll 12
        for (int r = 0; r < size; ++r) {
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) {
                store(sum[r][j], scores + ((first + r) * n_vector + j) * width);
                each(j, sum[r][j]);
            }
        }
    }
}

/// Target of gather(), which combines new sums with the stored values:
/// value(c, lane) = rescale(lane) value(c, lane) + w sum(c, lane); rescale null: 1.
struct Sums {
    float* value;
    int64_t row;
    const float* rescale;
    float w;
};

template <int n_row, int n_vector, bool is_rescaled>
HWY_NOINLINE void gather_rows(const float* weights, const float* v, int64_t v_row, int64_t n,
                              const Sums& to) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 12
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) sum[r][j] = broadcast(0.0f);
    }
    // Rows are reached from a pointer for every three of them: with one per row, or with an array
    // of pointers as on the sphere, the compiler would keep the stack in the loop.
    const float *v_0 = v, *v_3 = v + (n_row > 3 ? 3 * v_row : 0),
                *v_6 = v + (n_row > 6 ? 6 * v_row : 0), *v_9 = v + (n_row > 9 ? 9 * v_row : 0);
    for (const float *next = v + n_row * v_row, *const last = weights + n * n_vector * width;
         weights < last; next += lane_count) {
        const float* ahead = next;  // the cache lines of the next rows
#pragma GCC unroll 1
        for (int r = 0; r < n_row; ++r, ahead += v_row) hwy::Prefetch(ahead);
        const float* const end = std::min(weights + lane_count * n_vector * width, last);
        for (; weights < end; weights += n_vector * width) {
            asm("" : "+r"(v_0), "+r"(v_3), "+r"(v_6), "+r"(v_9));
            Vector weight[n_vector];
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) weight[j] = load(weights + j * width);
#pragma GCC unroll 12
            for (int r = 0; r < n_row; ++r) {
                const float* const rows = r < 3 ? v_0 : r < 6 ? v_3 : r < 9 ? v_6 : v_9;
                const Vector x = broadcast(rows[r % 3 * v_row]);
#pragma GCC unroll 2
                for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(weight[j], x, sum[r][j]);
            }
            ++v_0, ++v_3, ++v_6, ++v_9;
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            float* place = to.value + r * to.row + j * width;
            Vector old = load(place);
            if constexpr (is_rescaled) old = hn::Mul(old, load(to.rescale + j * width));
            store(mul_add(sum[r][j], broadcast(to.w), old), place);
        }
    }
}

/// Computes sum(c, lane) = sum_i weights(i, lane) v(c, i) over n columns of v, in order of i.
template <int n_vector, bool is_rescaled>
HWY_INLINE void gather(const float* weights, Rows v, int64_t n, const Sums& to) {
    for_register_blocks(v.n_dim, [&](int64_t c, auto n_row) HWY_ATTR {
        gather_rows<decltype(n_row)::value, n_vector, is_rescaled>(
            weights, v.data + c * v.row, v.row, n,
            {to.value + c * to.row, to.row, to.rescale, to.w});
    });
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
