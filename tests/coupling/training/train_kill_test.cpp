// SPDX-License-Identifier: Apache-2.0
// `surrogate train` is killed at any of its own writes: the training resumes from the last
// checkpoint, or begins again if there was none, and its result is bitwise identical to one that
// was never killed. Every file that has its final name is complete.
#include <surrogate/surrogate.hpp>

#include "tests/coupling/training/train_program.hpp"

namespace surrogate::test {
namespace {

class KilledTraining : public TrainProgram {
protected:
    void SetUp() override {
        TrainProgram::SetUp();
        whole.training = "epochs = 3\nbatch = 5\nseed = 1\nema_decay = 0.9\n";
        whole.folder = "whole";
        train(0, whole);
        part = whole;
        part.folder = "part";
    }

    /// Runs until its n-th write in the folder. Returns whether it was killed there.
    bool is_killed_at(int n, bool is_late, const std::string& options = "--quiet") const {
        const std::string variables =
            "exec env LD_PRELOAD=" SURROGATE_KILLING_CALLS " SURROGATE_KILL_IN=" + file("part") +
            " SURROGATE_KILL_AT=" + std::to_string(n) + (is_late ? " SURROGATE_KILL_LATE=1 " : " ");
        const Outcome outcome =
            shell(variables + SURROGATE_PROGRAM " train " + config(part) + " " + options);
        if (outcome.status == 0) return false;
        EXPECT_EQ(outcome.status, -1) << outcome.text;
        return true;
    }

    bool exists(const std::string& name) const {
        return std::filesystem::exists(file("part/" + name));
    }

    void expect_whole_files(int n) const {
        for (const std::string name : {"best", "last", "average"}) {
            if (!exists(name + ".safetensors")) continue;
            try {
                const Model model(Context(), file("part/" + name + ".safetensors"));
            } catch (const Error& error) {
                ADD_FAILURE() << n << ": " << error.what();
            }
        }
        if (exists("essence.json")) {
            EXPECT_TRUE(json::accept(read(file("part/essence.json")))) << n;
        }
        if (exists("loss.csv")) {
            EXPECT_EQ(read(file("part/loss.csv")).back(), '\n') << n;
        }
    }

    void expect_to_go_on(int n) {
        const bool has_checkpoint = exists("checkpoint.safetensors");
        ++(has_checkpoint ? n_resumed : n_anew);
        // A model may be there before the first checkpoint.
        const bool has_model = exists("last.safetensors");
        if (!has_checkpoint && has_model)
            expect_told(train(2, part, "--quiet"), "without a checkpoint: --overwrite discards it");
        train(0, part,
              has_checkpoint ? "--resume --quiet"
              : has_model    ? "--overwrite --quiet"
                             : "--quiet");
        for (const std::string name : {"best", "last", "average"})
            EXPECT_EQ(weights(file("part/" + name + ".safetensors")),
                      weights(file("whole/" + name + ".safetensors")))
                << n << " " << name;
    }

    /// --overwrite is killed: the earlier training is as it was, or the new one goes on.
    void kill_while_replacing() {
        Recipe earlier = part;
        earlier.training = "epochs = 2\nbatch = 5\nseed = 2\n";
        earlier.folder = "earlier";
        train(0, earlier);
        const auto before = models_in("earlier");
        for (int n = 1;; n += 1 + n / 2) {
            std::filesystem::remove_all(file("part"));
            std::filesystem::copy(file("earlier"), file("part"));
            if (!is_killed_at(n, n % 2 == 0, "--quiet --overwrite")) break;
            if (models_in("part") == before) {
                ++n_anew;
                train(0, part, "--quiet --overwrite");
            } else {
                ++n_resumed;
                train(0, part, "--quiet --resume");
            }
            EXPECT_EQ(weights(file("part/last.safetensors")),
                      weights(file("whole/last.safetensors")))
                << n;
        }
        EXPECT_GT(n_anew, 2);
        EXPECT_GT(n_resumed, 2);
    }

    /// The models, checkpoint and losses of a training.
    std::string models_in(const std::string& folder) const {
        std::string all;
        for (const char* name : {"best.safetensors", "last.safetensors", "checkpoint.safetensors",
                                 "loss.csv", "essence.json"})
            all += read(file(folder + "/" + name)) + "\n";
        return all;
    }

    void kill_at_each_write(bool is_late) {
        for (int n = 1;; n += 1 + n / 3) {
            std::filesystem::remove_all(file("part"));
            if (!is_killed_at(n, is_late)) break;
            expect_whole_files(n);
            expect_to_go_on(n);
        }
        EXPECT_GT(n_anew, 3);
        EXPECT_GT(n_resumed, 2);
    }

    Recipe whole, part;
    int n_anew = 0, n_resumed = 0;
};

TEST_F(KilledTraining, BeforeAWriteGoesOn) {
    kill_at_each_write(false);
}

TEST_F(KilledTraining, InTheMiddleOfAWriteGoesOn) {
    kill_at_each_write(true);
}

TEST_F(KilledTraining, WhileItReplacesAnEarlierOneGoesOn) {
    kill_while_replacing();
}

}  // namespace
}  // namespace surrogate::test
