// SPDX-License-Identifier: Apache-2.0
// The setting sample=cloud: each cloud of a domain is a sample, with a loss of its own.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

/// Finds the rows of each cloud again after points have moved. Errors are agreed on.
void Trainer::follow_clouds() {
    if (!recipe_.are_clouds_samples) return;
    const int64_t revision = plan_.input()->revision();
    if (clouds_revision_ == revision) return;
    comm().agree([&] {
        cloud_begin_ = cloud_rows();
        cloud_losses_.reserve(cloud_begin_.size());
        cloud_errors_.resize(n_output());
    });
    clouds_revision_ = revision;
}

/// Returns the first row of each cloud, and the number of rows. Throws invalid_argument for a cloud
/// without points, and for points that are not in the order of their clouds.
std::vector<int64_t> Trainer::cloud_rows() const {
    const int64_t n_cloud = plan_.input()->n_cloud();
    std::vector<int64_t> begin(static_cast<size_t>(n_cloud) + 1);
    const auto* const points = dynamic_cast<const PointDomain*>(plan_.input().get());
    if (points && points->has_clouds()) {
        for (int64_t i = 0, last = -1; i < points->n_local(); last = points->clouds()[i++]) {
            const int64_t cloud = points->clouds()[i];
            if (cloud == last) continue;
            if (cloud != last + 1) {
                throw Error(Status::invalid_argument,
                            "sample=cloud: " + points->point_text(i) + " is of cloud " +
                                std::to_string(cloud) + ", and the point before of cloud " +
                                std::to_string(last) +
                                "; expected points in the order of clouds that all have some");
            }
            begin[static_cast<size_t>(cloud)] = i;
        }
    }
    begin.back() = n_point();
    if (plan_.has_pooled_outputs()) std::iota(begin.begin(), begin.end(), int64_t{0});
    return begin;
}

/// Computes the losses of all clouds of this rank, each as a sample of its own, and their gradients
/// in training. Returns the worst outcome. Throws not_finite for an undefined loss.
SampleOutcome Trainer::measure_clouds(SampleOutcome own, bool is_learnt) {
    cloud_losses_.clear();
    std::ranges::fill(cloud_errors_, 0.0);
    SampleOutcome worst = own;
    const auto n_cloud = static_cast<size_t>(n_sample());
    for (size_t c = 0; c < n_cloud && own != SampleOutcome::failed; ++c) {
        const int64_t first = cloud_begin_[c];
        Sample cloud = sample();
        cloud.n_point = cloud_begin_[c + 1] - first;
        cloud.prediction += first;
        if (cloud.target) cloud.target += first;
        if (cloud.weight) cloud.weight += first;
        if (cloud.label) cloud.label += first;
        const SampleOutcome outcome = loss_->measure(comm(), cloud, cloud.n_point, own);
        worst = std::max(worst, outcome);
        if (outcome != SampleOutcome::good) continue;
        try {
            cloud_losses_.push_back(loss_->value());
        } catch (const Error& error) {
            throw Error(error.status(), "cloud " + std::to_string(c) + ": " + error.what());
        }
        for (size_t o = 0; o < n_output(); ++o)
            cloud_errors_[o] += loss_->error(o) / static_cast<double>(n_cloud);
        if (is_learnt) loss_->gradient(cloud, gradient_.data() + first);
    }
    return worst;
}

/// Returns the loss of the last sample, or the mean of the losses of its clouds.
double Trainer::sample_loss() const {
    if (!recipe_.are_clouds_samples) return loss_->value();
    double sum = 0;
    for (const double loss : cloud_losses_) sum += loss;
    return sum / static_cast<double>(cloud_losses_.size());
}

double Trainer::sample_error(size_t output) const {
    return recipe_.are_clouds_samples ? cloud_errors_[output] : loss_->error(output);
}

/// Adds the loss of the last sample, or the losses of its clouds; NaN: the sample cannot be used.
void Trainer::end_sample(double loss, std::vector<double>& losses) const {
    if (!recipe_.are_clouds_samples || std::isnan(loss))
        losses.insert(losses.end(), static_cast<size_t>(n_sample()), loss);
    else
        losses.insert(losses.end(), cloud_losses_.begin(), cloud_losses_.end());
}

}  // namespace surrogate::impl
