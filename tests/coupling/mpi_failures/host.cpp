// SPDX-License-Identifier: Apache-2.0
// A host of the library on several ranks, in which one MPI call of one rank fails
// (tests/support/failing_mpi.cpp):
//   failing_host FOLDER PHASE..
// A phase chooses calls of the library; their MPI calls count. A rank whose call returns MPI or
// BROKEN checks that the context stays broken, destroys all objects, prints the error to stderr and
// ends the job by MPI_Abort with status 7. Without a failure each rank prints
// "PHASE: calls of rank R: N".
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <surrogate/surrogate_train.hpp>

#include "tests/coupling/dataset/dataset_case.hpp"
#include "tests/coupling/timeloop/loop_case.hpp"
#include "tests/support/sphere_case.hpp"

namespace surrogate::test {
namespace {

const MPI_Comm world = MPI_COMM_WORLD;

int own_rank() {
    int rank = 0;
    PMPI_Comm_rank(world, &rank);
    return rank;
}

/// Runs the calls of a phase with MPI calls counted. After an error, a further collective call on
/// the context (null: there is none) must return BROKEN without waiting for other ranks.
void counted(const Context* context, const std::function<void()>& calls) {
    MPI_Pcontrol(1);
    try {
        calls();
        MPI_Pcontrol(0);
    } catch (const Error&) {
        double value = 1;
        if (context &&
            surrogate_context_reduce(context->get(), SURROGATE_SUM, 1, &value) != SURROGATE_BROKEN)
            throw std::logic_error("the context is not broken");
        throw;
    }
}

void create_context() {
    std::optional<Context> context;
    counted(nullptr, [&] { context.emplace(mpi_context(world, {{"threads", "1"}})); });
}

void create_plan() {
    const Context context = mpi_context(world, {{"threads", "1"}});
    Points own(own_rows("scattered", 24, world));
    std::optional<Model> model;
    std::optional<Domain> domain;
    std::optional<Plan> plan;
    counted(&context, [&] {
        model.emplace(height_model(context));
        domain.emplace(context, own.points());
        plan.emplace(*model, *domain, Options{{"reproducible", "true"}});
    });
}

/// Domain and plan exchange messages between ranks, and so does each layer of a run.
void run_on_sphere(bool is_plan_counted) {
    const Context context = mpi_context(world, {{"threads", "1"}});
    const Model model(context,
                      SURROGATE_TEST_DATA "/sphere/transformer_neighborhood_24x48.safetensors");
    std::optional<SphereRun> run;
    const auto create = [&] {
        run.emplace(context, model, SphereLayout{});
        std::vector<std::vector<float>> inputs;
        for (const surrogate_port_info& port : run->ports)
            inputs.emplace_back(port.n_channel * run->in_block.n_model_point(), 0.5f);
        run->fill(inputs);
    };
    if (!is_plan_counted) create();
    counted(&context, [&] {
        if (is_plan_counted) create();
        if (!is_plan_counted) check(run->run_network());
    });
}

void run_plan() {
    HeightLoop c(world, "scattered");
    c.plan.bind_input("height", column(c.own.height.data(), c.own.n()), "m");
    std::vector<double> next(c.own.height.size());
    c.plan.bind_output("height", column(next.data(), c.own.n()), "m");
    counted(&c.context, [&] { c.plan.run(); });
}

void step_training() {
    HeightLoop c(world, "scattered");
    Plan plan(c.model, c.domain, {{"gradients", "true"}});
    plan.bind_input("height", column(c.own.height.data(), c.own.n()), "m");
    TrainerOptions settings;
    settings.set("bucket", "64");  // several reductions are pending at once
    Trainer trainer(plan, settings);
    trainer.bind_target("height", column(c.own.height.data(), c.own.n()), "m");
    counted(&c.context, [&] { trainer.step(); });
}

void step_loop() {
    HeightLoop c;
    counted(&c.context, [&] { c.loop.step(1); });
}

void save_checkpoint(const std::string& folder) {
    HeightLoop c;
    c.loop.step(1);
    counted(&c.context, [&] { c.loop.save(folder + "/loop.h5"); });
}

void write_series(const std::string& folder) {
    const PointSamples samples(world, "scattered", 20);
    NewDataset set(samples.context, folder + "/series.h5");
    samples.describe(&set);
    counted(&samples.context, [&] {
        set.begin();
        samples.write(&set);
        set.finish();
    });
}

void run_phase(const std::string& phase, const std::string& folder) {
    const std::map<std::string, std::function<void()>> phases = {
        {"context", create_context},
        {"plan", create_plan},
        {"exchange_plan", [] { run_on_sphere(true); }},
        {"exchange_run", [] { run_on_sphere(false); }},
        {"run", run_plan},
        {"training", step_training},
        {"loop", step_loop},
        {"checkpoint", [&] { save_checkpoint(folder); }},
        {"series", [&] { write_series(folder); }},
    };
    phases.at(phase)();
}

/// Runs a phase; the text of what went wrong, "" if its calls have succeeded.
std::string error_of(const std::string& phase, const std::string& folder) {
    try {
        run_phase(phase, folder);
        return "";
    } catch (const Error& error) {
        const bool is_lost = error.status() == SURROGATE_MPI || error.status() == SURROGATE_BROKEN;
        return (is_lost ? "lost: " : "another status: ") + std::string(error.what());
    } catch (const std::exception& error) {
        return std::string("defect: ") + error.what();
    }
}

}  // namespace
}  // namespace surrogate::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0);
    long n_before = 0;
    for (int i = 2; i < argc; ++i) {
        const std::string phase = argv[i];
        const std::string error = surrogate::test::error_of(phase, argv[1]);
        const int rank = surrogate::test::own_rank();
        if (!error.empty()) {
            std::fprintf(stderr, "failing_host: rank %d, %s\n", rank, error.c_str());
            MPI_Abort(MPI_COMM_WORLD, 7);
        }
        PMPI_Barrier(MPI_COMM_WORLD);  // ranks without an error wait for the end of the job
        long n = 0;
        MPI_Pcontrol(2, &n);
        std::printf("%s: calls of rank %d: %ld\n", phase.c_str(), rank, n - n_before);
        n_before = n;
    }
    MPI_Finalize();
    return 0;
}
