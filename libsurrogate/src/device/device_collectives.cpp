// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/device/device_collectives.hpp"

namespace surrogate::impl {

void DeviceCollectives::all_reduce(void* values, int64_t count, Type type, Reduction reduction,
                                   kernels::Stream stream) {
    if (!is_counted_by_communicator()) count_launch(count * (type == Type::float32 ? 4 : 8), 1);
    do_all_reduce(values, count, type, reduction, stream);
}

void DeviceCollectives::all_reduce_max(float* values, int64_t count, kernels::Stream stream) {
    all_reduce(values, count, Type::float32, Reduction::max, stream);
}

void DeviceCollectives::all_reduce_sum(float* values, int64_t count, kernels::Stream stream) {
    all_reduce(values, count, Type::float32, Reduction::sum, stream);
}

void DeviceCollectives::all_reduce_sum(int64_t* values, int64_t count, kernels::Stream stream) {
    all_reduce(values, count, Type::int64, Reduction::sum, stream);
}

void DeviceCollectives::all_gather(void* values, int64_t n_byte, kernels::Stream stream) {
    if (!is_counted_by_communicator()) count_launch(n_byte, 1);
    do_all_gather(values, n_byte, stream);
}

void DeviceCollectives::exchange(const DeviceParts& given, const DeviceParts& taken,
                                 kernels::Stream stream) {
    if (!is_counted_by_communicator()) count_launch(given.bytes(), 1);
    do_exchange(given, taken, stream);
}

void DeviceCollectives::count_launch(int64_t n_byte, int64_t n_collective) {
    bytes_sent_ += n_byte;
    n_collective_ += n_collective;
}

}  // namespace surrogate::impl
