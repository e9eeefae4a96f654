// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <regex>
#include <sstream>

#include "tests/coupling/tool/tool_case.hpp"
#include "tests/coupling/training/train_case.hpp"

namespace surrogate::test {

/// A configuration whose parts a test changes.
struct Recipe {
    std::string train = "train.h5", validation = "0.25", folder = "out";
    std::string model =
        "family = 'flare'\ninputs = ['x', 'y', 'mobility']\noutputs = ['pressure']\n"
        "network = { in_dim = 3, out_dim = 1, channel_dim = 16, num_blocks = 1, num_heads = 2, "
        "num_latents = 8 }\n";
    std::string data = "symmetries = 'square'\n";
    std::string training = "epochs = 3\nbatch = 2\nlearning_rate = 3e-3\nseed = 1\n";
    std::string options = "threads = 1\nreproducible = true\n";
};

/// A FLARE for RaggedSet.
inline Recipe ragged() {
    Recipe recipe;
    recipe.model =
        "family = 'flare'\ninputs = ['x', 'a']\noutputs = ['u']\n"
        "network = { in_dim = 2, out_dim = 1, channel_dim = 16, num_blocks = 1, num_heads = 2, "
        "num_latents = 8 }\n";
    recipe.data = "";
    return recipe;
}

class TrainProgram : public ToolTest {
protected:
    void SetUp() override {
        ToolTest::SetUp();
        LatticeSet().write(file("train.h5"));
    }

    std::string config(const Recipe& recipe, const std::string& name = "t.toml") const {
        const std::string validation = recipe.validation.find(".h5") == std::string::npos
                                           ? recipe.validation
                                           : "'" + file(recipe.validation) + "'";
        write(file(name), "[model]\n" + recipe.model + "[data]\ntrain = '" + file(recipe.train) +
                              "'\nvalidation = " + validation + "\n" + recipe.data +
                              "[training]\n" + recipe.training + "[options]\n" + recipe.options +
                              "[output]\nfolder = '" + file(recipe.folder) + "'\n");
        return file(name);
    }

    Outcome train(int status, const Recipe& recipe, const std::string& options = "",
                  const std::string& launcher = "") const {
        const Outcome outcome =
            shell(launcher + " " SURROGATE_PROGRAM " train " + config(recipe) + " " + options);
        if (outcome.status != status) throw std::runtime_error(outcome.text);
        return outcome;
    }

    void expect_told(const Outcome& outcome, const std::string& text) const {
        EXPECT_NE(outcome.text.find(text), std::string::npos) << text << "\nnot in\n"
                                                              << outcome.text;
    }

    /// The weights of a model as the bytes that the file has.
    static std::string weights(const std::string& path) {
        const TensorFile model(path);
        std::string all;
        for (const auto& [name, entry] : model.header.items()) {
            if (name == "__metadata__" || name.rfind("check/", 0) == 0) continue;
            const auto begin = entry.at("data_offsets").at(0).get<size_t>();
            const auto end = entry.at("data_offsets").at(1).get<size_t>();
            all += name + model.bytes.substr(model.data + begin, end - begin);
        }
        return all;
    }

    static json card(const std::string& path) {
        return json::parse(
            TensorFile(path).header.at("__metadata__").at("surrogate.card").get<std::string>());
    }

    /// Expects that a training of `recipe`, which has ended, gives the same weights if it stops
    /// after n_epoch epochs and is resumed. Returns the outcome of the resumed training.
    Outcome expect_resumes(const Recipe& recipe, int n_epoch) const {
        Recipe part = recipe;
        part.folder = "part";
        part.training = std::regex_replace(recipe.training, std::regex("epochs = [0-9]+"),
                                           "epochs = " + std::to_string(n_epoch));
        train(0, part);
        part.training = recipe.training;
        const Outcome outcome = train(0, part, "--resume");
        EXPECT_EQ(weights(file("part/last.safetensors")),
                  weights(file(recipe.folder + "/last.safetensors")));
        return outcome;
    }

    /// Expects that a training of `recipe`, which has ended on one rank, gives the same weights on
    /// more ranks, with further lines of [training]. Builds without MPI expect nothing.
    void expect_same_on_ranks([[maybe_unused]] const Recipe& recipe, [[maybe_unused]] int n_rank,
                              [[maybe_unused]] const std::string& more = "") const {
#ifdef SURROGATE_MPIRUN
        Recipe spread = recipe;
        spread.folder = (more.empty() ? "ranks_" : "groups_") + std::to_string(n_rank);
        spread.training += more;
        train(0, spread, "", SURROGATE_MPIRUN " " + std::to_string(n_rank));
        EXPECT_EQ(weights(file(spread.folder + "/last.safetensors")),
                  weights(file(recipe.folder + "/last.safetensors")));
#endif
    }

    /// Expects that `surrogate check` passes for the model of a training of `recipe`, which has
    /// ended, with the same hash on one rank and, in builds with MPI, on three.
    void expect_checks(const Recipe& recipe) const {
        const auto hash = [&](const std::string& launcher) {
            const Outcome outcome = shell(launcher + " " SURROGATE_PROGRAM " check " +
                                          file(recipe.folder + "/last.safetensors") +
                                          " --reproducible --json " + file("check.json"));
            EXPECT_EQ(outcome.status, 0) << outcome.text;
            return json::parse(read(file("check.json"))).at("hash");
        };
        const json alone = hash("");
        EXPECT_TRUE(alone.is_string());
#ifdef SURROGATE_MPIRUN
        EXPECT_EQ(hash(SURROGATE_MPIRUN " 3"), alone);
#endif
    }

    /// One column of loss.csv.
    std::vector<double> column_of(const std::string& folder, const std::string& name) const {
        std::istringstream text(read(file(folder + "/loss.csv")));
        std::string line, cell;
        std::getline(text, line);
        std::istringstream head(line);
        int at = 0;
        while (std::getline(head, cell, ',') && cell != name) ++at;
        std::vector<double> values;
        while (std::getline(text, line)) {
            std::istringstream row(line);
            for (int i = 0; i <= at; ++i) std::getline(row, cell, ',');
            values.push_back(std::stod(cell));
        }
        return values;
    }
};

#ifdef SURROGATE_MPIRUN
inline const std::string mpirun = SURROGATE_MPIRUN;
#endif

}  // namespace surrogate::test
