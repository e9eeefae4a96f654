// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libsurrogate/src/device/device_context.hpp"
#include "libsurrogate/src/device/device_memory.hpp"

namespace surrogate::impl {

/// A reduction over the ranks, in place, on device memory.
struct DeviceReduction {
    enum class Kind { max_float, sum_float, sum_int64 };
    Kind kind = Kind::sum_float;
    void* values = nullptr;  ///< (count)
    int64_t count = 0;
    /// Data that a failed rank sends instead: a value that the other ranks recognize, in pinned
    /// memory of the same size.
    const void* poison = nullptr;

    int64_t bytes() const { return count * (kind == Kind::sum_int64 ? 8 : 4); }
    /// Runs the step by DeviceCollectives. Collective.
    void run(DeviceCollectives& collectives, kernels::Stream stream) const;
};

/// Equal parts of all ranks side by side in device memory, in place.
struct DeviceGather {
    void* values = nullptr;  ///< (ranks, n_byte)
    int64_t n_byte = 0;      ///< of a rank
    void* part = nullptr;    ///< this rank's place in `values`

    /// Runs the step by DeviceCollectives. Collective.
    void run(DeviceCollectives& collectives, kernels::Stream stream) const {
        collectives.all_gather(values, n_byte, stream);
    }
};

/// Parts that change ranks, of sizes that planning fixed.
struct DeviceExchange {
    DeviceParts given, taken;

    /// Runs the step by DeviceCollectives. Collective.
    void run(DeviceCollectives& collectives, kernels::Stream stream) const {
        collectives.exchange(given, taken, stream);
    }
};

/// The passes and exchanges of one evaluation, given to a stream in their order. Allocates nothing.
class DeviceSteps {
public:
    /// Serves to record a graph: the first failure ends the recording, and no rank waits.
    DeviceSteps(DeviceContext& context, kernels::Stream stream)
        : context_(context), stream_(stream) {}
    /// Serves to run: the other ranks wait for the reductions, which continue after a failure.
    DeviceSteps(DeviceContext& context, kernels::Stream stream, FirstFailure& failure)
        : context_(context), stream_(stream), failure_(&failure) {}

    kernels::Stream stream() const { return stream_; }

    /// Calls work(), which enqueues passes of this rank.
    template <class Work>
    void compute(const Work& work) const {
        if (!failure_) {
            work();
        } else if (!*failure_) {
            failure_->guard(work);
        }
    }

    // A failed rank sends the failure value of a reduction, and NaN in gathers and exchanges.
    void reduce(const DeviceReduction& reduction);
    void gather(const DeviceGather& gather);
    void exchange(const DeviceExchange& exchange);

    // Counts of the reductions, gathers and exchanges so far.
    int64_t n_collective() const { return n_collective_; }
    int64_t n_byte() const { return n_byte_; }

private:
    /// Runs an operation to which this rank contributes n_byte bytes. If the rank has failed, the
    /// last argument writes the failure value over them.
    template <class Operation, class Poison>
    void run(const Operation& operation, int64_t n_byte, const Poison& poison);
    void make_nan(void* data, int64_t n_byte) const;

    DeviceContext& context_;
    kernels::Stream stream_;
    FirstFailure* failure_ = nullptr;
    int64_t n_collective_ = 0, n_byte_ = 0;
};

}  // namespace surrogate::impl
