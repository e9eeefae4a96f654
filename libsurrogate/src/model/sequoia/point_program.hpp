// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/sequoia/costs.hpp"
#include "libsurrogate/src/model/sequoia/embedding.hpp"
#include "libsurrogate/src/model/sequoia/leaf_order.hpp"
#include "libsurrogate/src/model/sequoia/readout.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::sequoia {

/// Common part of the programs of Sequoia: sends points to their leaves and returns predictions.
/// Base: Program or GradientProgram.
template <class T, class Base>
class PointProgram : public Base {
public:
    /// Keeps references to `config` and the domain, which must outlive this object. Local.
    PointProgram(const Config& config, const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          request_(request),
          ports_(domain, request.queue, Embedding<T>::n_real(config),
                 place_of(config) == Place::leaves ? config.num_classes : 0) {}

    void connect() override {
        std::vector<int64_t> begins;
        comm_.agree([&] {
            tree_ = Tree(domain_.n_global(), config_.k, comm_.rank(), comm_.size(), lowest_cut());
            require_tree(config_, tree_);
            begins = tree_.begins(0);
        });
        const std::vector<int64_t> leaves = leaf_positions(config_, domain_, request_, begins);
        reorder(RowRoute(comm_, leaves, begins));
        if (is_tokens()) tokens_.emplace(comm_, RowRoute(comm_, leaves, begins), 1);
        comm_.agree([&] { allocate(); });
    }
    bool follow() override {
        connect();
        return true;
    }

    BadValue gather(std::span<const Column> inputs, OutsideCounts& outside) override {
        bad_token_ = {};
        if (!is_tokens()) return ports_.gather(inputs, outside);
        for (int64_t i = 0; i < domain_.n_local(); ++i) {
            const int64_t token = load_integer(inputs[0], i);
            tokens_->solver()[i] = token;
            if (token >= 0 && token < config_.vocab_size) continue;
            bad_token_ = {0, i, static_cast<double>(token)};
            break;
        }
        return bad_token_;
    }

    /// Exchanges an error flag first; if any rank has failed, no rank computes. Collective.
    bool evaluate(bool alive) override {
        if (!on_all_ranks(comm_, alive)) return false;
        deliver();
        compute(inputs(), leaf_tiles(ports_.output(0), config_.num_classes));
        return true;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        if (place_of(config_) != Place::leaves) return scatter_rows(outputs, alive);
        const BadValue bad = ports_.scatter(outputs, alive);
        require_tokens();
        return bad;
    }

    int64_t bytes() const override {
        return ports_.bytes() + (tokens_ ? tokens_->bytes() : 0) + network_bytes();
    }
    int64_t n_point() const override { return ports_.n_point(); }
    int64_t n_node() const override {
        return place_of(config_) == Place::nodes ? readout().n_row() : 0;
    }
    std::vector<LayerCost> costs() const override {
        const int64_t input_bytes =
            is_tokens() ? 8 : Embedding<T>::n_real(config_) * static_cast<int64_t>(sizeof(T));
        return costs_of(config_, {tree_, domain_.n_local(), n_point(), sizeof(T), input_bytes,
                                  readout().bytes_sent(), readout().collectives()});
    }
    std::vector<std::string> notes() const override { return {description(tree_)}; }

protected:
    /// Computes predictions from the leaves: predictions of leaves in `leaves`, all others in
    /// readout(). Collective. Does not allocate.
    virtual void compute(const LeafInputs<T>& inputs, const kernels::Tiles<T>& leaves) = 0;
    virtual const Readout<T>& readout() const = 0;
    virtual int64_t network_bytes() const = 0;

    /// Returns the lowest level that all ranks may hold; see Tree.
    virtual int lowest_cut() const { return 0; }
    /// Sets the route on which points are sent to their leaves. Collective.
    virtual void reorder(RowRoute route) { ports_.reorder(std::move(route)); }
    /// Allocates the memory whose size depends on the tree. Local.
    virtual void allocate() { ports_.allocate(); }

    bool is_tokens() const { return config_.features == Features::tokens; }
    kernels::Tiles<T> leaf_tiles(kernels::Tile<T> first, int64_t n_channel) const {
        return {first.data, n_channel, ports_.n_point()};
    }
    LeafInputs<T> inputs() {
        return {leaf_tiles(ports_.input(0), Embedding<T>::n_real(config_)),
                is_tokens() ? tokens_->canonical() : nullptr};
    }

    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    const PlanRequest request_;
    Tree tree_;
    PointPorts<T> ports_;

private:
    void deliver() {
        if (is_tokens()) {
            tokens_->to_canonical(1);
        } else if (Embedding<T>::n_real(config_) > 0) {
            ports_.deliver();
        }
    }

    void require_tokens() const {
        require_words(bad_token_, "tokens", config_.vocab_size, domain_);
    }

    BadValue scatter_rows(std::span<const Column> outputs, bool alive) {
        if (!alive) fill_nan(outputs, readout().n_row());
        require_tokens();
        if (!alive) return {};
        return impl::scatter<T>(readout().rows(), config_.num_classes, 1, outputs, 0,
                                readout().n_row());
    }

    std::optional<RowExchange<int64_t>> tokens_;
    BadValue bad_token_;
};

}  // namespace surrogate::impl::sequoia
