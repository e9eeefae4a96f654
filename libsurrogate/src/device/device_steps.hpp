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
    /// What a rank that has failed gives instead, as many bytes in pinned memory: something that
    /// the other ranks recognise.
    const void* poison = nullptr;

    int64_t bytes() const { return count * (kind == Kind::sum_int64 ? 8 : 4); }
    /// Collective; as DeviceCollectives says.
    void run(DeviceCollectives& collectives, kernels::Stream stream) const;
};

/// Equal parts of all ranks side by side in device memory, in place.
struct DeviceGather {
    void* values = nullptr;        ///< (ranks, n_byte)
    int64_t n_byte = 0;            ///< of a rank
    void* part = nullptr;          ///< this rank's place in `values`
    const void* poison = nullptr;  ///< as in DeviceReduction, n_byte bytes

    /// Collective; as DeviceCollectives says.
    void run(DeviceCollectives& collectives, kernels::Stream stream) const {
        collectives.all_gather(values, n_byte, stream);
    }
};

/// The passes and exchanges of one evaluation, given to a stream in their order. Allocates nothing.
class DeviceSteps {
public:
    /// While a graph is recorded: the first failure ends it, nobody waits.
    DeviceSteps(DeviceContext& context, kernels::Stream stream)
        : context_(context), stream_(stream) {}
    /// While running: the other ranks wait for the reductions, which go on after a failure.
    DeviceSteps(DeviceContext& context, kernels::Stream stream, FirstFailure& failure)
        : context_(context), stream_(stream), failure_(&failure) {}

    kernels::Stream stream() const { return stream_; }

    /// work() enqueues passes of this rank.
    template <class Work>
    void compute(const Work& work) const {
        if (!failure_) {
            work();
        } else if (!*failure_) {
            failure_->guard(work);
        }
    }

    void reduce(const DeviceReduction& reduction);
    void gather(const DeviceGather& gather);

    // Of the reductions and gathers so far.
    int64_t n_collective() const { return n_collective_; }
    int64_t n_byte() const { return n_byte_; }

private:
    /// n_byte bytes at `own` are what this rank gives.
    template <class Operation>
    void run(const Operation& operation, void* own, int64_t n_byte);

    DeviceContext& context_;
    kernels::Stream stream_;
    FirstFailure* failure_ = nullptr;
    int64_t n_collective_ = 0, n_byte_ = 0;
};

}  // namespace surrogate::impl
