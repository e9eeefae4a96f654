// SPDX-License-Identifier: Apache-2.0
// A first result on many ranks: the pressure of two fluids in a porous square, from a trained
// network. Parallel version of 01_first_result; differences are marked with MPI.
//
//   build   cmake -S examples/01_first_result_mpi -B first -DCMAKE_PREFIX_PATH=PREFIX
//           cmake --build first
//           with libsurrogate installed in PREFIX
//   run     mpirun -n 4 first/first_result_mpi [cells per side, default 40]
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
#include <surrogate/surrogate_mpi.hpp>  // MPI: includes <mpi.h>
#include <vector>

int run(int argc, char** argv) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int n = argc > 1 ? std::atoi(argv[1]) : 40;

    // 1. Create the fields of a solver: cell centers of the unit square in m, mobility in m^2/(Pa
    // s).
    std::vector<double> x, mobility;
    for (int i = n * rank / size; i < n * (rank + 1) / size; ++i) {  // MPI: a strip of cells
        for (int j = 0; j < n; ++j) {
            const double x0 = (i + 0.5) / n, x1 = (j + 0.5) / n;
            x.insert(x.end(), {x0, x1});
            mobility.push_back(std::hypot(x0 - 0.5, x1 - 0.5) < 0.25 ? 12 : 3);
        }
    }
    const auto n_point = static_cast<int64_t>(mobility.size());
    std::vector<double> pressure(mobility.size());

    // 2. Create a context, load the trained model, and describe the points.
    const surrogate::Context context = surrogate::mpi_context(MPI_COMM_WORLD);  // MPI
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
    MPI_Allreduce(MPI_IN_PLACE, &low, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &high, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double centre[2] = {sums[1] / sums[0], sums[2] / sums[0]};
    if (rank == 0)
        std::printf(
            "pressure on %d x %d cells: %.3g .. %.3g Pa, mean %.3g Pa, center (%.4f, %.4f) m\n", n,
            n, low, high, sums[0] / n / n, centre[0], centre[1]);
    return std::hypot(centre[0] - 0.5, centre[1] - 0.5) < 0.01 ? 0 : 1;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);  // MPI: initialized first, finalized after all other objects are
                             // destroyed
    int status = 2;
    try {
        status = run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "first_result_mpi: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, status);  // MPI: other ranks may wait for this one
    }
    MPI_Finalize();
    return status;
}
