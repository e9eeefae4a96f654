// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::test {

inline const char* const darcy_model = SURROGATE_SHARE "/models/darcy_flow.safetensors";

/// 0 .. n - 1
inline std::vector<int64_t> first_rows(int64_t n) {
    std::vector<int64_t> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    return rows;
}

/// Points of the unit square with a mobility, for the model darcy_flow. The points are the given
/// rows of one endless list, so that any partition of the rows describes the same points. All
/// values are exact in single precision.
struct DarcyCase {
    std::vector<int64_t> ids;
    std::vector<double> x;  // (n, 2)
    std::vector<double> mobility, pressure;

    explicit DarcyCase(std::vector<int64_t> rows) : ids(std::move(rows)) {
        for (int64_t row : ids) {
            const double r = static_cast<double>(row);
            x.push_back(
                exact(std::fmod(0.5 + 0.7548776662466927 * r, 1.0)));  // Roberts' R2 sequence
            x.push_back(exact(std::fmod(0.5 + 0.5698402909980532 * r, 1.0)));
            mobility.push_back(exact(7.5 + 4.5 * std::sin(0.37 * r)));
        }
        pressure.assign(ids.size(), -1.0);
    }

    int64_t n() const { return std::ssize(ids); }

    surrogate_points points(bool with_ids = true) const {
        return {matrix(x.data(), n(), 2), with_ids ? ids.data() : nullptr, nullptr, nullptr};
    }
    Domain domain(const Context& context, bool with_ids = true) const {
        return Domain(context, points(with_ids));
    }
    void bind(Plan& plan) {
        plan.bind_input("mobility", column(mobility.data(), n()), "m^2/(Pa s)");
        plan.bind_output("pressure", column(pressure.data(), n()), "Pa");
    }

private:
    static double exact(double value) { return static_cast<double>(static_cast<float>(value)); }
};

/// Predictions of a case by a plan made for it. Collective.
inline std::vector<double> predict(const Model& model, const Context& context, DarcyCase points,
                                   const Options& options = {}) {
    const Domain domain = points.domain(context);
    Plan plan(model, domain, options);
    points.bind(plan);
    plan.run();
    return points.pressure;
}

/// Largest difference of two predictions, relative to the largest value.
inline double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double difference = a.size() == b.size() ? 0 : INFINITY, scale = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        difference = std::max(difference, std::abs(a[i] - b[i]));
        scale = std::max(scale, std::abs(b[i]));
        if (std::isnan(a[i] - b[i])) return NAN;
    }
    return scale > 0 ? difference / scale : difference;
}

/// Results of different orders of summation differ by less than this in single precision, relative
/// to the largest.
constexpr double order_tolerance = 1e-5;

}  // namespace surrogate::test
