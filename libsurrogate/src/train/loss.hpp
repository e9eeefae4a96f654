// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/train/lattice_loss.hpp"
#include "libsurrogate/src/train/sample.hpp"
#include "libsurrogate/src/train/settings.hpp"

namespace surrogate::impl {

/// Loss of a sample's predictions over all ranks that share it, and the
/// gradient. Sums over points do not depend on the order of points, ranks and threads: see
/// ExactGrid. With e = prediction - target at a point, in units of the fields, w its weight:
///   relative_l2      sqrt(sum w e^2) / sqrt(sum w target^2), all outputs together
///   mse      mean of (e / std)^2 over points and outputs
///   weighted_mse  mean over outputs of sum w (e / scale)^2 / sum w
///   gradient_l2      relative_l2 and what LatticeLoss adds
///   l1, huber        mean over outputs of sum w rho(e / scale) / sum w; rho(x) is |x|, or x^2 / 2
///                    up to delta and delta (|x| - delta / 2) beyond
///   custom           none: the caller computes loss and gradient, the functions below do not apply
class Loss {
public:
    /// Takes all memory there is to take.
    Loss(const Recipe& recipe, std::span<const FieldCard> outputs, const kernels::Queue& queue);

    void set_scale(size_t output, double scale) { scales_[output] = scale; }
    /// gradient_l2; must outlive the calls below.
    void set_lattice(LatticeLoss* lattice) { lattice_ = lattice; }

    /// Collective, without agreement: sums of the sample over all ranks, of n_global points. own:
    /// what this rank knows against it; a rank whose outcome is not `good` gives a sample that is
    /// not read. Returns the worst outcome of all ranks; the sums are there if it is `good`.
    SampleOutcome measure(Communicator& comm, const Sample& sample, int64_t n_global,
                          SampleOutcome own);

    /// Returns the loss of the last sample whose outcome was good. Throws not_finite, on all ranks
    /// alike, if a relative loss has nothing to divide by.
    double value() const;
    /// sqrt(sum w e^2) / sqrt(sum w target^2) of one output; infinite if only the target is zero.
    double error(size_t output) const;

    /// d value / d(output of the network) of the same sample to `to` (n_output, n_point). 0 where
    /// prediction and target agree everywhere. Collective, without agreement; after value().
    void gradient(const Sample& sample, double* to) const;

    int64_t bytes() const;

private:
    // Sums: w e^2 and w target^2 of each output. If the loss uses them: e^2 or w rho of each
    // output, and w, then the sums of the structured grid.
    size_t targets() const { return n_output_; }
    size_t plain() const { return 2 * n_output_; }
    size_t weights() const { return 3 * n_output_; }
    size_t lattice() const { return 3 * n_output_ + 1; }
    size_t n_sum() const { return lattice() + (lattice_ ? LatticeLoss::n_sum : 0); }
    bool is(LossKind kind) const { return recipe_.loss == kind; }
    /// Loss that averages a function of each error with the weights of points.
    bool has_weighted_mean() const {
        return is(LossKind::weighted_mse) || is(LossKind::l1) || is(LossKind::huber);
    }
    double rho(double x) const;
    double rho_derivative(double x) const;
    double over_outputs(size_t first) const;
    double norm_ratio(size_t error, size_t target) const;
    template <class Use>
    void for_each_term(const Sample& sample, int64_t number, const Use& use) const;
    void find_bounds(const Sample& sample);
    void add_up(const Sample& sample);

    Recipe recipe_;
    kernels::Queue queue_;
    size_t n_output_;
    std::vector<double> stds_, scales_;  // (n_output)
    LatticeLoss* lattice_ = nullptr;
    int64_t n_global_ = 0;
    std::vector<double> bounds_;         // outcome, then (n_sum)
    std::vector<ExactGrid> grids_;       // (n_sum)
    std::vector<double> thread_bounds_;  // (n_thread, n_sum)
    std::vector<int64_t> limbs_;         // (2, n_sum): the second limb behind
    std::vector<int64_t> thread_limbs_;  // (n_thread, 2, n_sum)
    std::vector<double> sums_;           // (n_sum)
};

}  // namespace surrogate::impl
