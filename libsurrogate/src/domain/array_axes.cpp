// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/array_axes.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/sphere_domain.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

constexpr uint64_t most_bytes = std::numeric_limits<int64_t>::max();

uint64_t magnitude(int64_t stride) {
    return stride < 0 ? uint64_t{0} - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
}

/// Multiplies two strides; gives the largest number, which nothing reaches, if that does not fit.
int64_t scaled(int64_t stride, int64_t step) {
    int64_t product = 0;
    return __builtin_mul_overflow(stride, step, &product) ? std::numeric_limits<int64_t>::max()
                                                          : product;
}

bool is_empty(const ArrayAxes& axes) {
    return std::ranges::count(std::span(axes.extent).first(axes.n_axis), 0) > 0;
}

int64_t element_bytes(int32_t dtype) {
    return dtype == SURROGATE_FLOAT64 || dtype == SURROGATE_INT64 ? 8 : 4;
}

/// Bytes from the first element down to the lowest and up to the highest one.
struct Reach {
    uint64_t down = 0, up = 0;
};

/// Finds the reach. Returns false if a distance does not fit int64_t.
bool find_reach(const ArrayAxes& axes, Reach* reach) {
    for (size_t a = 0; a < axes.n_axis; ++a) {
        if (axes.extent[a] == 1) continue;
        uint64_t span = 0;
        uint64_t& side = axes.stride[a] < 0 ? reach->down : reach->up;
        if (__builtin_mul_overflow(magnitude(axes.stride[a]),
                                   static_cast<uint64_t>(axes.extent[a] - 1), &span) ||
            __builtin_mul_overflow(span, static_cast<uint64_t>(axes.element_bytes), &span) ||
            __builtin_add_overflow(side, span, &side) || side > most_bytes)
            return false;
    }
    return true;
}

}  // namespace

void ArrayAxes::add(int64_t axis_extent, int64_t axis_stride) {
    extent[n_axis] = axis_extent;
    stride[n_axis] = axis_stride;
    ++n_axis;
}

std::string ArrayAxes::text() const {
    return shape_text(std::span(extent).first(n_axis)) + " with strides " +
           shape_text(std::span(stride).first(n_axis));
}

ArrayAxes axes_of(const surrogate_array& array) {
    ArrayAxes axes;
    axes.data = array.data;
    axes.element_bytes = element_bytes(array.dtype);
    axes.add(array.shape[0], array.stride[0]);
    axes.add(array.shape[1], array.stride[1]);
    return axes;
}

ArrayAxes axes_of(const surrogate_array& array, const Domain& domain) {
    const auto* sphere = dynamic_cast<const SphereDomain*>(&domain);
    if (!sphere) return axes_of(array);
    const surrogate_sphere block = sphere->description();
    ArrayAxes axes;
    axes.data = array.data;
    axes.element_bytes = element_bytes(array.dtype);
    axes.add(block.n_lat_local, scaled(array.stride[0], block.lat_stride));
    axes.add(block.n_lon_local, scaled(array.stride[0], block.lon_stride));
    axes.add(array.shape[1], array.stride[1]);
    return axes;
}

ArrayAxes axes_of(const surrogate_block& block) {
    ArrayAxes axes;
    axes.data = block.data;
    axes.element_bytes = element_bytes(block.dtype);
    for (int32_t a = 0; a < block.n_dim; ++a) axes.add(block.shape[a], block.stride[a]);
    return axes;
}

void require_addressable(const ArrayAxes& axes, const std::string& what) {
    if (is_empty(axes)) return;
    int64_t n_byte = axes.element_bytes;
    for (size_t a = 0; a < axes.n_axis; ++a) {
        if (!__builtin_mul_overflow(n_byte, axes.extent[a], &n_byte)) continue;
        throw Error(Status::limit, what + ": an array of " + axes.text() + " has more than " +
                                       std::to_string(most_bytes) + " bytes");
    }
    Reach reach;
    const auto first = reinterpret_cast<uintptr_t>(axes.data);
    if (find_reach(axes, &reach) && reach.down <= first &&
        reach.up <= std::numeric_limits<uintptr_t>::max() - first)
        return;
    throw Error(Status::shape, what + ": an array of " + axes.text() +
                                   " leads out of the address space; strides are counted in "
                                   "elements from one to the next along an axis");
}

void require_distinct(const ArrayAxes& axes, const std::string& what) {
    if (is_empty(axes)) return;
    const auto comes_before = [&](size_t b, size_t a) {
        return std::pair(magnitude(axes.stride[b]), b) < std::pair(magnitude(axes.stride[a]), a);
    };
    for (size_t a = 0; a < axes.n_axis; ++a) {
        if (axes.extent[a] == 1) continue;
        uint64_t span =
            0;  // elements from the lowest to the highest of the axes of smaller strides
        for (size_t b = 0; b < axes.n_axis; ++b) {
            if (comes_before(b, a))
                span += magnitude(axes.stride[b]) * static_cast<uint64_t>(axes.extent[b] - 1);
        }
        if (magnitude(axes.stride[a]) > span) continue;
        throw Error(Status::shape, what + ": elements of an array of " + axes.text() +
                                       " share memory; each element of an output needs its own");
    }
}

}  // namespace surrogate::impl
