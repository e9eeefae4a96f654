// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/flare/flare_device.hpp"
#include "libsurrogate/src/core/device_context.hpp"
#include "libsurrogate/src/core/device_memory.hpp"
#include "libsurrogate/src/model/flare/device_weights.hpp"

namespace surrogate::impl::flare {

/// Memory of one plan on its device, in one allocation: pieces are added, then it is taken.
class DeviceArena {
public:
    /// Where the piece will begin.
    int64_t add(int64_t n_byte) {
        const int64_t offset = size_;
        size_ += (n_byte + 255) / 256 * 256;
        return offset;
    }
    void take(kernels::Device& device) { memory_ = device_memory(device, size_); }
    template <class T>
    T* at(int64_t offset) const {
        return reinterpret_cast<T*>(static_cast<char*>(memory_.get()) + offset);
    }
    int64_t bytes() const { return size_; }

private:
    int64_t size_ = 0;
    DeviceMemory memory_;
};

/// How the points of a rank lie and are summed.
struct PassesRequest {
    int64_t n_point = 0;
    bool reproducible = false;
    int64_t n_chunk_global = 0;  ///< reproducible: chunks over all ranks
    int64_t n_input = 0, n_output = 0;
};

/// One evaluation of FLARE as work on a stream: passes over the points, and between them the
/// reductions over ranks. Owns the memory; one evaluation is under way at a time.
class DevicePasses {
public:
    /// Local; throws not_supported, no_memory, device. `context` must outlive it.
    DevicePasses(DeviceContext& context, std::shared_ptr<const DeviceWeights> weights,
                 const PassesRequest& request);

    /// Collective, with agreement: each kind of reduction once, so that connections are made, and
    /// then, if the transport allows it, the whole evaluation recorded as one graph. `stream`: one
    /// of the plan's own.
    void prepare(Communicator& comm, kernels::Stream stream);

    /// Gives one evaluation to the stream. Takes part in all reductions whatever happens; after a
    /// failure of this rank it sends NaN (the reproducible mode: a flag). Allocates nothing.
    void enqueue(kernels::Stream stream, FirstFailure& failure);

    /// Device memory that the passes read and write: the descriptions of columns (n_input),
    /// (n_output), and what they find.
    kernels::DeviceColumn* input_columns() const { return arena_.at<Column_>(in_); }
    kernels::DeviceColumn* output_columns() const { return arena_.at<Column_>(out_); }
    kernels::DeviceFindings* findings() const {
        return arena_.at<kernels::DeviceFindings>(findings_);
    }
    /// (n_input), right behind the findings: both are written and read as one record.
    kernels::DeviceOutside* outside() const {
        return reinterpret_cast<kernels::DeviceOutside*>(findings() + 1);
    }
    int64_t record_bytes() const {
        return static_cast<int64_t>(sizeof(kernels::DeviceFindings)) +
               request_.n_input * static_cast<int64_t>(sizeof(kernels::DeviceOutside));
    }
    /// (columns, n_point) floats for inputs before a run and outputs after it. It is the memory of
    /// k, which lives only between the first and the last pass.
    float* staging() const { return arena_.at<float>(k_); }
    int64_t staging_bytes() const { return staging_bytes_; }

    int64_t n_point() const { return request_.n_point; }
    int64_t bytes() const { return arena_.bytes(); }
    int64_t n_pass() const { return geometry_.n_pass; }
    bool is_recorded() const { return static_cast<bool>(graph_); }

    /// Of one block.
    int64_t reduction_bytes() const { return 4 * n_maxima_ + sums_bytes_; }
    static constexpr int64_t reductions = 2;
    /// Made, or replayed, by the last enqueue(): two a block.
    int64_t n_reduction() const { return n_reduction_; }

private:
    using Column_ = kernels::DeviceColumn;

    void add_memory();
    void set_poison();
    void reduce_maxima(kernels::Stream stream);
    void reduce_sums(kernels::Stream stream);
    void begin(kernels::Stream stream);
    void encode(const DeviceBlock& block, kernels::Stream stream);
    void decode(const DeviceBlock& block, kernels::Stream stream);
    void end(kernels::Stream stream);
    template <class Step>
    void in_steps(const Step& step, kernels::Stream stream);
    kernels::flare::LatentArgs latent_args() const;

    DeviceContext& context_;
    kernels::Device& device_;
    const kernels::flare::DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    PassesRequest request_;
    kernels::flare::EncodeGeometry geometry_;
    int64_t n_partial_ = 0, n_maxima_ = 0, n_sums_ = 0, sums_bytes_ = 0, staging_bytes_ = 0;
    DeviceArena arena_;
    int64_t x_ = 0, k_ = 0, partials_ = 0, v_max_ = 0, maxima_ = 0, sums_ = 0, z_ = 0;  // in arena_
    int64_t findings_ = 0, in_ = 0, out_ = 0;
    PinnedMemory poison_;  // maxima, then sums, of a rank that failed
    DeviceGraph graph_;
    int64_t n_reduction_ = 0;
};

}  // namespace surrogate::impl::flare
