// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/program.hpp"

#include <optional>

#include "libsurrogate/src/domain/point_ports.hpp"
#include "libsurrogate/src/model/point_network.hpp"
#include "libsurrogate/src/model/sequoia/costs.hpp"
#include "libsurrogate/src/model/sequoia/embedding.hpp"
#include "libsurrogate/src/model/sequoia/layer_pass.hpp"
#include "libsurrogate/src/model/sequoia/leaf_order.hpp"
#include "libsurrogate/src/model/sequoia/readout.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::sequoia {

using kernels::Tiles;

namespace {

/// A tree that the model cannot work on.
void check_tree(const Config& config, const Tree& tree) {
    if (config.features == Features::tokens && tree.n_leaf() > config.max_seq_len) {
        throw Error(Status::shape, "the sequence has " + std::to_string(tree.n_leaf()) +
                                       " tokens, the model has positions for max_seq_len = " +
                                       std::to_string(config.max_seq_len) +
                                       "; cut the sequence, or train with a longer one");
    }
    if (config.has_marker && config.dim <= tree.n_level()) {
        throw Error(Status::shape,
                    "a tree of " + std::to_string(tree.n_leaf()) + " leaves with k = " +
                        std::to_string(tree.k()) + " has " + std::to_string(tree.n_level()) +
                        " levels; level_marker 'zero' marks each in a channel of its own and needs "
                        "more channels than levels, transformer_dim is " +
                        std::to_string(config.dim));
    }
}

template <class T>
class HostProgram final : public Program {
public:
    HostProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                const PlanRequest& request)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          request_(request),
          ports_(domain, request.queue, Embedding<T>::n_real(config),
                 place_of(config) == Place::leaves ? config.num_classes : 0),
          embedding_(config, layers, request.queue),
          pass_(config, layers, request.queue),
          readout_(config, layers, request.queue) {}

    void connect() override {
        std::vector<int64_t> begins;
        comm_.agree([&] {
            tree_ = Tree(domain_.n_global(), config_.k, comm_.rank(), comm_.size());
            check_tree(config_, tree_);
            begins = tree_.begins(0);
        });
        const std::vector<int64_t> leaves = leaf_positions(config_, domain_, request_, begins);
        ports_.reorder(RowRoute(comm_, leaves, begins));
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

    /// Ranks in trouble say so first; then nobody computes.
    bool evaluate(bool alive) override {
        if (!on_all_ranks(comm_, alive)) return false;
        deliver();
        const LeafInputs<T> inputs{leaf_tiles(ports_.input(0), Embedding<T>::n_real(config_)),
                                   is_tokens() ? tokens_->canonical() : nullptr};
        embedding_.run(inputs, comm_, gather_, x_);
        for (int64_t i = 0; i < config_.num_layers; ++i) pass_.run(i, comm_, gather_, x_);
        readout_.run(comm_, x_, leaf_tiles(ports_.output(0), config_.num_classes));
        return true;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        if (place_of(config_) != Place::leaves) return scatter_rows(outputs, alive);
        const BadValue bad = ports_.scatter(outputs, alive);
        require_tokens();
        return bad;
    }

    int64_t bytes() const override {
        return ports_.bytes() + (tokens_ ? tokens_->bytes() : 0) + x_.bytes() + gather_.bytes() +
               embedding_.bytes() + pass_.bytes() + readout_.bytes();
    }
    int64_t n_point() const override { return ports_.n_point(); }
    int64_t n_node() const override {
        return place_of(config_) == Place::nodes ? readout_.n_row() : 0;
    }
    std::vector<LayerCost> costs() const override {
        const int64_t input_bytes =
            is_tokens() ? 8 : Embedding<T>::n_real(config_) * static_cast<int64_t>(sizeof(T));
        return costs_of(config_, {tree_, domain_.n_local(), n_point(), sizeof(T), input_bytes,
                                  readout_.bytes_sent(), readout_.collectives()});
    }
    std::vector<std::string> notes() const override {
        std::string sizes;
        for (int l = 0; l < tree_.n_level(); ++l)
            sizes += (l > 0 ? ", " : "") + std::to_string(tree_.level(l).n);
        return {"tree: levels of " + sizes + " nodes; all ranks compute the " +
                std::to_string(tree_.n_top()) + " nodes from level " + std::to_string(tree_.cut()) +
                " on"};
    }

private:
    bool is_tokens() const { return config_.features == Features::tokens; }

    void allocate() {
        ports_.allocate();
        x_.resize(tree_, config_.dim);
        gather_.resize(tree_, std::max(config_.dim, config_.inner_dim()), comm_.size());
        embedding_.resize(tree_);
        pass_.resize(tree_);
        readout_.resize(tree_, comm_.size());
    }

    void deliver() {
        if (is_tokens()) {
            tokens_->to_canonical(1);
        } else if (Embedding<T>::n_real(config_) > 0) {
            ports_.deliver();
        }
    }

    Tiles<T> leaf_tiles(kernels::Tile<T> first, int64_t n_channel) const {
        return {first.data, n_channel, ports_.n_point()};
    }

    void require_tokens() const {
        require_words(bad_token_, "tokens", config_.vocab_size, domain_);
    }

    BadValue scatter_rows(std::span<const Column> outputs, bool alive) {
        if (!alive) fill_nan(outputs, readout_.n_row());
        require_tokens();
        if (!alive) return {};
        return impl::scatter<T>(readout_.rows(), config_.num_classes, 1, outputs, 0,
                                readout_.n_row());
    }

    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    const PlanRequest request_;
    Tree tree_;
    PointPorts<T> ports_;
    std::optional<RowExchange<int64_t>> tokens_;
    BadValue bad_token_;
    NodeTiles<T> x_;
    CutGather<T> gather_;
    Embedding<T> embedding_;
    LayerPass<T> pass_;
    Readout<T> readout_;
};

}  // namespace

template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request) {
    return std::make_unique<HostProgram<T>>(config, layers, domain, request);
}

template std::unique_ptr<Program> make_program(const Config&, const Layers<float>&,
                                               const PointDomain&, const PlanRequest&);
template std::unique_ptr<Program> make_program(const Config&, const Layers<double>&,
                                               const PointDomain&, const PlanRequest&);

}  // namespace surrogate::impl::sequoia
