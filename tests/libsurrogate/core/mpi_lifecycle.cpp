// SPDX-License-Identifier: Apache-2.0
// The library before MPI_Init, under MPI_THREAD_SINGLE and after MPI_Finalize: says why not, works,
// frees memory only.
#include <mpi.h>

#include <cstdio>
#include <surrogate/surrogate_mpi.hpp>
#include <thread>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"

namespace {

const char* other_mpi = nullptr;  // not null: what MPI_Get_library_version returns

}  // namespace

/// Stands before the function of the MPI library: a program that runs another MPI.
extern "C" int MPI_Get_library_version(char* text, int* length) {
    if (!other_mpi) return PMPI_Get_library_version(text, length);
    *length = std::snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "%s", other_mpi);
    return MPI_SUCCESS;
}

namespace {

using surrogate::test::Answer;
using surrogate::test::answer;
using surrogate::test::DarcyCase;

int n_failed = 0;

void expect(bool holds, const char* what) {
    if (holds) return;
    ++n_failed;
    std::fprintf(stderr, "failed: %s (%s)\n", what, surrogate_error(nullptr));
}

void expect_refused(const Answer& found, const char* word, const char* what) {
    expect(found.status == SURROGATE_INVALID_ARGUMENT && found.says(word), what);
}

Answer create(surrogate_context** context) {
    return answer(surrogate_context_create_mpi(MPI_COMM_WORLD, nullptr, context));
}

/// Creates the context of rank 1 in a thread that MPI_THREAD_SINGLE does not allow to call MPI, and
/// expects the error on all ranks.
void expect_other_thread_rejected() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    surrogate_context* none = nullptr;
    Answer found;
    const auto attempt = [&] { found = create(&none); };
    if (rank == 1)
        std::thread(attempt).join();
    else
        attempt();
    expect_refused(found, "MPI_THREAD_SINGLE",
                   "a context of another thread under MPI_THREAD_SINGLE");
}

/// As long as MPI is not initialized, plans over any communicator are plans of one rank.
void expect_one_rank(const char* what) {
    const DarcyCase points(surrogate::test::first_rows(5));
    const surrogate_points where = points.points();
    const char* const path = surrogate::test::darcy_model;
    surrogate_plan *by_c = nullptr, *by_fortran = nullptr;
    expect(surrogate_plan_open_mpi(MPI_COMM_WORLD, path, &where, nullptr, &by_c) == 0, what);
    expect(surrogate_plan_open_fint(0, path, &where, nullptr, &by_fortran) == 0, what);
    for (surrogate_plan** plan : {&by_c, &by_fortran}) {
        surrogate_context* context = nullptr;
        int32_t rank = -1, size = 0;
        expect(surrogate_plan_context(*plan, &context) == 0, what);
        surrogate_context_rank(context, &rank, &size);
        expect(rank == 0 && size == 1, what);
        surrogate_context_destroy(&context);
        surrogate_plan_destroy(plan);
    }
}

/// Without the check MPI ends a program whose handles have another type, before any text of ours.
void expect_other_mpi_refused() {
    surrogate_context* none = nullptr;
    const DarcyCase points(surrogate::test::first_rows(5));
    const surrogate_points where = points.points();
    surrogate_plan* plan = nullptr;
    other_mpi = "MPICH Version:\t4.0\nMPICH Release date:\tFri Jan 21 2022";
    const Answer answers[] = {
        create(&none), answer(surrogate_context_create_fint(0, nullptr, &none)),
        answer(surrogate_plan_open_mpi(MPI_COMM_WORLD, surrogate::test::darcy_model, &where,
                                       nullptr, &plan)),
        answer(surrogate_plan_open_fint(0, surrogate::test::darcy_model, &where, nullptr, &plan))};
    for (const Answer& found : answers)
        expect(found.status == SURROGATE_NOT_SUPPORTED &&
                   found.says("built with Open MPI, this program runs MPICH Version: 4.0; build"),
               "a program with another MPI");
    other_mpi = "An MPI that is not in the list";
    expect(create(&none).status == SURROGATE_SUCCESS, "a program with an unknown MPI");
    surrogate_context_destroy(&none);
    other_mpi = nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    surrogate_context* none = nullptr;
    expect_refused(create(&none), "not initialised", "context before MPI_Init");
    expect_refused(answer(surrogate_context_create_fint(0, nullptr, &none)), "not initialised",
                   "Fortran context before MPI_Init");
    expect_one_rank("plan before MPI_Init");

    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &level);
#if defined(OPEN_MPI)
    expect_other_mpi_refused();
#endif
    expect_other_thread_rejected();
    surrogate_context* context = nullptr;
    expect(create(&context).status == SURROGATE_SUCCESS, "context under MPI_THREAD_SINGLE");
    surrogate_model* model = nullptr;
    expect(surrogate_model_load(context, surrogate::test::darcy_model, &model) == 0, "model");
    DarcyCase points(surrogate::test::first_rows(20));
    for (int64_t& id : points.ids) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        id += 1000 * rank;
    }
    const surrogate_points where = points.points();
    const surrogate_array mobility = surrogate::column(points.mobility.data(), points.n()),
                          pressure = surrogate::column(points.pressure.data(), points.n());
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;
    expect(surrogate_domain_create_points(context, &where, &domain) == 0, "domain");
    expect(surrogate_plan_create(model, domain, nullptr, nullptr, &plan) == 0, "plan");
    expect(surrogate_plan_bind_input(plan, "mobility", nullptr, &mobility) == 0, "input");
    expect(surrogate_plan_bind_output(plan, "pressure", nullptr, &pressure) == 0, "output");
    expect(surrogate_plan_run(plan) == 0, "run under MPI_THREAD_SINGLE");
    MPI_Finalize();

    expect_refused(create(&none), "finalised already", "context after MPI_Finalize");
    surrogate_plan* late = nullptr;
    expect_refused(answer(surrogate_plan_open_mpi(MPI_COMM_WORLD, surrogate::test::darcy_model,
                                                  &where, nullptr, &late)),
                   "finalised already", "plan after MPI_Finalize");
    expect_refused(
        answer(surrogate_plan_open_fint(0, surrogate::test::darcy_model, &where, nullptr, &late)),
        "finalised already", "Fortran plan after MPI_Finalize");
    int result = 0;
    expect_refused(answer(surrogate_plan_compare_comm(plan, MPI_COMM_WORLD, &result)),
                   "finalised already", "comparison after MPI_Finalize");
    expect_refused(answer(surrogate_plan_run(plan)), "finalised already", "run after MPI_Finalize");
    surrogate_model* again = nullptr;
    expect_refused(answer(surrogate_model_load(context, surrogate::test::darcy_model, &again)),
                   "finalised already", "model after MPI_Finalize");
    surrogate_plan_destroy(&plan);
    surrogate_domain_destroy(&domain);
    surrogate_model_destroy(&model);
    surrogate_context_destroy(&context);
    return n_failed == 0 ? 0 : 1;
}
