// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/costs.hpp"
#include "libsurrogate/src/model/bsa/forward.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::bsa {

/// Common part of the programs of Ball Sparse Attention. Base: Program or GradientProgram.
template <class T, class Base>
class PointProgram : public Base {
public:
    /// Keeps references to the arguments; see make_program().
    PointProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                 const PlanRequest& request)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          reproducible_(request.reproducible),
          coordinates_(request.coordinates),
          ports_(domain, request.queue, n_given(), config.n_output),
          plan_(config, domain, request.queue),
          forward_(config, layers, request.queue, comm_, ports_, plan_, request.reproducible) {}

    void connect() override {
        build();
        comm_.agree([&] { allocate(); });
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        const int first = static_cast<int>(config_.n_axis);  // the plan holds the coordinates
        return ports_.gather(inputs.subspan(static_cast<size_t>(first)), outside, first);
    }

    bool evaluate(bool alive) override {
        if (!on_all_ranks(comm_, alive)) return false;
        if (n_given() > 0) ports_.deliver();
        return compute();
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override { return ports_.bytes() + plan_.bytes() + forward_.bytes(); }
    int64_t n_point() const override { return plan_.n_point(); }
    std::vector<LayerCost> costs() const override {
        Work work;
        work.n_point = n_point();
        work.n_solver = domain_.n_local();
        work.n_slot = plan_.shape().n_local();
        work.n_slot_global = plan_.shape().n_slot;
        work.ball = plan_.shape().ball;
        work.n_choice = forward_.n_choice();
        work.value_bytes = sizeof(T);
        work.n_given = n_given();
        work.turn_bytes = 2 * plan_.move_bytes(config_.n_channel);
        work.turns = comm_.size() > 1 ? 2 : 0;
        if (config_.is_sparse()) {
            work.coarse_bytes = forward_.coarse().bytes_sent(comm_.rank());
            for (const auto& traffic : forward_.fetched())
                work.fetches.push_back({traffic.bytes, traffic.collectives});
        }
        if (!config_.has_balls())
            work.ring = {forward_.ring().bytes_sent(), forward_.ring().collectives()};
        return costs_of(config_, work);
    }
    std::vector<std::string> notes() const override {
        return notes_of(config_, plan_.slots().n_point(), plan_.slots().n_slot(), comm_.size(),
                        reproducible_);
    }

protected:
    int64_t n_given() const { return config_.features == Features::given ? config_.n_feature : 0; }

    /// Builds the trees of the points and the routes of the ports to them. Collective.
    virtual void build() {
        PointPorts<T>* const ports[] = {&ports_};
        plan_.build(coordinates_, reproducible_, ports);
    }
    /// Allocates the memory whose size depends on the trees. Local.
    virtual void allocate() {
        ports_.allocate();
        forward_.resize();
    }
    /// Evaluates the network from input to output tiles. Returns false, on all ranks, if scores of
    /// some rank are not finite. Collective.
    virtual bool compute() = 0;

    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    bool reproducible_;
    std::span<const Column> coordinates_;
    PointPorts<T> ports_;
    TreePlan<T> plan_;
    Forward<T> forward_;
};

}  // namespace surrogate::impl::bsa
