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

void DeviceSteps::reduce(const DeviceReduction& reduction) {
    ++n_reduction_;
    n_byte_ += reduction.bytes();
    if (!failure_) {
        reduction.run(context_.collectives(), stream_);
        return;
    }
    if (*failure_) {
        failure_->guard([&] {
            context_.device().copy(reduction.values, reduction.poison, reduction.bytes(), stream_);
        });
    }
    failure_->guard([&] { reduction.run(context_.collectives(), stream_); });
}

}  // namespace surrogate::impl
