// SPDX-License-Identifier: Apache-2.0
// Every function of the C interface leaves its host as it was, survives null pointers, and objects
// go in any order. Built twice: on one rank, and on ranks, where the context spans a communicator.
#include "tests/support/guest.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#ifdef SURROGATE_HAVE_MPI
#include <surrogate/surrogate_mpi.h>
#endif

namespace surrogate::test {
namespace {

std::string content_of(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Path of saved models; each process of the test has its own.
std::string saved_model() {
    return testing::TempDir() + "surrogate_guest_" + std::to_string(getpid()) + ".safetensors";
}

/// One object of each kind, and arguments that are good.
struct World {
    World() {
        surrogate_options_create(&options);
        create_context(&context);
        surrogate_model_load(context, darcy_model, &model);
        surrogate_check_case_load(context, darcy_model, &check_case);
        surrogate_domain_create_points(context, &where, &domain);
        surrogate_plan_create(model, domain, nullptr, options, &plan);
        surrogate_plan_bind_input(plan, "mobility", nullptr, &mobility);
        surrogate_plan_bind_output(plan, "pressure", nullptr, &pressure);
    }
    ~World() {
        surrogate_plan_destroy(&plan);
        surrogate_domain_destroy(&domain);
        surrogate_check_case_destroy(&check_case);
        surrogate_model_destroy(&model);
        surrogate_context_destroy(&context);
        surrogate_options_destroy(&options);
        unlink(path.c_str());
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    surrogate_status create_context(surrogate_context** created) const {
#ifdef SURROGATE_HAVE_MPI
        int is_running = 0;
        MPI_Initialized(&is_running);
        if (is_running) return surrogate_context_create_mpi(MPI_COMM_WORLD, options, created);
#endif
        return surrogate_context_create(options, created);
    }

    DarcyCase points{first_rows(150)};
    surrogate_points where = points.points();
    surrogate_array mobility = column(points.mobility.data(), 150);
    surrogate_array pressure = column(points.pressure.data(), 150);
    std::string file = content_of(darcy_model), path = saved_model();
    std::vector<float> values = std::vector<float>(450, 0.5f);
    surrogate_named_array in{"x", matrix(values.data(), 150, 3)};
    surrogate_named_array out{"y", matrix(values.data(), 150, 1)};

    surrogate_options* options = nullptr;
    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    surrogate_check_case* check_case = nullptr;
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;

    // Results.
    int32_t i = 0, j = 0;
    int64_t n = 0, m = 0;
    double number = 0;
    char buffer[4096] = "";
    surrogate_points kept{};
    surrogate_model* none = nullptr;
    surrogate_field_info field{};
    surrogate_tensor tensor{};
    surrogate_range_info range{};
};

struct Call {
    const char* name;
    surrogate_status expected;
    std::function<surrogate_status(World&)> call;
};

constexpr surrogate_status good = SURROGATE_SUCCESS, bad = SURROGATE_INVALID_ARGUMENT;

/// Creates and destroys an object.
template <class Handle, class Create>
surrogate_status once(const Create& create, void (*destroy)(Handle**)) {
    Handle* handle = nullptr;
    const surrogate_status status = create(&handle);
    EXPECT_EQ(handle == nullptr, status != SURROGATE_SUCCESS);
    destroy(&handle);
    destroy(&handle);
    return status;
}

#define CALL(expected, expression)                                                   \
    Call {                                                                           \
#expression, expected, []([[maybe_unused]] World & w) { return expression; } \
    }

/// Calls of every function: a valid one, an invalid one, and one with each of its pointers null.
const std::vector<Call>& calls() {
    static const std::vector<Call> table = {
        CALL(good, (surrogate_version(), surrogate_status_name(7), surrogate_error(w.context), 0)),
        CALL(good, (surrogate_error(nullptr), 0)),
        CALL(good, once(surrogate_options_create, surrogate_options_destroy)),
        CALL(bad, surrogate_options_create(nullptr)),
        CALL(good, surrogate_options_set(w.options, "threads", "auto")),
        CALL(SURROGATE_UNKNOWN_NAME, surrogate_options_set(w.options, "thread", "2")),
        CALL(bad, surrogate_options_set(nullptr, "threads", "2")),
        CALL(bad, surrogate_options_set(w.options, nullptr, "2")),
        CALL(bad, surrogate_options_set(w.options, "threads", nullptr)),
        CALL(good, once<surrogate_context>([&](auto c) { return w.create_context(c); },
                                           surrogate_context_destroy)),
        CALL(good,
             once<surrogate_context>([](auto c) { return surrogate_context_create(nullptr, c); },
                                     surrogate_context_destroy)),
        CALL(bad, w.create_context(nullptr)),
        CALL(bad, surrogate_context_create(nullptr, nullptr)),
        CALL(good, surrogate_context_rank(w.context, &w.i, &w.j)),
        CALL(bad, surrogate_context_rank(nullptr, &w.i, &w.j)),
        CALL(bad, surrogate_context_rank(w.context, nullptr, &w.j)),
        CALL(bad, surrogate_context_rank(w.context, &w.i, nullptr)),
        CALL(good, (w.n = sizeof w.buffer, surrogate_context_describe(w.context, w.buffer, &w.n))),
        CALL(good, surrogate_context_describe(w.context, nullptr, &w.n)),
        CALL(SURROGATE_SHAPE, (w.n = 5, surrogate_context_describe(w.context, w.buffer, &w.n))),
        CALL(bad, surrogate_context_describe(nullptr, w.buffer, &w.n)),
        CALL(bad, surrogate_context_describe(w.context, w.buffer, nullptr)),
        CALL(good, surrogate_context_agree(w.context, good, nullptr)),
        CALL(SURROGATE_IO, surrogate_context_agree(w.context, SURROGATE_IO, "no file")),
        CALL(SURROGATE_IO, surrogate_context_agree(w.context, SURROGATE_IO, nullptr)),
        CALL(bad, surrogate_context_agree(nullptr, good, nullptr)),
        CALL(good, surrogate_context_reduce(w.context, SURROGATE_MIN, 1, &w.number)),
        CALL(good, surrogate_context_reduce(w.context, SURROGATE_SUM, 0, nullptr)),
        CALL(bad, surrogate_context_reduce(nullptr, SURROGATE_SUM, 1, &w.number)),
        CALL(bad, surrogate_context_reduce(w.context, 3, 1, &w.number)),
        CALL(bad, surrogate_context_reduce(w.context, SURROGATE_SUM, 1, nullptr)),
        CALL(SURROGATE_SHAPE, surrogate_context_reduce(w.context, SURROGATE_SUM, -1, &w.number)),
        CALL(good, surrogate_context_fail(w.context, good, nullptr)),
        CALL(SURROGATE_IO, surrogate_context_fail(w.context, SURROGATE_IO, nullptr)),
        CALL(SURROGATE_IO, surrogate_context_fail(nullptr, SURROGATE_IO, "no file")),
        CALL(good, surrogate_context_set_log(w.context, nullptr, nullptr)),
        CALL(bad, surrogate_context_set_log(nullptr, nullptr, nullptr)),
        CALL(good, once<surrogate_model>(
                       [&](auto m) { return surrogate_model_load(w.context, darcy_model, m); },
                       surrogate_model_destroy)),
        CALL(SURROGATE_IO,
             once<surrogate_model>(
                 [&](auto m) { return surrogate_model_load(w.context, "/nowhere", m); },
                 surrogate_model_destroy)),
        CALL(bad, once<surrogate_model>(
                      [](auto m) { return surrogate_model_load(nullptr, darcy_model, m); },
                      surrogate_model_destroy)),
        CALL(bad, once<surrogate_model>(
                      [&](auto m) { return surrogate_model_load(w.context, nullptr, m); },
                      surrogate_model_destroy)),
        CALL(bad, surrogate_model_load(w.context, darcy_model, nullptr)),
        CALL(good, surrogate_model_n_inputs(w.model, &w.i)),
        CALL(bad, surrogate_model_n_inputs(nullptr, &w.i)),
        CALL(bad, surrogate_model_n_inputs(w.model, nullptr)),
        CALL(good, surrogate_model_n_outputs(w.model, &w.i)),
        CALL(bad, surrogate_model_n_outputs(nullptr, &w.i)),
        CALL(bad, surrogate_model_n_outputs(w.model, nullptr)),
        CALL(good, surrogate_model_input(w.model, 2, &w.field)),
        CALL(bad, surrogate_model_input(w.model, 3, &w.field)),
        CALL(bad, surrogate_model_input(w.model, -1, &w.field)),
        CALL(bad, surrogate_model_input(nullptr, 0, &w.field)),
        CALL(bad, surrogate_model_input(w.model, 0, nullptr)),
        CALL(good, surrogate_model_output(w.model, 0, &w.field)),
        CALL(bad, surrogate_model_output(nullptr, 0, &w.field)),
        CALL(bad, surrogate_model_output(w.model, 0, nullptr)),
        CALL(good, once<surrogate_model>(
                       [&](auto m) {
                           return surrogate_model_load_memory(w.context, w.file.data(),
                                                              std::ssize(w.file), m);
                       },
                       surrogate_model_destroy)),
        CALL(SURROGATE_BAD_FILE,
             once<surrogate_model>(
                 [&](auto m) { return surrogate_model_load_memory(w.context, "none", 4, m); },
                 surrogate_model_destroy)),
        CALL(SURROGATE_SHAPE,
             once<surrogate_model>(
                 [&](auto m) { return surrogate_model_load_memory(w.context, "none", -1, m); },
                 surrogate_model_destroy)),
        CALL(bad, surrogate_model_load_memory(nullptr, "none", 4, &w.none)),
        CALL(bad, surrogate_model_load_memory(w.context, nullptr, 4, &w.none)),
        CALL(bad, surrogate_model_load_memory(w.context, "none", 4, nullptr)),
        CALL(SURROGATE_BAD_FILE, surrogate_model_create(w.context, "{}", 0, nullptr, &w.none)),
        CALL(SURROGATE_SHAPE, surrogate_model_create(w.context, "{}", -1, nullptr, &w.none)),
        CALL(bad, surrogate_model_create(nullptr, "{}", 0, nullptr, &w.none)),
        CALL(bad, surrogate_model_create(w.context, nullptr, 0, nullptr, &w.none)),
        CALL(bad, surrogate_model_create(w.context, "{}", 1, nullptr, &w.none)),
        CALL(bad, surrogate_model_create(w.context, "{}", 0, nullptr, nullptr)),
        CALL(good, surrogate_model_save(w.model, w.path.c_str())),
        CALL(SURROGATE_IO, surrogate_model_save(w.model, "/nowhere/model")),
        CALL(bad, surrogate_model_save(nullptr, w.path.c_str())),
        CALL(bad, surrogate_model_save(w.model, nullptr)),
        CALL(good, surrogate_model_check_bound(w.model, "fp32", 1, 1e-6, &w.number)),
        CALL(bad, surrogate_model_check_bound(w.model, "fp12", 1, 1e-6, &w.number)),
        CALL(bad, surrogate_model_check_bound(nullptr, "fp32", 1, 1e-6, &w.number)),
        CALL(bad, surrogate_model_check_bound(w.model, nullptr, 1, 1e-6, &w.number)),
        CALL(bad, surrogate_model_check_bound(w.model, "fp32", 1, 1e-6, nullptr)),
        CALL(good, (w.n = sizeof w.buffer, surrogate_model_family(w.model, w.buffer, &w.n))),
        CALL(SURROGATE_SHAPE, (w.n = 5, surrogate_model_family(w.model, w.buffer, &w.n))),
        CALL(bad, surrogate_model_family(nullptr, w.buffer, &w.n)),
        CALL(bad, surrogate_model_family(w.model, w.buffer, nullptr)),
        CALL(good, surrogate_model_describe(w.model, nullptr, &w.n)),
        CALL(bad, surrogate_model_describe(nullptr, w.buffer, &w.n)),
        CALL(bad, surrogate_model_describe(w.model, w.buffer, nullptr)),
        CALL(good, once<surrogate_check_case>(
                       [&](auto c) { return surrogate_check_case_load(w.context, darcy_model, c); },
                       surrogate_check_case_destroy)),
        CALL(bad, once<surrogate_check_case>(
                      [](auto c) { return surrogate_check_case_load(nullptr, darcy_model, c); },
                      surrogate_check_case_destroy)),
        CALL(bad, once<surrogate_check_case>(
                      [&](auto c) { return surrogate_check_case_load(w.context, nullptr, c); },
                      surrogate_check_case_destroy)),
        CALL(bad, surrogate_check_case_load(w.context, darcy_model, nullptr)),
        CALL(good, surrogate_check_case_n_tensors(w.check_case, &w.i)),
        CALL(bad, surrogate_check_case_n_tensors(nullptr, &w.i)),
        CALL(bad, surrogate_check_case_n_tensors(w.check_case, nullptr)),
        CALL(good, surrogate_check_case_tensor(w.check_case, 0, &w.tensor)),
        CALL(bad, surrogate_check_case_tensor(w.check_case, 99, &w.tensor)),
        CALL(bad, surrogate_check_case_tensor(nullptr, 0, &w.tensor)),
        CALL(bad, surrogate_check_case_tensor(w.check_case, 0, nullptr)),
        CALL(good,
             once<surrogate_domain>(
                 [&](auto d) { return surrogate_domain_create_points(w.context, &w.where, d); },
                 surrogate_domain_destroy)),
        CALL(bad, once<surrogate_domain>(
                      [&](auto d) { return surrogate_domain_create_points(nullptr, &w.where, d); },
                      surrogate_domain_destroy)),
        CALL(bad, once<surrogate_domain>(
                      [&](auto d) { return surrogate_domain_create_points(w.context, nullptr, d); },
                      surrogate_domain_destroy)),
        CALL(bad, surrogate_domain_create_points(w.context, &w.where, nullptr)),
        CALL(good, surrogate_domain_points(w.domain, &w.kept)),
        CALL(bad, surrogate_domain_points(nullptr, &w.kept)),
        CALL(bad, surrogate_domain_points(w.domain, nullptr)),
        CALL(bad, surrogate_domain_set_edges(nullptr, 0, nullptr, nullptr)),
        CALL(bad, surrogate_domain_set_edges(w.domain, 1, nullptr, nullptr)),
        CALL(good, surrogate_domain_n_clouds(w.domain, &w.n)),
        CALL(bad, surrogate_domain_n_clouds(nullptr, &w.n)),
        CALL(bad, surrogate_domain_n_clouds(w.domain, nullptr)),
        CALL(good, surrogate_domain_n_points(w.domain, &w.n, &w.m)),
        CALL(bad, surrogate_domain_n_points(nullptr, &w.n, &w.m)),
        CALL(bad, surrogate_domain_n_points(w.domain, nullptr, &w.m)),
        CALL(bad, surrogate_domain_n_points(w.domain, &w.n, nullptr)),
        CALL(good, surrogate_partition("uneven", 10, 0, 3, nullptr, &w.n)),
        CALL(bad, surrogate_partition(nullptr, 10, 0, 3, nullptr, &w.n)),
        CALL(bad, surrogate_partition("uneven", 10, 0, 3, nullptr, nullptr)),
        CALL(good, once<surrogate_plan>(
                       [&](auto p) {
                           return surrogate_plan_create(w.model, w.domain, nullptr, nullptr, p);
                       },
                       surrogate_plan_destroy)),
        CALL(bad, once<surrogate_plan>(
                      [&](auto p) {
                          return surrogate_plan_create(nullptr, w.domain, nullptr, nullptr, p);
                      },
                      surrogate_plan_destroy)),
        CALL(bad, once<surrogate_plan>(
                      [&](auto p) {
                          return surrogate_plan_create(w.model, nullptr, nullptr, nullptr, p);
                      },
                      surrogate_plan_destroy)),
        CALL(bad, surrogate_plan_create(nullptr, nullptr, nullptr, nullptr, &w.plan)),
        CALL(bad, surrogate_plan_create(w.model, w.domain, nullptr, nullptr, nullptr)),
        CALL(good, surrogate_plan_bind_input(w.plan, "mobility", nullptr, &w.mobility)),
        CALL(SURROGATE_UNKNOWN_NAME, surrogate_plan_bind_input(w.plan, "m", nullptr, &w.mobility)),
        CALL(bad, surrogate_plan_bind_input(nullptr, "mobility", nullptr, &w.mobility)),
        CALL(bad, surrogate_plan_bind_input(w.plan, nullptr, nullptr, &w.mobility)),
        CALL(bad, surrogate_plan_bind_input(w.plan, "mobility", nullptr, nullptr)),
        CALL(good, surrogate_plan_bind_output(w.plan, "pressure", "Pa", &w.pressure)),
        CALL(bad, surrogate_plan_bind_output(nullptr, "pressure", nullptr, &w.pressure)),
        CALL(bad, surrogate_plan_bind_output(w.plan, nullptr, nullptr, &w.pressure)),
        CALL(bad, surrogate_plan_bind_output(w.plan, "pressure", nullptr, nullptr)),
        CALL(good, surrogate_plan_run(w.plan)),
        CALL(SURROGATE_NOT_FINITE, (w.points.mobility[3] = NAN, surrogate_plan_run(w.plan))),
        CALL(good, (w.points.mobility[3] = 5, surrogate_plan_run(w.plan))),
        CALL(bad, surrogate_plan_run(nullptr)),
        CALL(good, surrogate_plan_run_network(w.plan, 1, &w.in, 1, &w.out)),
        CALL(SURROGATE_UNKNOWN_NAME, surrogate_plan_run_network(w.plan, 1, &w.out, 1, &w.out)),
        CALL(bad, surrogate_plan_run_network(nullptr, 1, &w.in, 1, &w.out)),
        CALL(bad, surrogate_plan_run_network(w.plan, 1, nullptr, 1, &w.out)),
        CALL(bad, surrogate_plan_run_network(w.plan, 1, &w.in, 1, nullptr)),
        CALL(good,
             once<surrogate_context>([&](auto c) { return surrogate_plan_context(w.plan, c); },
                                     surrogate_context_destroy)),
        CALL(bad, once<surrogate_context>([](auto c) { return surrogate_plan_context(nullptr, c); },
                                          surrogate_context_destroy)),
        CALL(bad, surrogate_plan_context(w.plan, nullptr)),
        CALL(good, once<surrogate_model>([&](auto m) { return surrogate_plan_model(w.plan, m); },
                                         surrogate_model_destroy)),
        CALL(bad, once<surrogate_model>([](auto m) { return surrogate_plan_model(nullptr, m); },
                                        surrogate_model_destroy)),
        CALL(bad, surrogate_plan_model(w.plan, nullptr)),
        CALL(good,
             once<surrogate_domain>([&](auto d) { return surrogate_plan_domain(w.plan, 1, d); },
                                    surrogate_domain_destroy)),
        CALL(bad,
             once<surrogate_domain>([](auto d) { return surrogate_plan_domain(nullptr, 0, d); },
                                    surrogate_domain_destroy)),
        CALL(bad, surrogate_plan_domain(w.plan, 0, nullptr)),
        CALL(good,
             (w.n = sizeof w.buffer, surrogate_plan_option(w.plan, "threads", w.buffer, &w.n))),
        CALL(SURROGATE_SHAPE, (w.n = 1, surrogate_plan_option(w.plan, "backend", w.buffer, &w.n))),
        CALL(SURROGATE_UNKNOWN_NAME, surrogate_plan_option(w.plan, "thread", nullptr, &w.n)),
        CALL(bad, surrogate_plan_option(nullptr, "threads", w.buffer, &w.n)),
        CALL(bad, surrogate_plan_option(w.plan, nullptr, w.buffer, &w.n)),
        CALL(bad, surrogate_plan_option(w.plan, "threads", w.buffer, nullptr)),
        CALL(good, surrogate_plan_counter(w.plan, "runs", &w.n)),
        CALL(bad, surrogate_plan_counter(nullptr, "runs", &w.n)),
        CALL(bad, surrogate_plan_counter(w.plan, nullptr, &w.n)),
        CALL(bad, surrogate_plan_counter(w.plan, "runs", nullptr)),
        CALL(good, surrogate_plan_range(w.plan, 0, &w.range)),
        CALL(bad, surrogate_plan_range(w.plan, 9, &w.range)),
        CALL(bad, surrogate_plan_range(nullptr, 0, &w.range)),
        CALL(bad, surrogate_plan_range(w.plan, 0, nullptr)),
        CALL(SURROGATE_IO, surrogate_plan_run_with_error(w.plan, SURROGATE_IO, "no file")),
        CALL(SURROGATE_IO, surrogate_plan_run_with_error(w.plan, SURROGATE_IO, nullptr)),
        CALL(bad, surrogate_plan_run_with_error(w.plan, good, "no failure")),
        CALL(bad, surrogate_plan_run_with_error(nullptr, SURROGATE_IO, "no file")),
        CALL(good, (w.n = sizeof w.buffer, surrogate_plan_describe(w.plan, w.buffer, &w.n))),
        CALL(bad, surrogate_plan_describe(nullptr, w.buffer, &w.n)),
        CALL(bad, surrogate_plan_describe(w.plan, w.buffer, nullptr)),
        CALL(good, surrogate_plan_unbind(w.plan)),
        CALL(bad, surrogate_plan_unbind(nullptr)),
        CALL(bad, surrogate_plan_run(w.plan)),
        CALL(good, (surrogate_options_destroy(nullptr), surrogate_context_destroy(nullptr),
                    surrogate_model_destroy(nullptr), surrogate_check_case_destroy(nullptr),
                    surrogate_domain_destroy(nullptr), surrogate_plan_destroy(nullptr), 0)),
    };
    return table;
}

TEST(Guest, EveryCallAnswersAndLeavesTheHostAsItWas) {
    World world;
    for (const Call& call : calls())
        call.call(world);  // warm-up: threads and connections exist now
    surrogate_plan_bind_input(world.plan, "mobility", nullptr, &world.mobility);
    surrogate_plan_bind_output(world.plan, "pressure", nullptr, &world.pressure);
    for (const Call& call : calls()) {
        Answer found;
        expect_good_guest(call.name, [&] { found.status = call.call(world); });
        EXPECT_EQ(found.status, call.expected) << call.name << ": " << surrogate_error(nullptr);
        if (call.expected != SURROGATE_SUCCESS) {
            EXPECT_STRNE(surrogate_error(nullptr), "") << call.name;
        }
    }
}

TEST(Guest, HostMayRoundUpwardsOrTrap) {
    World world;
    std::fesetround(FE_UPWARD);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    expect_good_guest("plan_run", [&] { surrogate_plan_run(world.plan); });
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    std::fesetround(FE_TONEAREST);
    fedisableexcept(FE_ALL_EXCEPT);
}

TEST(Guest, HarnessNoticesABadGuest) {
    EXPECT_NONFATAL_FAILURE(expect_good_guest("it", [] { std::fesetround(FE_DOWNWARD); }), "it");
    std::fesetround(FE_TONEAREST);
    EXPECT_NONFATAL_FAILURE(expect_good_guest("it", [] { std::printf("hello"); }), "printed");
    EXPECT_NONFATAL_FAILURE(expect_good_guest("it", [] { std::feraiseexcept(FE_OVERFLOW); }),
                            "raised");
    EXPECT_NONFATAL_FAILURE(expect_good_guest("it", [] { std::signal(SIGUSR1, SIG_IGN); }), "it");
    std::signal(SIGUSR1, SIG_DFL);
    EXPECT_NONFATAL_FAILURE(expect_good_guest("it", [] { omp_set_dynamic(1); }), "it");
    omp_set_dynamic(0);
    static int descriptor = -1;
    EXPECT_NONFATAL_FAILURE(expect_good_guest("it", [] { descriptor = dup(1); }), "it");
    close(descriptor);
}

TEST(Guest, ObjectsMayBeDestroyedInAnyOrder) {
    std::vector<int> order = {0, 1, 2, 3, 4};
    do {
        World world;
        for (int object : order) {
            if (object == 0) surrogate_context_destroy(&world.context);
            if (object == 1) surrogate_model_destroy(&world.model);
            if (object == 2) surrogate_check_case_destroy(&world.check_case);
            if (object == 3) surrogate_domain_destroy(&world.domain);
            if (object == 4) surrogate_plan_destroy(&world.plan);
            if (world.plan) {
                EXPECT_EQ(surrogate_plan_run(world.plan), SURROGATE_SUCCESS);
            }
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

#ifdef SURROGATE_HAVE_MPI
class GuestMpi : public testing::Test {
protected:
    void SetUp() override {
        int is_running = 0;
        MPI_Initialized(&is_running);
        if (!is_running) GTEST_SKIP() << "MPI is not running in this program";
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    void TearDown() override {
        if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
    MPI_Comm comm = MPI_COMM_NULL;
};

TEST_F(GuestMpi, CallsLeaveTheHostAndTheCommunicatorAsTheyWere) {
    World world;
    int result = -1;
    const auto create = [&](MPI_Comm c) {
        return once<surrogate_context>(
            [&](auto made) { return surrogate_context_create_mpi(c, nullptr, made); },
            surrogate_context_destroy);
    };
    const std::vector<std::pair<surrogate_status, std::function<surrogate_status()>>> table = {
        {good, [&] { return create(comm); }},
        {bad, [&] { return create(MPI_COMM_NULL); }},
        {bad, [&] { return surrogate_context_create_mpi(comm, nullptr, nullptr); }},
        {bad, [&] { return surrogate_context_create_fint(MPI_Comm_c2f(comm), nullptr, nullptr); }},
        {good, [&] { return surrogate_context_compare_comm(world.context, comm, &result); }},
        {bad, [&] { return surrogate_context_compare_comm(nullptr, comm, &result); }},
        {bad, [&] { return surrogate_context_compare_comm(world.context, comm, nullptr); }},
        {bad,
         [&] { return surrogate_context_compare_comm(world.context, MPI_COMM_NULL, &result); }},
        {good, [&] { return surrogate_plan_compare_comm(world.plan, comm, &result); }},
        {bad, [&] { return surrogate_plan_compare_comm(nullptr, comm, &result); }},
        {bad, [&] { return surrogate_plan_compare_comm(world.plan, comm, nullptr); }},
    };
    create(comm);  // warm-up
    for (size_t i = 0; i < table.size(); ++i) {
        const std::string name = "call " + std::to_string(i);
        expect_good_guest(name, [&] { EXPECT_EQ(table[i].second(), table[i].first) << name; });
        EXPECT_EQ(error_handler(comm), "return") << name;
    }
    EXPECT_EQ(result, MPI_CONGRUENT);
}
#endif

}  // namespace
}  // namespace surrogate::test
