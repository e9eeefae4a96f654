// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/plan/device/array_memory.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/base/error.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::MemoryPlace;
using kernels::Status;

namespace {

/// Offsets in bytes of the first and the last byte that an array with elements uses.
std::array<int64_t, 2> extent_of(const surrogate_array& array, const std::string& what) {
    const int64_t width =
        array.dtype == SURROGATE_FLOAT64 || array.dtype == SURROGATE_INT64 ? 8 : 4;
    std::array<int64_t, 2> extent{0, width - 1};
    for (int axis = 0; axis < 2; ++axis) {
        int64_t reach = 0;
        const bool is_too_far =
            __builtin_mul_overflow(array.shape[axis] - 1, array.stride[axis], &reach) ||
            __builtin_mul_overflow(reach, width, &reach) ||
            __builtin_add_overflow(extent[reach > 0], reach, &extent[reach > 0]);
        if (is_too_far) {
            throw Error(Status::shape, what + ": stride[" + std::to_string(axis) + "] is " +
                                           std::to_string(array.stride[axis]) +
                                           ", which leads beyond the end of memory");
        }
    }
    return extent;
}

std::string device_text(const kernels::Device& device) {
    return "device " + std::to_string(device.properties().index) + " (" + device.properties().name +
           ")";
}

std::string place_text(const MemoryPlace& place) {
    switch (place.kind) {
        case MemoryPlace::Kind::host: return "memory of the host";
        case MemoryPlace::Kind::pinned: return "pinned memory of the host";
        case MemoryPlace::Kind::device: return "memory of device " + std::to_string(place.index);
        case MemoryPlace::Kind::managed: break;
    }
    return "managed memory";
}

}  // namespace

void check_memory(kernels::Device& device, const surrogate_array& array, const std::string& what) {
    if (!array.data || array.shape[0] == 0 || array.shape[1] == 0) return;
    const bool wants_device = array.space == SURROGATE_CUDA;
    const std::array<int64_t, 2> extent = extent_of(array, what);
    const auto first = reinterpret_cast<uintptr_t>(array.data);
    std::array<MemoryPlace, 2> places;
    std::ranges::transform(extent, places.begin(), [&](int64_t offset) {
        return device.where_is(
            reinterpret_cast<const void*>(first + static_cast<uintptr_t>(offset)));
    });
    for (const MemoryPlace& place : places) {
        if (place.kind == MemoryPlace::Kind::managed) continue;
        const bool is_there = place.kind == MemoryPlace::Kind::device;
        const bool is_own = is_there && place.index == device.properties().index;
        if (wants_device ? is_own : !is_there) continue;
        const bool is_last = &place == &places[1] && places[0].kind != place.kind;
        const std::string found =
            what + (is_last ? ": the last element is in " : ": data is in ") + place_text(place);
        if (!wants_device) {
            throw Error(Status::invalid_argument,
                        found +
                            ", expected memory of the host (space SURROGATE_HOST); bind memory "
                            "of a device with space SURROGATE_CUDA");
        }
        throw Error(Status::invalid_argument,
                    found + ", expected memory of " + device_text(device) +
                        ", the plan's device (space SURROGATE_CUDA); " +
                        (is_there ? "copy it there, or create the plan with option device=" +
                                        std::to_string(place.index)
                         : is_last ? "check shape and strides"
                                   : "bind memory of the host with space SURROGATE_HOST"));
    }
}

}  // namespace surrogate::impl
