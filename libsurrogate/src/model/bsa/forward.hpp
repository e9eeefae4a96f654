// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/bsa/branches.hpp"
#include "libsurrogate/src/model/bsa/ring.hpp"
#include "libsurrogate/src/model/bsa/sweep.hpp"

namespace surrogate::impl::bsa {

/// The network on the points of a TreePlan: memory and passes of a run.
template <class T>
class Forward {
public:
    /// All must outlive it.
    Forward(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
            Communicator& comm, PointPorts<T>& ports, const TreePlan<T>& plan,
            bool is_reproducible);
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;
    virtual ~Forward() = default;

    /// Local: takes over the trees as they are now. Takes memory for more than ever before, as far
    /// as it grows with the points.
    void resize();

    // The run, from the input tiles of the ports to their output tiles. Collective, on all ranks
    // alike.
    void embed();
    /// Returns false, on all ranks, if scores of some rank are not finite: the run ends there.
    bool run_layer(int64_t layer);
    void head();

    /// Sets the destination of results that the backward pass reads; see Branches::keep().
    void keep(const BranchOutputs<T>& outputs);

    const TreePlan<T>& plan() const { return plan_; }
    Workspace<T>& work() { return work_; }
    const Workspace<T>& work() const { return work_; }
    const Coarse<T>& coarse() const { return coarse_; }
    const Fetch<T>& fetch() const { return fetch_; }
    const Ring<T>& ring() const { return ring_; }
    /// Traffic of chosen blocks from other ranks in each layer: of the last run, or the maximum.
    const std::vector<typename Fetch<T>::Traffic>& fetched() const { return fetched_; }
    int64_t n_choice() const;
    int64_t bytes() const;

    // Parts of run_layer(), in the order of the layer.
    void start(const LayerWeights<T>& w, bool rotated);
    bool attend(int64_t layer, const LayerWeights<T>& w, bool rotated);

protected:
    /// Called when the groups of this rank first .. end - 1 have chosen their blocks in a layer,
    /// which are in work().chosen(); by several threads at once. Does nothing here.
    virtual void on_blocks_chosen(int64_t /*layer*/, Range /*groups*/) {}

private:
    template <class Body>
    void for_tiles(const Body& body) {
        queue_.parallel_for(work_.shape().n_tile(), body);
    }
    bool attend_sparsely(int64_t layer, const LayerWeights<T>& w, bool rotated);

    const Config& config_;
    const Layers<T>& layers_;
    kernels::Queue queue_;
    Communicator& comm_;
    const TreePlan<T>& plan_;
    Workspace<T> work_;
    Sweep<T> sweep_;
    Coarse<T> coarse_;
    Fetch<T> fetch_;
    Branches<T> branches_;
    Ring<T> ring_;
    std::vector<typename Fetch<T>::Traffic> fetched_;  // (depth)
};

}  // namespace surrogate::impl::bsa
