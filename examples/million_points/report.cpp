// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <array>
#include <cstdio>

namespace million {

namespace {

using Row = std::array<int64_t, 6>;  // the members of RankUse

/// Returns the number in MB, or "-" if the system does not report it.
std::string megabytes(int64_t n) {
    char text[32] = "-";
    if (n >= 0) std::snprintf(text, sizeof text, "%.1f", double(n) / 1e6);
    return text;
}

std::string of_point(int64_t n, int64_t n_point) {
    char text[32] = "-";
    if (n >= 0 && n_point > 0)
        std::snprintf(text, sizeof text, "%.0f", double(n) / double(n_point));
    return text;
}

}  // namespace

PetscErrorCode print_problem(MPI_Comm comm, const Predictor& predictor) {
    PetscFunctionBegin;
    if (!predictor.is_ready() && !predictor.problem().empty())
        PetscCall(PetscPrintf(comm,
                              "surrogate not available: %s\nThe solver continues without it.\n",
                              predictor.problem().c_str()));
    PetscFunctionReturn(0);
}

PetscErrorCode print_head(MPI_Comm comm, const Settings& settings, const Predictor& predictor) {
    PetscFunctionBegin;
    PetscMPIInt size = 0;
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCall(PetscPrintf(comm, "Concrete with cooling pipes on triangles, %d rank%s\n", size,
                          size == 1 ? "" : "s"));
    if (predictor.is_ready())
        PetscCall(PetscPrintf(comm, "Surrogate: %s\n", settings.model.c_str()));
    PetscCall(print_problem(comm, predictor));
    PetscCall(PetscPrintf(comm, "\n%6s %9s %9s %8s %8s %8s %8s %4s %8s %9s %9s %9s %15s\n", "seed",
                          "points", "triangles", "make[s]", "read[s]", "part[s]", "solve[s]", "its",
                          "plan[s]", "run[s]", "error", "largest[K]", "hottest[K]"));
    PetscFunctionReturn(0);
}

PetscErrorCode print_row(MPI_Comm comm, const Result& r) {
    PetscFunctionBegin;
    PetscCall(PetscPrintf(comm, "%6s %9lld %9lld %8.2f %8.2f %8.2f %8.2f %4d", r.name.c_str(),
                          static_cast<long long>(r.n_point), static_cast<long long>(r.n_cell),
                          r.seconds_make, r.seconds_read, r.seconds_part, r.seconds_solve,
                          int(r.n_iteration)));
    if (!r.is_compared) {
        PetscCall(PetscPrintf(comm, " %8s %9s %9s %9s %7.2f %7s\n", "-", "-", "-", "-",
                              r.hottest_solver, "-"));
        PetscFunctionReturn(0);
    }
    PetscCall(PetscPrintf(comm, " %8.2f %9.2f %7.2f %% %10.2f %7.2f %7.2f\n", r.seconds_plan,
                          r.seconds_predict, 100 * r.relative_error, r.largest_error,
                          r.hottest_solver, r.hottest_surrogate));
    if (r.fraction_outside > 0.01)
        PetscCall(PetscPrintf(comm, "       %.0f %% of its points are outside the training data\n",
                              100 * r.fraction_outside));
    PetscFunctionReturn(0);
}

PetscErrorCode print_ranks(MPI_Comm comm, const Result& result) {
    PetscFunctionBegin;
    PetscMPIInt size = 0;
    PetscCallMPI(MPI_Comm_size(comm, &size));
    const RankUse& use = result.mine;
    const Row mine = {use.n_owned,     use.n_cell,     use.bytes_read,
                      use.plan_stated, use.plan_found, use.peak};
    std::vector<Row> rows(std::size_t(size), Row{});
    PetscCallMPI(MPI_Gather(mine.data(), int(mine.size()), MPI_INT64_T, rows.data(),
                            int(mine.size()), MPI_INT64_T, 0, comm));
    PetscCall(PetscPrintf(comm, "\n%6s %9s %9s %9s %24s %24s %9s\n", "rank", "points", "triangles",
                          "read [MB]", "plan states [MB, B/point]", "plan took [MB, B/point]",
                          "peak [MB]"));
    for (int rank = 0; rank < size; ++rank) {
        const auto& [n_point, n_cell, read, stated, found, peak] = rows[std::size_t(rank)];
        PetscCall(PetscPrintf(comm, "%6d %9lld %9lld %9s %15s %9s %14s %9s %9s\n", rank,
                              static_cast<long long>(n_point), static_cast<long long>(n_cell),
                              megabytes(read).c_str(), megabytes(stated).c_str(),
                              of_point(stated, n_point).c_str(), megabytes(found).c_str(),
                              of_point(found, n_point).c_str(), megabytes(peak).c_str()));
    }
    if (result.is_compared)
        PetscCall(PetscPrintf(comm, "hash of the prediction: %016llx\n",
                              static_cast<unsigned long long>(result.hash)));
    PetscFunctionReturn(0);
}

PetscErrorCode print_end(MPI_Comm comm, const std::vector<Result>& results) {
    PetscFunctionBegin;
    double sum = 0, n = 0;
    for (const Result& result : results) {
        sum += result.relative_error;
        n += result.is_compared ? 1 : 0;
    }
    if (n > 1) PetscCall(PetscPrintf(comm, "mean error %.2f %%\n", 100 * sum / n));
    PetscCall(PetscPrintf(comm,
                          "\nSeconds of the slowest rank: make: triangulation, and the file, on "
                          "rank 0; read: the file, on "
                          "rank 0; part: the\nmesh to all ranks; solve: temperatures by the solver "
                          "(its: iterations); plan, "
                          "run: those of the surrogate.\nerror: relative L2 distance over the "
                          "points; largest: of a point; "
                          "hottest: by the solver, then by the surrogate.\n"));
    PetscFunctionReturn(0);
}

}  // namespace million
