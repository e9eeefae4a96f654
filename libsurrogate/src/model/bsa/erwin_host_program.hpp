// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/erwin_costs.hpp"
#include "libsurrogate/src/model/bsa/erwin_messages.hpp"
#include "libsurrogate/src/model/bsa/erwin_pooling.hpp"
#include "libsurrogate/src/model/bsa/forward.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::bsa::erwin {

/// Common part of the programs of Erwin on the host. Base: Program or GradientProgram.
/// Messages are computed on the ranks of the solver's points, and their rows are sent once to the
/// ranks of the tree; with gradients they are computed on the ranks of the tree. Slots then stay on
/// their rank through all levels, except in rotated blocks.
template <class T, class Base>
class HostProgram : public Base {
public:
    /// Keeps references to the arguments; see make_program().
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request)
        : config_(config),
          layers_(layers),
          domain_(domain),
          comm_(domain.context().comm()),
          reproducible_(request.reproducible),
          coordinates_(request.coordinates),
          features_(domain, request.queue, config.n_given(), 0),
          ports_(domain, request.queue, config.width.front(), config.n_out()),
          messages_(config, layers, request.queue, domain, features_) {
        for (const bsa::Config& stage : config.encoders)
            levels_.push_back(std::make_unique<TreePlan<T>>(stage, domain, request.queue));
        for (size_t l = 0; l < config.encoders.size(); ++l)
            encoders_.push_back(
                make_stage(config.encoders[l], *layers.encoders[l], request, *levels_[l]));
        for (size_t l = 0; l < config.decoders.size(); ++l) {
            decoders_.push_back(
                make_stage(config.decoders[l], *layers.decoders[l], request, *levels_[l]));
            poolings_.emplace_back(request.queue, layers.pools[l], layers.unpools[l], *levels_[l],
                                   *levels_[l + 1], config.strides[l], config.n_axis);
        }
    }

    void connect() override {
        const RowRoute route = build();
        connect_messages(tree_points(domain_, coordinates_, reproducible_), route);
        for (size_t l = 1; l < levels_.size(); ++l)
            levels_[l]->build_coarser(*levels_[l - 1], config_.strides[l - 1]);
        comm_.agree([&] { allocate(); });
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        const int first = static_cast<int>(config_.n_axis);  // the plan holds the coordinates
        return features_.gather(inputs.subspan(static_cast<size_t>(first)), outside, first);
    }

    bool evaluate(bool alive) override {
        if (!on_all_ranks(comm_, alive)) return false;
        run_messages();
        encoders_.front()->embed();
        for (size_t l = 0; l < poolings_.size(); ++l) {
            run_blocks(l, *encoders_[l], config_.encoders[l]);
            encoders_[l + 1]->work().clear_padding();
            poolings_[l].pool(encoders_[l]->work().x(), encoders_[l + 1]->work().x());
        }
        run_blocks(poolings_.size(), *encoders_.back(), config_.encoders.back());
        Forward<T>* last = encoders_.back().get();
        for (size_t l = poolings_.size(); l-- > 0;) {
            decoders_[l]->work().clear_padding();
            poolings_[l].unpool(last->work().x(), encoders_[l]->work().x(),
                                decoders_[l]->work().x());
            run_blocks(encoders_.size() + l, *decoders_[l], config_.decoders[l]);
            last = decoders_[l].get();
        }
        last->head();
        return true;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        return ports_.scatter(outputs, alive);
    }

    int64_t bytes() const override {
        int64_t n_byte = features_.bytes() + ports_.bytes() + messages_.bytes();
        for (const auto& level : levels_) n_byte += level->bytes();
        for (const auto& stage : encoders_) n_byte += stage->bytes();
        for (const auto& stage : decoders_) n_byte += stage->bytes();
        for (const Pooling<T>& pooling : poolings_) n_byte += pooling.bytes();
        return n_byte;
    }
    int64_t n_point() const override { return levels_.front()->n_point(); }
    std::vector<LayerCost> costs() const override { return costs_of(config_, work()); }
    std::vector<std::string> notes() const override {
        return notes_of(config_, levels_.front()->slots().n_point(),
                        levels_.front()->slots().n_slot(), reproducible_);
    }

protected:
    /// Builds the finest trees and the routes of the ports to them. Returns the route from the
    /// solver's points. Collective.
    virtual RowRoute build() {
        PointPorts<T>* const ports[] = {&ports_};
        return levels_.front()->build(coordinates_, reproducible_, ports);
    }
    /// Sets points and edges of the messages. route: from the solver's points to the tree.
    /// Collective.
    virtual void connect_messages(const TreePoints& points, const RowRoute& route) {
        messages_.connect(points, route);
    }
    /// Computes the input tiles of ports_. Collective.
    virtual void run_messages() {
        messages_.run();
        std::copy_n(messages_.rows(), messages_.n_point() * config_.width.front(),
                    ports_.solver_rows());
        ports_.deliver();
    }
    virtual Work work() const;
    /// Allocates the memory whose size depends on the trees. Local.
    virtual void allocate() {
        features_.allocate();
        ports_.allocate();
        for (const auto& stage : encoders_) stage->resize();
        for (const auto& stage : decoders_) stage->resize();
        for (Pooling<T>& pooling : poolings_) pooling.resize();
    }
    /// Evaluates the blocks of a stage; `index` counts the encoders, then the decoders by level.
    /// Collective.
    virtual void run_blocks(size_t /*index*/, Forward<T>& stage, const bsa::Config& config) {
        for (int64_t block = 0; block < config.depth; ++block) stage.run_layer(block);
    }

    std::unique_ptr<Forward<T>> make_stage(const bsa::Config& stage, const bsa::Layers<T>& layers,
                                           const PlanRequest& request, const TreePlan<T>& level) {
        return std::make_unique<Forward<T>>(stage, layers, request.queue, comm_, ports_, level,
                                            request.reproducible);
    }

    const Config& config_;
    const Layers<T>& layers_;
    const PointDomain& domain_;
    Communicator& comm_;
    bool reproducible_;
    std::span<const Column> coordinates_;
    PointPorts<T> features_;  // in the order of the messages
    PointPorts<T> ports_;     // in the order of the tree
    Messages<T> messages_;
    std::vector<std::unique_ptr<TreePlan<T>>> levels_;              // (L + 1)
    std::vector<std::unique_ptr<Forward<T>>> encoders_, decoders_;  // (L + 1), (L)
    std::vector<Pooling<T>> poolings_;                              // (L)
};

template <class T, class Base>
Work HostProgram<T, Base>::work() const {
    Work work;
    work.n_point = n_point();
    work.n_message_point = messages_.n_point();
    work.n_solver = domain_.n_local();
    work.n_sent_channel = config_.width.front();
    work.n_edge = messages_.n_edge();
    work.value_bytes = sizeof(T);
    work.exchange_items = messages_.exchange().n_item_sent();
    work.exchange_messages = messages_.exchange().n_message();
    work.exchanges = messages_.exchange().collectives();
    work.moves = comm_.size() > 1 ? 1 : 0;
    for (const auto& level : levels_) {
        const auto width = config_.width[work.levels.size()];
        const SlotShape& shape = level->shape();
        work.levels.push_back({shape.n_local(), shape.ball, level->move_bytes(width)});
    }
    return work;
}

}  // namespace surrogate::impl::bsa::erwin
