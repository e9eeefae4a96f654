// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/base/tiles.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// Returns the point of an own token: the token itself, or the point that it copies.
inline int64_t point_of(const TokenPlan& plan, int64_t token) {
    const int64_t n_point = plan.n_point();
    return token < n_point ? token : plan.copied()[static_cast<size_t>(token - n_point)];
}

/// Copies values of points (n_channel, n_point) to a tile of own tokens from `first` on,
/// (n_channel, n).
template <class T>
void copy_tokens(const TokenPlan& plan, const kernels::Tiles<const T>& points, int64_t first,
                 kernels::Tile<T> tokens) {
    for (int64_t i = 0; i < tokens.shape[1]; ++i) {
        const int64_t point = point_of(plan, first + i);
        for (int64_t c = 0; c < points.n_channel; ++c) tokens(c, i) = points(c, point);
    }
}

/// Adds the gradients of own tokens from `first` on, (n_channel, n), to the gradients of their
/// points (n_channel, n_point): the value of a point is written, the values of its copies are
/// added. A point must come before its copies.
template <class T>
void join_copies(const TokenPlan& plan, int64_t first, kernels::Tile<const T> tokens,
                 const kernels::Tiles<T>& points) {
    for (int64_t i = 0; i < tokens.shape[1]; ++i) {
        const int64_t token = first + i, point = point_of(plan, token);
        for (int64_t c = 0; c < points.n_channel; ++c) {
            const T given = token < plan.n_point() ? T(0) : points(c, point);
            points(c, point) = given + tokens(c, i);
        }
    }
}

}  // namespace surrogate::impl::hept
