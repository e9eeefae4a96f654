// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace surrogate::impl {

/// Distribution of the pooled inputs of the training samples: card key `pooled`
/// (share/doc/reference/model-file.md). Feature 2 k is the mean of the k-th input that is a field,
/// feature 2 k + 1 its standard deviation, in the network's numbers.
struct PooledCard {
    std::vector<double> mean;        ///< (n); empty if the card says nothing
    std::vector<double> covariance;  ///< (n, n), exactly symmetric, positive definite
    double quantile = 0, distance = 0;
    int64_t n_sample = 0;
};

/// Reads the value of the key for a card whose inputs hold the fields `fields`, in their order.
/// Throws Error(bad_file) naming the key, what was expected and what was found.
PooledCard parse_pooled(const nlohmann::json& value, const std::vector<std::string>& fields);

}  // namespace surrogate::impl
