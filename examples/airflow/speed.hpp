// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace airflow {

/// The errors of one method against a reference, and its cost.
struct Measurement {
    double error = 0;  ///< relative L2 distance of the pressures
    double seconds = 0;
    double lift_error = 0;  ///< relative
    double drag_error = 0;  ///< force over dynamic pressure, m^2: the exact drag is zero
};

/// The cost of a solver at a given error. If the error is outside its measurements, `seconds` is
/// the nearest one and only a bound.
struct CostAtError {
    enum class Kind { interpolated, upper_bound, lower_bound };
    double seconds = 0;
    Kind kind = Kind::interpolated;
};

/// Interpolates seconds over error, both logarithmic, at the first measurement that is at least as
/// accurate as `error`. `solver` runs from coarse to fine and is not empty. Returns an upper bound
/// if the coarsest measurement is accurate enough, a lower bound if none is.
CostAtError cost_at_error(const std::vector<Measurement>& solver, double error);

/// Interpolates the errors over seconds, likewise logarithmic, between the last measurement within
/// `seconds` and the next one. Outside the range the nearest measurement counts.
Measurement errors_at_cost(const std::vector<Measurement>& solver, double seconds);

/// Returns the median; the mean of the middle two for an even count. `values` is not empty.
double median(std::vector<double> values);

/// A cost model: seconds = linear * n + quadratic * n^2, neither of them negative.
struct CostModel {
    double linear = 0, quadratic = 0;
};

/// Fits the model to seconds at n[k] by least squares of relative errors. Requires at least one n >
/// 0; seconds are above 0.
CostModel fit_cost(const std::vector<double>& n, const std::vector<double>& seconds);

}  // namespace airflow
