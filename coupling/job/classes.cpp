// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/classes.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace surrogate::tool {

bool are_classes(const std::vector<surrogate_field_info>& outputs) {
    return !outputs.empty() && outputs.front().role == SURROGATE_CLASS;
}

std::vector<std::string> class_names(const std::vector<std::string>& outputs) {
    if (outputs.size() > 1) return outputs;
    return {"not " + outputs.front(), outputs.front()};
}

std::vector<std::string> class_names(const std::vector<surrogate_field_info>& outputs) {
    std::vector<std::string> names;
    for (const surrogate_field_info& output : outputs) names.emplace_back(output.name);
    return class_names(names);
}

bool returns_probability(const Model& model) {
    const auto card = nlohmann::json::parse(model.describe()).at("card");
    return card.at("family") == "hept" && card.at("network").value("task", "") == "pileup";
}

void make_logits(std::vector<double>* probabilities) {
    constexpr double least = 3.720075976020836e-44;  // exp(-100), as in the losses
    for (double& p : *probabilities)
        p = std::log(std::max(p, least)) - std::log(std::max(1 - p, least));
}

size_t classify(std::span<const double> logits, std::span<double> probabilities) {
    const double of_pair[] = {0, logits[0]};
    const std::span<const double> all = logits.size() > 1 ? logits : std::span(of_pair);
    const auto largest = std::max_element(all.begin(), all.end());
    double sum = 0;
    for (size_t c = 0; c < all.size(); ++c) sum += probabilities[c] = std::exp(all[c] - *largest);
    for (double& probability : probabilities) probability /= sum;
    return static_cast<size_t>(largest - all.begin());
}

}  // namespace surrogate::tool
