// SPDX-License-Identifier: Apache-2.0
// Model files of a training.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "libsurrogate/src/file/json.hpp"
#include "libsurrogate/src/file/model_writer.hpp"
#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

namespace {

/// A card in place of the model's must be one of the same network.
void require_same_network(const Card& given, const Card& own) {
    if (given.family == own.family && *given.network == *own.network) return;
    throw Error(Status::invalid_argument,
                "the given card is one of another network: family '" + given.family + "', " +
                    dump_json(*given.network).substr(0, 400) + ", and the model is of family '" +
                    own.family + "', " + dump_json(*own.network).substr(0, 400));
}

}  // namespace

std::span<const double> Trainer::weights_of(int32_t which) {
    if (which == SURROGATE_WEIGHTS) return optimizer_->weights();
    if (which == SURROGATE_EMA) {
        if (recipe_.ema_decay > 0) return optimizer_->average();
        throw Error(Status::invalid_argument,
                    "there is no average of the weights; set ema_decay > 0 to keep one");
    }
    if (which != SURROGATE_BEST) {
        throw Error(Status::invalid_argument,
                    "which is " + std::to_string(which) +
                        "; it takes SURROGATE_WEIGHTS, SURROGATE_EMA or SURROGATE_BEST");
    }
    if (plateau_.n_seen > 0) return {best_.begin(), best_.end()};
    throw Error(Status::invalid_argument,
                "there are no best weights: no validation has ended with a finite loss");
}

void Trainer::save_model(int32_t which, const char* card, const char* path) {
    data_parallel().agree([&] {
        if (!path) throw Error(Status::invalid_argument, "path of the model file is NULL");
        const std::span<const double> weights = weights_of(which);
        std::string text = card ? card : model_->card_text();
        if (card) require_same_network(parse_card(text), model_->card());
        if (data_parallel().rank() != 0) return;
        const std::vector<float> rounded(weights.begin(), weights.end());
        std::vector<WrittenTensor> tensors;
        for (const MasterWeights::Entry& entry : model_->weights()->entries()) {
            const auto own = std::span(rounded).subspan(static_cast<size_t>(entry.first),
                                                        static_cast<size_t>(entry.size));
            tensors.push_back({{entry.name, DType::float32, entry.shape}, std::as_bytes(own)});
        }
        save_model_file(data_parallel_->files(), path, text, tensors);
    });
}

}  // namespace surrogate::impl
