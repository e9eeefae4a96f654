// SPDX-License-Identifier: Apache-2.0
#include "emulator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

namespace shallow_water {

namespace {

struct Named {
    const char *name, *unit;
};
constexpr Named names[n_field] = {
    {"geopotential", "m^2/s^2"}, {"vorticity", "1/s"}, {"divergence", "1/s"}};

/// What the card says about our fields. A field that it does not know is found when it is bound.
std::array<surrogate_field_info, n_field> cards_of(const surrogate::Model& model) {
    std::array<surrogate_field_info, n_field> cards{};
    for (const surrogate_field_info& info : model.inputs())
        for (std::size_t f = 0; f < n_field; ++f)
            if (std::string(names[f].name) == info.name) cards[f] = info;
    return cards;
}

std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.5g", value);
    return text;
}

}  // namespace

// All members come from collective calls: an error is the same on every rank.
Emulator::Emulator(const Layout& layout, const Latitudes& latitudes, const std::string& model)
    : layout_(layout),
      context_(
          surrogate::mpi_context(layout.comm(), {{"check_finite", "true"}, {"agree", "true"}})),
      model_(context_, model),
      domain_(domain_of(latitudes)),
      plan_(model_, domain_),
      card_(cards_of(model_)),
      fields_(static_cast<std::size_t>(n_field * layout.n_point())) {
    for (std::size_t f = 0; f < n_field; ++f) {
        double* field = fields_.data() + f * static_cast<std::size_t>(layout.n_point());
        const surrogate_array array = surrogate::column(field, layout.n_point());
        plan_.bind_input(names[f].name, array, names[f].unit);
        plan_.bind_output(names[f].name, array, names[f].unit);
    }
}

/// This rank's rows, told by their latitudes, so that the library sees what the solver means.
surrogate::Domain Emulator::domain_of(const Latitudes& latitudes) const {
    std::vector<double> degrees;
    for (int64_t k = 0; k < layout_.n_row(); ++k)
        degrees.push_back(latitudes.latitude(layout_.first_row() + k) * 180 / std::numbers::pi);
    surrogate_sphere sphere{};
    sphere.grid = "legendre-gauss";
    sphere.n_lat = layout_.resolution().n_lat;
    sphere.n_lon = layout_.resolution().n_lon;
    sphere.first_lat = layout_.first_row();
    sphere.n_lat_local = layout_.n_row();
    sphere.n_lon_local = sphere.n_lon;
    sphere.latitude = degrees.empty() ? nullptr : degrees.data();
    return surrogate::Domain(context_, sphere);
}

bool Emulator::step(Fields* fields) {
    bool is_finite = true;
    fields_ = *fields;
    try {
        plan_.run();  // with agree=true all ranks hear the same
    } catch (const surrogate::Error& error) {
        if (error.status() != SURROGATE_NOT_FINITE) throw;
        is_finite = false;
        std::fill(fields_.begin(), fields_.end(), std::nan(""));
    }
    *fields = fields_;
    return is_finite;
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

Verdict judge(const Emulator& emulator, const Fields& fields) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::size_t n = fields.size() / n_field;
    double
        ends[3 * n_field];  // by field: largest, largest of the negated, number that is not finite
    for (std::size_t f = 0; f < n_field; ++f) {
        double* end = ends + 3 * f;
        end[0] = end[1] = -infinity;
        end[2] = 0;
        for (std::size_t i = f * n; i < (f + 1) * n; ++i) {
            end[0] = std::max(end[0], fields[i]);
            end[1] = std::max(end[1], -fields[i]);
            if (!std::isfinite(fields[i])) end[2] = 1;
        }
    }
    emulator.context().reduce(SURROGATE_MAX, 3 * n_field, ends);
    for (std::size_t f = 0; f < n_field; ++f) {
        const surrogate_field_info& card = emulator.card(Field(f));
        const std::string name = names[f].name, unit = std::string(" ") + names[f].unit;
        const double most = ends[3 * f], least = -ends[3 * f + 1];
        if (ends[3 * f + 2] > 0) return {false, name + " is not finite"};
        if (most > card.max)
            return {false, name + " reaches " + text_of(most) + unit + ", in training at most " +
                               text_of(card.max)};
        if (least < card.min)
            return {false, name + " reaches " + text_of(least) + unit + ", in training at least " +
                               text_of(card.min)};
    }
    return {};
}

}  // namespace shallow_water
