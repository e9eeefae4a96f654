// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/term_sums.hpp"

namespace surrogate::impl {

TermSums::TermSums(const kernels::Queue& queue, size_t n_max) : queue_(queue) {
    const auto n_thread = static_cast<size_t>(queue.n_thread());
    bounds_.resize(n_max + 1);
    grids_.reserve(n_max);
    limbs_.resize(2 * n_max);
    sums_.resize(n_max);
    thread_bounds_.resize(n_max * n_thread);
    thread_limbs_.resize(2 * n_max * n_thread);
}

void TermSums::begin(size_t n, LatticeLoss* grid) {
    n_ = n;
    grid_ = grid;
    std::ranges::fill(bounds_, 0.0);
    std::ranges::fill(thread_bounds_, 0.0);
}

/// Reduces the largest terms and the outcomes of all ranks, and prepares the sums.
SampleOutcome TermSums::agree_on_bounds(Communicator& comm, int64_t n_term, SampleOutcome own) {
    double* const bounds = bounds_.data() + 1;
    bool is_finite = true;
    for (size_t i = 0; i < n_ * static_cast<size_t>(queue_.n_thread()); ++i) {
        is_finite = is_finite && std::isfinite(thread_bounds_[i]);
        bounds[i % n_] = std::max(bounds[i % n_], thread_bounds_[i]);
    }
    const bool is_good = own == SampleOutcome::good;
    if (grid_ && is_good && !grid_->find_bounds(bounds + n_ - LatticeLoss::n_sum))
        is_finite = false;
    if (!is_finite) bounds_[0] = static_cast<double>(SampleOutcome::not_finite);
    bounds_[0] = std::max(bounds_[0], static_cast<double>(own));
    comm.all_reduce_max(std::span(bounds_).first(n_ + 1));
    const auto outcome = static_cast<SampleOutcome>(static_cast<int>(bounds_[0]));
    grids_.clear();
    if (outcome != SampleOutcome::good) return outcome;
    for (size_t s = 0; s < n_; ++s)
        grids_.emplace_back(std::max<int64_t>(1, n_term), bounds_[s + 1]);
    std::ranges::fill(thread_limbs_, 0);
    std::ranges::fill(limbs_, 0);
    return outcome;
}

/// Adds the sums of threads and ranks.
void TermSums::reduce(Communicator& comm) {
    const auto stride = static_cast<int64_t>(n_);
    for (size_t i = 0; i < 2 * n_ * static_cast<size_t>(queue_.n_thread()); ++i)
        limbs_[i % (2 * n_)] += thread_limbs_[i];
    if (grid_) {
        const size_t first = n_ - LatticeLoss::n_sum;
        grid_->add_up(std::span(grids_).subspan(first), limbs_.data() + first, stride);
    }
    comm.all_reduce_sum(std::span(limbs_).first(2 * n_));
    for (size_t s = 0; s < n_; ++s) sums_[s] = grids_[s].value(limbs_.data() + s, stride);
}

int64_t TermSums::bytes() const {
    const size_t n = bounds_.size() + limbs_.size() + sums_.size() + thread_bounds_.size() +
                     thread_limbs_.size();
    return static_cast<int64_t>(8 * n + sizeof(ExactGrid) * grids_.capacity());
}

}  // namespace surrogate::impl
