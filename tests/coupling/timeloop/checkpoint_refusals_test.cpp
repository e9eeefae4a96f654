// SPDX-License-Identifier: Apache-2.0
// Checks that files that are not checkpoints, damaged checkpoints and checkpoints of another loop
// are rejected before anything has changed, by all ranks with the same text.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <functional>

#include "coupling/timeloop/checkpoint_content.hpp"
#include "coupling/timeloop/checkpoint_seal.hpp"
#include "tests/coupling/timeloop/checkpoint_case.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const PointsLoop::Kind small = {.n_point = 20};

class CheckpointRefusals : public testing::Test {
protected:
    /// Rank 0 writes a file for all.
    std::string file(const std::string& bytes) {
        MPI_Barrier(world);  // all ranks have read the earlier content
        if (rank_of(world) == 0) write_bytes(path_, bytes);
        MPI_Barrier(world);
        return path_;
    }
    std::string checkpoint() {
        EXPECT_EQ(loop_.save(path_).text, "");
        return path_;
    }
    /// Returns the result on all ranks; nothing has been restored.
    Answer refusal(PointsLoop& loop, const std::string& path) {
        const Answer found = loop.restore(path);
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(loop.restored == emptied(loop.snapshot));
        MPI_Barrier(world);
        return found;
    }
    void expect_bad(const std::string& path, const std::string& text) {
        const Answer found = refusal(loop_, path);
        EXPECT_EQ(found.status, SURROGATE_BAD_FILE) << found;
        EXPECT_TRUE(found.says(text)) << found;
    }
    /// Writes a header that fits the content of the file. Collective.
    void seal() {
        const uint64_t size = bytes_of(path_).size();
        uint64_t hash = 0;
        {
            const h5::DiskFile sealed(path_, h5::DiskFile::read_only, path_);
            hash = timeloop::content_hash(loop_.context.get(), sealed, size);
        }
        MPI_Barrier(world);
        if (rank_of(world) == 0)
            h5::DiskFile(path_, h5::DiskFile::write_only, path_)
                .write(0, timeloop::Seal{1, size, hash}.bytes().data(), timeloop::seal_bytes);
        MPI_Barrier(world);
    }
    /// Expects an error for a file with changed content and a valid header. Its rows are zeros.
    void expect_forged(surrogate_status status, const std::string& text,
                       const std::function<void(timeloop::CheckpointContent&)>& change) {
        checkpoint();
        if (rank_of(world) == 0) {
            h5::DiskFile whole(path_, h5::DiskFile::read_only, path_);
            timeloop::CheckpointContent content = timeloop::read_content(&whole);
            change(content);
            h5::SparseFile layout;
            timeloop::lay_out(&content, &layout);
            write_bytes(path_, "");
            h5::DiskFile forged(path_, h5::DiskFile::write_only, path_);
            layout.copy_to(&forged);
        }
        MPI_Barrier(world);
        seal();
        const Answer found = refusal(loop_, path_);
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(text)) << found;
    }
    /// A loop whose requirements differ in one point.
    void expect_other(const PointsLoop::Kind& kind, const std::string& text,
                      const std::function<void(Snapshot&)>& change = {}) {
        PointsLoop other(world, kind);
        if (change) change(other.snapshot);
        const Answer found = refusal(other, checkpoint());
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
        EXPECT_TRUE(found.says(text)) << found;
    }

    const SharedFolder folder_{world};
    const std::string path_ = folder_ / "run.h5";
    PointsLoop loop_{world, small};
};

TEST_F(CheckpointRefusals, OfEveryTruncatedFile) {
    const std::string whole = bytes_of(checkpoint());
    const size_t n_length = size_of(world) == 1 ? 1000 : 50;
    for (size_t i = 0; i < n_length; ++i) {
        const size_t length = whole.size() * i / n_length;
        SCOPED_TRACE(length);
        expect_bad(file(whole.substr(0, length)),
                   length < 16 ? "is not a checkpoint" : "cut short");
    }
    expect_bad(file(whole + '\0'), "has been altered");
}

TEST_F(CheckpointRefusals, OfEveryFlippedBit) {
    const std::string whole = bytes_of(checkpoint());
    for (size_t i = 0; i < whole.size(); i += size_of(world) == 1 ? 1 : 301) {
        SCOPED_TRACE(i);
        std::string flipped = whole;
        flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
        expect_bad(file(flipped), i < 16 ? "is not a checkpoint" : "has been altered");
    }
    EXPECT_EQ(loop_.restore(file(whole)).text, "");
}

TEST_F(CheckpointRefusals, OfFilesThatAreNoCheckpoint) {
    expect_bad(file(""), "'" + path_ + "' is not a checkpoint of a time loop");
    expect_bad(file(std::string(100000, 'x')), "is not a checkpoint of a time loop");
    const std::string whole = bytes_of(checkpoint());
    expect_bad(file(whole.substr(512)), "is not a checkpoint of a time loop");  // plain HDF5
}

TEST_F(CheckpointRefusals, OfAFileWithASealOfOurOwnThatIsNotHdf5) {
    std::string bytes(600, 'x');
    const auto seal_it = [&](uint64_t hash) {
        const auto seal = timeloop::Seal{1, bytes.size(), hash}.bytes();
        std::memcpy(bytes.data(), seal.data(), seal.size());
        file(bytes);
    };
    seal_it(0);
    uint64_t hash = 0;
    {
        const h5::DiskFile sealed(path_, h5::DiskFile::read_only, path_);
        hash = timeloop::content_hash(loop_.context.get(), sealed, bytes.size());
        MPI_Barrier(world);
    }
    seal_it(hash);
    const Answer found = refusal(loop_, path_);
    EXPECT_EQ(found.status, SURROGATE_IO) << found;
    EXPECT_TRUE(found.says("cannot open the file as HDF5: ")) << found;
}

TEST_F(CheckpointRefusals, OfANewerFormatNamesBoth) {
    std::string bytes = bytes_of(checkpoint());
    const auto seal = timeloop::Seal{9, bytes.size(), 0}.bytes();
    std::memcpy(bytes.data(), seal.data(), seal.size());
    MPI_Barrier(world);
    expect_bad(file(bytes), std::string("has format 9, and this library (") + surrogate_version() +
                                ") reads formats up to 1");
}

TEST_F(CheckpointRefusals, OfWhatCannotBeReadSayWhy) {
    const auto text = [&](const std::string& path) {
        const Answer found = refusal(loop_, path);
        EXPECT_EQ(found.status, SURROGATE_IO);
        return found.text.substr(found.text.find('\''));
    };
    if (rank_of(world) == 0) ::mkfifo((folder_ / "pipe").c_str(), 0600);
    MPI_Barrier(world);
    EXPECT_EQ(text(folder_ / "no"), "'" + folder_ / "no" + "': No such file or directory");
    EXPECT_EQ(text(folder_ / "."), "'" + folder_ / "." + "' is not a regular file");
    EXPECT_EQ(text(folder_ / "pipe"), "'" + folder_ / "pipe" + "' is not a regular file");
}

TEST_F(CheckpointRefusals, OfPointsOfAnotherTypeNameBothTypes) {
    expect_forged(SURROGATE_INVALID_ARGUMENT, "points/x: type: float32 in the file, float64 here",
                  [](auto& content) { content.points[0].x.dtype = SURROGATE_FLOAT32; });
    expect_forged(SURROGATE_INVALID_ARGUMENT, "points/x: type: int64 in the file, float64 here",
                  [](auto& content) { content.points[0].x.dtype = SURROGATE_INT64; });
    expect_forged(SURROGATE_INVALID_ARGUMENT, "points/id: type: float64 in the file, int64 here",
                  [](auto& content) { content.points[0].id.dtype = SURROGATE_FLOAT64; });
}

TEST_F(CheckpointRefusals, OfCountersAndTimesThatNoLoopHas) {
    expect_forged(SURROGATE_BAD_FILE, "'timeloop/time_s' is nan",
                  [](auto& content) { content.time_s = std::nan(""); });
    expect_forged(SURROGATE_BAD_FILE, "'timeloop/time_s' is -inf",
                  [](auto& content) { content.time_s = -HUGE_VAL; });
    expect_forged(SURROGATE_BAD_FILE, "'timeloop/step' is -5, expected 0 or more",
                  [](auto& content) { content.step = -5; });
    expect_forged(SURROGATE_BAD_FILE, "'timeloop/n_skip' is -1, expected 0 or more",
                  [](auto& content) { content.n_skip = -1; });
}

TEST_F(CheckpointRefusals, OfAnotherByteOrderNameIt) {
    // The type of a data set holds the byte order of floats in the bit field of its class.
    const std::string whole = bytes_of(checkpoint());
    MPI_Barrier(world);
    std::string changed = whole;
    const std::string little("\x11\x20\x3f\0\x08\0\0\0", 8);  // float64
    for (size_t at = whole.find(little); at != std::string::npos; at = whole.find(little, at + 1))
        changed[at + 1] = '\x21';
    file(changed);
    seal();
    const Answer found = refusal(loop_, path_);
    EXPECT_EQ(found.status, SURROGATE_BAD_FILE) << found;
    EXPECT_TRUE(found.says("'points/x': type is big-endian float of 8 bytes")) << found;
}

TEST_F(CheckpointRefusals, OfOtherFieldsNameWhatDiffers) {
    expect_other(small, "field 'pressure': unit: 'Pa' in the file, 'hPa' here",
                 [](Snapshot& s) { s.fields[0].unit = "hPa"; });
    expect_other(small, "field 'pressure': type: float64 in the file, float32 here",
                 [&](Snapshot& s) {
                     s.fields[0].dtype = SURROGATE_FLOAT32;
                     s.fields[0].values.resize(s.fields[0].values.size() / 2);
                 });
    expect_other(small, "field 'velocity': components: 3 in the file, 1 here", [&](Snapshot& s) {
        s.fields[1].n_component = 1;
        s.fields[1].values.resize(s.fields[1].values.size() / 3);
    });
    expect_other(small, "field 'pressure': only in the file",
                 [](Snapshot& s) { s.fields.erase(s.fields.begin()); });
    expect_other(small, "field 'depth': not in the file\n  field 'pressure': only in the file",
                 [](Snapshot& s) { s.fields[0].name = "depth"; });
    expect_other(small, "integral 'mass': only in the file",
                 [](Snapshot& s) { s.integrals.erase(s.integrals.begin()); });
    expect_other(small, "integral 'salt': not in the file",
                 [](Snapshot& s) { s.integrals[0].name = "salt"; });
}

TEST_F(CheckpointRefusals, OfOtherPointsNameWhatDiffers) {
    expect_other({.n_point = 21}, "points: number of points: 20 in the file, 21 here");
    expect_other({.n_point = 20, .has_ids = false},
                 "points: with ids in the file, without ids here");
    // In the order of ids the last point comes first.
    expect_other({.n_point = 20, .moved_by = 0.25},
                 "point 0 of its order is (0.14999999999999999) in the file, (0.40000000000000002) "
                 "here");
    expect_other({.n_point = 20, .first_id = 1001},
                 "point 0 of its order is (id 867) in the file, (id 868) here");
}

TEST_F(CheckpointRefusals, OfAnotherModelNameBothHashes) {
    PointsLoop other(world, {.n_point = 20, .is_other_model = true});
    const Answer found = refusal(other, checkpoint());
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    uint64_t hash[2] = {};
    check(surrogate_model_hash(loop_.model.get(), &hash[0]));
    check(surrogate_model_hash(other.model.get(), &hash[1]));
    char text[100];
    std::snprintf(text, sizeof text, "model: flare %016lx in the file, flare %016lx here", hash[0],
                  hash[1]);
    EXPECT_TRUE(found.says(text)) << found << "\n" << text;
}

TEST_F(CheckpointRefusals, OfPathsThatCannotBeWrittenSayWhy) {
    const auto text = [&](const std::string& path) {
        const Answer found = loop_.save(path);
        EXPECT_EQ(found.status, SURROGATE_IO);
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        return found.text.substr(found.text.find('\''));
    };
    if (rank_of(world) == 0) ::mkfifo((folder_ / "pipe").c_str(), 0600);
    MPI_Barrier(world);
    EXPECT_EQ(text(folder_ / "no/x"), "'" + folder_ / "no/x" + "': No such file or directory");
    EXPECT_EQ(text(folder_ / "."), "'" + folder_ / "." + "': Is a directory");
    EXPECT_EQ(text(folder_ / "pipe"), "'" + folder_ / "pipe" + "' is not a regular file");
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"pipe"});
}

TEST_F(CheckpointRefusals, OfRanksThatAskForDifferentThings) {
    if (size_of(world) == 1) GTEST_SKIP() << "one rank agrees with itself";
    if (rank_of(world) == 1) loop_.snapshot.fields[0].name = "depth";
    const Answer found = loop_.save(path_);
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.text.starts_with(
        "rank 1: path, fields or integrals of the checkpoint on this rank differ"))
        << found;
    EXPECT_EQ(folder_.names(), std::vector<std::string>{});
}

}  // namespace
}  // namespace surrogate::test
