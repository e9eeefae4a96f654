// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/model/field_range.hpp"

namespace surrogate::impl {

/// The card of a model, and the texts that hold it. Nothing of it changes but the ranges of fields:
/// by the trainer of the model, while no plan of the model runs.
class ModelCard {
public:
    /// Makes an empty card. Does not allocate.
    ModelCard() = default;
    ModelCard(Card card, std::string text) : card_(std::move(card)), text_(std::move(text)) {}
    /// Sets the text of surrogate_model_describe() besides the card, as JSON. Throws bad_alloc.
    void set_description(std::string about);

    const Card& card() const { return card_; }
    const std::string& text() const { return text_; }
    /// Returns the text of surrogate_model_describe().
    const std::string& description() const { return description_; }

    /// Returns the ranges of the inputs, then of the outputs.
    std::vector<FieldRange> ranges() const;
    /// Returns how often ranges have changed.
    int64_t revision() const { return revision_; }

    /// Both texts with other ranges, in the order of ranges(). Throws bad_alloc.
    struct Texts {
        std::string card, description;
    };
    Texts texts_with(std::span<const FieldRange> ranges) const;
    /// Sets the ranges; texts: the result of texts_with() for them.
    void set_ranges(std::span<const FieldRange> ranges, Texts&& texts) noexcept;

private:
    Card card_;
    std::string text_, about_, description_;
    int64_t revision_ = 0;
};

}  // namespace surrogate::impl
