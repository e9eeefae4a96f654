// SPDX-License-Identifier: Apache-2.0
// Networks of the sphere spread over ranks send the bytes of the formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/grid/grid.hpp"
#include "libsurrogate/src/model/sphere/attention.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

// ---- bytes of a layer of a model ----

namespace sphere = impl::sphere;
using impl::Range;

/// Bands of `n_row` rows: what rank r has of a list of shares, which fits any number of ranks.
std::vector<Range> bands(int64_t n_row, const std::vector<int64_t>& share, int size) {
    int64_t total = 0, sum = 0;
    for (int r = 0; r < size; ++r) total += share[static_cast<size_t>(r) % share.size()];
    std::vector<Range> list;
    for (int r = 0; r < size; ++r) {
        const int64_t begin = n_row * sum / total;
        sum += share[static_cast<size_t>(r) % share.size()];
        list.push_back({begin, n_row * sum / total});
    }
    return list;
}

/// Input rows that some output row of a band is near: the spec's halo, from the nodes.
std::set<int64_t> rows_reached(const std::vector<double>& theta, Range rows, double cutoff) {
    std::set<int64_t> reached;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
        for (int64_t other = 0; other < std::ssize(theta); ++other) {
            const double distance =
                std::abs(theta[static_cast<size_t>(row)] - theta[static_cast<size_t>(other)]);
            if (distance <= 1.001 * cutoff) reached.insert(other);
        }
    }
    return reached;
}

class SphereBytes : public testing::Test {
protected:
    /// Bytes and messages that this rank sends for keys and values.
    void expect_bytes(const sphere::Attention& config, const std::vector<Range>& of_rank) {
        const sphere::Bands bands(config.in, of_rank);
        const sphere::Frame frame{*comm, {}, false};
        sphere::AttentionLayer<float>::Workspace ws;
        sphere::AttentionLayer<float>::prepare(frame, config, bands.of(frame.rank()), &bands, ws);
        sphere::AttentionLayer<float>::connect(frame, config, &bands, ws);

        const auto nodes = kernels::latitudes(config.in.kind, config.in.n_lat);
        const Range own = bands.of(frame.rank());
        int64_t n_row = 0, n_message = 0;
        for (int r = 0; r < comm->size(); ++r) {
            if (r == frame.rank()) continue;
            int64_t n = 0;
            for (const int64_t row :
                 rows_reached(nodes.theta, bands.of(r), config.is_global ? 4 : config.theta_cutoff))
                n += row >= own.begin && row < own.end;
            n_row += n;
            n_message += n > 0;
        }
        EXPECT_EQ(ws.exchange.n_item_sent() * (config.n_key + config.n_value) * 4,
                  n_row * config.in.n_lon * (config.n_key + config.n_value) * 4);
        EXPECT_EQ(ws.exchange.n_message(), n_message);
    }
    static sphere::Attention attention(int64_t n_lat, double cutoff) {
        sphere::Attention a;
        a.in = a.out = {kernels::GridKind::legendre_gauss, n_lat, 2 * n_lat};
        a.n_in = a.n_key = 4;
        a.n_value = 6;
        a.n_head = 2;
        a.theta_cutoff = cutoff;
        a.is_global = cutoff == 0;
        return a;
    }

    const std::unique_ptr<impl::Communicator> comm = impl::mpi_communicator(world);
    const int size = size_of(world);
};

TEST_F(SphereBytes, OfKeysAndValuesAreTheRowsThatOthersReach) {
    const std::vector<int64_t> shares[] = {{1}, {1, 2, 3}, {0, 2, 1}, {5, 0, 0, 1}};
    for (const auto& share : shares) {
        for (const double cutoff : {0.12, 7 / std::sqrt(M_PI) * M_PI / 31, 0.9, 3.0})
            expect_bytes(attention(32, cutoff), bands(32, share, size));
    }
}

TEST_F(SphereBytes, OfBandsOfOneRowReachOverSeveralRanks) {
    expect_bytes(attention(size, 1.3), bands(size, {1}, size));
    expect_bytes(attention(std::max(2, size - 1), 1.3), bands(std::max(2, size - 1), {1}, size));
}

TEST_F(SphereBytes, OfGlobalAttentionAreThoseOfAllOthers) {
    const auto of_rank = bands(16, {1, 3}, size);
    expect_bytes(attention(16, 0), of_rank);
}

// ---- bytes of whole models ----

/// Columns of a line of the plan's table.
struct Line {
    double flops = 0, exponentials = 0;
    int64_t bytes = 0, collectives = 0, messages = 0;
};

Line line_of(const std::string& table, const std::string& name) {
    const size_t at = table.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name << " in " << table;
    std::istringstream text(table.substr(at + 1 + name.size()));
    Line line;
    text >> line.flops >> line.exponentials >> line.bytes >> line.collectives >> line.messages;
    return line;
}

int64_t sum_of_ranks(int64_t value, MPI_Comm comm) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, comm);
    return value;
}

TEST(SphereModelBytes, FollowTheFormulas) {
    const Context context = mpi_context(world);
    const ModelOnDisk file(
        changed(small_transformer(), {{"attention_mode", "global"}, {"img_size", {40, 24}}}));
    const Model model(context, file.path());
    SphereRun run(context, model, {.name = ""});
    const std::string table = run.plan.describe();
    // Instance norm: sums and sums of squares of 8 channels in double.
    const Line norm = line_of(table, "blocks.1 norm0");
    EXPECT_EQ(norm.bytes, 2 * 8 * 8);
    EXPECT_EQ(norm.collectives, 1);
    // Global attention: (P - 1) / P N (Ck + Cv) 4 on average, all in one collective.
    const Line attention = line_of(table, "blocks.1 attention");
    EXPECT_EQ(sum_of_ranks(attention.bytes, world), (context.size() - 1) * 20 * 12 * 16 * 4);
    EXPECT_EQ(attention.collectives, 1);
    EXPECT_EQ(attention.messages, context.size() - 1);
    // The outcome on the inputs: one number.
    EXPECT_EQ(line_of(table, "status of inputs").bytes, 8);
}

TEST(SphereModelBytes, OfReproducibleNormsAreTheRowsSums) {
    const Context context = mpi_context(world);
    const ModelOnDisk file(small_transformer());
    const Model model(context, file.path());
    SphereRun run(context, model, {.name = ""}, {{"reproducible", "true"}});
    const Line norm = line_of(run.plan.describe(), "blocks.0 norm1");
    EXPECT_EQ(norm.collectives, 1);
    EXPECT_EQ(norm.bytes % (2 * 8 * 8), 0);
    EXPECT_GE(sum_of_ranks(norm.bytes, world), 6 * 2 * 8 * 8);
}

TEST(SphereBalance, OfThePapersModelIsWithinFivePercentOfTheMean) {
    const json paper = changed(small_transformer(), {{"img_size", {128, 256}},
                                                     {"grid", "legendre-gauss"},
                                                     {"embed_dim", 128},
                                                     {"num_heads", 1},
                                                     {"num_layers", 4}});
    const ModelOnDisk file(paper);
    for (int part_size = 2; part_size <= std::min(4, size_of(world)); ++part_size) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(world, rank_of(world) < part_size, 0, &part);
        if (rank_of(world) < part_size) {
            const Context context = mpi_context(part);
            const Model model(context, file.path());
            SphereRun run(context, model, {.name = ""}, {{"threads", "1"}});
            const std::string table = run.plan.describe();
            const Line attention = line_of(table, "blocks.0 attention");
            // The cost model: flops of products, with a factor of one and a half for pairs, and 20
            // for an exponential; 2 (Ck + Cv) flops per pair, one head.
            double cost = line_of(table, "blocks.0 mlp").flops + attention.flops +
                          (0.5 * 2 * 256 + 20) * attention.exponentials;
            double total = cost, most = cost;
            MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, part);
            MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, part);
            EXPECT_LE(most * part_size / total, 1.05) << part_size << " ranks\n" << table;
        }
        MPI_Comm_free(&part);
    }
}

}  // namespace
}  // namespace surrogate::test
