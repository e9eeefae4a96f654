// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/device/device_steps.hpp"

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

template <class Operation>
void DeviceSteps::run(const Operation& operation, void* own, int64_t n_byte) {
    ++n_collective_;
    n_byte_ += n_byte;
    if (!failure_) {
        operation.run(context_.collectives(), stream_);
        return;
    }
    if (*failure_) {
        failure_->guard([&] { context_.device().copy(own, operation.poison, n_byte, stream_); });
    }
    failure_->guard([&] { operation.run(context_.collectives(), stream_); });
}

void DeviceSteps::reduce(const DeviceReduction& reduction) {
    run(reduction, reduction.values, reduction.bytes());
}

void DeviceSteps::gather(const DeviceGather& gather) {
    run(gather, gather.part, gather.n_byte);
}

}  // namespace surrogate::impl
