// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/context/context.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/model_card.hpp"
#include "libsurrogate/src/model/model_hash.hpp"

namespace surrogate::impl {

/// A model: card and network, which plans share. Immutable, but for a trainer: weights and ranges.
class Model {
public:
    /// Loads a model as surrogate_model_load(). A null path throws on all ranks. Collective.
    Model(std::shared_ptr<Context> context, const char* path);
    /// Reads a model as surrogate_model_load_memory() and surrogate_model_create(). Collective.
    Model(std::shared_ptr<Context> context, const ModelSource& source);
    /// Puts a card around a network that comes from no file and has no weights: for tests. Local;
    /// throws bad_file if they do not fit.
    Model(std::shared_ptr<Context> context, const Card& card, std::unique_ptr<Network> network);

    /// Implements surrogate_model_save(). Collective.
    void save(const char* path) const;

    Context& context() const { return *context_; }
    const Card& card() const { return card_->card(); }
    const std::string& card_text() const { return card_->text(); }
    /// Returns the card, shared with objects that may widen its ranges.
    const std::shared_ptr<ModelCard>& shared_card() const { return card_; }
    const Network& network() const { return *network_; }
    /// Returns the weights, shared with the network and its plans. Call refresh() after changing
    /// them.
    const std::shared_ptr<MasterWeights>& weights() const { return weights_; }

    struct ListedPort {
        Port port;
        bool is_output = false;
    };
    /// Returns the network's ports, inputs first; they live as long as the model.
    const std::vector<ListedPort>& ports() const { return ports_; }

    /// Implements surrogate_model_hash() for the present weights and ranges. Computes the number
    /// once until they change; does not allocate after that. Throws bad_alloc.
    uint64_t hash() const;

    /// Returns the text of surrogate_model_describe().
    const std::string& description() const { return card_->description(); }

private:
    struct KnownHash {
        bool is_known = false;
        uint64_t value = 0;
        int64_t card_revision = 0;
    };

    void load(const ModelSource& source);
    void set_ports();

    std::shared_ptr<Context> context_;
    std::shared_ptr<ModelCard> card_;
    std::shared_ptr<MasterWeights> weights_;
    std::unique_ptr<Network> network_;
    std::vector<ListedPort> ports_;
    mutable std::shared_ptr<KnownHash> hash_;
    mutable Refresh forget_hash_;
};

/// The check case of a model file; see surrogate_check_case_load. Collective.
class CheckCase {
public:
    CheckCase(std::shared_ptr<Context> context, const char* path);
    const std::vector<Tensor>& tensors() const { return tensors_; }

private:
    std::shared_ptr<Context> context_;
    std::vector<Tensor> tensors_;  // names without "check/"
};

}  // namespace surrogate::impl
