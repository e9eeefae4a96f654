// SPDX-License-Identifier: Apache-2.0
// Costs of one run of each family in absolute figures, for family_costs.py, which prints them as
// tables:
//   mpirun -n RANKS build/bin/family_costs MODEL [rounds] [points]
//   mpirun -n 2 build/bin/family_costs network
// MODEL as in named_case.hpp, one thread per rank. Prints one line of JSON on rank 0: points;
// memory of the plan on all ranks and bytes sent by all ranks in a run; seconds of planning and,
// with rounds > 0, of the fastest run, and processor seconds of a rank in the cheapest run, on
// which other load has less influence; and by the plan's formulas the work of the busiest rank and
// of all ranks, in operations (a multiply-add is one, an exponential ten), and the collectives and
// messages of a rank. With 0 rounds nothing runs, so that there may be more ranks than cores.
// `network` prints the latency and the bandwidth of messages between two ranks.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/scaling/named_case.hpp"
#include "coupling/tool/layer_costs.hpp"
#include "surrogate/surrogate_mpi.hpp"

namespace {

using namespace surrogate;

double over_ranks(double value, MPI_Op op) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    return value;
}

/// Returns the processor seconds of this rank.
double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns the seconds of `work` until the last rank has finished it. Collective.
template <class Work>
double seconds_of(const Work& work) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    work();
    return over_ranks(MPI_Wtime() - begin, MPI_MAX);
}

template <class Run, class... Arguments>
nlohmann::json costs(int rounds, const Arguments&... with) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    std::unique_ptr<Run> run;
    nlohmann::json line;
    line["planning_s"] =
        seconds_of([&] { run = std::make_unique<Run>(context, with..., Options{}); });
    const Plan& plan = run->plan();
    line["vector"] = plan.option("vector");
    line["ranks"] = context.size();
    line["points"] = over_ranks(static_cast<double>(plan.counter("points_local")), MPI_SUM);
    line["memory_bytes"] =
        over_ranks(static_cast<double>(plan.counter("workspace_bytes")), MPI_SUM);
    double operations = 0, bytes = 0, collectives = 0, messages = 0;
    for (const tool::LayerWork& layer : tool::parse_layers(plan.describe())) {
        operations += layer.flops / 2 + 10 * layer.exponentials;
        bytes += layer.bytes;
        collectives += layer.collectives;
        messages += layer.messages;
    }
    line["bytes_sent"] = over_ranks(bytes, MPI_SUM);
    line["busiest_bytes"] = over_ranks(bytes, MPI_MAX);
    line["collectives"] = over_ranks(collectives, MPI_MAX);
    line["messages"] = over_ranks(messages, MPI_MAX);
    line["operations"] = over_ranks(operations, MPI_SUM);
    line["busiest_operations"] = over_ranks(operations, MPI_MAX);
    if (rounds == 0) return line;
    double wall = std::numeric_limits<double>::infinity(), processor = wall;
    for (int round = 0; round <= rounds; ++round) {  // the first run initializes its memory
        const double begin = processor_seconds();
        wall = std::min(wall, seconds_of([&] { run->run(); }));
        processor = std::min(processor, over_ranks(processor_seconds() - begin, MPI_MAX));
    }
    line["run_s"] = wall;
    line["processor_s"] = processor;
    return line;
}

/// Returns latency and bandwidth of two ranks, from the fastest round trips of 8 bytes and of 1 MB.
nlohmann::json ping_pong(int rank) {
    const auto seconds = [rank](int n_byte, int repeats) {
        std::vector<char> data(static_cast<size_t>(n_byte));
        double fastest = std::numeric_limits<double>::infinity();
        for (int i = 0; i < repeats; ++i) {
            const double begin = MPI_Wtime();
            for (const int from : {0, 1}) {
                if (rank == from)
                    MPI_Send(data.data(), n_byte, MPI_CHAR, 1 - from, 0, MPI_COMM_WORLD);
                else
                    MPI_Recv(data.data(), n_byte, MPI_CHAR, from, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
            }
            fastest = std::min(fastest, (MPI_Wtime() - begin) / 2);
        }
        return fastest;
    };
    constexpr int n_byte = 1'000'000;
    const double latency = seconds(8, 20'000);
    return {{"latency_s", latency}, {"bandwidth", n_byte / (seconds(n_byte, 500) - latency)}};
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::string what = argc > 1 ? argv[1] : "";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    const int64_t n_point = argc > 3 ? std::atoll(argv[3]) : 0;
    const bool is_network = what == "network" && size == 2;
    const bool is_right =
        is_network || (rounds >= 0 && n_point >= 0 && std::ranges::count(bench::cases, what) > 0);
    if (is_right) {
        nlohmann::json line;
        if (is_network) {
            line = ping_pong(rank);
        } else {
            bench::with_case(
                what, [&]<class Run>(const auto&... with) { line = costs<Run>(rounds, with...); },
                n_point);
        }
        if (rank == 0) std::printf("%s\n", line.dump().c_str());
    } else if (rank == 0) {
        std::fprintf(stderr,
                     "usage: mpirun -n RANKS family_costs flare|neighborhood|global|"
                     "neighborhood_layer|global_layer|bsa|group_compression|erwin|sequoia|hept "
                     "[rounds, 0: plan only] [points], or mpirun -n 2 family_costs network\n");
    }
    MPI_Finalize();
    return is_right ? 0 : 2;
}
