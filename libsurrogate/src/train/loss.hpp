// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/file/card.hpp"
#include "libsurrogate/src/train/lattice_loss.hpp"
#include "libsurrogate/src/train/sample.hpp"
#include "libsurrogate/src/train/settings.hpp"
#include "libsurrogate/src/train/sphere_derivatives.hpp"
#include "libsurrogate/src/train/term_sums.hpp"

namespace surrogate::impl {

/// Loss of a sample's predictions over all ranks that share it, and its gradient.
class Loss {
public:
    virtual ~Loss() = default;

    /// Computes the sums of a sample of n_global points on all ranks. own: outcome of this rank;
    /// the sample of a rank is not read unless it is `good`. Returns the worst outcome of all
    /// ranks; the sums are valid if it is `good`. Collective, without agreement.
    virtual SampleOutcome measure(Communicator& comm, const Sample& sample, int64_t n_global,
                                  SampleOutcome own) = 0;

    /// Returns the loss of the last sample whose outcome was good. Throws not_finite, on all ranks,
    /// if the loss is undefined.
    virtual double value() const = 0;

    /// Returns the error of one output of the sample; see the classes.
    virtual double error(size_t output) const = 0;

    /// Writes d value / d(output of the network) of the same sample to `to` (n_output, n_point).
    /// Collective, without agreement; after value().
    virtual void gradient(const Sample& sample, double* to) const = 0;

    virtual int64_t bytes() const = 0;
};

/// Losses of fields. With e = prediction - target at a point, in units of the fields, w its weight:
///   relative_l2   sqrt(sum w e^2) / sqrt(sum w target^2), all outputs together
///   mse           mean of (e / std)^2 over points and outputs
///   weighted_mse  mean over outputs of sum w (e / scale)^2 / sum w
///   gradient_l2   relative_l2 plus the terms of LatticeLoss
///   l1, huber     mean over outputs of sum w rho(e / scale) / sum w; rho(x) is |x|, or x^2 / 2 up
///                 to delta and delta (|x| - delta / 2) beyond
///   l1_w11        l1 plus w11_weight times the mean of the derivatives of SphereDerivatives
class FieldLoss final : public Loss {
public:
    /// Allocates all memory.
    FieldLoss(const Recipe& recipe, std::span<const FieldCard> outputs,
              const kernels::Queue& queue);

    void set_scale(size_t output, double scale) { scales_[output] = scale; }
    /// Sets the grid of gradient_l2, which must outlive the calls below.
    void set_lattice(LatticeLoss* lattice) { lattice_ = lattice; }
    /// Sets the grid of l1_w11, which must outlive the calls below.
    void set_derivatives(SphereDerivatives* derivatives) { derivatives_ = derivatives; }

    SampleOutcome measure(Communicator& comm, const Sample& sample, int64_t n_global,
                          SampleOutcome own) override;
    /// Returns the loss. A relative loss is undefined if the target is zero.
    double value() const override;
    /// Returns sqrt(sum w e^2) / sqrt(sum w target^2) of one output; infinite if only the target is
    /// zero.
    double error(size_t output) const override;
    /// Computes the gradient, which is 0 where prediction and target agree everywhere.
    void gradient(const Sample& sample, double* to) const override;
    int64_t bytes() const override;

private:
    // Sums: w e^2 and w target^2 of each output. If the loss uses them: e^2 or w rho of each
    // output, and w, then the sums of the structured grid.
    size_t targets() const { return n_output_; }
    size_t plain() const { return 2 * n_output_; }
    size_t weights() const { return 3 * n_output_; }
    size_t lattice() const { return 3 * n_output_ + 1; }
    size_t n_sum() const { return lattice() + (lattice_ ? LatticeLoss::n_sum : 0); }
    bool is(LossKind kind) const { return recipe_.loss == kind; }
    bool has_absolute() const { return is(LossKind::l1) || is(LossKind::l1_w11); }
    bool has_rho() const { return has_absolute() || is(LossKind::huber); }
    /// Loss that averages a function of each error with the weights of points.
    bool has_weighted_mean() const { return is(LossKind::weighted_mse) || has_rho(); }
    double rho(double x) const;
    double rho_derivative(double x) const;
    double over_outputs(size_t first) const;
    double norm_ratio(size_t error, size_t target) const;
    template <class Use>
    void for_each_term(const Sample& sample, int64_t first, int64_t end, const Use& use) const;

    Recipe recipe_;
    kernels::Queue queue_;
    size_t n_output_;
    std::vector<double> stds_, scales_;  // (n_output)
    LatticeLoss* lattice_ = nullptr;
    SphereDerivatives* derivatives_ = nullptr;
    int64_t n_global_ = 0;
    TermSums sums_;
};

/// Losses of classes: the outputs of the network are logits of C classes, the target is a label y
/// per point. With p = softmax(logits), weight w of a point, class weights v, smoothing s:
///   cross_entropy  sum w ((1 - s) v_y (-log p_y) + s / C sum_c v_c (-log p_c)) / sum w v_y
///   focal          sum w v_y alpha (1 - p_y)^gamma (-log p_y) / sum w v_y
/// A single output is the logit of class 1 of two, and the logit of class 0 is 0: p_1 is the
/// sigmoid of the output. It may also be p_1 itself. The -log p of focal is then at most 100.
/// Points with negative labels are ignored. Sources: torch.nn.functional.cross_entropy and
/// binary_cross_entropy_with_logits; specs of the sphere's models and of HEPT, section 7.
class ClassLoss final : public Loss {
public:
    /// Allocates all memory. are_probabilities: of the single output.
    ClassLoss(const Recipe& recipe, std::span<const FieldCard> outputs, bool are_probabilities,
              const kernels::Queue& queue);

    /// Sets the weights of classes, (n_class), >= 0.
    void set_class_weights(std::span<const double> weights);

    SampleOutcome measure(Communicator& comm, const Sample& sample, int64_t n_global,
                          SampleOutcome own) override;
    /// Returns the loss, which is undefined if the weights of all points are zero.
    double value() const override;
    /// Returns the fraction of the weight of the points of a class that is predicted as another
    /// class, of all points if there is one output; NaN if there are none.
    double error(size_t output) const override;
    void gradient(const Sample& sample, double* to) const override;
    int64_t bytes() const override;

private:
    // Sums: weight of wrong points by class, weight of all points by class, numerator, denominator.
    size_t points() const { return n_class_; }
    size_t numerator() const { return 2 * n_class_; }
    size_t denominator() const { return 2 * n_class_ + 1; }
    template <class Use>
    void for_each_term(const Sample& sample, int64_t first, int64_t end, const Use& use) const;

    bool is_binary() const { return n_output_ == 1; }
    double rho(double b) const;
    double rho_derivative(double b) const;

    Recipe recipe_;
    kernels::Queue queue_;
    size_t n_output_, n_class_;
    bool are_probabilities_;
    std::vector<double> stds_;           // (n_output)
    std::vector<double> class_weights_;  // (n_class)
    TermSums sums_;
};

/// Creates the loss of a recipe; null for loss=custom. are_probabilities: see ClassLoss.
std::unique_ptr<Loss> make_loss(const Recipe& recipe, std::span<const FieldCard> outputs,
                                bool are_probabilities, const kernels::Queue& queue);

}  // namespace surrogate::impl
