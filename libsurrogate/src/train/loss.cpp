// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace surrogate::impl {

namespace {

constexpr int64_t chunk = 1024;  // points that a thread takes at once

int64_t n_chunk(const Sample& sample) {
    return (sample.n_point + chunk - 1) / chunk;
}

/// 1 / (a b), and 0 where prediction and target agree: a is 0.
double inverse(double a, double b) {
    return a == 0 ? 0 : 1 / (a * b);
}

}  // namespace

Loss::Loss(const Recipe& recipe, std::span<const FieldCard> outputs, const kernels::Queue& queue)
    : recipe_(recipe), queue_(queue), n_output_(outputs.size()) {
    for (const FieldCard& output : outputs) stds_.push_back(output.std);
    scales_ = stds_;
    const size_t n = lattice() + LatticeLoss::n_sum,
                 n_thread = static_cast<size_t>(queue.n_thread());
    bounds_.resize(n + 1);
    grids_.reserve(n);
    limbs_.resize(2 * n);
    sums_.resize(n);
    thread_bounds_.resize(n * n_thread);
    thread_limbs_.resize(2 * n * n_thread);
}

/// Calls use(sum, term) for the terms of one chunk of the sample.
template <class Use>
void Loss::for_each_term(const Sample& sample, int64_t number, const Use& use) const {
    const int64_t first = number * chunk, end = std::min(sample.n_point, first + chunk);
    const bool has_rho = is(LossKind::l1) || is(LossKind::huber);
    for (size_t o = 0; o < n_output_; ++o) {
        const int64_t begin = static_cast<int64_t>(o) * sample.n_point;
        const double* const p = sample.prediction + begin;
        const double* const t = sample.target + begin;
        for (int64_t i = first; i < end; ++i) {
            const double e = p[i] - t[i], w = sample.weight_of(i);
            use(o, w * (e * e));
            use(targets() + o, w * (t[i] * t[i]));
            if (is(LossKind::mse)) use(plain() + o, e * e);
            if (has_rho) use(plain() + o, w * rho(e / scales_[o]));
        }
    }
    for (int64_t i = first; i < end && has_weighted_mean(); ++i)
        use(weights(), sample.weight_of(i));
}

/// Returns the function of an error, in units of the scale, whose mean is loss l1 or huber.
double Loss::rho(double x) const {
    const double size = std::abs(x), delta = recipe_.huber_delta;
    if (is(LossKind::l1)) return size;
    return size <= delta ? x * x / 2 : delta * (size - delta / 2);
}

/// Returns the derivative of rho; 0 for l1 at x = 0, as PyTorch.
double Loss::rho_derivative(double x) const {
    if (is(LossKind::l1)) return x > 0 ? 1 : x < 0 ? -1 : 0;
    return std::clamp(x, -recipe_.huber_delta, recipe_.huber_delta);
}

/// Largest terms of each sum of this rank, and its outcome if one is not finite.
void Loss::find_bounds(const Sample& sample) {
    const size_t n = n_sum();
    std::ranges::fill(thread_bounds_, 0.0);
    queue_.parallel_for(n_chunk(sample), [&](int64_t number, int thread) {
        double* const largest = thread_bounds_.data() + static_cast<size_t>(thread) * n;
        // Once NaN, it stays.
        for_each_term(sample, number, [&](size_t s, double term) {
            largest[s] = std::islessequal(term, largest[s]) ? largest[s] : term;
            if (std::isnan(term)) largest[s] = std::numeric_limits<double>::infinity();
        });
    });
    double* const bounds = bounds_.data() + 1;
    bool is_finite = true;
    for (size_t i = 0; i < thread_bounds_.size(); ++i) {
        is_finite = is_finite && std::isfinite(thread_bounds_[i]);
        bounds[i % n] = std::max(bounds[i % n], thread_bounds_[i]);
    }
    if (lattice_ && !lattice_->find_bounds(bounds + lattice())) is_finite = false;
    if (!is_finite) bounds_[0] = static_cast<double>(SampleOutcome::not_finite);
}

void Loss::add_up(const Sample& sample) {
    const size_t n = n_sum();
    const auto stride = static_cast<int64_t>(n);
    queue_.parallel_for(n_chunk(sample), [&](int64_t number, int thread) {
        int64_t* const limbs = thread_limbs_.data() + 2 * n * static_cast<size_t>(thread);
        for_each_term(sample, number,
                      [&](size_t s, double term) { grids_[s].add(term, limbs + s, stride); });
    });
    for (size_t i = 0; i < thread_limbs_.size(); ++i) limbs_[i % (2 * n)] += thread_limbs_[i];
    if (lattice_)
        lattice_->add_up(std::span(grids_).subspan(lattice()), limbs_.data() + lattice(), stride);
}

SampleOutcome Loss::measure(Communicator& comm, const Sample& sample, int64_t n_global,
                            SampleOutcome own) {
    const size_t n = n_sum();
    n_global_ = n_global;
    if (lattice_) lattice_->bring(queue_, sample, own == SampleOutcome::good);
    std::ranges::fill(bounds_, 0.0);
    if (own == SampleOutcome::good) find_bounds(sample);
    bounds_[0] = std::max(bounds_[0], static_cast<double>(own));
    comm.all_reduce_max(std::span(bounds_).first(n + 1));
    const auto outcome = static_cast<SampleOutcome>(static_cast<int>(bounds_[0]));
    if (outcome != SampleOutcome::good) return outcome;
    grids_.clear();
    const int64_t n_term = std::max<int64_t>(1, n_global * static_cast<int64_t>(n_output_));
    for (size_t s = 0; s < n; ++s) grids_.emplace_back(n_term, bounds_[s + 1]);
    std::ranges::fill(thread_limbs_, 0);
    std::ranges::fill(limbs_, 0);
    add_up(sample);
    comm.all_reduce_sum(std::span(limbs_).first(2 * n));
    for (size_t s = 0; s < n; ++s)
        sums_[s] = grids_[s].value(limbs_.data() + s, static_cast<int64_t>(n));
    return outcome;
}

double Loss::over_outputs(size_t first) const {
    double sum = 0;
    for (size_t o = 0; o < n_output_; ++o) sum += sums_[first + o];
    return sum;
}

/// sqrt(sum of the error) / sqrt(sum of the target).
double Loss::norm_ratio(size_t error, size_t target) const {
    if (sums_[target] > 0) return std::sqrt(sums_[error]) / std::sqrt(sums_[target]);
    throw Error(Status::not_finite,
                "the differences of the sample's target are zero everywhere on the grid; a "
                "relative loss divides by them");
}

double Loss::value() const {
    const auto n_output = static_cast<double>(n_output_);
    double sum = 0;
    switch (recipe_.loss) {
        case LossKind::mse:
            for (size_t o = 0; o < n_output_; ++o)
                sum += sums_[plain() + o] / (stds_[o] * stds_[o]);
            if (n_global_ > 0) return sum / (static_cast<double>(n_global_) * n_output);
            throw Error(Status::not_finite, "the sample has no points, and no mean over them");
        case LossKind::weighted_mse:
        case LossKind::l1:
        case LossKind::huber:
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

double Loss::error(size_t output) const {
    if (sums_[output] == 0) return 0;
    if (sums_[targets() + output] == 0) return std::numeric_limits<double>::infinity();
    return std::sqrt(sums_[output]) / std::sqrt(sums_[targets() + output]);
}

void Loss::gradient(const Sample& sample, double* to) const {
    const double relative = inverse(std::sqrt(over_outputs(0)), std::sqrt(over_outputs(targets())));
    const auto n_output = static_cast<double>(n_output_);
    const bool is_weighted = !is(LossKind::mse);
    const bool has_rho = is(LossKind::l1) || is(LossKind::huber);
    std::fill_n(to, static_cast<int64_t>(n_output_) * sample.n_point, 0.0);
    if (lattice_) {
        const auto factor = [&](size_t s) {
            return recipe_.gradient_weight *
                   inverse(std::sqrt(sums_[lattice() + s]), std::sqrt(sums_[lattice() + s + 1]));
        };
        lattice_->add_gradient(factor(0), factor(2), to);
    }
    for (size_t o = 0; o < n_output_; ++o) {
        double factor = relative;
        if (is(LossKind::mse))
            factor = 2 / (stds_[o] * stds_[o]) / (static_cast<double>(n_global_) * n_output);
        if (is(LossKind::weighted_mse))
            factor = 2 / (scales_[o] * scales_[o]) / sums_[weights()] / n_output;
        if (has_rho) factor = 1 / scales_[o] / sums_[weights()] / n_output;
        const int64_t first = static_cast<int64_t>(o) * sample.n_point;
        queue_.parallel_for(n_chunk(sample), [&](int64_t number, int) {
            const int64_t end = std::min(sample.n_point, (number + 1) * chunk);
            for (int64_t i = number * chunk; i < end; ++i) {
                const double e = sample.prediction[first + i] - sample.target[first + i];
                const double w = is_weighted ? sample.weight_of(i) : 1;
                const double derivative = has_rho ? rho_derivative(e / scales_[o]) : e;
                to[first + i] = (to[first + i] + factor * (w * derivative)) * stds_[o];
            }
        });
    }
}

int64_t Loss::bytes() const {
    const size_t n = bounds_.size() + 2 * limbs_.size() + sums_.size() + thread_bounds_.size() +
                     thread_limbs_.size() + 2 * n_output_;
    return static_cast<int64_t>(8 * n + sizeof(ExactGrid) * grids_.capacity());
}

}  // namespace surrogate::impl
