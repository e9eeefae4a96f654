// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

namespace inverse {

namespace {

PetscErrorCode print_row(MPI_Comm comm, const Sensors& sensors, const Row& row) {
    PetscFunctionBegin;
    const Result& r = row.result;
    const double per_sensor = 2.0 / double(sensors.size());
    if (row.is_inverted)
        PetscCall(PetscPrintf(comm, "%-24s %10d %10d %9.3f %10.3f %12.3f %11.2f %%\n",
                              row.title.c_str(), int(r.n_iteration), int(r.n_pressure),
                              double(r.seconds), per_sensor * double(r.misfit),
                              per_sensor * double(row.misfit_solver), 100 * double(row.error)));
    else
        PetscCall(PetscPrintf(comm, "%-24s %10s %10s %9s %10s %12.3f %11.2f %%\n",
                              row.title.c_str(), "-", "-", "-", "-",
                              per_sensor * double(row.misfit_solver), 100 * double(row.error)));
    if (row.is_inverted && r.reason < 0)
        PetscCall(
            PetscPrintf(comm, "  (TAO did not converge: %s)\n", TaoConvergedReasons[r.reason]));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode print_table(MPI_Comm comm, const Sensors& sensors, const std::vector<Row>& rows) {
    PetscFunctionBegin;
    PetscCall(PetscPrintf(comm, "%-24s %10s %10s %9s %10s %12s %13s\n", "gradient from",
                          "iterations", "pressures", "seconds", "misfit", "by solver",
                          "error of a"));
    for (const Row& row : rows) PetscCall(print_row(comm, sensors, row));
    PetscCall(PetscPrintf(
        comm,
        "\nmisfit: mean square of (p - reading) / deviation of the noise, with the pressures of "
        "the "
        "method\nand of the solver; about 1 is expected. error of a: |a - a_true| / |a_true|, "
        "L2.\n"));
    PetscFunctionReturn(0);
}

}  // namespace inverse
