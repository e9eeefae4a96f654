// SPDX-License-Identifier: Apache-2.0
// Plans of HEPT on ranks: data sent, points that move, clouds, and errors.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/family_ranks.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Points of this rank, with two features each.
struct Hits {
    int64_t n_axis = 2, n_feature = 2;
    std::vector<double> x, features;
    std::vector<int64_t> ids, clouds;
    bool has_clouds = false;

    int64_t n() const { return std::ssize(ids); }
    surrogate_points points() const {
        static const int64_t none = 0;  // a rank without points still says what points have
        const auto* const cloud = clouds.empty() ? (has_clouds ? &none : nullptr) : clouds.data();
        return {matrix(x.data(), n(), n_axis), ids.empty() ? &none : ids.data(), cloud, nullptr};
    }

    /// Rows of an endless list; cloud_of(row) if there is one.
    static Hits wave(const std::vector<int64_t>& rows,
                     const std::function<int64_t(int64_t)>& cloud_of = {}) {
        Hits hits;
        hits.has_clouds = static_cast<bool>(cloud_of);
        const auto exact = [](double value) {
            return static_cast<double>(static_cast<float>(value));
        };
        for (const int64_t row : rows) {
            const double r = static_cast<double>(row);
            hits.x.push_back(exact(std::sin(1.3 * r + 0.1)));
            hits.x.push_back(exact(std::sin(2.1 * r + 0.4)));
            hits.features.push_back(exact(std::sin(0.7 * r)));
            hits.features.push_back(exact(std::cos(0.9 * r)));
            hits.ids.push_back(row);
            if (cloud_of) hits.clouds.push_back(cloud_of(row));
        }
        return hits;
    }
};

std::vector<double> run(Plan& plan, const Hits& own) {
    std::vector<double> y(static_cast<size_t>(own.n()), NAN);
    plan.run_network({{"x", matrix(own.features.data(), own.n(), own.n_feature)}},
                     {{"y", matrix(y.data(), own.n(), 1)}});
    return y;
}
std::vector<double> run(const Context& context, const Model& model, const Hits& own,
                        const Options& options = {}) {
    const Domain domain(context, own.points());
    Plan plan(model, domain, options);
    return run(plan, own);
}

/// Returns the error of `work` on this rank.
Answer answer_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return {error.status(), error.what()};
    }
    return {SURROGATE_SUCCESS, ""};
}

class HeptPlans : public testing::TestWithParam<const char*> {
protected:
    const ModelOnDisk file_{hept_network(small_hept({{"padding", GetParam()}})).bytes()};
    const Context context_ = mpi_context(world);
    const Model model_{context_, file_.path()};
};

TEST_P(HeptPlans, SendWhatTheirTableSays) {
    const Hits own = Hits::wave(own_rows("scattered", 300, world));
    const Domain domain(context_, own.points());
    Plan plan(model_, domain);
    run(plan, own);
    const std::string table = plan.describe();
    for (const char* part : {"shared between ranks", "ghost tokens per layer", "blocks of 8"})
        EXPECT_NE(table.find(part), std::string::npos) << table;
    const bool is_alone = size_of(world) == 1;
    // A flag, inputs home, predictions back; a layer of 2 heads, of which there are 2, has 3.
    EXPECT_EQ(plan.counter("collectives"), 3 + (is_alone ? 0 : 2 * 3));
    if (is_alone) {
        EXPECT_EQ(plan.counter("bytes_sent"), 8 + 300 * (8 + 4));
    }
}

TEST_P(HeptPlans, GiveTheBitsOfAPlanMadeAnewWherePointsHaveMoved) {
    Hits own = Hits::wave(own_rows("contiguous", 200, world));
    Domain domain(context_, own.points());
    Plan plan(model_, domain);
    struct Move {
        const char* partition;
        int64_t n;
    };
    for (const Move& to : {Move{"scattered", 200}, Move{"uneven", 7}, Move{"contiguous", 1},
                           Move{"scattered", 0}, Move{"contiguous", 500}, Move{"uneven", 350}}) {
        SCOPED_TRACE(std::string(to.partition) + " " + std::to_string(to.n));
        own = Hits::wave(own_rows(to.partition, to.n, world));
        for (double& x : own.x) x = static_cast<double>(static_cast<float>(-0.7 * x));
        domain.update_points(own.points());
        EXPECT_EQ(run(plan, own), run(context_, model_, own));
    }
}

TEST_P(HeptPlans, AreRefusedAPointThatIsGivenTwice) {
    Hits own = Hits::wave(own_rows("contiguous", 40, world));
    for (int64_t& id : own.ids) id = id == 39 ? 3 : id;
    const Answer found = answer_of([&] { run(context_, model_, own); });
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_NE(found.text.find("id 3"), std::string::npos) << found.text;
    EXPECT_TRUE(found == answer_of_rank_0(found, world));
}

TEST_P(HeptPlans, AreRefusedCoordinatesOfTheWrongWidth) {
    Hits own = Hits::wave(own_rows("contiguous", 40, world));
    own.n_axis = 1;
    own.x.resize(static_cast<size_t>(own.n()));
    const Answer found = answer_of([&] { run(context_, model_, own); });
    EXPECT_EQ(found.status, SURROGATE_SHAPE);
    EXPECT_NE(found.text.find("1 coordinates"), std::string::npos) << found.text;
    EXPECT_TRUE(found == answer_of_rank_0(found, world));
}

TEST_P(HeptPlans, AreRefusedCoordinatesThatAreNotFinite) {
    for (const double bad : {static_cast<double>(NAN), std::numeric_limits<double>::infinity()}) {
        Hits own = Hits::wave(own_rows("contiguous", 40, world));
        if (rank_of(world) == size_of(world) - 1) own.x.back() = bad;
        const Answer found = answer_of([&] { run(context_, model_, own); });
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
        EXPECT_NE(found.text.find("coordinate 1 of local point"), std::string::npos) << found.text;
        EXPECT_TRUE(found == answer_of_rank_0(found, world));
    }
}

INSTANTIATE_TEST_SUITE_P(Paddings, HeptPlans, testing::Values("masked", "duplicate", "zero"),
                         [](const auto& padding) { return padding.param; });

// ---- clouds ----

/// Each cloud alone, in a plan of its own, gives the numbers that it gives among others: sums run
/// within blocks, which hold points of one cloud.
TEST(HeptClouds, DoNotSeeEachOther) {
    for (const char* padding : {"masked", "duplicate"}) {
        const ModelOnDisk file(hept_network(small_hept({{"padding", padding}})).bytes());
        const Context context = mpi_context(world), self;
        const Model model(context, file.path()), alone(self, file.path());
        const auto cloud_of = [](int64_t row) { return row < 3 ? 0 : row < 90 ? 2 : 3; };
        const Hits own = Hits::wave(own_rows("scattered", 150, world), cloud_of);
        const std::vector<double> y = run(context, model, own);
        const int64_t begins[] = {0, 3, 90, 150};
        for (size_t g = 0; g < 3; ++g) {
            std::vector<int64_t> rows;
            for (int64_t row = begins[g]; row < begins[g + 1]; ++row) rows.push_back(row);
            const std::vector<double> expected = run(self, alone, Hits::wave(rows));
            for (size_t i = 0; i < y.size(); ++i) {
                const int64_t row = own.ids[i];
                if (row < begins[g] || row >= begins[g + 1]) continue;
                EXPECT_EQ(y[i], expected[static_cast<size_t>(row - begins[g])]) << row;
            }
        }
    }
}

// ---- classes ----

TEST(HeptClasses, ThatDoNotExistAreNamedByTheirRankAndPoisonAll) {
    const Context context = mpi_context(world);
    const Model model(context, SURROGATE_TEST_DATA "/hept/pileup_977.safetensors");
    const GoldenFile file(SURROGATE_TEST_DATA "/hept/pileup_977.safetensors");
    const std::vector<double> x = file.tensor("check/input/x").values;
    const std::vector<double> coords = file.tensor("check/input/coords").values;
    Hits own;
    own.n_axis = 4;
    own.n_feature = 8;
    for (const int64_t row : own_rows("contiguous", 60, world)) {
        own.ids.push_back(row);
        own.x.insert(own.x.end(), coords.begin() + row * 4, coords.begin() + row * 4 + 4);
        own.features.insert(own.features.end(), x.begin() + row * 8, x.begin() + row * 8 + 8);
    }
    const Domain domain(context, own.points());
    Plan plan(model, domain, {{"coordinates", "normalized"}});
    const std::vector<double> good = run(plan, own);
    const bool is_culprit = rank_of(world) == size_of(world) - 1;
    for (const double bad : {7.0, -1.0, 2.5, 1e30}) {
        Hits changed = own;
        if (is_culprit) changed.features.back() = bad;
        const Answer found = answer_of([&] { run(plan, changed); });
        EXPECT_EQ(found.status, is_culprit ? SURROGATE_INVALID_ARGUMENT : SURROGATE_NOT_FINITE);
        for (const char* part : {"id 59", "from 0 to 6"})
            EXPECT_EQ(found.text.find(part) != std::string::npos, is_culprit) << found.text;
    }
    EXPECT_EQ(run(plan, own), good);
}

// ---- training ----

struct TrainedHits {
    explicit TrainedHits(const std::vector<int64_t>& rows)
        : file(SURROGATE_TEST_DATA "/hept/tiny.safetensors") {
        const std::vector<double> coords = file.tensor("check/input/coords").values,
                                  x = file.tensor("check/input/x").values;
        const std::vector<int64_t> clouds = file.integers("check/input/batch");
        hits.n_axis = hits.n_feature = 3;
        hits.has_clouds = true;
        for (const int64_t row : rows) {
            hits.ids.push_back(row);
            hits.clouds.push_back(clouds[static_cast<size_t>(row)]);
            hits.x.insert(hits.x.end(), coords.begin() + 3 * row, coords.begin() + 3 * row + 3);
            hits.features.insert(hits.features.end(), x.begin() + 3 * row, x.begin() + 3 * row + 3);
        }
    }
    const GoldenFile file;
    Hits hits;
};

TEST(HeptTrainingRanks, OfOneEachTrainTogether) {
    const TrainedHits own({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    const std::vector<double> targets = own.file.tensor("check/output64/y").values;
    expect_groups_of_one_rank(own.file, 3, own.hits.points(), own.hits.features, targets, world);
}

}  // namespace
}  // namespace surrogate::test
