// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/flare/gradient.hpp"
#include "kernels/norm/norm.hpp"

namespace surrogate::impl::flare {

/// Returns the offset of element m of a row, row = head * D + d, in latent_q: (H, M, D), or (M, D)
/// if all heads share it.
inline int64_t latent_offset(const kernels::flare::Sizes& sizes, bool is_shared, int64_t row,
                             int64_t m) {
    const int64_t head = is_shared ? 0 : row / sizes.n_dim;
    return (head * sizes.n_latent + m) * sizes.n_dim + row % sizes.n_dim;
}

/// Calls body(row, m, offset in latent_q) for all elements of the queries.
template <class Body>
void for_latents(const kernels::flare::Sizes& sizes, bool is_shared, const Body& body) {
    for (int64_t row = 0; row < sizes.n_channel(); ++row)
        for (int64_t m = 0; m < sizes.n_latent; ++m)
            body(row, m, latent_offset(sizes, is_shared, row, m));
}

/// Backpropagates the gradients dq of normalized queries through their norm, in place, and adds the
/// gradients of the norm's weights. raw: queries before the norm. dq and raw are (H, D, n_row).
template <class T>
void query_norm_backward(const kernels::Queue& queue, const kernels::Norm<T>& norm, const T* raw,
                         const kernels::flare::LatentSums<T>& dq,
                         const kernels::NormGradient& gradient) {
    const auto& [n_head, n_latent, n_dim] = dq.sizes;
    const int64_t n_row = dq.sizes.n_row();
    for (int64_t head = 0; head < n_head; ++head) {
        const kernels::Tile<T> rows{dq.row(head, 0), {n_dim, n_latent}, {n_row, 1}};
        const kernels::Tile<const T> raw_rows{raw + head * n_dim * n_row, rows.shape, rows.stride};
        kernels::normalise_backward<T>(queue, norm, raw_rows, rows, {}, rows, gradient);
    }
}

}  // namespace surrogate::impl::flare
