// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/device/device_steps.hpp"

#include <algorithm>

namespace surrogate::impl {

void DeviceReduction::run(DeviceCollectives& collectives, kernels::Stream stream) const {
    switch (kind) {
        case Kind::max_float:
            collectives.all_reduce_max(static_cast<float*>(values), count, stream);
            break;
        case Kind::sum_float:
            collectives.all_reduce_sum(static_cast<float*>(values), count, stream);
            break;
        case Kind::sum_int64:
            collectives.all_reduce_sum(static_cast<int64_t*>(values), count, stream);
            break;
    }
}

template <class Operation, class Poison>
void DeviceSteps::run(const Operation& operation, int64_t n_byte, const Poison& poison) {
    ++n_collective_;
    n_byte_ += n_byte;
    if (!failure_) {
        operation.run(context_.collectives(), stream_);
        return;
    }
    if (*failure_) failure_->guard(poison);
    failure_->guard([&] { operation.run(context_.collectives(), stream_); });
}

void DeviceSteps::make_nan(void* data, int64_t n_byte) const {
    const PinnedNan& nan = context_.nan();
    for (int64_t done = 0; done < n_byte; done += PinnedNan::n_byte) {
        context_.device().copy(static_cast<char*>(data) + done, nan.get(),
                               std::min(n_byte - done, PinnedNan::n_byte), stream_);
    }
}

void DeviceSteps::reduce(const DeviceReduction& reduction) {
    run(reduction, reduction.bytes(), [&] {
        context_.device().copy(reduction.values, reduction.poison, reduction.bytes(), stream_);
    });
}

void DeviceSteps::gather(const DeviceGather& gather) {
    run(gather, gather.n_byte, [&] { make_nan(gather.part, gather.n_byte); });
}

void DeviceSteps::exchange(const DeviceExchange& exchange) {
    const DeviceParts& given = exchange.given;
    run(exchange, given.bytes(), [&] { make_nan(given.data, given.bytes()); });
}

}  // namespace surrogate::impl
