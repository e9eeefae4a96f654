// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/hept/hept.hpp"

namespace surrogate::kernels::hept {

/// Rows that a block of tokens is copied to, lengths in elements.
struct BlockRows {
    RowShape shape;

    int64_t query_row() const { return round_up(shape.n_query(), lane_count); }
    int64_t value_row() const { return round_up(shape.n_channel, lane_count); }
    int64_t key_row() const { return query_row() + value_row(); }
};

}  // namespace surrogate::kernels::hept
