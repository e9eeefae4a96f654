// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/flare/flare.hpp"

namespace surrogate::impl::flare {

/// Returns the number of values that are not finite. Compares integers: quiet, and it vectorizes.
template <class T>
int64_t count_infinite(const T* values, int64_t n) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits exponent = sizeof(T) == 4 ? Bits{0x7f800000} : Bits(0x7ff0000000000000);
    Bits count = 0;
    for (int64_t i = 0; i < n; ++i)
        count += (std::bit_cast<Bits>(values[i]) & exponent) == exponent ? 1 : 0;
    return static_cast<int64_t>(count);
}

/// Computes z (M, D) of one head: quotients of rows (n_row) of values and the row of their count,
/// in the type that count_of() and value_of() return; 0 where the count is 0. Returns whether all
/// are finite.
template <class T, class From, class CountOf, class ValueOf>
bool divide_rows(const kernels::flare::Sizes& sizes, const From* count, const CountOf& count_of,
                 const ValueOf& value_of, T* z) {
    using kernels::lane_count;
    using Number = decltype(count_of(*count));
    const int64_t n_row = sizes.n_row(), n_dim = sizes.n_dim;
    for (int64_t first = 0; first < sizes.n_latent; first += lane_count) {
        const int64_t n = std::min(lane_count, sizes.n_latent - first);
        Number divisor[lane_count], factor[lane_count];
        T quotient[lane_count];
        for (int64_t m = 0; m < lane_count; ++m) {
            const Number own = count_of(count[first + m]);
            divisor[m] = own == 0 ? Number(1) : own;
            factor[m] = own == 0 ? Number(0) : Number(1);
        }
        for (int64_t d = 0; d < n_dim; ++d) {
            const From* const value = count + (1 + d) * n_row + first;
            for (int64_t m = 0; m < lane_count; ++m)
                quotient[m] = static_cast<T>(value_of(value[m]) / divisor[m] * factor[m]);
            T* const to = z + first * n_dim + d;
            for (int64_t m = 0; m < n; ++m) to[m * n_dim] = quotient[m];
        }
    }
    return count_infinite(z, sizes.n_latent * n_dim) == 0;
}

/// Computes z (H, M, D) of a Partial or Total in single or double precision, as divide_rows().
template <class T, class Rows>
bool divide(const Rows& rows, T* z) {
    const kernels::flare::Sizes& sizes = rows.sizes;
    const auto as_it_is = [](auto x) { return static_cast<T>(x); };
    bool is_finite = true;
    for (int64_t head = 0; head < sizes.n_head; ++head) {
        T* const to = z + head * sizes.n_latent * sizes.n_dim;
        is_finite &= divide_rows(sizes, rows.sum(head), as_it_is, as_it_is, to);
    }
    return is_finite;
}

/// Returns whether all sums are finite.
template <class T>
bool is_finite(kernels::flare::Partial<T> partial) {
    const kernels::flare::Sizes& sizes = partial.sizes;
    int64_t n_infinite = 0;
    for (int64_t head = 0; head < sizes.n_head; ++head) {
        for (int64_t j = 0; j <= sizes.n_dim; ++j)
            n_infinite += count_infinite(partial.sum(head) + j * sizes.n_row(), sizes.n_latent);
    }
    return n_infinite == 0;
}

/// Computes the latents z (H, M, D) of a cloud from the encoding of its only chunk: bitwise those
/// of a Reduction over this chunk. v_max (H): its largest |v|, for the reproducible mode; null: the
/// fast one. Returns false if they are not finite. Local.
template <class T>
bool latents_of(kernels::flare::Partial<T> partial, const T* v_max, T* z);

}  // namespace surrogate::impl::flare
