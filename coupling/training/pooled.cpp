// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/pooled.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace surrogate::tool {

namespace {

// The constants of share/python/surrogate_export/pooled.py.
constexpr size_t least_per_feature = 10;  // samples; a covariance of fewer is noise
constexpr double least_variance = 1e-6;   // constant integrals would make it singular
constexpr double quantile = 0.99;

using Row = std::vector<double>;

std::vector<Row> features_of(const std::vector<Channel>& inputs, const DataStatistics& statistics,
                             const Row& mean, const Row& std) {
    std::vector<Row> rows(statistics.inputs.front().sample_mean.size());
    for (size_t input = 0; input < inputs.size(); ++input) {
        if (inputs[input].is_coordinate() || inputs[input].is_per_sample) continue;
        const ChannelStatistics& one = statistics.inputs[input];
        for (size_t i = 0; i < rows.size(); ++i) {
            rows[i].push_back((one.sample_mean[i] - mean[input]) / std[input]);
            rows[i].push_back(one.sample_deviation[i] / std[input]);
        }
    }
    return rows;
}

Row mean_of(const std::vector<Row>& rows) {
    Row mean(rows.front().size());
    for (const Row& row : rows)
        for (size_t i = 0; i < mean.size(); ++i)
            mean[i] += row[i] / static_cast<double>(rows.size());
    return mean;
}

std::vector<Row> covariance_of(const std::vector<Row>& rows, const Row& mean) {
    const size_t n = mean.size();
    std::vector<Row> covariance(n, Row(n));
    for (const Row& row : rows)
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j <= i; ++j)
                covariance[i][j] +=
                    (row[i] - mean[i]) * (row[j] - mean[j]) / static_cast<double>(rows.size() - 1);
    for (size_t i = 0; i < n; ++i) {
        covariance[i][i] += least_variance;
        for (size_t j = 0; j < i; ++j) covariance[j][i] = covariance[i][j];
    }
    return covariance;
}

/// Returns the lower triangular matrix whose product with its transpose is the matrix.
std::vector<Row> cholesky(std::vector<Row> matrix) {
    for (size_t j = 0; j < matrix.size(); ++j) {
        for (size_t k = 0; k < j; ++k) matrix[j][j] -= matrix[j][k] * matrix[j][k];
        matrix[j][j] = std::sqrt(std::max(matrix[j][j], 1e-300));
        for (size_t i = j + 1; i < matrix.size(); ++i) {
            for (size_t k = 0; k < j; ++k) matrix[i][j] -= matrix[i][k] * matrix[j][k];
            matrix[i][j] /= matrix[j][j];
        }
    }
    return matrix;
}

/// Returns the Mahalanobis distance.
double distance(const std::vector<Row>& factor, const Row& mean, const Row& row) {
    Row solved(row.size());
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i) {
        solved[i] = row[i] - mean[i];
        for (size_t k = 0; k < i; ++k) solved[i] -= factor[i][k] * solved[k];
        solved[i] /= factor[i][i];
        sum += solved[i] * solved[i];
    }
    return std::sqrt(sum);
}

}  // namespace

nlohmann::json pooled_statistics(const std::vector<Channel>& inputs,
                                 const DataStatistics& statistics, const Row& mean,
                                 const Row& std) {
    if (std::any_of(inputs.begin(), inputs.end(), [](const auto& c) { return c.is_integer; }))
        return nullptr;
    const std::vector<Row> rows = features_of(inputs, statistics, mean, std);
    if (rows.empty() || rows.front().empty() ||
        rows.size() < least_per_feature * rows.front().size())
        return nullptr;
    const Row middle = mean_of(rows);
    const std::vector<Row> covariance = covariance_of(rows, middle);
    const std::vector<Row> factor = cholesky(covariance);
    Row distances;
    for (const Row& row : rows) distances.push_back(distance(factor, middle, row));
    std::sort(distances.begin(), distances.end());
    const auto at =
        static_cast<size_t>(std::ceil(quantile * static_cast<double>(distances.size())));
    return {{"mean", middle},
            {"covariance", covariance},
            {"quantile", quantile},
            {"distance", distances[std::max<size_t>(at, 1) - 1]},
            {"samples", rows.size()}};
}

}  // namespace surrogate::tool
