// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "libsurrogate/src/domain/columns.hpp"
#include "surrogate/surrogate.h"

namespace surrogate::impl {

/// Throws shape, limit, invalid_argument or not_supported unless the block can be read on the host.
/// `what` begins the message. Returns the number of its points. A block to write also needs
/// require_distinct().
int64_t check_block(const surrogate_block& block, const std::string& what);

/// Returns a checked block as a column without normalization. The column has one stride if one is
/// sufficient, otherwise a strided block with as few axes as possible.
Column column_of(const surrogate_block& block);

/// Returns "4 x 5 = 20".
std::string block_text(const surrogate_block& block, int64_t n_point);

}  // namespace surrogate::impl
