// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are damaged, or whose writing ends anywhere, on one rank.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/libsurrogate/train/golden_training.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/little_room.hpp"

namespace surrogate::test {
namespace {

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream stream;
    stream << file.rdbuf();
    return stream.str();
}

class Checkpoints : public testing::Test {
protected:
    Checkpoints() {
        run.golden_step(0);
        run.trainer.save(path, "first");
        saved = run.weights();
        size = std::filesystem::file_size(path);
        run.golden_step(1);
    }
    ~Checkpoints() override { std::filesystem::remove(path); }

    Answer restore() { return answer(surrogate_trainer_restore(run.trainer.get(), path.c_str())); }
    void expect_the_first() {
        const Answer found = restore();
        EXPECT_EQ(found.status, SURROGATE_SUCCESS) << found;
        EXPECT_EQ(run.weights(), saved);
    }

    const std::string path =
        testing::TempDir() + "/checkpoint_" + std::to_string(getpid()) + ".safetensors";
    GoldenRun run;
    std::vector<double> saved;
    size_t size = 0;
};

TEST_F(Checkpoints, OfAFullDiskLeaveTheEarlierOne) {
    for (size_t room = 0; room < size; room += size / 12 + 1) {
        {
            const LittleRoom full(room);
            const Answer found =
                answer(surrogate_trainer_save(run.trainer.get(), "second", path.c_str()));
            EXPECT_EQ(found.status, SURROGATE_IO) << room << ": " << found;
        }
        EXPECT_FALSE(std::filesystem::exists(path + ".surrogate.tmp"));
        EXPECT_EQ(std::filesystem::file_size(path), size);
    }
    expect_the_first();
}

TEST_F(Checkpoints, OfAKilledProgramLeaveTheEarlierOne) {
    for (size_t room = 0; room < size; room += size / 24 + 1) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            // The write that reaches this size ends the program.
            std::signal(SIGXFSZ, SIG_DFL);
            const rlimit none = {0, 0};
            ::setrlimit(RLIMIT_CORE, &none);
            const rlimit small = {static_cast<rlim_t>(room), static_cast<rlim_t>(room)};
            ::setrlimit(RLIMIT_FSIZE, &small);
            surrogate_trainer_save(run.trainer.get(), "second", path.c_str());
            _exit(0);
        }
        int state = 0;
        ASSERT_EQ(waitpid(child, &state, 0), child);
        EXPECT_TRUE(WIFSIGNALED(state)) << "the child was to be killed at byte " << room;
        if (room % 3 == 0) expect_the_first();
    }
    expect_the_first();
    run.golden_step(1);
    run.trainer.save(path, "second");  // what the killed ones left is no obstacle
    EXPECT_FALSE(std::filesystem::exists(path + ".surrogate.tmp"));
    EXPECT_EQ(run.trainer.restore(path), "second");
}

TEST_F(Checkpoints, WithOneBitFlippedAreRefused) {
    const std::string whole = bytes_of(path);
    const std::vector<double> before = run.weights();
    for (size_t at = 3; at < whole.size(); at += whole.size() / 199) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
        std::ofstream(path, std::ios::binary) << damaged;
        const Answer found = restore();
        EXPECT_TRUE(found.status == SURROGATE_BAD_FILE ||
                    found.status == SURROGATE_INVALID_ARGUMENT)
            << at << ": " << found;
        ASSERT_EQ(run.weights(), before) << at;
    }
    std::ofstream(path, std::ios::binary) << whole;
    expect_the_first();
}

TEST_F(Checkpoints, ThatAreTooShortAreRefused) {
    const std::string whole = bytes_of(path);
    for (size_t n = 0; n < whole.size(); n += whole.size() / 97) {
        std::ofstream(path, std::ios::binary) << whole.substr(0, n);
        EXPECT_NE(restore().status, SURROGATE_SUCCESS) << n;
    }
    std::ofstream(path, std::ios::binary) << whole;
    expect_the_first();
}

TEST_F(Checkpoints, HaveNotesInUtf8) {
    const Answer found =
        answer(surrogate_trainer_save(run.trainer.get(), "\xff\xfe", path.c_str()));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    expect_the_first();
}

}  // namespace
}  // namespace surrogate::test
