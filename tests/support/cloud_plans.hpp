// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "tests/support/ranks.hpp"

namespace surrogate::test {

/// Points of several clouds, the same list on all ranks: rows with coordinates and features by
/// formula.
struct Clouds {
    std::vector<int64_t> of_row;  ///< cloud of each row
    int64_t n_axis = 2;
    bool has_ids = true;  ///< the id of a row is its number

    /// Rows in the order of their clouds.
    static Clouds of_sizes(const std::vector<int64_t>& sizes) {
        Clouds clouds;
        for (size_t c = 0; c < sizes.size(); ++c)
            clouds.of_row.insert(clouds.of_row.end(), static_cast<size_t>(sizes[c]),
                                 static_cast<int64_t>(c));
        return clouds;
    }

    int64_t n() const { return std::ssize(of_row); }
    int64_t n_cloud() const {
        return of_row.empty() ? 1 : 1 + *std::max_element(of_row.begin(), of_row.end());
    }
    std::vector<int64_t> rows_of(int64_t cloud) const {
        std::vector<int64_t> rows;
        for (int64_t i = 0; i < n(); ++i)
            if (of_row[static_cast<size_t>(i)] == cloud) rows.push_back(i);
        return rows;
    }
    static double value(int64_t row, int64_t column, double phase) {
        const double r = static_cast<double>(row), c = static_cast<double>(column);
        return static_cast<double>(static_cast<float>(std::sin((1.3 + 0.8 * c) * r + phase + c)));
    }
};

/// Some rows of a list in a domain. With `as_one`, of one cloud.
class CloudRows {
public:
    CloudRows(const Clouds& clouds, std::vector<int64_t> rows, bool as_one = false)
        : rows_(std::move(rows)), n_axis_(clouds.n_axis), has_ids_(clouds.has_ids) {
        for (const int64_t row : rows_) {
            clouds_.push_back(as_one ? 0 : clouds.of_row[static_cast<size_t>(row)]);
            for (int64_t axis = 0; axis < n_axis_; ++axis)
                x_.push_back(Clouds::value(row, axis, 0.1));
        }
    }

    surrogate_points points() const {
        static const int64_t none = 0;  // a rank without points still says what points have
        const int64_t* const ids = rows_.empty() ? &none : rows_.data();
        return {matrix(x_.data(), n(), n_axis_), has_ids_ ? ids : nullptr,
                clouds_.empty() ? &none : clouds_.data(), nullptr};
    }
    int64_t n() const { return std::ssize(rows_); }
    const std::vector<int64_t>& rows() const { return rows_; }

private:
    std::vector<int64_t> rows_, clouds_;
    int64_t n_axis_;
    bool has_ids_;
    std::vector<double> x_;
};

/// A run of the bare network on rows, with features by formula.
class CloudRun {
public:
    CloudRun(const Model& model, const CloudRows& rows, int64_t n_cloud)
        : ports_(model.ports()), n_cloud_(n_cloud) {
        set_rows(rows);
    }

    void set_rows(const CloudRows& rows) {
        n_ = rows.n();
        arrays_.assign(ports_.size(), {});
        for (size_t p = 0; p < ports_.size(); ++p) {
            const surrogate_port_info& port = ports_[p];
            const bool is_of_clouds = port.location == SURROGATE_ON_CLOUDS;
            arrays_[p].assign(static_cast<size_t>((is_of_clouds ? n_cloud_ : n_) * port.n_channel),
                              NAN);
            if (port.is_output) continue;
            for (int64_t i = 0; i < n_; ++i)
                for (int64_t c = 0; c < port.n_channel; ++c)
                    at(p, i, c) = Clouds::value(rows.rows()[static_cast<size_t>(i)], c + 5,
                                                static_cast<double>(p));
        }
        list_arrays();
    }

    /// Element (i, c) of a port.
    double& at(size_t port, int64_t i, int64_t c) {
        return arrays_[port][static_cast<size_t>(i * ports_[port].n_channel + c)];
    }
    size_t first_input() const { return port_at(0, SURROGATE_ON_INPUT); }

    surrogate_status run(Plan& plan) {
        return surrogate_plan_run_network(plan.get(), static_cast<int32_t>(inputs_.size()),
                                          inputs_.data(), static_cast<int32_t>(outputs_.size()),
                                          outputs_.data());
    }
    /// Row `i` of all outputs at points, and row `cloud` of all outputs at clouds.
    std::vector<double> results(int64_t i, int64_t cloud) {
        std::vector<double> list;
        for (size_t p = 0; p < ports_.size(); ++p) {
            if (!ports_[p].is_output) continue;
            const int64_t row = ports_[p].location == SURROGATE_ON_CLOUDS ? cloud : i;
            for (int64_t c = 0; c < ports_[p].n_channel; ++c) list.push_back(at(p, row, c));
        }
        return list;
    }

private:
    size_t port_at(int is_output, int location) const {
        size_t p = 0;
        while (ports_[p].is_output != is_output || ports_[p].location != location) ++p;
        return p;
    }
    void list_arrays() {
        inputs_.clear();
        outputs_.clear();
        for (size_t p = 0; p < ports_.size(); ++p) {
            const surrogate_port_info& port = ports_[p];
            if (port.location == SURROGATE_COORDINATES) continue;
            const int64_t n_row = port.location == SURROGATE_ON_CLOUDS ? n_cloud_ : n_;
            (port.is_output ? outputs_ : inputs_)
                .push_back({port.name, matrix(arrays_[p].data(), n_row, port.n_channel)});
        }
    }

    std::vector<surrogate_port_info> ports_;
    int64_t n_cloud_, n_ = 0;
    std::vector<std::vector<double>> arrays_;  // (ports)
    std::vector<surrogate_named_array> inputs_, outputs_;
};

/// Results of each row, of plans of its cloud alone on one rank.
class CloudsAlone {
public:
    CloudsAlone(const std::string& file, const Clouds& clouds, const Options& options) {
        const Context context(Options{});
        const Model model(context, file);
        for (int64_t cloud = 0; cloud < clouds.n_cloud(); ++cloud) {
            const CloudRows rows(clouds, clouds.rows_of(cloud), true);
            if (rows.n() == 0) continue;
            const Domain domain(context, rows.points());
            Plan plan(model, domain, options);
            CloudRun alone(model, rows, 1);
            check(alone.run(plan));
            for (int64_t i = 0; i < rows.n(); ++i)
                of_row_[rows.rows()[static_cast<size_t>(i)]] = alone.results(i, 0);
        }
    }
    const std::vector<double>& of_row(int64_t row) const { return of_row_.at(row); }

private:
    std::map<int64_t, std::vector<double>> of_row_;
};

/// Expects that a run has the results of plans of each cloud alone. tolerance: relative to 1; 0:
/// bitwise.
inline void expect_clouds_alone(const CloudsAlone& alone, const Clouds& clouds,
                                const CloudRows& own, CloudRun& run, double tolerance) {
    for (int64_t i = 0; i < own.n(); ++i) {
        const int64_t row = own.rows()[static_cast<size_t>(i)];
        const int64_t cloud = clouds.of_row[static_cast<size_t>(row)];
        const std::vector<double> found = run.results(i, cloud), &expected = alone.of_row(row);
        for (size_t c = 0; c < expected.size(); ++c) {
            const double most = tolerance * std::max(1.0, std::abs(expected[c]));
            if (std::abs(found[c] - expected[c]) <= most) continue;
            ADD_FAILURE() << "row " << row << " of cloud " << cloud << ", result " << c << ": "
                          << found[c] << ", alone " << expected[c];
            return;
        }
    }
}

/// Expects that a plan of all clouds on the ranks of `comm` has the results of plans of each cloud
/// alone. `rows`: of this rank.
inline void expect_plans_of_each_cloud(const std::string& file, const Clouds& clouds,
                                       const std::vector<int64_t>& rows, const Options& options,
                                       const CloudsAlone& alone, double tolerance, MPI_Comm comm) {
    const Context context = mpi_context(comm);
    const Model model(context, file);
    const CloudRows own(clouds, rows);
    const Domain domain(context, own.points());
    Plan plan(model, domain, options);
    CloudRun run(model, own, clouds.n_cloud());
    EXPECT_EQ(run.run(plan), SURROGATE_SUCCESS) << surrogate_error(nullptr);
    expect_clouds_alone(alone, clouds, own, run, tolerance);
}

}  // namespace surrogate::test
