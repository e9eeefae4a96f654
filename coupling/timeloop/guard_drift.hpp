// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/timeloop/exact_sum.hpp"
#include "coupling/timeloop/fields.hpp"
#include "coupling/timeloop/guard.hpp"
#include "coupling/timeloop/point_weights.hpp"
#include "coupling/timeloop/snapshot.hpp"

namespace surrogate::timeloop {

/// Checks integrals of outputs that steps must keep; see surrogate_timeloop_conserve.
class DriftGuard final : public Guard {
public:
    DriftGuard(Fields* fields, const PointWeights* points);
    const char* name() const override { return "drift"; }
    bool can_correct() const override { return true; }

    /// Declares an integral. Errors: see surrogate_timeloop_conserve. Collective; errors are the
    /// same on all ranks.
    void declare(surrogate_context* context, const char* name, const char* field,
                 const double* weight, double tolerance);
    void add_source(const char* name, double amount);

    /// Returns true if an integral has no value yet. Its value is then computed from the output's
    /// array, as a sum over the ranks of their own sums.
    bool needs_values() const;
    int64_t n_value() const;
    void write_values(double* sums);
    void take_values(const double* sums);

    /// Sets the fraction of the step, 0 .. 1, at which the next evaluation ends.
    void set_progress(double progress) { progress_ = progress; }
    /// Sets the sum of the domain's weights. Must be called before judge().
    void set_total(double total) { total_ = total; }
    void begin() override;
    void look_at_output(size_t field, int64_t first, std::span<double> values) override;
    int64_t n_sum() const override;
    void write_sums(double* sums) override;
    Finding judge(const double* sums) override;
    void describe(const Finding& finding, char* text, size_t size) const override;

    /// Projects the predictions of the integrals that judge() found changed.
    void correct();
    /// Adds the sources to the expected values, after a step of the surrogate.
    void accept();
    /// Discards the expected values, after a step that the solver made. They are computed again
    /// before the next step.
    void forget();

    /// Throws SHAPE unless the weights that were set fit the current output domain.
    void require_weights() const;
    void save(std::vector<ExpectedIntegral>* expected) const;
    void load(const std::vector<ExpectedIntegral>& expected);

private:
    struct Integral {
        ExpectedIntegral expected;
        size_t output;
        std::vector<double> weights;  // (n_local), if has_weights; else weights of the domain
        bool has_weights;
        double total;  // sum of the weights
        double tolerance, source = 0;
        ExactSum sum;
        int64_t n_bad = 0;  // values that are too large to be added
        double shift = 0;
    };
    const double* weights_of(const Integral& integral) const;
    Finding judge(Integral* integral, const double* sums) const;

    Fields* fields_;
    const PointWeights* points_;
    std::vector<Integral> integrals_;
    double progress_ = 1, total_ = 0;
};

}  // namespace surrogate::timeloop
