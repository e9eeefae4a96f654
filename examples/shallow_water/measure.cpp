// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <cmath>

namespace shallow_water {

namespace {

/// Returns the fraction of the sphere that a point of this rank's row represents.
double weight_of(Solver& solver, int64_t local_row) {
    const Layout& layout = solver.layout();
    const auto row = static_cast<std::size_t>(layout.first_row() + local_row);
    return solver.transform().latitudes().weight[row] / double(2 * layout.resolution().n_lon);
}

}  // namespace

Budget budget_of(Solver& solver, const Fields& fields) {
    const Layout& layout = solver.layout();
    const auto n = static_cast<std::size_t>(layout.n_point());
    const auto n_lon = static_cast<std::size_t>(layout.resolution().n_lon);
    State state = solver.new_state();
    std::vector<double> u(2 * n);
    solver.to_state(fields, &state);
    solver.velocity(state, u.data());
    std::vector<double> per_row(static_cast<std::size_t>(2 * layout.n_row()));
    for (std::size_t i = 0; i < n; ++i) {
        const double weight = weight_of(solver, int64_t(i / n_lon));
        const double depth = fields[i] / Planet::gravity;
        const double speed2 = u[i] * u[i] + u[n + i] * u[n + i];
        per_row[2 * (i / n_lon)] += weight * depth;
        per_row[2 * (i / n_lon) + 1] += weight * depth * 0.5 * (speed2 + fields[i]);
    }
    const std::vector<double> sum = layout.sum_rows(per_row, 2);
    return {sum[0], sum[1]};
}

PerField relative_l2(Solver& solver, const Fields& fields, const Fields& truth,
                     const PerField& mean) {
    const Layout& layout = solver.layout();
    const auto n = static_cast<std::size_t>(layout.n_point());
    const auto n_lon = static_cast<std::size_t>(layout.resolution().n_lon);
    std::vector<double> per_row(static_cast<std::size_t>(2 * n_field * layout.n_row()));
    for (std::size_t f = 0; f < n_field; ++f)
        for (std::size_t i = 0; i < n; ++i) {
            const double weight = weight_of(solver, int64_t(i / n_lon));
            const double error = fields[f * n + i] - truth[f * n + i];
            const double size = truth[f * n + i] - mean[f];
            double* sum = &per_row[2 * (n_field * (i / n_lon) + f)];
            sum[0] += weight * error * error;
            sum[1] += weight * size * size;
        }
    const std::vector<double> sum = layout.sum_rows(per_row, 2 * n_field);
    PerField distance;
    for (std::size_t f = 0; f < n_field; ++f)
        distance[f] = std::sqrt(sum[2 * f]) / std::sqrt(sum[2 * f + 1]);
    return distance;
}

}  // namespace shallow_water
