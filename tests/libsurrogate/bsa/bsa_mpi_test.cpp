// SPDX-License-Identifier: Apache-2.0
// Ball Sparse Attention on ranks: stored cases, moving points, and a rank whose scores mean
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/fetch.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/bsa_models.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/family_ranks.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

std::vector<double> rows_of(const std::vector<double>& table, int64_t n,
                            const std::vector<int64_t>& rows) {
    const auto width = static_cast<size_t>(std::ssize(table) / n);
    std::vector<double> own;
    for (const int64_t row : rows)
        for (size_t c = 0; c < width; ++c)
            own.push_back(table[static_cast<size_t>(row) * width + c]);
    return own;
}

class BsaRanks : public testing::TestWithParam<std::string> {
protected:
    std::vector<double> own(const std::string& partition, const Options& options) const {
        const std::vector<int64_t> rows = own_rows(partition.c_str(), points.n, world);
        return run(context, model, points.rows(rows), options);
    }

    const std::string path = stored_case("bsa/" + GetParam());
    const GoldenFile file{path};
    const SequoiaCase points{file};
    const Context context = mpi_context(world);
    const Model model{context, path};
};

TEST_P(BsaRanks, ComputeTheReference) {
    const std::vector<double> truth = file.tensor("check/output64/y").values;
    double largest = 0;
    for (const double value : truth) largest = std::max(largest, std::abs(value));
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        const std::vector<double> y = own(partition, {{"precision", "fp64"}});
        const std::vector<double> expected =
            rows_of(truth, points.n, own_rows(partition, points.n, world));
        ASSERT_EQ(y.size(), expected.size());
        for (size_t i = 0; i < y.size(); ++i)
            EXPECT_LE(std::abs(y[i] - expected[i]), 1e-12 * largest) << partition << ", " << i;
    }
}

/// Keys are summed in tiles of global block numbers.
class BsaRanksWithoutARing : public BsaRanks {};

TEST_P(BsaRanksWithoutARing, ComputeTheBitsOfOneRankInFastModeToo) {
    const Context self;
    const std::vector<double> alone = run(self, Model(self, path), points);
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        EXPECT_EQ(own(partition, {}),
                  rows_of(alone, points.n, own_rows(partition, points.n, world)));
    }
}

const std::string without_a_ring[] = {"ball_baseline",
                                      "bsa_1d",
                                      "bsa_features_rotated_ball",
                                      "bsa_group8_block4",
                                      "bsa_n5",
                                      "bsa_medium",
                                      "bsa_group_compression_grad",
                                      "bsa_mean_static_sigma_grad",
                                      "bsa_no_group",
                                      "bsa_small_grad",
                                      "erwin_ball_attention_official",
                                      "erwin_fourier_grad",
                                      "erwin_features_grad",
                                      "erwin_linear_grad"};
const auto name_of_file = [](const auto& name) { return name.param; };
INSTANTIATE_TEST_SUITE_P(Files, BsaRanksWithoutARing, testing::ValuesIn(without_a_ring),
                         name_of_file);
INSTANTIATE_TEST_SUITE_P(Files, BsaRanks, testing::ValuesIn(without_a_ring), name_of_file);
INSTANTIATE_TEST_SUITE_P(Full, BsaRanks, testing::Values("full_baseline"), name_of_file);

/// Points of a cloud that all move, and of which some come or go.
SequoiaCase moved(const SequoiaCase& points, int64_t n, double by) {
    std::vector<int64_t> rows = points.all();
    rows.resize(static_cast<size_t>(n));
    SequoiaCase some = points.rows(rows);
    for (size_t i = 0; i < some.positions.size(); ++i)
        some.positions[i] = std::fmod(some.positions[i] + by * static_cast<double>(i % 7), 2.0);
    return some;
}

void expect_points_to_move(const std::string& path) {
    const Context context = mpi_context(world);
    const Model model(context, path);
    const SequoiaCase cloud = SequoiaCase::wave(150);
    const auto share = [&](int64_t n, double by, const char* partition) {
        const SequoiaCase all = moved(cloud, n, by);
        return all.rows(own_rows(partition, n, world));
    };
    const SequoiaCase first = share(100, 0, "contiguous");
    const Domain domain = first.domain(context);
    Plan plan(model, domain);
    EXPECT_EQ(run(plan, model, first), run(context, model, first));
    const struct {
        int64_t n;
        double by;
        const char* partition;
    } moves[] = {{100, 0.25, "contiguous"}, {140, 0.5, "scattered"}, {60, 0.125, "uneven"},
                 {150, 0, "contiguous"},    {3, 0.5, "contiguous"},  {100, 0, "contiguous"}};
    for (const auto& m : moves) {
        const SequoiaCase own = share(m.n, m.by, m.partition);
        const surrogate_points given{matrix(own.positions.data(), own.n, own.n_axis),
                                     own.ids.data(), nullptr, nullptr};
        ASSERT_EQ(surrogate_domain_update_points(domain.get(), &given), SURROGATE_SUCCESS);
        EXPECT_EQ(run(plan, model, own), run(context, model, own)) << m.n << " points";
    }
}

TEST(BsaMovingPoints, PredictAsAPlanMadeAnew) {
    const ModelOnDisk file(bsa_network(small_bsa()).bytes());
    expect_points_to_move(file.path());
}

/// The nearest points are found again.
TEST(ErwinMovingPoints, PredictAsAPlanMadeAnew) {
    expect_points_to_move(stored_case("bsa/erwin_fourier_grad"));
}

/// Two balls of 16 slots a rank; blocks of 4, groups of 4, 2 heads, 2 choices.
class BsaFetch : public testing::Test {
protected:
    BsaFetch() {
        config.ball_size = 16;
        config.block_size = config.group_size = 4;
        config.n_choice = 2;
        config.n_channel = 8;
        config.n_head = 2;
        for (int r = 0; r <= comm->size(); ++r) begins.push_back(32 * r);
        const int64_t first = begins[static_cast<size_t>(comm->rank())];
        work.resize(config, {32 * comm->size(), 16, {first, first + 32}, 16}, 2, 32);
        fetch.resize(begins);
        for (int64_t s = 0; s < 32; ++s) {
            for (int64_t c = 0; c < 8; ++c) {
                work.k()(c, s) = key(c, first + s);
                work.v()(c, s) = -key(c, first + s);
            }
        }
    }
    static double key(int64_t channel, int64_t slot) {
        return static_cast<double>(100 * slot + channel);
    }
    int64_t n_block() const { return begins.back() / 4; }
    /// Every group of this rank chooses blocks that lie all over the ranks.
    int32_t choice(int64_t group, int64_t head, int64_t i) const {
        return static_cast<int32_t>((group * 5 + head + i * (n_block() / 2)) % n_block());
    }
    void choose() {
        for (int64_t group = 0; group < work.n_group(); ++group)
            for (int64_t head = 0; head < 2; ++head)
                for (int64_t i = 0; i < 2; ++i)
                    work.chosen(group, head)[i] = choice(group, head, i);
    }
    void expect_blocks() {
        for (int64_t group = 0; group < work.n_group(); ++group) {
            for (int64_t head = 0; head < 2; ++head) {
                for (int64_t i = 0; i < 2; ++i) {
                    const int64_t number = choice(group, head, i);
                    const auto block = fetch.block(head, number);
                    for (int64_t c = 0; c < 4; ++c) {
                        for (int64_t t = 0; t < 4; ++t) {
                            const double expected = key(4 * head + c, 4 * number + t);
                            EXPECT_EQ(block.k[c * block.row + t], expected);
                            EXPECT_EQ(block.v[c * block.row + t], -expected);
                        }
                    }
                }
            }
        }
    }

    const std::unique_ptr<impl::Communicator> comm = impl::mpi_communicator(world);
    impl::bsa::Config config;
    std::vector<int64_t> begins;
    impl::bsa::Workspace<double> work;
    impl::bsa::Fetch<double> fetch{config, kernels::Queue(), *comm, work};
};

TEST_F(BsaFetch, BringsTheChosenBlocks) {
    choose();
    comm->reset_counters();
    EXPECT_TRUE(fetch.exchange(true));
    expect_blocks();
    if (comm->size() == 1) return;
    EXPECT_EQ(fetch.traffic().bytes, comm->bytes_sent());
    EXPECT_EQ(fetch.traffic().collectives, comm->n_collective());
}

TEST_F(BsaFetch, TakesMoreRoundsIfAllAskOneRank) {
    // All blocks of rank 0, by every group of the others: more than a round of replies holds.
    const auto wanted = [](int64_t group, int64_t i) {
        return static_cast<int32_t>((2 * group + i) % 8);
    };
    for (int64_t group = 0; group < work.n_group(); ++group)
        for (int64_t head = 0; head < 2; ++head)
            for (int64_t i = 0; i < 2; ++i) work.chosen(group, head)[i] = wanted(group, i);
    EXPECT_TRUE(fetch.exchange(true));
    EXPECT_EQ(fetch.traffic().collectives, comm->size() == 1 ? 0 : 3 + (comm->size() - 1));
    for (int64_t number = 0; number < 8; ++number) {
        for (int64_t head = 0; head < 2; ++head) {
            const auto block = fetch.block(head, number);
            EXPECT_EQ(block.k[3 * block.row + 2], key(4 * head + 3, 4 * number + 2));
            EXPECT_EQ(block.v[2], -key(4 * head, 4 * number + 2));
        }
    }
}

TEST_F(BsaFetch, SendsNothingOnAllRanksIfTheScoresOfOneMeanNothing) {
    for (int culprit = 0; culprit < comm->size(); ++culprit) {
        choose();
        EXPECT_FALSE(fetch.exchange(comm->rank() != culprit));
        EXPECT_TRUE(ranks_still_talk(world));
        EXPECT_TRUE(fetch.exchange(true));
        expect_blocks();
    }
}

/// Weights so large that scores overflow: all predictions become NaN, and every rank is told.
TEST(BsaScores, ThatOverflowPoisonAllRanks) {
    ModelWriter writer = bsa_network(small_bsa());
    for (WriterTensor& tensor : writer.tensors) {
        if (!tensor.name.ends_with("attn.qkv.weight")) continue;
        const std::vector<float> huge(tensor.bytes.size() / sizeof(float), 1e30f);
        tensor = float_tensor(tensor.name, tensor.shape, huge);
    }
    const ModelOnDisk file(writer.bytes());
    const Context context = mpi_context(world);
    const Model model(context, file.path());
    const SequoiaCase cloud = SequoiaCase::wave(100);
    const SequoiaCase own = cloud.rows(own_rows("scattered", cloud.n, world));
    const Domain domain = own.domain(context);
    Plan plan(model, domain);
    std::vector<double> y(static_cast<size_t>(own.n), 0.0);
    const surrogate_named_array output{"y", matrix(y.data(), own.n, 1)};
    EXPECT_EQ(surrogate_plan_run_network(plan.get(), 0, &output, 1, &output), SURROGATE_NOT_FINITE);
    for (const double value : y) EXPECT_TRUE(std::isnan(value));
    EXPECT_TRUE(ranks_still_talk(world));
}

// ---- training ----

surrogate_points points_of(const SequoiaCase& own) {
    static const int64_t no_id = 0;
    return {matrix(own.positions.data(), own.n, own.n_axis), own.n > 0 ? own.ids.data() : &no_id,
            nullptr, nullptr};
}

TEST(BsaTrainingRanks, OfOneEachTrainTogether) {
    const GoldenFile file(stored_case("bsa/bsa_train"));
    const SequoiaCase points(file);
    expect_groups_of_one_rank(file, points.n_axis, points_of(points), {},
                              file.tensor("check/input/target").values, world);
}

}  // namespace
}  // namespace surrogate::test
