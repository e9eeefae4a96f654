// SPDX-License-Identifier: Apache-2.0
#include "emulator.hpp"

#include "field_names.hpp"
#include "sphere_domain.hpp"

namespace shallow_water {

namespace {

/// Returns the card's entries for the fields of the solver. A field that is not in the card is
/// detected when it is bound.
std::array<surrogate_field_info, n_field> cards_of(const surrogate::Model& model) {
    std::array<surrogate_field_info, n_field> cards{};
    for (const surrogate_field_info& info : model.inputs())
        for (std::size_t f = 0; f < n_field; ++f)
            if (std::string(field_names[f].name) == info.name) cards[f] = info;
    return cards;
}

}  // namespace

// All members come from collective calls: an error is the same on every rank.
Emulator::Emulator(const Layout& layout, const Latitudes& latitudes, const std::string& model)
    : layout_(layout),
      context_(surrogate::mpi_context(layout.comm())),
      model_(context_, model),
      domain_(sphere_domain(context_, layout, latitudes)),
      plan_(model_, domain_),
      loop_(plan_),
      card_(cards_of(model_)),
      fields_(static_cast<std::size_t>(n_field * layout.n_point())) {
    for (std::size_t f = 0; f < n_field; ++f) {
        double* field = fields_.data() + f * static_cast<std::size_t>(layout.n_point());
        const surrogate_array array = surrogate::column(field, layout.n_point());
        loop_.bind(field_names[f].name, array, field_names[f].unit);
    }
    loop_.set("step_s", "3600");
    loop_.set("finite", "fallback");
}

void Emulator::watch() {
    for (const char* guard : {"range", "distance", "bounds"}) loop_.set(guard, "fallback");
    loop_.set("range_max_fraction", "0.01");
    // The divergence of emulated states is smoother than the solver's, which increases their
    // distance from the training data to up to 3.5 times the training distances within a day. The
    // distance of another kind of flow is a hundred times as large.
    loop_.set("distance_factor", "5");
    loop_.set("drift", "correct");
    loop_.conserve("mass", "geopotential", 1e-9);
    // The card bounds the inputs of the model; its outputs are its next inputs.
    for (std::size_t f = 0; f < n_field; ++f)
        loop_.set_bounds(field_names[f].name, card_[f].min, card_[f].max);
}

bool Emulator::step(Fields* fields) {
    fields_ = *fields;
    if (loop_.step(3600) == surrogate::StepOutcome::rejected) return false;
    *fields = fields_;
    return true;
}

std::string Emulator::reason() const {
    std::string text = loop_.reason();  // one line per guard
    for (std::size_t end; (end = text.find('\n')) != std::string::npos;)
        text.replace(end, 1, end + 1 == text.size() ? "" : "; ");
    return text;
}

void Emulator::mark(const Fields& fields) {
    fields_ = fields;
    loop_.snapshot();
}

void Emulator::rewind(Fields* fields) {
    loop_.rollback();
    *fields = fields_;
}

PerField Emulator::means() const {
    PerField mean;
    for (std::size_t f = 0; f < n_field; ++f) mean[f] = card_[f].mean;
    return mean;
}

std::string Emulator::how() const {
    std::string text;
    for (const char* key : {"backend", "vector", "threads"})
        text += (text.empty() ? "" : ", ") + std::string(key) + " " + plan_.option(key);
    return text;
}

}  // namespace shallow_water
