// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace airflow {

/// The error of one method against a reference, and its cost.
struct Measurement {
    double error = 0;  ///< relative L2 distance
    double seconds = 0;
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
