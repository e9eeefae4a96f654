// SPDX-License-Identifier: Apache-2.0
#include "speed.hpp"

#include <algorithm>
#include <cmath>

namespace airflow {

CostAtError cost_at_error(const std::vector<Measurement>& solver, double error) {
    const auto fine = std::find_if(solver.begin(), solver.end(),
                                   [&](const Measurement& m) { return m.error <= error; });
    if (fine == solver.begin()) return {fine->seconds, CostAtError::Kind::upper_bound};
    const Measurement& coarse = *(fine - 1);
    if (fine == solver.end()) return {coarse.seconds, CostAtError::Kind::lower_bound};
    const double fraction = std::log(coarse.error / error) / std::log(coarse.error / fine->error);
    return {coarse.seconds * std::pow(fine->seconds / coarse.seconds, fraction)};
}

Measurement errors_at_cost(const std::vector<Measurement>& solver, double seconds) {
    const auto above = std::find_if(solver.begin(), solver.end(),
                                    [&](const Measurement& m) { return m.seconds > seconds; });
    if (above == solver.begin()) return *above;
    const Measurement& below = *(above - 1);
    if (above == solver.end()) return below;
    const double fraction =
        std::log(seconds / below.seconds) / std::log(above->seconds / below.seconds);
    const auto between = [fraction](double from, double to) {
        return std::pow(from, 1 - fraction) * std::pow(to, fraction);
    };
    return {between(below.error, above->error), seconds,
            between(below.lift_error, above->lift_error),
            between(below.drag_error, above->drag_error)};
}

double median(std::vector<double> values) {
    const std::size_t half = values.size() / 2;
    std::sort(values.begin(), values.end());
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

CostModel fit_cost(const std::vector<double>& n, const std::vector<double>& seconds) {
    // Normal equations of linear * p + quadratic * q = 1 with p = n / seconds, q = n^2 / seconds.
    double pp = 0, pq = 0, qq = 0, p1 = 0, q1 = 0;
    for (std::size_t k = 0; k < n.size(); ++k) {
        const double p = n[k] / seconds[k], q = n[k] * p;
        pp += p * p, pq += p * q, qq += q * q, p1 += p, q1 += q;
    }
    const double determinant = pp * qq - pq * pq;
    const double linear = (qq * p1 - pq * q1) / determinant;
    const double quadratic = (pp * q1 - pq * p1) / determinant;
    if (n.size() < 2 || linear < 0) return {0, q1 / qq};
    if (quadratic < 0) return {p1 / pp, 0};
    return {linear, quadratic};
}

}  // namespace airflow
