// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/class_scores.hpp"

#include <surrogate/surrogate_train.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "coupling/job/classes.hpp"
#include "kernels/hept/metrics.hpp"

namespace surrogate::tool {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

double ratio(double a, double b) {
    return b > 0 ? a / b : undefined;
}

double weight_of(const ClassSample& sample, size_t point) {
    if (sample.labels[point] == SURROGATE_IGNORED_LABEL) return 0;
    return sample.weights.empty() ? 1 : sample.weights[point];
}

/// Returns the number of classes before `label` in the order of falling logits.
size_t rank_of(const std::vector<double>& logits, size_t label) {
    size_t rank = 0;
    for (size_t c = 0; c < logits.size(); ++c)
        if (logits[c] > logits[label] || (logits[c] == logits[label] && c < label)) ++rank;
    return rank;
}

}  // namespace

void ClassScores::Mean::add(double value) {
    if (std::isnan(value)) return;
    sum += value;
    n += 1;
}

double ClassScores::Mean::value() const {
    return n > 0 ? sum / n : undefined;
}

ClassScores::ClassScores(size_t n_output, const std::vector<int64_t>& top_k)
    : n_output_(n_output),
      n_class_(n_class_of(n_output)),
      top_k_(top_k),
      counts_(n_class_ * n_class_),
      fractions_(counts_.size()),
      ranks_(n_class_),
      average_precision_(n_class_),
      roc_auc_(n_class_) {}

bool ClassScores::add(ClassSample sample) {
    double weight = 0;
    for (size_t i = 0; i < sample.labels.size(); ++i) weight += weight_of(sample, i);
    if (!(weight > 0)) return false;
    add_points(sample, weight);
    add_curves(sample);
    return true;
}

/// Adds the points to all sums, and replaces the logits of several outputs by probabilities.
void ClassScores::add_points(ClassSample& sample, double weight) {
    std::vector<double> logits(n_class_), probabilities(n_class_);
    std::vector<double> weights(fractions_.size()), ranks(n_class_);
    double loss = 0;
    const size_t first = n_class_ - n_output_;  // of one output, class 0 has the logit 0
    for (size_t i = 0; i < sample.labels.size(); ++i) {
        const double w = weight_of(sample, i);
        if (w == 0) continue;
        const auto label = static_cast<size_t>(sample.labels[i]);
        for (size_t c = 0; c < n_output_; ++c) logits[first + c] = sample.logits[c][i];
        const size_t predicted = classify(logits, probabilities);
        if (n_output_ > 1)
            for (size_t c = 0; c < n_output_; ++c) sample.logits[c][i] = probabilities[c];
        counts_[label * n_class_ + predicted] += 1;
        weights[label * n_class_ + predicted] += w;
        ranks[rank_of(logits, label)] += w;
        loss += w * (logits[predicted] - logits[label] - std::log(probabilities[predicted]));
    }
    for (size_t k = 0; k < weights.size(); ++k) fractions_[k] += weights[k] / weight;
    for (size_t k = 0; k < ranks.size(); ++k) ranks_[k] += ranks[k] / weight;
    cross_entropy_ += loss / weight;
    accuracies_.push_back(ranks[0] / weight);
}

/// Adds average precision and ROC AUC of each class.
void ClassScores::add_curves(ClassSample& sample) {
    std::vector<uint8_t> is_counted, is_class(sample.labels.size());
    for (const int64_t label : sample.labels)
        is_counted.push_back(label != SURROGATE_IGNORED_LABEL);
    for (size_t c = 0; c < n_class_; ++c) {
        std::vector<double>& scores = sample.logits[n_output_ == 1 ? 0 : c];
        if (n_output_ == 1)  // class 0 has the opposite order
            for (double& score : scores) score = -score;
        for (size_t i = 0; i < is_class.size(); ++i)
            is_class[i] = sample.labels[i] == static_cast<int64_t>(c);
        const auto found =
            kernels::hept::class_score<double>(scores, is_class, is_counted, sample.weights);
        if (found.positive > 0) average_precision_[c].add(found.average_precision);
        if (found.positive > 0 && found.negative > 0) roc_auc_[c].add(found.roc_auc);
    }
}

double ClassScores::accuracy() const {
    return ranks_[0] / n_sample();
}

double ClassScores::iou() const {
    // Each wrong point is a false positive of one class and a false negative of another.
    return accuracy() / (2 - accuracy());
}

std::vector<double> ClassScores::top_k_accuracy() const {
    std::vector<double> found;
    for (const int64_t k : top_k_)
        found.push_back(std::accumulate(ranks_.begin(), ranks_.begin() + k, 0.0) / n_sample());
    return found;
}

ClassScore ClassScores::of_class(size_t label) const {
    double labeled = 0, predicted = 0;
    for (size_t c = 0; c < n_class_; ++c) {
        labeled += fraction(label, c);
        predicted += fraction(c, label);
    }
    const double correct = fraction(label, label);
    return {ratio(correct, predicted),
            ratio(correct, labeled),
            ratio(2 * correct, labeled + predicted),
            ratio(correct, labeled + predicted - correct),
            average_precision_[label].value(),
            roc_auc_[label].value()};
}

ClassScore ClassScores::mean() const {
    Mean precision, recall, f1, iou, average_precision, roc_auc;
    for (size_t c = 0; c < n_class_; ++c) {
        const ClassScore score = of_class(c);
        precision.add(score.precision);
        recall.add(score.recall);
        f1.add(score.f1);
        iou.add(score.iou);
        average_precision.add(score.average_precision);
        roc_auc.add(score.roc_auc);
    }
    return {precision.value(),         recall.value(), f1.value(), iou.value(),
            average_precision.value(), roc_auc.value()};
}

}  // namespace surrogate::tool
