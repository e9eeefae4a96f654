// SPDX-License-Identifier: Apache-2.0
// Checks the content of data sets, regardless of the interface that wrote them: HDF5 reads the
// files back.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/coupling/dataset/dataset_case.hpp"
#include "tests/support/found_dataset.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class Dataset : public testing::Test {
protected:
    const SharedFolder folder_{world};
    const std::string path_ = folder_ / "set.h5";
};

TEST_F(Dataset, HasEveryNumberAtThePlaceOfItsSampleAndPoint) {
    constexpr int64_t n = 37;
    for (const char* partition : {"scattered", "uneven"}) {
        ASSERT_EQ(PointSamples(world, partition, n).save(path_).text, "");
        const FoundDataset found(path_);
        const std::vector<double> pressure = found.numbers("pressure"), x = found.numbers("x"),
                                  height = found.numbers("height");
        ASSERT_EQ(pressure.size(), 3 * n);
        for (int64_t s = 0; s < 3; ++s)
            for (int64_t i = 0; i < n; ++i) {
                const auto at = static_cast<size_t>(s * n + i);
                EXPECT_EQ(pressure[at], number(0, s, i));
                EXPECT_EQ(height[at], static_cast<double>(static_cast<float>(number(1, s, i))));
                EXPECT_EQ(x[static_cast<size_t>(i)], static_cast<double>(i) / 8);
            }
        EXPECT_EQ(found.number_bytes("pressure"), 8u);
        EXPECT_EQ(found.number_bytes("height"), 4u);
        MPI_Barrier(world);
    }
}

TEST_F(Dataset, SaysWhatItIsAndNamesItsAxes) {
    ASSERT_EQ(PointSamples(world, "contiguous", 5).save(path_).text, "");
    const FoundDataset found(path_);
    EXPECT_EQ(found.version(), 1);
    EXPECT_EQ(found.text("", "Conventions"), "CF-1.8");
    EXPECT_EQ(found.text("", "title"), "samples");
    EXPECT_EQ(found.text("", "created_by"), std::string("libsurrogate ") + surrogate_version());
    EXPECT_EQ(found.text("pressure", "units"), "Pa");
    EXPECT_EQ(found.text("pressure", "long_name"), "pressure of the fluid");
    EXPECT_EQ(found.text("pressure", "coordinates"), "x");
    EXPECT_EQ(found.text("x", "axis"), "X");
    EXPECT_EQ(found.axes("pressure"), (std::vector<std::string>{"sample", "point"}));
    EXPECT_EQ(found.axes("x"), std::vector<std::string>{"point"});
    EXPECT_EQ(found.text("point", "CLASS"), "DIMENSION_SCALE");
}

TEST_F(Dataset, HasTheSameBytesForAnyRanksAndPartition) {
    ASSERT_EQ(PointSamples(world, "scattered", 1000).save(path_).text, "");
    const std::string alone = folder_ / "alone.h5";
    if (rank_of(world) == 0) {
        EXPECT_EQ(PointSamples(MPI_COMM_SELF, "contiguous", 1000).save(alone).text, "");
    }
    MPI_Barrier(world);
    EXPECT_TRUE(bytes_of(path_) == bytes_of(alone));
}

TEST_F(Dataset, HasGridsOnTheSphereFromNorthToSouthAndFromLongitude0) {
    surrogate_domain_info grid = {};
    grid.kind = SURROGATE_SPHERE;
    grid.grid = "legendre-gauss";
    grid.n_lat = 6;
    grid.n_lon = 8;
    SphereLayout layout;
    layout.south_first = true;
    layout.shift = 3;
    layout.partition = "scattered";
    const SphereBlock block(grid, layout, rank_of(world), size_of(world));
    const Context context = mpi_context(world);
    const Domain domain(context, block.sphere());
    std::vector<double> values;
    for (int64_t i = 0; i < block.n_lat(); ++i)
        for (int64_t j = 0; j < block.n_lon(); ++j)
            values.push_back(static_cast<double>(block.model_index(i, j)));
    NewDataset set(context, path_);
    set.add_axis("sample", 2);
    set.add_axis("lat", 6);
    set.add_axis("lon", 8);
    set.add("height", {"sample", "lat", "lon"}, "m");
    set.begin();
    set.set_points(domain);
    for (int64_t s = 0; s < 2; ++s)
        set.write("height", s * 48, column(values.data(), std::ssize(values)));
    set.finish();
    std::vector<double> expected(48);
    std::iota(expected.begin(), expected.end(), 0.0);
    expected.insert(expected.end(), expected.begin(), expected.begin() + 48);
    EXPECT_EQ(FoundDataset(path_).numbers("height"), expected);
}

TEST_F(Dataset, TakesWholeSamplesOfDifferentSizesFromAnyRank) {
    const std::vector<int64_t> offset = {0, 4, 4, 5, 12};
    const Context context = mpi_context(world);
    NewDataset set(context, path_);
    set.add_axis("offset", 5);
    set.add_axis("row", 12);
    set.add("offset", {"offset"}, nullptr, "first row of each sample", SURROGATE_INT64);
    set.add("mass", {"row"}, "kg");
    set.begin();
    surrogate_array of_offset = column(static_cast<const double*>(nullptr), 5);
    of_offset.data = const_cast<int64_t*>(offset.data());
    of_offset.dtype = SURROGATE_INT64;
    if (rank_of(world) == 0) set.put("offset", 0, of_offset);
    for (size_t s = 0; s < 4; ++s) {
        if (static_cast<int>(s) % size_of(world) != rank_of(world)) continue;
        std::vector<double> mass(1, -1.0);  // two columns side by side: every second number counts
        for (int64_t i = offset[s]; i < offset[s + 1]; ++i) {
            mass.push_back(static_cast<double>(i));
            mass.push_back(-1);
        }
        set.put("mass", offset[s], column(mass.data() + 1, offset[s + 1] - offset[s], 2));
    }
    set.finish();
    const FoundDataset found(path_);
    EXPECT_EQ(found.numbers<int64_t>("offset"), offset);
    std::vector<double> expected(12);
    std::iota(expected.begin(), expected.end(), 0.0);
    EXPECT_EQ(found.numbers("mass"), expected);
    EXPECT_EQ(found.axes("mass"), std::vector<std::string>{"row"});
}

TEST_F(Dataset, AppearsWhenItIsFinished) {
    const PointSamples samples(world, "scattered", 20);
    if (rank_of(world) == 0) write_bytes(path_, "earlier");
    MPI_Barrier(world);
    {
        NewDataset set(samples.context, path_);
        samples.describe(&set);
        set.begin();
        samples.write(&set);
        EXPECT_EQ(bytes_of(path_), "earlier");
        MPI_Barrier(world);
        set.finish();
        EXPECT_NE(bytes_of(path_), "earlier");
    }
    {
        NewDataset set(samples.context, folder_ / "left.h5");
        samples.describe(&set);
        set.begin();
        samples.write(&set);
    }
    MPI_Barrier(world);
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"set.h5"});
}

}  // namespace
}  // namespace surrogate::test
