// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/flare/gradient_reduction.hpp"
#include "libsurrogate/src/model/flare/gradient_sweep.hpp"
#include "libsurrogate/src/model/flare/latent_gradient.hpp"
#include "libsurrogate/src/model/flare/passes.hpp"
#include "libsurrogate/src/model/flare/readout_gradient.hpp"

namespace surrogate::impl::flare {

/// Runs the backward pass of FLARE: sweeps over this rank's points and, between them, the
/// reductions of dz over the ranks.
template <class T>
class GradientPasses {
public:
    /// Parts of a sequence; null: points are not a sequence. readout: null if tokens have
    /// outputs of their own.
    struct OfSequence {
        const Sequence<T>* tokens = nullptr;
        const SequenceReadout<T>* readout = nullptr;
    };

    /// Consumes the results that `forward` has kept. All must outlive it. Points come in the tiles
    /// of `ports`, or, if there is a sequence, in its.
    GradientPasses(const Config& config, const Layers<T>& layers, Communicator& comm,
                   const kernels::Queue& queue, bool reproducible, PointPorts<T>& ports,
                   PointPorts<T>& back, Passes<T>& forward, const OfSequence& sequence = {});

    /// Allocates after Passes::allocate(), with the same n_chunk_global. Local.
    void allocate(int64_t n_chunk_global);
    /// Sets the weights of the points, after allocate(), as Sweep::weigh(). Local.
    void weigh(const T* log_weights) { sweep_->weigh(log_weights); }
    /// Sets the dropout of points, after allocate(), as Sweep::set_dropout(). Local.
    void set_dropout(const AttentionDropout& dropout) { sweep_->set_dropout(dropout); }

    /// Returns the gradients (out_dim) of one prediction of a whole sequence, from which run()
    /// starts instead of `back`; the same on every rank.
    T* dlogits() { return readout_->dlogits(); }

    /// Reads the inputs of `back`, writes its outputs if `wants_inputs`, and adds each chunk
    /// separately to `sums`. Returns true if all dz are finite. If `alive` is false, nothing is
    /// computed and the sums are marked as failed. Collective.
    bool run(bool alive, bool wants_inputs, GradientSums& sums);

    /// Returns, for each entry of the master, the sweep after which it is complete.
    std::vector<int> stages() const { return places_.stages(layers_.weights.master()); }

    /// Returns payload and number of calls of one run, without the sums of weights.
    int64_t bytes_sent() const;
    int64_t collectives() const;
    int64_t bytes() const;

private:
    void sweep(int64_t s, bool wants_inputs, GradientSums& sums);
    bool set_latents(int64_t block, GradientSums& sums);
    void set_raw_queries(int64_t block);
    void add_queries(int64_t block, kernels::flare::LatentSums<T> dq, double* arena) const;

    const Config& config_;
    const Layers<T>& layers_;
    kernels::flare::Sizes sizes_;
    Communicator& comm_;
    kernels::Queue queue_;
    bool reproducible_;
    PointPorts<T>&ports_, &back_;
    Passes<T>& forward_;
    const Sequence<T>* tokens_;
    Places places_;
    std::optional<ReadoutGradient<T>> readout_;
    LatentGradient<T> latent_blocks_;
    std::optional<GradientSweep<T>> sweep_;
    std::unique_ptr<GradientReduction<T>> reduction_;
    kernels::Buffer<T> dz_;               // (H, D, n_row) of one block
    kernels::Buffer<T> gamma_;            // (H, n_row)
    kernels::Buffer<T> raw_queries_;      // (H, D, n_row) before q_norm, if there is one
    std::vector<kernels::Buffer<T>> dq_;  // (n_thread): (H, D, n_row) of a chunk
};

/// Returns a line of the notes of a plan.
template <class T>
std::string backward_note(const GradientPasses<T>& backward, const Passes<T>& forward) {
    return "gradients: the backward pass sends " + std::to_string(backward.bytes_sent()) +
           " bytes in " + std::to_string(backward.collectives()) +
           " collectives between blocks; a run keeps " + std::to_string(forward.kept_bytes()) +
           " bytes of its blocks";
}

}  // namespace surrogate::impl::flare
