// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/blocks.hpp"

#include <algorithm>
#include <span>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/array_axes.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

std::span<const int64_t> shape_of(const surrogate_block& block) {
    return {block.shape, static_cast<size_t>(block.n_dim)};
}

int64_t count_points(const surrogate_block& block, const std::string& what) {
    int64_t n = 1;
    const auto shape = shape_of(block);
    if (std::ranges::find(shape, 0) != shape.end()) return 0;
    for (const int64_t extent : shape) {
        if (extent < 0 || __builtin_mul_overflow(n, extent, &n)) {
            throw Error(extent < 0 ? Status::shape : Status::limit,
                        what + ": the block's shape " + shape_text(shape) +
                            (extent < 0 ? " is negative" : " has more points than int64 counts"));
        }
    }
    return n;
}

}  // namespace

int64_t check_block(const surrogate_block& block, const std::string& what) {
    if (block.n_dim < 1 || block.n_dim > Lattice::max_dim) {
        throw Error(Status::shape,
                    what + ": n_dim is " + std::to_string(block.n_dim) + ", expected 1 to 4");
    }
    if (block.reserved != 0) {
        throw Error(Status::invalid_argument, what + ": reserved is " +
                                                  std::to_string(block.reserved) +
                                                  "; set a surrogate_block to zero first");
    }
    const int64_t n = count_points(block, what);
    check_array({block.data, {n, 1}, {1, 1}, block.dtype, block.space}, what);
    require_addressable(axes_of(block), what);
    return n;
}

Column column_of(const surrogate_block& block) {
    Lattice lattice;
    const auto shape = shape_of(block);
    const bool is_empty = std::ranges::find(shape, 0) != shape.end();
    for (size_t axis = 0; axis < shape.size() && !is_empty; ++axis) {
        if (shape[axis] == 1) continue;
        const auto n = static_cast<size_t>(lattice.n_dim);
        if (n > 0 && block.stride[axis] == lattice.shape[n - 1] * lattice.stride[n - 1]) {
            lattice.shape[n - 1] *= shape[axis];
            continue;
        }
        lattice.shape[n] = shape[axis];
        lattice.stride[n] = block.stride[axis];
        ++lattice.n_dim;
    }
    Column column;
    column.data = block.data;
    column.is_double = block.dtype == SURROGATE_FLOAT64;
    if (lattice.n_dim > 0) column.stride = lattice.stride[0];
    if (lattice.n_dim > 1) column.lattice = lattice;
    return column;
}

std::string block_text(const surrogate_block& block, int64_t n_point) {
    std::string text;
    for (const int64_t extent : shape_of(block))
        text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return block.n_dim == 1 ? text : text + " = " + std::to_string(n_point);
}

}  // namespace surrogate::impl
