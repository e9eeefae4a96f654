// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/guard_distance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

/// Network values beyond +-1e100 count as +-1e100. Their squares are then finite, and the distance
/// exceeds all limits in any case.
constexpr double farthest = 1e100;

/// Returns the lower Cholesky factor of a positive definite matrix (n, n).
std::vector<double> cholesky(const double* matrix, size_t n) {
    std::vector<double> lower(n * n);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j <= i; ++j) {
            double rest = matrix[i * n + j];
            for (size_t k = 0; k < j; ++k) rest -= lower[i * n + k] * lower[j * n + k];
            if (i == j && !(rest > 0))
                fail(SURROGATE_BAD_FILE,
                     "the covariance of the pooled inputs on the card is not positive definite");
            lower[i * n + j] = i == j ? std::sqrt(rest) : rest / lower[j * n + j];
        }
    }
    return lower;
}

}  // namespace

DistanceGuard::DistanceGuard(Fields* fields, const surrogate_model* model,
                             const PointWeights* points)
    : Guard(Policy::off), fields_(fields), points_(points) {
    surrogate_input_statistics info{};
    require_success(surrogate_model_input_statistics(model, &info));
    if (info.n_feature == 0) return;
    n_feature_ = static_cast<size_t>(info.n_feature);
    mean_.assign(info.mean, info.mean + n_feature_);
    lower_ = cholesky(info.covariance, n_feature_);
    for (size_t i = 0; i < n_feature_; ++i)
        deviation_.push_back(std::sqrt(info.covariance[i * n_feature_ + i]));
    features_.resize(n_feature_);
    moments_.resize(n_feature_ / 2);
    allowed_ = info.distance;
    set(Policy::warn);
}

void DistanceGuard::begin() {
    for (Moments& moments : moments_) {
        moments.first.clear();
        moments.second.clear();
    }
    n_bad_ = 0;
}

void DistanceGuard::look_at_input(size_t field, int64_t first, std::span<double> values) {
    const Field& card = fields_->inputs()[field];
    const double* const weights = points_->values() ? points_->values() + first : nullptr;
    const double reach = std::min(card.std, 1e200) * farthest;
    double once[n_chunk], twice[n_chunk];
    for (size_t i = 0; i < values.size(); ++i) {
        const bool is_finite = std::isfinite(values[i]);
        n_bad_ += !is_finite;
        const double value = is_finite ? values[i] : 0;
        const double offset =
            std::clamp(std::clamp(value, -1e300, 1e300) - card.mean, -reach, reach);
        const double x = offset / card.std;
        once[i] = weights ? weights[i] * x : x;
        twice[i] = once[i] * x;
    }
    const auto n = static_cast<int64_t>(values.size());
    moments_[field].first.add(once, n);
    moments_[field].second.add(twice, n);
}

int64_t DistanceGuard::n_sum() const {
    return is_possible() ? 1 + static_cast<int64_t>(n_feature_) * ExactSum::n_limb : 0;
}

void DistanceGuard::write_sums(double* sums) {
    *sums++ = static_cast<double>(n_bad_);
    for (Moments& moments : moments_) {
        moments.first.write(sums);
        moments.second.write(sums + ExactSum::n_limb);
        sums += 2 * ExactSum::n_limb;
    }
}

/// Returns |L^-1 (features - mean)|.
double DistanceGuard::distance_of(const double* sums) {
    for (size_t f = 0; f < moments_.size(); ++f, sums += 2 * ExactSum::n_limb) {
        const double mean = ExactSum::value(sums) / total_;
        const double square = ExactSum::value(sums + ExactSum::n_limb) / total_;
        features_[2 * f] = mean;
        features_[2 * f + 1] = std::sqrt(std::max(square - mean * mean, 0.0));
    }
    double sum = 0, farthest_feature = 0;
    for (size_t i = 0; i < n_feature_; ++i) {
        double rest = features_[i] - mean_[i];
        if (std::abs(rest) > farthest_feature * deviation_[i]) {
            farthest_feature = std::abs(rest) / deviation_[i];
            spoken_ = i / 2;
        }
        for (size_t k = 0; k < i; ++k) rest -= lower_[i * n_feature_ + k] * features_[k];
        features_[i] = rest / lower_[i * n_feature_ + i];
        sum += features_[i] * features_[i];
    }
    return std::sqrt(sum);
}

/// Without points, or with values that are not finite, the distance is undefined and the guard does
/// not trigger.
Finding DistanceGuard::judge(const double* sums) {
    if (sums[0] > 0 || !(total_ > 0)) return {};
    const double distance = distance_of(sums + 1), limit = allowed_ * factor_;
    if (distance <= limit) return {};
    Finding finding;
    finding.action = policy();
    finding.field = fields_->inputs()[spoken_].name.c_str();
    finding.value = distance;
    finding.limit = limit;
    return finding;
}

void DistanceGuard::describe(const Finding& finding, char* text, size_t size) const {
    std::snprintf(
        text, size,
        "distance (%s): inputs, mostly '%s', are %.4g from the training distribution (limit %.4g)",
        name_of(finding.action), finding.field, finding.value, finding.limit);
}

}  // namespace surrogate::timeloop
