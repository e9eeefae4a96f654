// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/model_card.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "libsurrogate/src/file/json.hpp"

namespace surrogate::impl {

namespace {

void write_end(nlohmann::json& field, const char* key, double value) {
    if (std::isfinite(value))
        field[key] = value;
    else
        field.erase(key);
}

/// The ranges that differ, in the JSON of a card.
void write_ranges(nlohmann::json& fields, std::span<const FieldCard> cards,
                  std::span<const FieldRange> ranges) {
    for (size_t i = 0; i < cards.size(); ++i) {
        if (ranges[i].min != cards[i].min) write_end(fields[i], "min", ranges[i].min);
        if (ranges[i].max != cards[i].max) write_end(fields[i], "max", ranges[i].max);
    }
}

/// about with the card as its member `card`. ASCII: hosts print it.
std::string described(const std::string& about, const std::string& card) {
    JsonTree tree(parse_json(about, "description"));
    nlohmann::json& member = tree.root()["card"];
    member = parse_json(card, "card");
    return dump_json_indented(*tree);
}

}  // namespace

void ModelCard::set_description(std::string about) {
    about_ = std::move(about);
    description_ = described(about_, text_);
}

std::vector<FieldRange> ModelCard::ranges() const {
    std::vector<FieldRange> ranges;
    for (const auto* fields : {&card_.inputs, &card_.outputs})
        for (const FieldCard& field : *fields) ranges.push_back({field.min, field.max});
    return ranges;
}

ModelCard::Texts ModelCard::texts_with(std::span<const FieldRange> ranges) const {
    JsonTree card(parse_json(text_, "card"));
    if (!card_.inputs.empty()) write_ranges(card.root()["inputs"], card_.inputs, ranges);
    if (!card_.outputs.empty())
        write_ranges(card.root()["outputs"], card_.outputs, ranges.subspan(card_.inputs.size()));
    Texts texts{dump_json(*card), {}};
    texts.description = described(about_, texts.card);
    return texts;
}

void ModelCard::set_ranges(std::span<const FieldRange> ranges, Texts&& texts) noexcept {
    auto range = ranges.begin();
    for (auto* fields : {&card_.inputs, &card_.outputs}) {
        for (FieldCard& field : *fields) {
            field.min = range->min;
            field.max = range->max;
            ++range;
        }
    }
    text_ = std::move(texts.card);
    description_ = std::move(texts.description);
    ++revision_;
}

}  // namespace surrogate::impl
