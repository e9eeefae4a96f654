// SPDX-License-Identifier: Apache-2.0
// Memory of a million points.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/support/darcy_case.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {
namespace {

/// A line of /proc/self/status in bytes: "VmRSS", "VmHWM".
int64_t process_memory(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(key + ":")) return 1024 * std::stoll(line.substr(key.size() + 1));
    }
    return -1;
}

TEST(Memory, OfAPlanOfAMillionPointsStaysBelowOneKilobyteAPoint) {
    const Context context = mpi_context(MPI_COMM_WORLD);
    const Model model(context, darcy_model);
    DarcyCase points(own_rows("contiguous", 1'000'000, MPI_COMM_WORLD));
    const double n = static_cast<double>(points.n());
    const int64_t before = process_memory("VmRSS");

    const Domain domain = points.domain(context);
    Plan plan(model, domain);
    points.bind(plan);
    plan.run();

    const double resident = static_cast<double>(process_memory("VmRSS") - before) / n;
    const double peak = static_cast<double>(process_memory("VmHWM") - before) / n;
    const double workspace = static_cast<double>(plan.counter("workspace_bytes")) / n;
    RecordProperty("resident_bytes_per_point", std::to_string(resident));
    EXPECT_GT(before, 0);
    EXPECT_LE(peak, 1024) << "bytes a point";
    // x and k of 64 channels in float are 512 bytes; input and output add 16.
    EXPECT_GE(workspace, 528);
    EXPECT_LE(workspace, 600);
    // Beyond the workspace: coordinates and ids of the domain, 24 bytes, and what the allocator
    // rounds up.
    EXPECT_NEAR(resident, workspace + 24, 40);
    if (context.rank() == 0)
        std::printf("bytes a point: workspace %.0f, resident %.0f, peak %.0f\n", workspace,
                    resident, peak);
}

}  // namespace
}  // namespace surrogate::test
