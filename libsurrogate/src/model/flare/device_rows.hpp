// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/flare/flare_gradient_device.hpp"
#include "kernels/flare/gradient.hpp"
#include "libsurrogate/src/device/device_context.hpp"
#include "libsurrogate/src/model/flare/gradient_places.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// Partition of points in the backward pass.
struct RowCut {
    /// Taken through a block at once: enough for every multiprocessor, and their scratch is
    /// bounded.
    int64_t slab_points = 65536;
    /// Rows of one sum of floats; such sums are then added in double.
    int64_t part_points = 1024;
};

/// Holds the weights of a model on a device in the form that the backward pass reads: the master's
/// arena, and the scaled queries (H, M, D) of each block. Updated after MasterWeights::refresh()
/// without allocating.
class RowWeights {
public:
    /// Local. All must outlive it. Throws no_memory, device; a refresh throws device.
    RowWeights(DeviceContext& context, const Config& config, const Layers<float>& layers);
    RowWeights(const RowWeights&) = delete;
    RowWeights& operator=(const RowWeights&) = delete;

    const float* at(int64_t place) const { return memory_.at<float>(0) + place; }
    const float* queries(int64_t block) const { return at(n_arena_ + block * n_query_); }
    int64_t bytes() const { return memory_.bytes(); }

private:
    void bring();

    DeviceContext& context_;
    const Layers<float>& layers_;
    int64_t n_arena_, n_query_;
    DeviceArena memory_;
    PinnedMemory host_;
    DeviceStream stream_;
    Refresh refresh_;
};

/// Results of the layers of a chain that its backward pass reads, for up to n_point points.
struct ChainMemory {
    std::vector<float*> sums, results;  ///< (hidden layer): (n_point, n_hidden)
    std::array<float*, 2> slopes = {};  ///< (n_point, n_hidden)
    float* gradient = nullptr;          ///< (n_point, n_hidden)
};

/// Layers forward and back on rows of points, and the gradients of their weights, added in double
/// to an arena on the device. Everything is enqueued.
class RowLayers {
public:
    RowLayers(const Config& config, const kernels::flare::GradientKernels& kernels,
              kernels::Device& device, kernels::Operand operand, const RowWeights& weights,
              const RowCut& cut)
        : config_(config),
          kernels_(kernels),
          device_(device),
          operand_(operand),
          weights_(weights),
          cut_(cut) {}

    /// Floats of `parts` that gradients of up to n_point points need.
    int64_t n_part(int64_t n_point) const;
    /// arena (of the master's shape), parts; device memory.
    void set(double* arena, float* parts) {
        arena_ = arena;
        parts_ = parts;
    }
    /// Stream and number of points of the passes that follow.
    void begin(kernels::Stream stream, int64_t n_point) {
        stream_ = stream;
        n_ = n_point;
    }

    /// y = W x + b [+ add]
    void linear(const LinearPlace& place, int64_t n_in, int64_t n_out, const float* x,
                const float* add, float* y) const;
    /// dx = W^T dy [+ add[0] + add[1]]
    void linear_backward(const LinearPlace& place, int64_t n_in, int64_t n_out, const float* dy,
                         std::array<const float*, 2> add, float* dx) const;
    void linear_gradient(const LinearPlace& place, int64_t n_in, int64_t n_out, const float* x,
                         const float* dy) const;

    /// Computes y = chain(x) and stores in `memory` the values that chain_backward() reads. y may
    /// be null; then it is not computed.
    void chain(const MlpShape& shape, const MlpPlace& place, const float* x,
               const ChainMemory& memory, float* y) const;
    /// Computes dx = J^T dy, added to the previous dx if `accumulate`. dx may be null; then it is
    /// not computed.
    void chain_backward(const MlpShape& shape, const MlpPlace& place, const float* x,
                        const float* dy, const ChainMemory& memory, bool accumulate,
                        float* dx) const;

    /// y = norm(x), over n_channel of each of n_row rows a point.
    void norm(const NormPlace& place, int64_t n_row, int64_t n_channel, const float* x,
              float* y) const;
    /// dx = J^T dy [+ residual]; moments (n_point * n_row, 2) is scratch.
    void norm_backward(const NormPlace& place, int64_t n_row, int64_t n_channel, const float* x,
                       const float* dy, const float* residual, float* moments, float* dx) const;

    /// The parts of dz or dq (H, M, D) added to `to`.
    void add_latents(int64_t n_part, double* to) const;
    float* parts() const { return parts_; }

private:
    const kernels::DeviceProperties& properties() const { return device_.properties(); }
    void add_parts(const float* parts, int64_t n_part, int64_t n, int64_t place) const;
    kernels::RowNormArgs norm_args(const NormPlace& place, int64_t n_row, int64_t n_channel,
                                   const float* x) const;

    const Config& config_;
    const kernels::flare::GradientKernels& kernels_;
    kernels::Device& device_;
    kernels::Operand operand_;
    const RowWeights& weights_;
    RowCut cut_;
    double* arena_ = nullptr;
    float* parts_ = nullptr;
    kernels::Stream stream_ = nullptr;
    int64_t n_ = 0;
};

}  // namespace surrogate::impl::flare
