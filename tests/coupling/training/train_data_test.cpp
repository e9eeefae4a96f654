// SPDX-License-Identifier: Apache-2.0
// Data sets as a training reads them: parts, symmetries, statistics, and errors.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "coupling/dataset/read_file.hpp"
#include "coupling/job/job.hpp"
#include "coupling/training/sample.hpp"
#include "coupling/training/statistics.hpp"
#include "tests/coupling/training/train_case.hpp"

namespace surrogate::test {

namespace {

using dataset::PointForm;
using dataset::ReadFile;
using namespace surrogate::tool;

class TrainData : public testing::Test {
protected:
    void SetUp() override {
        const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
        folder_ =
            std::string(SURROGATE_WORK "/data_") + info->name() + "_" + std::to_string(job_.size());
        if (job_.is_root()) std::filesystem::create_directories(folder_);
        job_.barrier();
    }
    std::string file(const std::string& name) const { return folder_ + "/" + name; }

    /// Written by rank 0, seen by all.
    std::string written(const std::string& name,
                        const std::function<void(const std::string&)>& make) {
        if (job_.is_root()) make(file(name));
        job_.barrier();
        return file(name);
    }
    std::string lattice(const LatticeSet& set, const std::string& name = "structured_grid.h5") {
        return written(name, [&](const std::string& path) { set.write(path); });
    }

    /// Variables over the axes `axes` of extents n with numbers that tell their place.
    std::string cloud(const std::string& name, const std::vector<std::string>& axes,
                      const std::vector<int64_t>& n, const std::vector<const char*>& of_x,
                      const std::vector<const char*>& of_field) {
        return written(name, [&](const std::string& path) {
            const Context context;
            NewDataset set(context, path);
            for (size_t i = 0; i < axes.size(); ++i) set.add_axis(axes[i], n[i]);
            const auto count = [&](const std::vector<const char*>& of) {
                int64_t product = 1;
                for (const char* axis : of)
                    for (size_t i = 0; i < axes.size(); ++i)
                        if (axes[i] == axis) product *= n[i];
                return product;
            };
            set.add("x", of_x, "m", nullptr, SURROGATE_FLOAT64, "X");
            set.add("u", of_field, "m/s", nullptr, SURROGATE_FLOAT32);
            set.begin();
            std::vector<double> x(static_cast<size_t>(count(of_x)));
            std::vector<float> u(static_cast<size_t>(count(of_field)));
            for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
            for (size_t i = 0; i < u.size(); ++i) u[i] = 100 + static_cast<float>(i);
            set.put("x", 0, column(x.data(), std::ssize(x)));
            set.put("u", 0, column(u.data(), std::ssize(u)));
            set.finish();
        });
    }

    Job job_;
    std::string folder_;
};

std::string refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const std::exception& error) {
        return error.what();
    }
    ADD_FAILURE() << "no error was thrown";
    return "";
}

TEST_F(TrainData, LatticeHasAxesFieldsAndUnits) {
    const LatticeSet set;
    const ReadFile file(lattice(set));
    EXPECT_EQ(file.form().points, PointForm::lattice);
    EXPECT_EQ(file.form().n_sample, set.n_sample);
    EXPECT_EQ(file.extents(0), (std::vector<int64_t>{set.n, set.n}));
    EXPECT_EQ(file.fields(), (std::vector<std::string>{"mobility", "pressure"}));
    EXPECT_EQ(file.unit("mobility"), set.unit);
    EXPECT_NE(refusal([&] { file.unit("presure"); }).find("fields are mobility, pressure"),
              std::string::npos);
}

TEST_F(TrainData, EveryPartitionReadsTheSameNumbersAndPlaces) {
    const LatticeSet set;
    const ReadFile file(lattice(set));
    for (const int size : {1, 2, 3, 7, 200}) {
        int64_t at = 0;
        for (int rank = 0; rank < size; ++rank) {
            const PointRange range = share_of(file, 0, rank, size);
            EXPECT_EQ(range.first, at);
            const auto values = read_range(file, "pressure", {4, 0}, {}, range);
            const auto points = read_points(file, {4, 0}, range);
            ASSERT_EQ(std::ssize(values), range.n);
            for (int64_t k = 0; k < range.n; ++k) {
                const auto i = static_cast<size_t>(k);
                const double x = set.at((at + k) / set.n), y = set.at((at + k) % set.n);
                EXPECT_EQ(points[2 * i], x);
                EXPECT_EQ(points[2 * i + 1], y);
                EXPECT_EQ(values[i], set.pressure(4, x, y));
            }
            at += range.n;
        }
        EXPECT_EQ(at, set.n * set.n);
    }
}

TEST_F(TrainData, SymmetriesOfTheSquareMoveFieldsWithTheirLattice) {
    const LatticeSet set;
    const ReadFile file(lattice(set));
    for (int square = 0; square < 8; ++square)
        for (int rank = 0; rank < 3; ++rank) {
            const PointRange range = share_of(file, 0, rank, 3);
            const auto values = read_range(file, "mobility", {2, 0}, {square, 0}, range);
            for (int64_t k = 0; k < range.n; ++k) {
                double x = set.at((range.first + k) / set.n), y = set.at((range.first + k) % set.n);
                if ((square & 1) != 0) std::swap(x, y);
                if ((square & 2) != 0) x = 1 - x;
                if ((square & 4) != 0) y = 1 - y;
                EXPECT_NEAR(values[static_cast<size_t>(k)], set.mobility(2, x, y), 1e-12);
            }
        }
}

TEST_F(TrainData, PermutationHasEveryNumberOnceAndDependsOnSeedAndEpoch) {
    const auto order = permutation(100, 3, 1);
    EXPECT_EQ(order, permutation(100, 3, 1));
    EXPECT_NE(order, permutation(100, 3, 2));
    EXPECT_NE(order, permutation(100, 4, 1));
    std::vector<int> seen(100);
    for (const int64_t i : order) ++seen[static_cast<size_t>(i)];
    EXPECT_EQ(seen, std::vector<int>(100, 1));
}

TEST_F(TrainData, CloudsOfAllFormsAreRead) {
    const ReadFile shared(
        cloud("a.h5", {"sample", "point"}, {2, 5}, {"point"}, {"sample", "point"}));
    EXPECT_EQ(shared.form().points, PointForm::cloud);
    EXPECT_EQ(read_points(shared, {1, 0}, {2, 2}), (std::vector<double>{2, 3}));
    EXPECT_EQ(read_range(shared, "u", {1, 0}, {}, {2, 2}), (std::vector<double>{107, 108}));

    const ReadFile moving(
        cloud("b.h5", {"sample", "point"}, {2, 5}, {"sample", "point"}, {"sample", "point"}));
    EXPECT_EQ(moving.form().points, PointForm::moving_cloud);
    EXPECT_EQ(read_points(moving, {1, 0}, {2, 2}), (std::vector<double>{7, 8}));

    const ReadFile series(cloud("c.h5", {"sample", "time", "point"}, {2, 3, 5}, {"point"},
                                {"sample", "time", "point"}));
    EXPECT_TRUE(series.form().is_series);
    EXPECT_EQ(series.form().n_time, 3);
    EXPECT_EQ(read_range(series, "u", {1, 2}, {}, {0, 1}), (std::vector<double>{125}));
}

TEST_F(TrainData, CloudsOfDifferentSizesAreRanges) {
    const RaggedSet set;
    const ReadFile file(written("rows.h5", [&](const std::string& path) { set.write(path); }));
    EXPECT_EQ(file.form().points, PointForm::rows);
    EXPECT_EQ(file.form().n_sample, set.n_sample);
    EXPECT_EQ(file.n_point(5), set.n_point(5));
    EXPECT_EQ(read_points(file, {5, 0}, {4, 1}), (std::vector<double>{0.5 + 0.5 * wave(5, 4, 0)}));
    EXPECT_EQ(read_range(file, "a", {5, 0}, {}, {0, 1}), (std::vector<double>{wave(5, 5, 1)}));
}

TEST_F(TrainData, SphereIsSharedByRowsAndTurnedByColumns) {
    const SphereSet set;
    const ReadFile file(written("sphere.h5", [&](const std::string& path) { set.write(path); }));
    EXPECT_EQ(file.form().points, PointForm::sphere);
    EXPECT_EQ(file.time_step(), 3600);
    double area = 0;
    for (int rank = 0; rank < 3; ++rank) {
        const PointRange range = share_of(file, 0, rank, 3);
        EXPECT_EQ(range.first % set.n_lon, 0);
        EXPECT_EQ(range.n % set.n_lon, 0);
        for (const double weight : read_weights(file, {}, {}, range)) area += weight;
        const auto values = read_range(file, "height", {1, 2}, {0, 5}, range);
        for (int64_t k = 0; k < range.n; ++k)
            EXPECT_EQ(values[static_cast<size_t>(k)],
                      set.height(1, 2, (range.first + k) / set.n_lon,
                                 ((range.first + k) % set.n_lon + 5) % set.n_lon));
    }
    EXPECT_NEAR(area, 1, 1e-12);
}

TEST_F(TrainData, PairsOfASeriesAreALeadApart) {
    TrainConfig config;
    config.data.train = {
        written("series.h5", [](const std::string& path) { SphereSet().write(path); })};
    EXPECT_EQ(tool::TrainData(config).training().size(), 12u);  // 4 samples, 3 pairs each
    config.data.lead_s = 7200;
    const tool::TrainData data(config);
    EXPECT_EQ(data.training().size(), 8u);
    EXPECT_EQ(data.training()[1].target.time - data.training()[1].input.time, 2);
    config.data.lead_s = 5000;
    EXPECT_NE(refusal([&] { const tool::TrainData wrong(config); }).find("a multiple of 3.6e+03 s"),
              std::string::npos);
}

TEST_F(TrainData, NotFiniteNumbersAreNamedWithSampleAndPoint) {
    const LatticeSet set;
    const std::string path = lattice(set);
    double value = set.mobility(7, set.at(3), set.at(4));
    if (job_.is_root()) {
        std::ifstream in(path, std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(in)), {});
        const std::string pattern(reinterpret_cast<const char*>(&value), sizeof value);
        const size_t at = bytes.find(pattern);
        ASSERT_NE(at, std::string::npos);
        value = std::numeric_limits<double>::quiet_NaN();
        std::memcpy(&bytes[at], &value, sizeof value);
        std::ofstream(path, std::ios::binary) << bytes;
    }
    job_.barrier();
    const ReadFile file(path);
    EXPECT_NO_THROW(read_range(file, "mobility", {6, 0}, {}, {0, set.n * set.n}));
    const std::string text = refusal([&] {
        read_range(file, "mobility", {7, 0}, {}, {0, set.n * set.n});
    });
    EXPECT_NE(text.find("'mobility' of sample 7 is NaN at x 3, y 4"), std::string::npos) << text;
    EXPECT_NE(text.find(path), std::string::npos) << text;
}

TEST_F(TrainData, FilesThatAreNoDataSetsAreRefused) {
    EXPECT_NE(refusal([&] { ReadFile file(folder_ + "/absent.h5"); }).find("absent.h5"),
              std::string::npos);
    const std::string text = written(
        "text.h5", [](const std::string& path) { std::ofstream(path) << "sample,x\n1,2\n"; });
    EXPECT_NE(refusal([&] { ReadFile file(text); }).find("text.h5"), std::string::npos);
    const std::string cut = written("cut.h5", [&](const std::string& path) {
        LatticeSet().write(path);
        std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    });
    EXPECT_NE(refusal([&] {
                  const ReadFile file(cut);
                  read_range(file, "pressure", {19, 0}, {}, {0, 144});
              }).find("cut.h5"),
              std::string::npos);
}

TEST_F(TrainData, StatisticsAreThoseOfAllPointsOnAnyNumberOfRanks) {
    const LatticeSet set;
    TrainConfig config;
    config.data.train = {lattice(set)};
    config.data.validation_share = 0.25;
    const tool::TrainData data(config);
    EXPECT_EQ(data.training().size(), 15u);
    EXPECT_EQ(data.validation().size(), 5u);
    const Context context = job_.make_context();
    const auto found = read_statistics(job_, context, data, {data.channel("mobility", true)},
                                       {data.channel("pressure", false)});
    double sum = 0, square = 0, low = 1e9;
    const double n = 15 * 144;
    for (int64_t s = 0; s < 15; ++s)
        for (int64_t i = 0; i < 144; ++i) {
            const double value = set.mobility(s, set.at(i / 12), set.at(i % 12));
            sum += value;
            square += value * value;
            low = std::min(low, value);
        }
    const ChannelStatistics& one = found.inputs[0];
    EXPECT_NEAR(one.mean, sum / n, 1e-12);
    EXPECT_NEAR(one.std, std::sqrt((square - sum * sum / n) / (n - 1)) + 1e-8, 1e-10);
    EXPECT_EQ(one.min, low);
    EXPECT_EQ(one.sample_mean.size(), 15u);
    // Bitwise identical on every rank and any number of ranks: compared with one rank's own pass.
    const Job& all = job_;
    EXPECT_EQ(all.max(one.mean), one.mean);
    EXPECT_EQ(-all.max(-one.std), one.std);
}

}  // namespace

}  // namespace surrogate::test
