// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "tests/libsurrogate/conformance/family_case.hpp"
#include "tests/libsurrogate/conformance/point_array.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/plan_traffic.hpp"

namespace surrogate::test {

/// Domains of a network on one rank's shares. Collective.
class FamilyDomains {
public:
    FamilyDomains(const Context& context, const Model& model, const Tested& tested,
                  const std::string& partition);

    Plan plan(const Model& model, const Options& options) const;
    surrogate_domain* output() const { return has_output_ ? output_.get() : nullptr; }

    const Share in, out;
    const Domain input;

private:
    const Domain output_;
    const bool has_output_;
};

/// A plan of a network on one rank's shares, with arrays for the network's ports and for the fields
/// of its card. Inputs are waves of the points' numbers, so that any partition is the same problem;
/// all are exact in single precision.
class FamilyRun {
public:
    FamilyRun(const Context& context, const Model& model, const Tested& tested,
              const std::string& partition, const Options& options, const Format& format = {});

    FamilyRun(const FamilyRun&) = delete;
    FamilyRun& operator=(const FamilyRun&) = delete;

    bool has_points() const { return domains.in.n() > 0 && domains.out.n() > 0; }
    /// Returns this rank's rows of outputs: of its points, or all rows of clouds or nodes.
    const Share& out() const { return has_rows_ ? rows_ : domains.out; }
    bool has_fields() const { return !outputs.empty(); }

    void fill();
    void bind();
    surrogate_status run() { return surrogate_plan_run(plan.get()); }
    surrogate_status run_network();
    /// The network, then the fields if there are any. The first failure, if any.
    surrogate_status run_all();

    std::vector<surrogate_named_array> arrays(bool are_outputs);

    /// Returns (rows of out(), columns): outputs of the network, then outputs of the card.
    std::vector<double> results() const;
    std::vector<double> network_results() const;
    std::vector<double> field_results() const;
    int64_t n_column() const;
    void forget_results();

    /// Inputs are as fill() has left them, and nothing was written beside points.
    bool is_memory_intact() const;

    FamilyDomains domains;
    Plan plan;
    std::vector<surrogate_port_info> ports;    ///< those that runs are given
    std::vector<PointArray> port_arrays;       ///< as `ports`
    std::vector<std::string> inputs, outputs;  ///< fields to be bound
    PointArray input_fields, output_fields;

private:
    double input_value(size_t port, size_t point, int64_t channel) const;
    double field_value(size_t field, size_t point) const;
    const Share& share_of(size_t port) const;

    std::vector<std::pair<double, double>> scales_;  ///< mean and standard deviation of `inputs`
    bool has_rows_ = false;                          ///< outputs are at clouds or nodes
    Share rows_;                                     ///< these
};

/// Results of one rank for all points.
struct Whole {
    std::vector<double> values;  ///< (points, columns)
    std::vector<double> scale;   ///< largest number of each column

    /// The rows of a share.
    std::vector<double> of(const Share& share) const;
    /// Returns the share that has all rows.
    Share all() const;
    /// Largest difference of `found`, the rows of a share, relative to the scale of the column. NaN
    /// if a value is, infinity if sizes differ.
    double difference(const std::vector<double>& found, const Share& share) const;
};

Whole computed_alone(const std::string& path, const Tested& tested, const Options& options);
/// The same in a context of one rank.
Whole computed_in(const Context& self, const std::string& path, const Tested& tested,
                  const Options& options);

/// A text of the loop over modes, partitions and the like.
std::string trace(const std::string& mode, const std::string& partition);

bool all_nan(const std::vector<double>& values);
bool all_finite(const std::vector<double>& values);

}  // namespace surrogate::test
