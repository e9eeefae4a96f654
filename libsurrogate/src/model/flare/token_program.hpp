// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/family/point_network.hpp"
#include "libsurrogate/src/model/flare/passes.hpp"
#include "libsurrogate/src/ranks/reduce.hpp"

namespace surrogate::impl::flare {

/// Common part of the programs of the sequence classifier. Base: Program or GradientProgram. Tokens
/// are redistributed to contiguous parts of the sequence, in whole tiles; each tile is a chunk of
/// the reproducible mode. The class token is on rank 0.
template <class T, class Base>
class TokenProgram : public Base {
public:
    /// Keeps references: `config`, `layers` and the domain must outlive it.
    TokenProgram(const Config& config, const Layers<T>& layers, const PointDomain& domain,
                 const PlanRequest& request, Keeps keeps)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          ports_(domain, request.queue, 0, is_by_token() ? config.out_dim : 0),
          tokens_(config, layers, request.queue),
          readout_(config, layers, request.queue),
          passes_(config, layers, comm_, request.queue, request.reproducible, ports_,
                  {&tokens_, is_by_token() ? nullptr : &readout_}, keeps) {}

    void connect() override {
        std::vector<int64_t> begins;
        comm_.agree([&] {
            require_length();
            begins = block_begins(domain_.n_global(), kernels::tile_points, comm_.size());
        });
        const std::vector<int64_t> places = canonical_positions(domain_, "a sequence");
        rows_.emplace(comm_, RowRoute(comm_, places, begins), 2);
        if (is_by_token()) reorder(RowRoute(comm_, places, begins));
        comm_.agree([&] { allocate(begins); });
    }
    bool follow() override {
        connect();
        return true;
    }

    /// Reads ids, and a mask where it is not null.
    BadValue gather(std::span<const Column> inputs, OutsideCounts&) override {
        bad_word_ = {};
        const bool has_mask = inputs[1].data != nullptr;
        for (int64_t i = 0; i < domain_.n_local(); ++i) {
            const int64_t word = load_integer(inputs[0], i);
            rows_->solver()[2 * i] = word;
            rows_->solver()[2 * i + 1] = has_mask ? load_integer(inputs[1], i) : 1;
            if (word >= 0 && word < config_.sequence.n_word) continue;
            bad_word_ = {0, i, static_cast<double>(word)};
            break;
        }
        return bad_word_;
    }

    /// Exchanges the status of ranks before the tokens are sent, as words of a failed rank may not
    /// be rows of the table. Collective.
    bool evaluate(bool alive) override {
        if (!on_all_ranks(comm_, alive)) return false;
        rows_->to_canonical(2);
        tokens_.take(rows_->canonical());
        const bool is_finite = passes_.run(true);
        return is_by_token() ? is_finite : readout_.run(comm_, !is_finite) && is_finite;
    }

    BadValue scatter(std::span<const Column> outputs, bool alive) override {
        BadValue bad;
        if (is_by_token()) {
            bad = ports_.scatter(outputs, alive);
        } else if (alive) {
            bad = impl::scatter<T>(readout_.logits(), config_.out_dim, 1, outputs, 0, 1);
        } else {
            fill_nan(outputs, 1);
        }
        require_words(bad_word_, "ids", config_.sequence.n_word, domain_);
        return bad;
    }

    int64_t bytes() const override {
        return rows_->bytes() + ports_.bytes() + tokens_.bytes() + readout_.bytes() +
               passes_.bytes();
    }
    int64_t n_point() const override { return rows_->n_canonical(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override {
        return {"tokens move to shares of the sequence, in the order of " +
                std::string(domain_.has_ids() ? "global ids" : "coordinates") +
                (is_by_token() ? ", and predictions back" : "; every rank has the prediction")};
    }

protected:
    bool is_by_token() const { return config_.sequence.pool == Pool::none; }
    /// Sets the route on which predictions of tokens return to the solver. Collective.
    virtual void reorder(RowRoute route) { ports_.reorder(std::move(route)); }
    /// Allocates the memory that depends on the tokens. begins: of the tokens of each rank. Local.
    virtual void allocate(std::span<const int64_t> begins);
    int64_t n_tile_global() const {
        return (domain_.n_global() + kernels::tile_points - 1) / kernels::tile_points +
               (config_.sequence.has_class_token() ? 1 : 0);
    }

    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    std::optional<RowExchange<int64_t>> rows_;  // (word, mask)
    PointPorts<T> ports_;                       // of outputs
    Sequence<T> tokens_;
    SequenceReadout<T> readout_;
    Passes<T> passes_;

private:
    void require_length() const;

    BadValue bad_word_;
};

template <class T, class Base>
void TokenProgram<T, Base>::require_length() const {
    const int64_t n_class = config_.sequence.has_class_token() ? 1 : 0;
    const int64_t longest = config_.sequence.max_length - n_class, n = domain_.n_global();
    if (n > longest) {
        throw Error(Status::shape, "the sequence has " + std::to_string(n) +
                                       " tokens (points of the domain), the network's positions "
                                       "end at max_length " +
                                       std::to_string(longest) + "; cut the sequence");
    }
}

template <class T, class Base>
void TokenProgram<T, Base>::allocate(std::span<const int64_t> begins) {
    const auto rank = static_cast<size_t>(comm_.rank());
    const bool has_class_token = config_.sequence.has_class_token() && rank == 0;
    ports_.allocate();
    tokens_.resize({begins[rank], begins[rank + 1]}, has_class_token);
    readout_.resize(tokens_.n_tile(), n_tile_global(), domain_.n_global());
    passes_.allocate(1, n_tile_global());
}

template <class T, class Base>
std::vector<LayerCost> TokenProgram<T, Base>::costs() const {
    Work work{n_point(), domain_.n_local(), true, 2 * static_cast<int64_t>(sizeof(int64_t)),
              config_.out_dim * static_cast<int64_t>(sizeof(T))};
    passes_.describe(work);
    std::vector<LayerCost> list = costs_of(config_, work);
    list.insert(list.begin(), {"words that are none", 0, 0, sizeof(int64_t), 1});
    if (!is_by_token()) {
        list.push_back({"pool, head", config_.out_proj.flops(), 0, readout_.bytes_sent(),
                        readout_.collectives()});
    }
    return list;
}

}  // namespace surrogate::impl::flare
