// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/pooled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/json.hpp"

namespace surrogate::impl {
namespace {

using kernels::Error;
using kernels::Status;
using nlohmann::json;

/// Relative asymmetry accepted as rounding of the program that computed the matrix.
constexpr double symmetry = 1e-9;
/// Part of a feature's variance that the features before it must leave: a distance is the more
/// exact the more is left, and has no digit at 1e-16.
constexpr double least_rest = 1e-12;

[[noreturn]] void fail(const std::string& key, const std::string& text) {
    throw Error(Status::bad_file, "card key 'pooled" + key + "': " + text);
}

std::string at(const std::string& key, size_t i) {
    return key + "[" + std::to_string(i) + "]";
}

/// "standard deviation of 'mobility'"
std::string feature_text(const std::vector<std::string>& fields, size_t feature) {
    return std::string(feature % 2 ? "standard deviation" : "mean") + " of '" +
           printable(fields[feature / 2], 60) + "'";
}

const json& list_of(const json& value, const std::string& key, size_t n) {
    if (!value.is_array() || value.size() != n) {
        fail(key, "expected an array of " + std::to_string(n) +
                      ", two for each input that is a field, found " + found_text(value));
    }
    return value;
}

std::vector<double> numbers_of(const json& value, const std::string& key, size_t n) {
    std::vector<double> numbers;
    for (const json& number : list_of(value, key, n))
        numbers.push_back(number_of(number, "card key 'pooled" + at(key, numbers.size()) + "'"));
    return numbers;
}

/// Makes the matrix exactly symmetric.
void require_symmetric(std::vector<double>& matrix, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const double variance = matrix[i * n + i];
        if (!(variance > 0)) {
            fail(at(at(".covariance", i), i),
                 "expected a variance above 0, found " + dump_json(json(variance)));
        }
        for (size_t j = 0; j < i; ++j) {
            const double scale = std::sqrt(variance) * std::sqrt(matrix[j * n + j]);
            double &lower = matrix[i * n + j], &upper = matrix[j * n + i];
            if (!(std::abs(lower - upper) <= symmetry * scale)) {
                fail(at(at(".covariance", i), j), "expected a symmetric matrix, found " +
                                                      dump_json(json(lower)) + " here and " +
                                                      dump_json(json(upper)) + " opposite");
            }
            upper = lower;
        }
    }
}

/// By Cholesky's factors of the correlations: matrix = D L L^T D with D the standard deviations.
void require_definite(const std::vector<double>& matrix, size_t n,
                      const std::vector<std::string>& fields) {
    std::vector<double> factor(n * n);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j <= i; ++j) {
            const double scale = std::sqrt(matrix[i * n + i]) * std::sqrt(matrix[j * n + j]);
            double rest = i == j ? 1 : matrix[i * n + j] / scale;
            for (size_t k = 0; k < j; ++k) rest -= factor[i * n + k] * factor[j * n + k];
            if (j < i) {
                factor[i * n + j] = rest / factor[j * n + j];
                continue;
            }
            if (!(rest > least_rest)) {
                fail(".covariance", "expected a positive definite matrix, but the " +
                                        feature_text(fields, i) +
                                        " follows from the features before it");
            }
            factor[i * n + i] = std::sqrt(rest);
        }
    }
}

std::vector<double> covariance_of(const json& value, const std::vector<std::string>& fields) {
    const size_t n = 2 * fields.size();
    const std::string key = ".covariance";
    std::vector<double> matrix;
    for (const json& row : list_of(value, key, n)) {
        const auto numbers = numbers_of(row, at(key, matrix.size() / n), n);
        matrix.insert(matrix.end(), numbers.begin(), numbers.end());
    }
    require_symmetric(matrix, n);
    require_definite(matrix, n, fields);
    return matrix;
}

/// A number above 0 and below `end`.
double positive(const json& value, const std::string& key, double end) {
    const double number = number_of(value, "card key 'pooled" + key + "'");
    if (!(number > 0 && number < end)) {
        fail(key, "expected a number above 0" +
                      std::string(std::isfinite(end) ? " and below 1" : "") + ", found " +
                      found_text(value));
    }
    return number;
}

}  // namespace

PooledCard parse_pooled(const json& value, const std::vector<std::string>& fields) {
    const std::string where = "card key 'pooled'";
    require_keys(value, where, {"mean", "covariance", "quantile", "distance", "samples"});
    if (fields.empty()) fail("", "the card has no input that is a field");
    const size_t n = 2 * fields.size();
    PooledCard pooled;
    pooled.mean = numbers_of(member(value, "mean", where), ".mean", n);
    pooled.covariance = covariance_of(member(value, "covariance", where), fields);
    pooled.quantile = positive(member(value, "quantile", where), ".quantile", 1);
    pooled.distance = positive(member(value, "distance", where), ".distance",
                               std::numeric_limits<double>::infinity());
    pooled.n_sample = count_of(member(value, "samples", where), "card key 'pooled.samples'",
                               std::numeric_limits<int64_t>::max());
    if (pooled.n_sample <= static_cast<int64_t>(n)) {
        fail(".samples", "expected more than the " + std::to_string(n) +
                             " features, whose covariance fewer samples do not tell, found " +
                             std::to_string(pooled.n_sample));
    }
    return pooled;
}

}  // namespace surrogate::impl
