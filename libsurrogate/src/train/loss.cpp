// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "libsurrogate/src/train/pair_loss.hpp"

namespace surrogate::impl {

namespace {

constexpr int64_t chunk = TermSums::chunk;

int64_t n_chunk(const Sample& sample) {
    return TermSums::n_chunk(sample.n_point);
}

/// 1 / (a b), and 0 where prediction and target agree: a is 0.
double inverse(double a, double b) {
    return a == 0 ? 0 : 1 / (a * b);
}

}  // namespace

FieldLoss::FieldLoss(const Recipe& recipe, std::span<const FieldCard> outputs,
                     const kernels::Queue& queue)
    : recipe_(recipe),
      queue_(queue),
      n_output_(outputs.size()),
      sums_(queue, lattice() + LatticeLoss::n_sum) {
    for (const FieldCard& output : outputs) stds_.push_back(output.std);
    scales_ = stds_;
}

/// Calls use(sum, term) for the terms of one chunk of the sample.
template <class Use>
void FieldLoss::for_each_term(const Sample& sample, int64_t first, int64_t end,
                              const Use& use) const {
    for (size_t o = 0; o < n_output_; ++o) {
        const int64_t begin = static_cast<int64_t>(o) * sample.row_stride();
        const double* const p = sample.prediction + begin;
        const double* const t = sample.target + begin;
        for (int64_t i = first; i < end; ++i) {
            const double e = p[i] - t[i], w = sample.weight_of(i);
            use(o, w * (e * e));
            use(targets() + o, w * (t[i] * t[i]));
            if (is(LossKind::mse)) use(plain() + o, e * e);
            if (!has_rho()) continue;
            const double derivatives =
                derivatives_ ? derivatives_->magnitude(static_cast<int64_t>(o), i) : 0;
            use(plain() + o, w * (rho(e / scales_[o]) + recipe_.w11_weight * derivatives));
        }
    }
    for (int64_t i = first; i < end && has_weighted_mean(); ++i)
        use(weights(), sample.weight_of(i));
}

/// Returns the function of an error, in units of the scale, whose mean is loss l1 or huber.
double FieldLoss::rho(double x) const {
    const double size = std::abs(x), delta = recipe_.huber_delta;
    if (has_absolute()) return size;
    return size <= delta ? x * x / 2 : delta * (size - delta / 2);
}

/// Returns the derivative of rho.
double FieldLoss::rho_derivative(double x) const {
    if (has_absolute()) return sign(x);
    return std::clamp(x, -recipe_.huber_delta, recipe_.huber_delta);
}

SampleOutcome FieldLoss::measure(Communicator& comm, const Sample& sample, int64_t n_global,
                                 SampleOutcome own) {
    n_global_ = n_global;
    const bool is_good = own == SampleOutcome::good;
    if (lattice_) lattice_->bring(queue_, sample, is_good);
    if (derivatives_) derivatives_->measure(queue_, sample, scales_, is_good);
    const auto terms = [&](int64_t first, int64_t end, const auto& use) {
        for_each_term(sample, first, end, use);
    };
    return sums_.compute(comm, n_sum(), sample.n_point, n_global * static_cast<int64_t>(n_output_),
                         own, terms, lattice_);
}

double FieldLoss::over_outputs(size_t first) const {
    double sum = 0;
    for (size_t o = 0; o < n_output_; ++o) sum += sums_[first + o];
    return sum;
}

/// sqrt(sum of the error) / sqrt(sum of the target).
double FieldLoss::norm_ratio(size_t error, size_t target) const {
    if (sums_[target] > 0) return std::sqrt(sums_[error]) / std::sqrt(sums_[target]);
    throw Error(Status::not_finite,
                "the differences of the sample's target are zero everywhere on the grid; a "
                "relative loss divides by them");
}

double FieldLoss::value() const {
    const auto n_output = static_cast<double>(n_output_);
    double sum = 0;
    switch (recipe_.loss) {
        case LossKind::mse:
            for (size_t o = 0; o < n_output_; ++o)
                sum += sums_[plain() + o] / (stds_[o] * stds_[o]);
            if (n_global_ > 0) return sum / (static_cast<double>(n_global_) * n_output);
            throw Error(Status::not_finite,
                        "the loss is undefined: the sample has no points on any rank");
        case LossKind::weighted_mse:
        case LossKind::l1:
        case LossKind::huber:
        case LossKind::l1_w11:
            for (size_t o = 0; o < n_output_; ++o)
                sum += is(LossKind::weighted_mse) ? sums_[o] / (scales_[o] * scales_[o])
                                                  : sums_[plain() + o];
            if (sums_[weights()] > 0) return sum / sums_[weights()] / n_output;
            throw Error(Status::not_finite, "the weights of all points of the sample are zero");
        default: break;
    }
    const double target = over_outputs(targets());
    if (!(target > 0)) {
        throw Error(Status::not_finite,
                    "the sample's target is zero everywhere; a relative loss divides by its norm");
    }
    sum = std::sqrt(over_outputs(0)) / std::sqrt(target);
    if (!is(LossKind::gradient_l2)) return sum;
    return sum + recipe_.gradient_weight * (norm_ratio(lattice(), lattice() + 1) +
                                            norm_ratio(lattice() + 2, lattice() + 3));
}

double FieldLoss::error(size_t output) const {
    if (sums_[output] == 0) return 0;
    if (sums_[targets() + output] == 0) return std::numeric_limits<double>::infinity();
    return std::sqrt(sums_[output]) / std::sqrt(sums_[targets() + output]);
}

void FieldLoss::gradient(const Sample& sample, double* to) const {
    const double relative = inverse(std::sqrt(over_outputs(0)), std::sqrt(over_outputs(targets())));
    const auto n_output = static_cast<double>(n_output_);
    const bool is_weighted = !is(LossKind::mse);
    for (size_t o = 0; o < n_output_; ++o)
        std::fill_n(to + static_cast<int64_t>(o) * sample.row_stride(), sample.n_point, 0.0);
    if (lattice_) {
        const auto factor = [&](size_t s) {
            return recipe_.gradient_weight *
                   inverse(std::sqrt(sums_[lattice() + s]), std::sqrt(sums_[lattice() + s + 1]));
        };
        lattice_->add_gradient(factor(0), factor(2), to);
    }
    if (derivatives_) derivatives_->add_gradient(queue_, sample, to);
    for (size_t o = 0; o < n_output_; ++o) {
        double factor = relative;
        if (is(LossKind::mse))
            factor = 2 / (stds_[o] * stds_[o]) / (static_cast<double>(n_global_) * n_output);
        if (is(LossKind::weighted_mse))
            factor = 2 / (scales_[o] * scales_[o]) / sums_[weights()] / n_output;
        if (has_rho()) factor = 1 / scales_[o] / sums_[weights()] / n_output;
        const int64_t first = static_cast<int64_t>(o) * sample.row_stride();
        queue_.parallel_for(n_chunk(sample), [&](int64_t number, int) {
            const int64_t end = std::min(sample.n_point, (number + 1) * chunk);
            for (int64_t i = number * chunk; i < end; ++i) {
                const double e = sample.prediction[first + i] - sample.target[first + i];
                const double w = is_weighted ? sample.weight_of(i) : 1;
                const double derivative = has_rho() ? rho_derivative(e / scales_[o]) : e;
                const double of_grid =
                    derivatives_ ? factor * (recipe_.w11_weight * to[first + i]) : to[first + i];
                to[first + i] = (of_grid + factor * (w * derivative)) * stds_[o];
            }
        });
    }
}

int64_t FieldLoss::bytes() const {
    return sums_.bytes() + static_cast<int64_t>(16 * n_output_);
}

std::unique_ptr<Loss> make_loss(const Recipe& recipe, std::span<const FieldCard> outputs,
                                bool are_probabilities, const kernels::Queue& queue) {
    if (recipe.loss == LossKind::custom) return nullptr;
    if (recipe.loss == LossKind::infonce) return make_pair_loss(recipe, outputs, queue);
    if (uses_classes(recipe.loss))
        return std::make_unique<ClassLoss>(recipe, outputs, are_probabilities, queue);
    return std::make_unique<FieldLoss>(recipe, outputs, queue);
}

}  // namespace surrogate::impl
