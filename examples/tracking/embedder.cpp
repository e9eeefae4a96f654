// SPDX-License-Identifier: Apache-2.0
#include "embedder.hpp"

#include <algorithm>
#include <cmath>

#include "features.hpp"

namespace tracking {

namespace {

/// Radius with the largest efficiency minus fakes on the validation events of the training.
constexpr double default_radius = 0.6;

}  // namespace

Embedding embed_by_direction(const std::vector<Hit>& hits) {
    Embedding embedding{3, {}, 0.05};
    for (const Hit& hit : hits)
        for (const double number : {std::cos(hit.azimuth), std::sin(hit.azimuth), eta_of(hit)})
            embedding.rows.push_back(float(number));
    return embedding;
}

Embedder::Embedder(MPI_Comm comm, const std::string& model, bool is_reproducible)
    : context_(surrogate::mpi_context(comm)), model_(context_, model) {
    reproducible_ = is_reproducible ? "true" : "false";
}

void Embedder::plan(const std::vector<Hit>& hits) {
    plan_.reset();
    const std::vector<double> places = rows_of(hits, coordinates_of);
    std::vector<int64_t> ids, events;
    for (const Hit& hit : hits) {
        ids.push_back(hit.id);
        events.push_back(hit.event);
    }
    surrogate_points points{};
    points.x = surrogate::matrix(places.data(), int64_t(hits.size()), int64_t(n_coordinate));
    points.global_id = ids.data();
    points.cloud = events.data();
    domain_.emplace(context_, points);
    plan_.emplace(model_, *domain_, surrogate::Options{{"reproducible", reproducible_}});
}

Embedding Embedder::embed(const std::vector<Hit>& hits) {
    const auto n_hit = static_cast<int64_t>(hits.size());
    const std::vector<double> fields = rows_of(hits, features_of);
    const std::vector<surrogate_field_info> outputs = model_.outputs();
    const auto width = static_cast<int64_t>(outputs.size());
    Embedding embedding{width, std::vector<float>(hits.size() * outputs.size()), default_radius};
    for (std::size_t f = 0; f < n_feature; ++f)
        plan_->bind_input(feature_names[f].name,
                          surrogate::column(fields.data() + f, n_hit, int64_t(n_feature)),
                          feature_names[f].unit);
    for (std::size_t e = 0; e < outputs.size(); ++e)
        plan_->bind_output(outputs[e].name,
                           surrogate::column(embedding.rows.data() + e, n_hit, width),
                           outputs[e].unit);
    plan_->run();
    return embedding;
}

double Embedder::fraction_outside() const {
    double fraction = 0;
    const auto n_input = static_cast<int32_t>(model_.inputs().size());
    for (int32_t input = 0; input < n_input; ++input) {
        const surrogate_range_info info = plan_->range(input);
        double counts[2] = {double(info.n_outside), double(info.n_points)};
        context_.reduce(SURROGATE_SUM, 2, counts);
        if (counts[1] > 0) fraction = std::max(fraction, counts[0] / counts[1]);
    }
    return fraction;
}

std::string Embedder::how() const {
    std::string text;
    for (const char* key : {"backend", "vector", "threads"})
        text += (text.empty() ? "" : ", ") + std::string(key) + " " + plan_->option(key);
    return text;
}

}  // namespace tracking
