// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "libsurrogate/src/train/loss.hpp"

namespace surrogate::impl {

namespace {

constexpr double largest_entropy = 100;  // -log p of binary classes in PyTorch

/// log(p / (1 - p)), with logarithms of at least -100.
double logit_of(double p) {
    constexpr double least = 3.720075976020836e-44;  // exp(-100)
    return std::log(std::max(p, least)) - std::log(std::max(1 - p, least));
}

/// Returns the derivative of the logit with respect to p, bounded as in PyTorch.
double logit_slope(double p) {
    return 1 / std::max(p * (1 - p), 1e-12);
}

/// Softmax of the logits of one point. A single output is the logit of class 1, and the logit of
/// class 0 is 0.
struct Softmax {
    Softmax(const Sample& sample, int64_t point, size_t n_class, bool is_binary,
            bool is_probability)
        : logits(sample.prediction + point), stride(sample.row_stride()) {
        if (is_binary) {
            two[1] = is_probability ? logit_of(*logits) : *logits;
            logits = two;
            stride = 1;
        }
        for (size_t c = 0; c < n_class; ++c)
            if (logit(c) > logit(largest)) largest = c;
        double others = 0;
        for (size_t c = 0; c < n_class; ++c)
            if (c != largest) others += std::exp(logit(c) - logit(largest));
        log_sum = std::log1p(others);
    }
    Softmax(const Softmax&) = delete;
    double logit(size_t c) const { return logits[static_cast<int64_t>(c) * stride]; }
    /// Returns -log p of a class: a sum of numbers that are not negative.
    double minus_log(size_t c) const { return (logit(largest) - logit(c)) + log_sum; }
    double probability(size_t c) const { return std::exp(-minus_log(c)); }

    const double* logits;
    int64_t stride;
    double two[2] = {};
    size_t largest = 0;  ///< class with the largest logit, the first of equal ones
    double log_sum;      ///< of the exponentials, divided by the largest one
};

}  // namespace

ClassLoss::ClassLoss(const Recipe& recipe, std::span<const FieldCard> outputs,
                     bool are_probabilities, const kernels::Queue& queue)
    : recipe_(recipe),
      queue_(queue),
      n_output_(outputs.size()),
      n_class_(std::max<size_t>(2, outputs.size())),
      are_probabilities_(are_probabilities),
      class_weights_(n_class_, 1.0),
      sums_(queue, denominator() + 1) {
    for (const FieldCard& output : outputs) stds_.push_back(output.std);
}

void ClassLoss::set_class_weights(std::span<const double> weights) {
    class_weights_.assign(weights.begin(), weights.end());
}

/// Returns the loss of a point without weights and smoothing, for b = -log p of its label.
double ClassLoss::rho(double b) const {
    if (recipe_.loss == LossKind::cross_entropy) return b;
    if (is_binary()) b = std::min(b, largest_entropy);
    return recipe_.focal_alpha * std::pow(-std::expm1(-b), recipe_.focal_gamma) * b;
}

/// Returns the derivative of rho without its bound.
double ClassLoss::rho_derivative(double b) const {
    if (recipe_.loss == LossKind::cross_entropy) return 1;
    const double miss = -std::expm1(-b), ratio = miss > 0 ? b / miss : 1;
    return recipe_.focal_alpha * std::pow(miss, recipe_.focal_gamma) *
           (1 + recipe_.focal_gamma * std::exp(-b) * ratio);
}

/// Calls use(sum, term) for the terms of the points first .. end - 1.
template <class Use>
void ClassLoss::for_each_term(const Sample& sample, int64_t first, int64_t end,
                              const Use& use) const {
    const double spread = recipe_.label_smoothing / static_cast<double>(n_class_);
    for (int64_t i = first; i < end; ++i) {
        if (sample.label[i] < 0) continue;
        const auto label = static_cast<size_t>(sample.label[i]);
        const double w = sample.weight_of(i);
        const Softmax softmax(sample, i, n_class_, is_binary(), are_probabilities_);
        double loss =
            (1 - recipe_.label_smoothing) * class_weights_[label] * rho(softmax.minus_log(label));
        for (size_t c = 0; c < n_class_ && spread > 0; ++c)
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
                "the loss of the sample is undefined: all points are ignored or have weight 0");
}

double ClassLoss::error(size_t output) const {
    const double wrong = is_binary() ? sums_[0] + sums_[1] : sums_[output];
    const double all =
        is_binary() ? sums_[points()] + sums_[points() + 1] : sums_[points() + output];
    return all == 0 ? std::numeric_limits<double>::quiet_NaN() : wrong / all;
}

void ClassLoss::gradient(const Sample& sample, double* to) const {
    const double spread = recipe_.label_smoothing / static_cast<double>(n_class_);
    double all_weights = 0;
    for (const double weight : class_weights_) all_weights += weight;
    queue_.parallel_for(TermSums::n_chunk(sample.n_point), [&](int64_t number, int) {
        const int64_t end = std::min(sample.n_point, (number + 1) * TermSums::chunk);
        for (int64_t i = number * TermSums::chunk; i < end; ++i) {
            const bool is_ignored = sample.label[i] < 0;
            const auto label = static_cast<size_t>(is_ignored ? 0 : sample.label[i]);
            const Softmax softmax(sample, i, n_class_, is_binary(), are_probabilities_);
            const double factor = is_ignored ? 0 : sample.weight_of(i) / sums_[denominator()];
            const double b = softmax.minus_log(label);
            const double sharp =
                (1 - recipe_.label_smoothing) * class_weights_[label] * rho_derivative(b);
            for (size_t o = 0; o < n_output_; ++o) {
                const size_t c = is_binary() ? 1 : o;
                const double p = softmax.probability(c);
                const double derivative =
                    sharp * (c == label ? std::expm1(-b) : p) +  // p - 1 of the label
                    spread * (all_weights * p - class_weights_[c]);
                const double of_output = are_probabilities_ ? logit_slope(p) : 1;
                to[static_cast<int64_t>(o) * sample.row_stride() + i] =
                    factor * derivative * of_output * stds_[o];
            }
        }
    });
}

int64_t ClassLoss::bytes() const {
    return sums_.bytes() + static_cast<int64_t>(16 * n_class_);
}

}  // namespace surrogate::impl
