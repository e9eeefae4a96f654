// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/model/bsa/branches.hpp"
#include "libsurrogate/src/model/bsa/ring.hpp"
#include "libsurrogate/src/model/bsa/sweep.hpp"

namespace surrogate::impl::bsa {

/// Evaluates the network on the points of a TreePlan: holds the memory and runs the passes.
template <class T>
class Forward {
public:
    /// Keeps references to all arguments, which must outlive this object. Local.
    Forward(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
            Communicator& comm, PointPorts<T>& ports, const TreePlan<T>& plan,
            bool is_reproducible);
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;
    virtual ~Forward() = default;

    /// Adopts the current trees of the plan. Local. Memory that grows with the points is allocated
    /// only if it exceeds all earlier sizes.
    void resize();

    // Passes of a run, from the input tiles of the ports to their output tiles. Collective; all
    // ranks must call the same passes.
    /// Computes x of all slots from the input tiles.
    void embed();
    /// Evaluates a layer on x, in place. Returns false, on all ranks, if scores of some rank are
    /// not finite; the run must end then.
    bool run_layer(int64_t layer);
    /// Computes the output tiles from x.
    void head();

    /// Sets the fields that attention writes for the backward pass; see Branches::keep().
    void keep(const BranchOutputs<T>& outputs);

    const TreePlan<T>& plan() const { return plan_; }
    Workspace<T>& work() { return work_; }
    const Workspace<T>& work() const { return work_; }
    const Coarse<T>& coarse() const { return coarse_; }
    const Fetch<T>& fetch() const { return fetch_; }
    const Ring<T>& ring() const { return ring_; }
    /// Returns the traffic of chosen blocks of other ranks for each layer: the last run, or before
    /// it the maximum.
    const std::vector<typename Fetch<T>::Traffic>& fetched() const { return fetched_; }
    int64_t n_choice() const;
    int64_t bytes() const;

    // Parts of run_layer(), in the order of the layer:
    void start(const LayerWeights<T>& w, bool rotated);
    bool attend(int64_t layer, const LayerWeights<T>& w, bool rotated);
    /// Sets what attend() has set, from the fields that it wrote (keep()) and from work().chosen():
    /// the result of attention, coarse keys and values, and the chosen blocks of other ranks.
    /// Collective.
    void attend_as_kept();

protected:
    /// Tells a backward pass that the groups first .. end - 1 of this rank have chosen their blocks
    /// in a layer, which are in work().chosen(). May be called by several threads at once. This
    /// implementation does nothing.
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
