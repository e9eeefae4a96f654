// SPDX-License-Identifier: Apache-2.0
// A first result: the pressure of two fluids in a porous square, from a trained network instead of
// a linear solve.
//
//   build   cmake -S examples/01_first_result -B first -DCMAKE_PREFIX_PATH=PREFIX
//           cmake --build first
//           with libsurrogate installed in PREFIX
//   run     first/first_result [cells per side, default 40]
//   prints  pressure on 40 x 40 cells: 6.19e-05 .. 0.0194 Pa, mean 0.0108 Pa,
//           center (0.5004, 0.5010) m
//
// A round drop of the mobile fluid is in the middle of the square, so the true pressure is
// symmetric and its center is (0.5, 0.5). The network does not contain this symmetry: a center near
// (0.5, 0.5) is a first check that its inputs are correct.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <surrogate/surrogate.hpp>
#include <vector>

int main(int argc, char** argv) try {
    const int n = argc > 1 ? std::atoi(argv[1]) : 40;

    // 1. Create the fields of a solver: cell centers of the unit square in m, mobility in m^2/(Pa
    // s).
    std::vector<double> x, mobility;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            const double x0 = (i + 0.5) / n, x1 = (j + 0.5) / n;
            x.insert(x.end(), {x0, x1});
            mobility.push_back(std::hypot(x0 - 0.5, x1 - 0.5) < 0.25 ? 12 : 3);
        }
    }
    const auto n_point = static_cast<int64_t>(mobility.size());
    std::vector<double> pressure(mobility.size());

    // 2. Create a context, load the trained model, and describe the points.
    const surrogate::Context context;
    const surrogate::Model model(context, MODEL);
    const surrogate::Domain domain(context, surrogate::matrix(x.data(), n_point, 2));

    // 3. Create a plan once. Fields are bound by the names and units of the model card.
    surrogate::Plan plan(model, domain);
    plan.bind_input("mobility", surrogate::column(mobility.data(), n_point), "m^2/(Pa s)");
    plan.bind_output("pressure", surrogate::column(pressure.data(), n_point), "Pa");

    // 4. Run. A solver does this in every time step.
    plan.run();

    // 5. Check the result: extremes, mean and center.
    double low = INFINITY, high = -INFINITY, sums[3] = {};  // of p, p x, p y
    for (size_t k = 0; k < pressure.size(); ++k) {
        low = std::min(low, pressure[k]);
        high = std::max(high, pressure[k]);
        const double terms[3] = {1, x[2 * k], x[2 * k + 1]};
        for (int t = 0; t < 3; ++t) sums[t] += terms[t] * pressure[k];
    }
    const double centre[2] = {sums[1] / sums[0], sums[2] / sums[0]};
    std::printf("pressure on %d x %d cells: %.3g .. %.3g Pa, mean %.3g Pa, center (%.4f, %.4f) m\n",
                n, n, low, high, sums[0] / n / n, centre[0], centre[1]);
    return std::hypot(centre[0] - 0.5, centre[1] - 0.5) < 0.01 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "first_result: %s\n", error.what());
    return 2;
}
