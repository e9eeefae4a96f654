// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/classes.hpp"

#include <algorithm>
#include <cmath>

namespace surrogate::tool {

bool are_classes(const std::vector<surrogate_field_info>& outputs) {
    return !outputs.empty() && outputs.front().role == SURROGATE_CLASS;
}

std::vector<std::string> class_names(const std::vector<std::string>& outputs) {
    if (outputs.size() > 1) return outputs;
    return {"not " + outputs.front(), outputs.front()};
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
