// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "libsurrogate/src/train/loss.hpp"

namespace surrogate::impl {

namespace {

/// Softmax of the logits of one point, whose stride is the number of points.
struct Softmax {
    Softmax(const Sample& sample, int64_t point, size_t n_class)
        : logits(sample.prediction + point), stride(sample.n_point) {
        for (size_t c = 0; c < n_class; ++c)
            if (logit(c) > logit(largest)) largest = c;
        double sum = 0;
        for (size_t c = 0; c < n_class; ++c) sum += std::exp(logit(c) - logit(largest));
        log_sum = logit(largest) + std::log(sum);
    }
    double logit(size_t c) const { return logits[static_cast<int64_t>(c) * stride]; }
    /// Returns -log p of a class, which rounding must not make negative.
    double minus_log(size_t c) const { return std::max(0.0, log_sum - logit(c)); }
    double probability(size_t c) const { return std::exp(logit(c) - log_sum); }

    const double* logits;
    int64_t stride;
    size_t largest = 0;  ///< class with the largest logit, the first of equal ones
    double log_sum;
};

}  // namespace

ClassLoss::ClassLoss(const Recipe& recipe, std::span<const FieldCard> outputs,
                     const kernels::Queue& queue)
    : queue_(queue),
      n_class_(outputs.size()),
      smoothing_(recipe.label_smoothing),
      class_weights_(n_class_, 1.0),
      sums_(queue, denominator() + 1) {
    for (const FieldCard& output : outputs) stds_.push_back(output.std);
}

void ClassLoss::set_class_weights(std::span<const double> weights) {
    class_weights_.assign(weights.begin(), weights.end());
}

/// Calls use(sum, term) for the terms of the points first .. end - 1.
template <class Use>
void ClassLoss::for_each_term(const Sample& sample, int64_t first, int64_t end,
                              const Use& use) const {
    const double spread = smoothing_ / static_cast<double>(n_class_);
    for (int64_t i = first; i < end; ++i) {
        if (sample.label[i] < 0) continue;
        const auto label = static_cast<size_t>(sample.label[i]);
        const double w = sample.weight_of(i);
        const Softmax softmax(sample, i, n_class_);
        double loss = (1 - smoothing_) * class_weights_[label] * softmax.minus_log(label);
        for (size_t c = 0; c < n_class_ && smoothing_ > 0; ++c)
            loss += spread * class_weights_[c] * softmax.minus_log(c);
        use(label, softmax.largest == label ? 0.0 : w);
        use(points() + label, w);
        use(numerator(), w * loss);
        use(denominator(), w * class_weights_[label]);
    }
}

SampleOutcome ClassLoss::measure(Communicator& comm, const Sample& sample, int64_t n_global,
                                 SampleOutcome own) {
    const auto terms = [&](int64_t first, int64_t end, const auto& use) {
        for_each_term(sample, first, end, use);
    };
    return sums_.compute(comm, denominator() + 1, sample.n_point, n_global, own, terms);
}

double ClassLoss::value() const {
    if (sums_[denominator()] > 0) return sums_[numerator()] / sums_[denominator()];
    throw Error(Status::not_finite,
                "the cross-entropy of the sample is undefined: all points are ignored or have "
                "weight 0");
}

double ClassLoss::error(size_t output) const {
    if (sums_[points() + output] == 0) return std::numeric_limits<double>::quiet_NaN();
    return sums_[output] / sums_[points() + output];
}

void ClassLoss::gradient(const Sample& sample, double* to) const {
    const double spread = smoothing_ / static_cast<double>(n_class_);
    double all_weights = 0;
    for (const double weight : class_weights_) all_weights += weight;
    queue_.parallel_for(TermSums::n_chunk(sample.n_point), [&](int64_t number, int) {
        const int64_t end = std::min(sample.n_point, (number + 1) * TermSums::chunk);
        for (int64_t i = number * TermSums::chunk; i < end; ++i) {
            const bool is_ignored = sample.label[i] < 0;
            const auto label = static_cast<size_t>(is_ignored ? 0 : sample.label[i]);
            const Softmax softmax(sample, i, n_class_);
            const double factor = is_ignored ? 0 : sample.weight_of(i) / sums_[denominator()];
            const double sharp = (1 - smoothing_) * class_weights_[label];
            for (size_t c = 0; c < n_class_; ++c) {
                const double p = softmax.probability(c);
                const double derivative = sharp * (p - (c == label ? 1 : 0)) +
                                          spread * (all_weights * p - class_weights_[c]);
                to[static_cast<int64_t>(c) * sample.n_point + i] = factor * derivative * stds_[c];
            }
        }
    });
}

int64_t ClassLoss::bytes() const {
    return sums_.bytes() + static_cast<int64_t>(16 * n_class_);
}

}  // namespace surrogate::impl
