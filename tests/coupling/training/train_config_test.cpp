// SPDX-License-Identifier: Apache-2.0
// The configuration of a training: what is wrong is named with its line and column.
#include <gtest/gtest.h>

#include <string>

#include "coupling/job/job.hpp"
#include "coupling/training/config.hpp"

namespace {

using surrogate::tool::Failure;
using surrogate::tool::parse_train_config;
using surrogate::tool::Symmetry;
using surrogate::tool::TrainConfig;

const std::string good = R"([model]
family = "flare"
network = { in_dim = 3, channel_dim = 16 }
inputs = ["x", "y", "mobility"]
outputs = ["pressure"]
[data]
train = "a.h5"
validation = 0.1
[training]
epochs = 3
[output]
folder = "out"
)";

std::string with(const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
    try {
        parse_train_config(text, "t.toml");
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.status(), surrogate::tool::Exit::bad_usage);
        return failure.what();
    }
    ADD_FAILURE() << "was accepted:\n" << text;
    return "";
}

TEST(TrainConfig, ReadsWhatIsGivenAndHasDefaults) {
    const TrainConfig config = parse_train_config(
        with("epochs = 3", "epochs = 3\nbatch = 4\nlearning_rate = 1e-3\ndecay_all = true"), "t");
    EXPECT_EQ(config.model.family, "flare");
    EXPECT_EQ(config.model.inputs.size(), 3u);
    EXPECT_EQ(config.model.outputs, std::vector<std::string>{"pressure"});
    EXPECT_NE(config.model.hyperparameters.find("\"channel_dim\""), std::string::npos);
    EXPECT_EQ(config.data.train, std::vector<std::string>{"a.h5"});
    EXPECT_EQ(config.data.validation_share, 0.1);
    EXPECT_EQ(config.data.symmetries, Symmetry::none);
    EXPECT_EQ(config.n_epoch, 3);
    EXPECT_EQ(config.batch, 4);
    EXPECT_EQ(config.n_group, 1);
    ASSERT_EQ(config.training.size(), 2u);
    EXPECT_EQ(config.training[0].key, "learning_rate");
    EXPECT_EQ(std::stod(config.training[0].value), 1e-3);
    EXPECT_EQ(config.training[1].value, "true");
}

TEST(TrainConfig, OutputScaleIsForANewNetwork) {
    EXPECT_EQ(parse_train_config(good, "t").model.output_scale, 1);
    const std::string scaled = with("family", "output_scale = 0.05\nfamily");
    EXPECT_EQ(parse_train_config(scaled, "t").model.output_scale, 0.05);
    EXPECT_NE(refusal(with("family", "output_scale = 0\nfamily")).find("t.toml:2:16:"),
              std::string::npos);
    EXPECT_NE(
        refusal("[model]\nfile = \"m\"\noutput_scale = 0.05\n" + good.substr(good.find("[data]")))
            .find("t.toml:3:16: 'output_scale' is for a new network; remove it"),
        std::string::npos);
}

TEST(TrainConfig, RolloutIsANumberOfLeads) {
    EXPECT_EQ(parse_train_config(good, "t").rollout, 1);
    EXPECT_EQ(parse_train_config(with("epochs = 3", "epochs = 3\nrollout = 6"), "t").rollout, 6);
    EXPECT_NE(refusal(with("epochs = 3", "epochs = 3\nrollout = 0")).find("t.toml:11:11:"),
              std::string::npos);
}

TEST(TrainConfig, BucketIsASettingOfTheTrainer) {
    const TrainConfig config =
        parse_train_config(with("epochs = 3", "epochs = 3\nbucket = 4096"), "t");
    ASSERT_EQ(config.training.size(), 1u);
    EXPECT_EQ(config.training[0].key, "bucket");
    EXPECT_EQ(config.training[0].value, "4096");
    EXPECT_NE(
        refusal(with("epochs = 3", "epochs = 3\nbucket = [1]")).find("t.toml:11:10: 'bucket'"),
        std::string::npos);
}

TEST(TrainConfig, AugmentationIsATableOfTransforms) {
    const auto text = [](const std::string& keys) {
        return with("validation = 0.1", "validation = 0.1\n[data.augment]\n" + keys);
    };
    EXPECT_FALSE(parse_train_config(good, "t").data.augmentation.is_on());
    const auto found = parse_train_config(text("rotate = \"z\"\ndegrees = 15\nflip = [\"x\"]\n"
                                               "scale = [0.9, 1.2]\njitter = 0.5\n"
                                               "center = \"box\""),
                                          "t")
                           .data.augmentation;
    EXPECT_EQ(found.rotate, "z");
    EXPECT_EQ(found.degrees, 15);
    EXPECT_EQ(found.flip, (std::array<bool, 3>{true, false, false}));
    EXPECT_EQ(found.least_scale, 0.9);
    EXPECT_EQ(found.largest_scale, 1.2);
    EXPECT_EQ(found.jitter, 0.5);
    EXPECT_TRUE(found.is_about_box);
    EXPECT_NE(parse_train_config(text("rotate = \"z\""), "t").fingerprint,
              parse_train_config(text("rotate = \"all\""), "t").fingerprint);
    const auto expect_refused = [&](const std::string& keys, const std::string& why) {
        const std::string found_text = refusal(text(keys));
        EXPECT_NE(found_text.find("t.toml:10:"), std::string::npos) << found_text;
        EXPECT_NE(found_text.find(why), std::string::npos) << found_text;
    };
    expect_refused("rotate = \"w\"", "'rotate' is 'w', expected one of none, x, y, z, all");
    expect_refused("degrees = 15", "needs rotate");
    expect_refused("flip = \"a\"", "'flip' has 'a', expected x, y or z");
    for (const std::string scale : {"1.1", "[1.1]", "[1.1, 0.9]", "[0, 1]", "[\"a\", 1]"})
        expect_refused("scale = " + scale, "a list of two numbers above 0");
    expect_refused("jitter = -1", "'jitter' is '-1', expected a number between 0 and");
    expect_refused("reflect = [\"x\"]", "unknown key 'reflect'");
}

TEST(TrainConfig, UnknownKeyIsNamedWithItsPlaceAndANearMiss) {
    EXPECT_EQ(refusal(with("epochs = 3", "epochs = 3\n  learning_rat = 1")),
              "t.toml:11:3: unknown key 'learning_rat' in [training]; did you mean "
              "'learning_rate'?");
    EXPECT_NE(refusal(with("[output]", "[optput]")).find("did you mean 'output'?"),
              std::string::npos);
}

TEST(TrainConfig, MissingKeyIsNamedAtItsTable) {
    EXPECT_EQ(refusal(with("epochs = 3", "")),
              "t.toml:9:1: [training] has no 'epochs', the number of passes over all samples");
    EXPECT_NE(refusal(with("train = \"a.h5\"", "")).find("t.toml:6:1: [data] has no 'train'"),
              std::string::npos);
    EXPECT_NE(refusal(with("inputs", "# inputs")).find("t.toml:1:1: [model] has no 'inputs'"),
              std::string::npos);
}

TEST(TrainConfig, ValuesOfAnotherTypeOrRangeAreNamed) {
    EXPECT_EQ(refusal(with("epochs = 3", "epochs = -3")),
              "t.toml:10:10: 'epochs' is '-3', expected a whole number from 1 on");
    EXPECT_NE(refusal(with("epochs = 3", "epochs = \"3\"")).find("t.toml:10:10:"),
              std::string::npos);
    EXPECT_NE(refusal(with("validation = 0.1", "validation = 1.5")).find("between 0 and 0.9"),
              std::string::npos);
    EXPECT_NE(refusal(with("validation = 0.1", "validation = [1, 2]")).find("list of texts"),
              std::string::npos);
    EXPECT_NE(refusal(with("train = \"a.h5\"", "train = \"a.h5\"\nsymmetries = \"cube\""))
                  .find("'symmetries' is 'cube', expected one of none, square, longitude"),
              std::string::npos);
    EXPECT_NE(refusal(with("network = { in_dim = 3, channel_dim = 16 }", "network = 3"))
                  .find("t.toml:3:11: 'network' is '3', expected a table"),
              std::string::npos);
}

TEST(TrainConfig, AllThatIsWrongIsToldAtOnce) {
    const std::string text = refusal(with("epochs = 3", "epoch = 3\nbatch = 0"));
    EXPECT_NE(text.find("unknown key 'epoch'"), std::string::npos);
    EXPECT_NE(text.find("has no 'epochs'"), std::string::npos);
    EXPECT_NE(text.find("'batch' is '0'"), std::string::npos);
}

TEST(TrainConfig, BatchesThatGroupsDoNotDivideAreRefused) {
    EXPECT_NE(refusal(with("epochs = 3", "epochs = 3\nbatch = 3\ngroups = 2")).find("t.toml:11:9:"),
              std::string::npos);
}

TEST(TrainConfig, KeysThatFollowFromOthersSayFromWhich) {
    EXPECT_NE(refusal(with("epochs = 3", "epochs = 3\naccumulate = 2"))
                  .find("it follows from 'batch' and 'groups'"),
              std::string::npos);
}

TEST(TrainConfig, AModelIsNewOrOfAFile) {
    EXPECT_NE(refusal(with("family = \"flare\"", "family = \"flare\"\nfile = \"m\""))
                  .find("either 'file'"),
              std::string::npos);
    EXPECT_NE(refusal(with("family = \"flare\"", "file = \"m\"")).find("is set beside 'file'"),
              std::string::npos);
}

TEST(TrainConfig, BrokenTomlIsNamedWithItsPlace) {
    EXPECT_EQ(refusal(with("epochs = 3", "epochs = ")).substr(0, 10), "t.toml:10:");
}

TEST(TrainConfig, WhatExhaustsTheReaderIsRefusedBeforeItReads) {
    std::string key = "a", tables = "b = 1\n";
    for (int i = 0; i < 50000; ++i) key += " . a";
    for (int i = 0; i < 100; ++i) tables += "c" + std::to_string(i) + " = {}\n";
    for (const std::string& text :
         {key + " = 1\n", "[" + key + "]\n", "[[" + key + "]]\n", "a = { " + key + " = 1 }\n"})
        EXPECT_EQ(refusal("# a comment\n" + text),
                  "t.toml:2: too many parts in one key, expected at most 32");
    EXPECT_EQ(refusal(tables), "t.toml:66: too many inline tables, expected at most 64");
    const std::string path = "../../../../../../../../../../../../../../../../../../a.b/c.h5";
    EXPECT_EQ(parse_train_config(with("a.h5", path), "t").data.train[0], path);
}

TEST(TrainConfig, TextsWithAZeroByteAreRefused) {
    const std::string expected = ", expected a text without zero bytes";
    EXPECT_EQ(refusal(with("\"out\"", "\"o\\u0000z\"")),
              "t.toml:12:10: 'folder' is 'o\\x00z'" + expected);
    EXPECT_EQ(refusal(with("\"a.h5\"", "[\"b.h5\", \"a.h5\\u0000\"]")),
              "t.toml:7:9: 'train' is 'a.h5\\x00'" + expected);
}

TEST(TrainConfig, FingerprintLeavesOutWhatMayChangeWhenATrainingGoesOn) {
    const auto fingerprint = [](const std::string& text) {
        return parse_train_config(text, "t").fingerprint;
    };
    const auto base = fingerprint(good);
    EXPECT_EQ(fingerprint(with("\"out\"", "\"elsewhere\"")), base);
    EXPECT_EQ(fingerprint(with("\"a.h5\"", "\"moved.h5\"")), base);
    EXPECT_EQ(fingerprint(with("epochs = 3", "epochs = 9")), base);
    EXPECT_EQ(fingerprint(with("epochs = 3", "epochs = 3\nbucket = 4096")), base);
    EXPECT_NE(fingerprint(with("epochs = 3", "epochs = 3\nseed = 1")), base);
    const std::string cosine = "epochs = 3\nschedule = \"cosine\"";
    EXPECT_NE(fingerprint(with("epochs = 3", cosine)),
              fingerprint(with("epochs = 3", "epochs = 9" + cosine.substr(10))));
}

}  // namespace
