// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/train/lattice_loss.hpp"
#include "libsurrogate/src/train/sample.hpp"

namespace surrogate::impl {

/// Adds terms of the points of all ranks. The sums do not depend on the order of points, ranks and
/// threads: see ExactGrid.
class TermSums {
public:
    static constexpr int64_t chunk = 1024;  ///< points that a thread takes at once
    static int64_t n_chunk(int64_t n_point) { return (n_point + chunk - 1) / chunk; }

    /// Allocates memory for up to n_max sums.
    TermSums(const kernels::Queue& queue, size_t n_max);

    /// Computes n sums of terms >= 0 over the points of all ranks. Collective, without agreement.
    ///   n_point        points of this rank
    ///   n_term         largest number of terms of a sum on all ranks together
    ///   own            outcome of this rank; terms are not read unless it is `good`
    ///   for_each_term  for_each_term(first, end, use) calls use(sum, term) for the terms of the
    ///                  points first .. end - 1; called twice, by several threads
    ///   grid           adds the last LatticeLoss::n_sum sums if it is not null
    /// Returns the worst outcome of all ranks, not_finite if a term is; the sums are valid if it is
    /// `good`.
    template <class ForEachTerm>
    SampleOutcome compute(Communicator& comm, size_t n, int64_t n_point, int64_t n_term,
                          SampleOutcome own, const ForEachTerm& for_each_term,
                          LatticeLoss* grid = nullptr) {
        begin(n, grid);
        if (own == SampleOutcome::good) {
            for_each_chunk(n_point, [&](int64_t first, int64_t end, int thread) {
                double* const largest = thread_bounds_.data() + static_cast<size_t>(thread) * n;
                // Once NaN, it stays.
                for_each_term(first, end, [&](size_t s, double term) {
                    largest[s] = std::islessequal(term, largest[s]) ? largest[s] : term;
                    if (std::isnan(term)) largest[s] = std::numeric_limits<double>::infinity();
                });
            });
        }
        const SampleOutcome outcome = agree_on_bounds(comm, n_term, own);
        if (outcome != SampleOutcome::good) return outcome;
        const auto stride = static_cast<int64_t>(n);
        for_each_chunk(n_point, [&](int64_t first, int64_t end, int thread) {
            int64_t* const limbs = thread_limbs_.data() + 2 * n * static_cast<size_t>(thread);
            for_each_term(first, end,
                          [&](size_t s, double term) { grids_[s].add(term, limbs + s, stride); });
        });
        reduce(comm);
        return outcome;
    }

    double operator[](size_t sum) const { return sums_[sum]; }
    int64_t bytes() const;

private:
    template <class Work>
    void for_each_chunk(int64_t n_point, const Work& work) const {
        queue_.parallel_for(n_chunk(n_point), [&](int64_t number, int thread) {
            work(number * chunk, std::min(n_point, (number + 1) * chunk), thread);
        });
    }
    void begin(size_t n, LatticeLoss* grid);
    SampleOutcome agree_on_bounds(Communicator& comm, int64_t n_term, SampleOutcome own);
    void reduce(Communicator& comm);

    kernels::Queue queue_;
    size_t n_ = 0;
    LatticeLoss* grid_ = nullptr;
    std::vector<double> bounds_;         // outcome, then (n_sum)
    std::vector<ExactGrid> grids_;       // (n_sum)
    std::vector<double> thread_bounds_;  // (n_thread, n_sum)
    std::vector<int64_t> limbs_;         // (2, n_sum): the second limb behind
    std::vector<int64_t> thread_limbs_;  // (n_thread, 2, n_sum)
    std::vector<double> sums_;           // (n_sum)
};

}  // namespace surrogate::impl
