// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scaling/training_case.hpp"

#include <sys/resource.h>

#include <cmath>

#include "benchmarks/scaling/cloud_case.hpp"
#include "benchmarks/scaling/hept_case.hpp"
#include "benchmarks/scaling/point_formula.hpp"

namespace surrogate::bench {

namespace {

std::string family_of(const std::string& name) {
    return name == "flare" || name == "sequoia" || name == "hept" || name == "erwin" ? name : "bsa";
}

nlohmann::json network_of(const std::string& name, int64_t n_layer) {
    if (name == "sequoia") return sequoia_network(n_layer);
    if (name == "erwin") return erwin_network(n_layer);
    if (name == "hept") return hept_network(n_layer);
    if (name == "flare")
        return {{"in_dim", 3},           {"out_dim", 1},   {"channel_dim", 64},
                {"num_blocks", n_layer}, {"num_heads", 8}, {"num_latents", 128}};
    return bsa_network(name, n_layer);
}

std::string numbered(const char* name, int64_t i) {
    return name + std::to_string(i);
}

nlohmann::json field(const std::string& name) {
    return {{"name", name}, {"unit", "1"}, {"mean", 0}, {"std", 1}};
}

/// Returns the fields of a card: coordinates x0 .., features f0 .., outputs y0 ..
nlohmann::json fields_of(int64_t n_axis, int64_t n_feature, int64_t n_output) {
    nlohmann::json fields = {{"inputs", nlohmann::json::array()},
                             {"outputs", nlohmann::json::array()}};
    for (int64_t axis = 0; axis < n_axis; ++axis) {
        fields["inputs"].push_back(field(numbered("x", axis)));
        fields["inputs"].back().update({{"role", "coordinate"}, {"axis", axis}});
    }
    for (int64_t c = 0; c < n_feature; ++c) {
        fields["inputs"].push_back(field(numbered("f", c)));
        fields["inputs"].back()["role"] = "field";
    }
    for (int64_t c = 0; c < n_output; ++c) fields["outputs"].push_back(field(numbered("y", c)));
    return fields;
}

surrogate_array column_of(std::vector<float>* values, int64_t c, int64_t n_column) {
    surrogate_array array =
        column(values->data() + c, static_cast<int64_t>(values->size()) / n_column);
    array.stride[0] = n_column;
    return array;
}

}  // namespace

double processor_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TrainingCase::TrainingCase(const std::string& name, int64_t n_layer)
    : is_hits(name == "hept"),
      n_axis(is_hits ? n_hit_coordinate : 3),
      n_feature(is_hits ? n_hit_feature : 0),
      n_output(is_hits ? n_hit_output : 1),
      model(family_of(name), network_of(name, n_layer), fields_of(n_axis, n_feature, n_output)) {}

DerivativeRun::DerivativeRun(const Context& context, const TrainingCase& of, int64_t n,
                             bool has_coordinates)
    : x_(of.is_hits ? hit_coordinates(context, n) : cloud_positions(context, n)),
      features_(of.is_hits ? hit_features(global_ids(context, n)) : std::vector<float>()),
      outputs_(static_cast<size_t>(n * of.n_output)),
      w_(outputs_.size(), 1),
      g_(static_cast<size_t>(n * (of.n_axis + of.n_feature))),
      model_(context, of.model.path()),
      domain_(context, matrix(x_.data(), n, of.n_axis)),
      plan_(model_, domain_, {{"gradients", "inputs"}}) {
    for (int64_t c = 0; c < of.n_feature; ++c) {
        plan_.bind_input(numbered("f", c), column_of(&features_, c, of.n_feature));
        plan_.bind_input_gradient(numbered("f", c), column(g_.data() + (of.n_axis + c) * n, n));
    }
    for (int64_t axis = 0; axis < of.n_axis && has_coordinates; ++axis)
        plan_.bind_input_gradient(numbered("x", axis), column(g_.data() + axis * n, n));
    for (int64_t c = 0; c < of.n_output; ++c) {
        plan_.bind_output(numbered("y", c), column(outputs_.data() + c * n, n));
        plan_.bind_output_gradient(numbered("y", c), column(w_.data() + c * n, n));
    }
}

TrainingRun::TrainingRun(const Context& context, const TrainingCase& of, int64_t n,
                         const Options& options)
    : x_(of.is_hits ? hit_coordinates(context, n) : cloud_positions(context, n)),
      ids_(global_ids(context, n)),
      features_(of.is_hits ? hit_features(ids_) : std::vector<float>()),
      wanted_(ids_.size() * static_cast<size_t>(of.n_output)),
      model_(context, of.model.path()),
      domain_(context, matrix(x_.data(), std::ssize(ids_), of.n_axis), ids_.data()),
      plan_(model_, domain_, options),
      trainer_(plan_, {{"loss", "mse"}, {"dropout", "off"}}) {
    for (size_t i = 0; i < wanted_.size(); ++i)
        wanted_[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i)));
    for (int64_t c = 0; c < of.n_feature; ++c)
        plan_.bind_input(numbered("f", c), column_of(&features_, c, of.n_feature));
    for (int64_t c = 0; c < of.n_output; ++c)
        trainer_.bind_target(numbered("y", c), column_of(&wanted_, c, of.n_output));
}

}  // namespace surrogate::bench
