// SPDX-License-Identifier: Apache-2.0
// Checks errors of data sets: the same text on all ranks, and the state that is left.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/coupling/dataset/dataset_case.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class DatasetRefusals : public testing::Test {
protected:
    /// Returns the result of work(), which is the same on all ranks.
    Answer refusal(const std::function<void()>& work) {
        Answer found;
        try {
            work();
        } catch (const Error& error) {
            found = {error.status(), surrogate_error(nullptr)};
        }
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(ranks_still_talk(world));
        return found;
    }
    void expect(surrogate_status status, const std::string& text, const Answer& found) {
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(text)) << found;
    }
    bool is_last() const { return rank_of(world) == size_of(world) - 1; }

    const SharedFolder folder_{world};
    const std::string path_ = folder_ / "set.h5";
    const PointSamples samples_{world, "contiguous", 9};
};

TEST_F(DatasetRefusals, OfNumbersThatAreNotFiniteNameTheirPlace) {
    NewDataset set(samples_.context, path_);
    samples_.describe(&set);
    set.begin();
    samples_.write(&set);
    const Answer nan = refusal([&] {
        std::vector<double> h = samples_.values<double>(1, 2);
        if (is_last() && !h.empty()) h[0] = NAN;
        set.write("height", 18, column(h.data(), std::ssize(h)));
    });
    expect(SURROGATE_NOT_FINITE, "of 'height' is NaN", nan);
    const Answer large = refusal([&] {
        std::vector<double> h = samples_.values<double>(1, 2);
        if (is_last() && !h.empty()) h[0] = -1e39;
        set.write("height", 18, column(h.data(), std::ssize(h)));
    });
    expect(SURROGATE_NOT_FINITE, "which exceeds the range of single precision", large);
    EXPECT_EQ(refusal([&] { set.finish(); }).status, SURROGATE_SUCCESS);  // all are there before
}

TEST_F(DatasetRefusals, OfMissingNumbersLeaveNothing) {
    const Answer found = refusal([&] {
        NewDataset set(samples_.context, path_);
        samples_.describe(&set);
        set.begin();
        set.set_points(samples_.domain);
        const std::vector<double> x = samples_.x();
        set.write("x", 0, column(x.data(), std::ssize(x)));
        set.finish();
    });
    expect(SURROGATE_INVALID_ARGUMENT, "0 numbers of 'pressure' were written, and it has 27",
           found);
    EXPECT_TRUE(folder_.names().empty());
}

TEST_F(DatasetRefusals, OfAPutThatFailedOnOneRankAreToldToAll) {
    const Answer found = refusal([&] {
        NewDataset set(samples_.context, path_);
        set.add_axis("sample", size_of(world));
        set.add("mass", {"sample"}, "kg");
        set.begin();
        const double mass = is_last() ? INFINITY : 1;
        const surrogate_array array = column(&mass, 1);
        const surrogate_status local =
            surrogate_dataset_put(set.get(), "mass", rank_of(world), &array);
        EXPECT_EQ(local, is_last() ? SURROGATE_NOT_FINITE : SURROGATE_SUCCESS);
        set.finish();
    });
    expect(SURROGATE_NOT_FINITE,
           "number " + std::to_string(size_of(world) - 1) + " of 'mass' is infinite", found);
    EXPECT_TRUE(folder_.names().empty());
}

TEST_F(DatasetRefusals, OfRanksThatDescribeDifferentFiles) {
    if (size_of(world) == 1) GTEST_SKIP() << "one rank agrees with itself";
    const Answer found = refusal([&] {
        NewDataset set(samples_.context, path_);
        samples_.describe(&set);
        if (is_last()) set.set("source", "another one");
        set.begin();
    });
    expect(SURROGATE_INVALID_ARGUMENT, "is described differently on this rank and rank 0", found);
    EXPECT_TRUE(folder_.names().empty());
}

TEST_F(DatasetRefusals, OfPlacesWhereNoFileCanBe) {
    expect(SURROGATE_IO, "No such file or directory", samples_.save(folder_ / "none/set.h5"));
    expect(SURROGATE_IO, "Is a directory", samples_.save(folder_ / "."));
    expect(SURROGATE_IO, "is not a regular file", samples_.save("/dev/null"));
    if (::geteuid() == 0) return;  // root may write everywhere
    if (rank_of(world) == 0)
        std::filesystem::permissions(
            folder_ / ".", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    MPI_Barrier(world);
    expect(SURROGATE_IO, "Permission denied", samples_.save(path_));
    MPI_Barrier(world);
    if (rank_of(world) == 0)
        std::filesystem::permissions(folder_ / ".", std::filesystem::perms::owner_all);
}

TEST_F(DatasetRefusals, OfDescriptionsThatCannotBe) {
    NewDataset set(samples_.context, path_);
    const auto says = [&](surrogate_status status, const char* text,
                          const std::function<void()>& work) {
        expect(status, text, refusal(work));
    };
    set.add_axis("sample", 2);
    set.add_axis("x", 3);
    says(SURROGATE_INVALID_ARGUMENT, "has no variable", [&] { set.begin(); });
    says(SURROGATE_INVALID_ARGUMENT, "already", [&] { set.add_axis("x", 3); });
    says(SURROGATE_INVALID_ARGUMENT, "cannot be a name", [&] { set.add_axis("a/b", 3); });
    says(SURROGATE_INVALID_ARGUMENT, "cannot be a name", [&] { set.add_axis("", 3); });
    says(SURROGATE_SHAPE, "has 0 positions", [&] { set.add_axis("y", 0); });
    says(SURROGATE_INVALID_ARGUMENT, "set by the library", [&] { set.set("Conventions", "mine"); });
    says(SURROGATE_UNKNOWN_NAME, "(axes: sample, x)", [&] { set.add("p", {"sample", "y"}, "Pa"); });
    says(SURROGATE_INVALID_ARGUMENT, "this axis only", [&] { set.add("x", {"sample", "x"}, "m"); });
    says(SURROGATE_INVALID_ARGUMENT, "but is defined over axis",
         [&] { set.add("x", {"sample"}, "m"); });
    says(SURROGATE_SHAPE, "1 to 8", [&] { set.add("p", {}, "m"); });
    says(SURROGATE_INVALID_ARGUMENT, "expected X, Y, Z or 4 to 8",
         [&] { set.add("p", {"x"}, "m", nullptr, SURROGATE_FLOAT64, "T"); });
    says(SURROGATE_INVALID_ARGUMENT, "dtype 4",
         [&] { set.add("p", {"x"}, "m", nullptr, SURROGATE_UINT8); });
    set.add("p", {"sample", "x"}, "Pa");
    says(SURROGATE_INVALID_ARGUMENT, "already", [&] { set.add("p", {"x"}, "m"); });
    set.add_axis("huge", int64_t{1} << 60);
    says(SURROGATE_LIMIT, "2^62 bytes", [&] { set.add("q", {"huge", "x"}, "m"); });
}

TEST_F(DatasetRefusals, OfCallsOutOfOrderAndOfNumbersThatDoNotExist) {
    NewDataset set(samples_.context, path_);
    samples_.describe(&set);
    const std::vector<double> x = samples_.x();
    const surrogate_array array = column(x.data(), std::ssize(x));
    expect(SURROGATE_INVALID_ARGUMENT, "call surrogate_dataset_begin first",
           refusal([&] { set.put("x", 0, array); }));
    expect(SURROGATE_INVALID_ARGUMENT, "not open", refusal([&] { set.finish(); }));
    set.begin();
    expect(SURROGATE_INVALID_ARGUMENT, "surrogate_dataset_set_points before",
           refusal([&] { set.write("x", 0, array); }));
    expect(SURROGATE_INVALID_ARGUMENT, "has begun", refusal([&] { set.add_axis("t", 1); }));
    samples_.write(&set);
    expect(SURROGATE_UNKNOWN_NAME, "(variables: x, pressure, height)",
           refusal([&] { set.write("mass", 0, array); }));
    expect(SURROGATE_SHAPE, "numbers 27 to 35 of 'pressure' do not exist: it has 27",
           refusal([&] { set.write("pressure", 27, array); }));
    expect(SURROGATE_SHAPE, "lead out of the address space",
           refusal([&] { set.write("x", 0, column(x.data(), std::ssize(x), INT64_MAX)); }));
    expect(SURROGATE_SHAPE, "the array for 'x' is [",
           refusal([&] { set.write("x", 0, column(x.data(), is_last() ? 0 : std::ssize(x))); }));
    set.write("x", 0, array);
    expect(SURROGATE_INVALID_ARGUMENT, "18 numbers of 'x' were written, and it has 9",
           refusal([&] { set.finish(); }));
    expect(SURROGATE_INVALID_ARGUMENT, "it is finished", refusal([&] { set.finish(); }));
}

}  // namespace
}  // namespace surrogate::test
