// SPDX-License-Identifier: Apache-2.0
// Checks that a restored loop is bitwise identical to the saved one, on any number of ranks and any
// partition, and that the bytes of a checkpoint do not depend on them.
#include <gtest/gtest.h>

#include "tests/coupling/timeloop/checkpoint_case.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const char* const partitions[] = {"contiguous", "scattered", "uneven"};

/// The first n ranks of the world; the others have none.
class FirstRanks {
public:
    explicit FirstRanks(int n) {
        MPI_Comm_split(world, rank_of(world) < n ? 0 : MPI_UNDEFINED, 0, &comm_);
    }
    ~FirstRanks() {
        if (has_this()) MPI_Comm_free(&comm_);
        MPI_Barrier(world);
    }
    FirstRanks(const FirstRanks&) = delete;
    FirstRanks& operator=(const FirstRanks&) = delete;
    bool has_this() const { return comm_ != MPI_COMM_NULL; }
    MPI_Comm comm() const { return comm_; }

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Calls work(comm, partition) on the first 1, 2, .. ranks of the world with each partition.
template <class Work>
void on_ranks(const Work& work) {
    for (int n = 1; n <= size_of(world); ++n)
        for (const char* const partition : partitions) {
            SCOPED_TRACE(std::to_string(n) + " ranks, " + partition);
            const FirstRanks ranks(n);
            if (!ranks.has_this()) continue;
            EXPECT_NO_THROW(work(ranks.comm(), partition));
        }
}

void expect_same_on_any_ranks(PointsLoop::Kind kind) {
    const SharedFolder folder(world);
    const std::string first = folder / "first.h5", other = folder / "other.h5";
    if (rank_of(world) == 0) {
        EXPECT_EQ(PointsLoop(MPI_COMM_SELF, kind).save(first).text, "");
    }
    MPI_Barrier(world);
    on_ranks([&](MPI_Comm comm, const char* partition) {
        kind.partition = partition;
        PointsLoop loop(comm, kind);
        EXPECT_EQ(loop.save(other).text, "");
        EXPECT_TRUE(bytes_of(other) == bytes_of(first));
        EXPECT_EQ(loop.restore(first).text, "");
        EXPECT_TRUE(loop.is_restored());
    });
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"first.h5", "other.h5"}));
}

TEST(Checkpoint, OfPointsWithIdsIsTheSameOnAnyRanks) {
    expect_same_on_any_ranks({});
}

TEST(Checkpoint, OfPointsWithoutIdsIsTheSameOnAnyRanks) {
    expect_same_on_any_ranks({.has_ids = false});
}

TEST(Checkpoint, OfOnePointIsTheSameOnAnyRanks) {
    expect_same_on_any_ranks({.n_point = 1});
}

TEST(Checkpoint, BeyondOnePieceOfTheChecksumIsTheSameOnAnyRanks) {
    expect_same_on_any_ranks({.n_point = 120000});  // 5 MB, pieces of 4 MiB
}

TEST(Checkpoint, FindsFieldsByNameInAnyOrder) {
    const SharedFolder folder(world);
    PointsLoop loop(world, {});
    ASSERT_EQ(loop.save(folder / "run.h5").text, "");
    std::swap(loop.snapshot.fields[0], loop.snapshot.fields[2]);
    std::swap(loop.snapshot.integrals[0], loop.snapshot.integrals[1]);
    EXPECT_EQ(loop.restore(folder / "run.h5").text, "");
    EXPECT_TRUE(loop.is_restored());
}

TEST(Checkpoint, OfALoopWithoutFieldsKeepsItsTime) {
    const SharedFolder folder(world);
    PointsLoop loop(world, {});
    loop.snapshot.fields.clear();
    loop.snapshot.integrals.clear();
    ASSERT_EQ(loop.save(folder / "run.h5").text, "");
    EXPECT_EQ(loop.restore(folder / "run.h5").text, "");
    EXPECT_TRUE(loop.is_restored());
}

TEST(Checkpoint, ReplacesAnEarlierOneThroughALink) {
    const SharedFolder folder(world);
    PointsLoop loop(world, {});
    if (rank_of(world) == 0) std::filesystem::create_symlink("run.h5", folder / "latest.h5");
    MPI_Barrier(world);
    for (int i = 0; i < 2; ++i) {
        loop.snapshot.step += 1;
        ASSERT_EQ(loop.save(folder / "latest.h5").text, "");
    }
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"latest.h5", "run.h5"}));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "latest.h5"));
    EXPECT_EQ(loop.restore(folder / "run.h5").text, "");
    EXPECT_TRUE(loop.is_restored());
}

// ---- grids on the sphere ----

/// A rank's block of a grid, and the points in it as the model counts them.
struct Grid {
    Grid(const Context& context, const surrogate_domain_info& grid, const SphereLayout& layout)
        : block(grid, layout, context.rank(), context.size()), domain(context, block.sphere()) {
        for (int64_t i = 0; i < block.n_lat(); ++i)
            for (int64_t j = 0; j < block.n_lon(); ++j) points.push_back(block.model_index(i, j));
    }
    SphereBlock block;
    Domain domain;
    std::vector<int64_t> points;
};

void expect_same_for_any_blocks(const nlohmann::json& network) {
    const SharedFolder folder(world);
    const ModelOnDisk file(network);
    const SphereLayout layouts[] = {{.name = "plain"},
                                    {.name = "blocks", .partition = "scattered", .shift = 5},
                                    {.name = "southward", .south_first = true}};
    for (const SphereLayout& layout : layouts) {
        SCOPED_TRACE(layout.name);
        const std::string path = folder / (layout.name + ".h5");
        const Context context = mpi_context(world);
        const Model model(context, file.path());
        const Grid input(context, model.input_domain(), layout);
        const Grid output(context, model.output_domain(), layout);
        const Plan plan(model, input.domain, output.domain);
        Snapshot snapshot = snapshot_of(input.points);
        snapshot.fields[0] = field_of<double>("pressure", "Pa", output.points, 1, true);
        snapshot.fields[2] = field_of<double>("wind", "m/s", output.points, 2, true);
        timeloop::CheckpointOrders orders;
        timeloop::save_checkpoint(context.get(), plan.get(), snapshot, path, &orders);
        EXPECT_TRUE(bytes_of(path) == bytes_of(folder / "plain.h5"));
        Snapshot restored = emptied(snapshot);
        timeloop::restore_checkpoint(context.get(), plan.get(), folder / "plain.h5", &restored,
                                     &orders);
        EXPECT_TRUE(restored == snapshot);
    }
}

TEST(Checkpoint, OfASphereIsTheSameForAnyBlocks) {
    expect_same_for_any_blocks(small_transformer());
}

TEST(Checkpoint, OfTwoGridsIsTheSameForAnyBlocks) {
    expect_same_for_any_blocks(small_resampling());
}

}  // namespace
}  // namespace surrogate::test
