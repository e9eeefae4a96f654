// SPDX-License-Identifier: Apache-2.0
// `surrogate train` from outside: what it learns, what it writes, how it stops and goes on.
#include "tests/coupling/training/train_program.hpp"

#include <map>

namespace surrogate::test {

namespace {

TEST_F(TrainProgram, LearnsToAStatedErrorAndItsModelsPassTheirChecks) {
    Recipe recipe;
    recipe.training =
        "epochs = 60\nbatch = 2\nlearning_rate = 5e-3\nschedule = 'one_cycle'\nseed = 1\n";
    recipe.options = "threads = 1\n";
    train(0, recipe);
    // 7 times below the error of a constant, 0.36; measured: 0.027.
    EXPECT_LE(column_of("out", "error of pressure").back(), 0.05);
    for (const std::string name : {"best", "last"}) {
        const Outcome check = surrogate("check " + file("out/" + name + ".safetensors"));
        EXPECT_EQ(check.status, 0) << check.text;
    }
    const json learnt = card(file("out/best.safetensors"));
    EXPECT_EQ(learnt.at("inputs").at(0).at("role"), "coordinate");
    EXPECT_EQ(learnt.at("inputs").at(2).at("unit"), "m^2/(Pa s)");
    EXPECT_EQ(learnt.at("provenance").at("data").at(0).at("xxh3").get<std::string>().size(), 16u);
    EXPECT_GT(learnt.at("provenance")
                  .at("error on held-out data")
                  .at("relative L2")
                  .at("pressure")
                  .get<double>(),
              0);
    const std::string picture = read(file("out/loss.png"));
#ifdef SURROGATE_HAS_CHART
    EXPECT_EQ(picture.substr(1, 3), "PNG");
#endif
}

/// Networks of the families that keep a sample on one rank, from new weights. Relative L2 errors on
/// held-out samples; a constant has 0.36.
TEST_F(TrainProgram, EveryFamilyLearnsFromNewWeights) {
    struct Case {
        std::string family, network;
        double error;  ///< largest allowed, twice the measured one
    };
    const Case cases[] = {
        {"bsa",
         "{ pos_enc = 'none', dimensionality = 2, c_in = 3, c_hidden = 16, c_out = 1, depth = 2, "
         "num_heads = 2, ball_size = 32, attention_kwargs = { compress_block_size = 4, "
         "group_selection_size = 4, selected_blocks_number = 2 } }",
         0.03},
        {"sequoia",
         "{ pos_enc = 'none', dimensionality = 2, c_in = 3, num_classes = 1, transformer_dim = 16, "
         "num_head = 2, head_dim = 16, transformer_hidden_dim = 32, num_layers = 2, k = 4 }",
         0.04},
        {"hept",
         "{ in_dim = 3, coords_dim = 2, h_dim = 16, num_heads = 2, n_layers = 2, n_hashes = 2, "
         "block_size = 16, num_regions = 9, num_classes = 1 }",
         0.06}};
    LatticeSet{.has_position_fields = true}.write(file("train.h5"));
    for (const Case& c : cases) {
        Recipe recipe;
        recipe.model = "family = '" + c.family +
                       "'\ninputs = ['x', 'y', 'px', 'py', 'mobility']\noutputs = ['pressure']\n"
                       "network = " +
                       c.network + "\n";
        recipe.data = "";
        recipe.training =
            "epochs = 40\nbatch = 2\nlearning_rate = 5e-3\nschedule = 'one_cycle'\nseed = 1\n"
            "dropout = 'off'\n";
        recipe.options = "threads = 1\n";
        recipe.folder = c.family;
        train(0, recipe);
        EXPECT_LE(column_of(c.family, "error of pressure").back(), c.error) << c.family;
        for (const std::string name : {"best", "last"}) {
            const Outcome check =
                surrogate("check " + file(c.family + "/" + name + ".safetensors"));
            EXPECT_EQ(check.status, 0) << check.text;
        }
    }
}

TEST_F(TrainProgram, ResumedTrainingHasTheBitsOfAnUninterruptedOne) {
    Recipe whole;
    whole.training = "epochs = 4\nbatch = 2\nseed = 1\nema_decay = 0.9\n";
    whole.folder = "whole";
    train(0, whole);
    Recipe part = whole;
    part.folder = "part";
    part.training = "epochs = 2\nbatch = 2\nseed = 1\nema_decay = 0.9\n";
    train(0, part);
    part.training = whole.training;
    train(0, part, "--resume");
    for (const std::string name : {"best", "last", "average"})
        EXPECT_EQ(weights(file("whole/" + name + ".safetensors")),
                  weights(file("part/" + name + ".safetensors")))
            << name;
    for (const std::string key : {"epoch", "step", "loss", "validation", "best"})
        EXPECT_EQ(column_of("whole", key), column_of("part", key)) << key;
}

TEST_F(TrainProgram, RandomPointsOfSamplesAreTheSameOnAnyRanks) {
    Recipe recipe;
    recipe.data = "points = 60\nsymmetries = 'square'\n";
    train(0, recipe);
    const auto validation = column_of("out", "validation");
    EXPECT_LT(validation.back(), validation.front());
    Recipe all = recipe;
    all.data = "symmetries = 'square'\n";
    all.folder = "all";
    train(0, all);
    EXPECT_NE(weights(file("out/last.safetensors")), weights(file("all/last.safetensors")));
    // More points than a sample has are all of them.
    all.data = "points = 1000\nsymmetries = 'square'\n";
    all.folder = "more";
    train(0, all);
    EXPECT_EQ(weights(file("all/last.safetensors")), weights(file("more/last.safetensors")));
    Recipe part = recipe;
    part.folder = "part";
    part.training.replace(part.training.find("epochs = 3"), 10, "epochs = 1");
    train(0, part);
    part.training = recipe.training;
    train(0, part, "--resume");
    EXPECT_EQ(weights(file("out/last.safetensors")), weights(file("part/last.safetensors")));
#ifdef SURROGATE_MPIRUN
    Recipe spread = recipe;
    spread.folder = "spread";
    train(0, spread, "", SURROGATE_MPIRUN " 3");
    EXPECT_EQ(weights(file("out/last.safetensors")), weights(file("spread/last.safetensors")));
#endif
    recipe.training += "loss = 'gradient_l2'\n";
    recipe.folder = "none";
    expect_told(train(2, recipe), "needs the whole structured grid");
}

TEST_F(TrainProgram, PointsMayHaveMoreThanThreeCoordinates) {
    FourAxesSet().write(file("train.h5"));
    Recipe recipe;
    recipe.model =
        "family = 'hept'\ninputs = ['a1', 'a2', 'c', 'd', 'a']\noutputs = ['u']\n"
        "network = { in_dim = 1, coords_dim = 4, h_dim = 16, num_heads = 2, n_layers = 1, "
        "n_hashes = 2, block_size = 10, num_regions = 9, num_classes = 1 }\n";
    recipe.data = "";
    recipe.training = "epochs = 20\nlearning_rate = 5e-3\n";
    recipe.options = "threads = 1\n";
    train(0, recipe);
    const auto loss = column_of("out", "loss");
    EXPECT_LT(loss.back(), 0.9 * loss.front());
    EXPECT_EQ(card(file("out/last.safetensors")).at("inputs").at(3).at("axis"), 3);
    const Outcome check = surrogate("check " + file("out/last.safetensors"));
    EXPECT_EQ(check.status, 0) << check.text;
}

Recipe embedding() {
    Recipe recipe;
    recipe.model =
        "family = 'hept'\ninputs = ['eta', 'phi', 'f0', 'f1', 'f2']\n"
        "outputs = ['e0', 'e1', 'e2', 'e3']\n"
        "network = { in_dim = 3, coords_dim = 2, h_dim = 8, num_heads = 2, n_layers = 1, "
        "n_hashes = 2, block_size = 16, num_regions = 9 }\n";
    recipe.data = "labels = 'particle'\n";
    recipe.training =
        "epochs = 12\nbatch = 2\nlearning_rate = 3e-3\nloss = 'infonce'\npair_neighbors = 40\n";
    return recipe;
}

TEST_F(TrainProgram, EmbeddingsSeparateParticles) {
    TrackSet().write(file("train.h5"));
    Recipe recipe = embedding();
    train(0, recipe);
    const auto loss = column_of("out", "loss"), validation = column_of("out", "validation");
    EXPECT_LT(loss.back(), 0.7 * loss.front());
    EXPECT_LT(validation.back(), 0.8 * validation.front());
    EXPECT_EQ(read(file("out/loss.csv")).find("error of"), std::string::npos);
    const json provenance = card(file("out/best.safetensors")).at("provenance");
    EXPECT_FALSE(provenance.contains("error on held-out data"));
    for (const std::string name : {"best", "last"}) {
        const Outcome check = surrogate("check " + file("out/" + name + ".safetensors"));
        EXPECT_EQ(check.status, 0) << check.text;
    }
    Recipe part = recipe;
    part.folder = "part";
    part.training.replace(part.training.find("epochs = 12"), 11, "epochs = 4");
    train(0, part);
    part.training = recipe.training;
    const Outcome end = train(0, part, "--resume");
    expect_told(end, "loss on held-out samples");
    EXPECT_EQ(weights(file("out/last.safetensors")), weights(file("part/last.safetensors")));
#ifdef SURROGATE_MPIRUN
    recipe.folder = "groups";
    recipe.training += "groups = 2\n";
    train(0, recipe, "", SURROGATE_MPIRUN " 2");
    EXPECT_EQ(weights(file("out/last.safetensors")), weights(file("groups/last.safetensors")));
    recipe = embedding();
    recipe.folder = "none";
    expect_told(train(2, recipe, "", SURROGATE_MPIRUN " 2"), "set 'groups' to the 2 ranks");
#endif
}

TEST_F(TrainProgram, BadParticlesAreErrorsBeforeTheFirstStep) {
    Recipe recipe = embedding();
    const auto expect_rejected = [&](const TrackSet& set, const std::string& text) {
        set.write(file("train.h5"));
        expect_told(train(2, recipe), text);
    };
    expect_rejected(
        {.bad_sample = 3, .bad_id = -2},
        "'particle' of sample 3 of '" + file("train.h5") + "' has the id -2 at point 0");
    expect_rejected({.bad_sample = 7}, "no particle with two points of weight 1");
    expect_rejected({.weight = 0.5}, "the weight of point 0 is 0.5, expected 0 or 1");
    TrackSet().write(file("train.h5"));
    recipe.data = "";
    expect_told(train(2, recipe), "needs 'labels' in [data]");
    recipe = embedding();
    recipe.training += "class_weights = { e0 = 2 }\n";
    expect_told(train(2, recipe), "'class_weights' needs loss = \"cross_entropy\"");
}

Recipe classifier() {
    Recipe recipe;
    recipe.model =
        "family = 'flare'\ninputs = ['x', 'y', 'height']\noutputs = ['low', 'middle', 'high']\n"
        "network = { in_dim = 3, out_dim = 3, channel_dim = 16, num_blocks = 1, num_heads = 2, "
        "num_latents = 8 }\n";
    recipe.data = "labels = 'kind'\n";
    recipe.training =
        "epochs = 40\nbatch = 2\nlearning_rate = 1e-2\nloss = 'cross_entropy'\nseed = 1\n"
        "label_smoothing = 0.02\nclass_weights = { high = 2 }\n";
    return recipe;
}

TEST_F(TrainProgram, ClassesOfPointsAreLearned) {
    ClassSet().write(file("train.h5"));
    Recipe recipe = classifier();
    expect_told(train(0, recipe), "fraction of wrong points on held-out samples: low ");
    for (const std::string name : {"low", "middle", "high"})
        EXPECT_LT(column_of("out", "error of " + name).back(), 0.15) << name;
    const json outputs = card(file("out/best.safetensors")).at("outputs");
    EXPECT_EQ(outputs.at(0).at("name"), "low");
    EXPECT_EQ(outputs.at(0).at("std"), 1.0);
    EXPECT_FALSE(outputs.at(0).contains("max"));
    const Outcome check = surrogate("check " + file("out/best.safetensors"));
    EXPECT_EQ(check.status, 0) << check.text;
    // Resumed, and trained further from the model file.
    Recipe part = classifier();
    part.folder = "part";
    part.training.replace(part.training.find("40"), 2, "20");
    train(0, part);
    part.training = recipe.training;
    train(0, part, "--resume");
    EXPECT_EQ(weights(file("out/last.safetensors")), weights(file("part/last.safetensors")));
    Recipe further = classifier();
    further.model = "file = '" + file("out/best.safetensors") + "'\n";
    further.training.replace(further.training.find("40"), 2, "1");
    further.folder = "further";
    train(0, further);
    EXPECT_LT(column_of("further", "loss").back(), 0.6);
#ifdef SURROGATE_MPIRUN
    Recipe spread = classifier();
    spread.folder = "spread";
    train(0, spread, "", SURROGATE_MPIRUN " 3");
    EXPECT_EQ(weights(file("out/last.safetensors")), weights(file("spread/last.safetensors")));
#endif
}

/// One output is the logit of label 1 of two.
TEST_F(TrainProgram, OneOutputLearnsTwoClassesWithEitherLoss) {
    ClassSet{.is_binary = true}.write(file("train.h5"));
    ClassSet{.n_sample = 4, .seed = 5, .is_binary = true}.write(file("test.h5"));
    for (const std::string loss : {"focal", "cross_entropy"}) {
        Recipe recipe = classifier();
        recipe.model.replace(recipe.model.find("['low', 'middle', 'high']"), 25, "['high']");
        recipe.model.replace(recipe.model.find("out_dim = 3"), 11, "out_dim = 1");
        recipe.training = "epochs = 20\nbatch = 2\nlearning_rate = 1e-2\nseed = 1\nloss = '" +
                          loss + "'\nclass_weights = { high = 2 }\n";
        if (loss == "focal") recipe.training += "focal_alpha = 0.5\nfocal_gamma = 1.5\n";
        recipe.folder = loss;
        train(0, recipe);
        EXPECT_LT(column_of(loss, "error of high").back(), 0.1);
        const std::string model = file(loss + "/last.safetensors");
        const Outcome evaluated = surrogate("evaluate " + model + " --data " + file("test.h5") +
                                            " --labels kind --json " + file(loss + ".json"));
        ASSERT_EQ(evaluated.status, 0) << evaluated.text;
        const json found = json::parse(read(file(loss + ".json")));
        EXPECT_GT(found.at("accuracy").get<double>(), 0.9);
        EXPECT_LT(found.at("cross_entropy").get<double>(), 0.4);
        EXPECT_EQ(found.at("classes").at(0).at("name"), "not high");
        EXPECT_EQ(found.at("classes").at(1).at("name"), "high");
        if (loss != "focal") continue;
        Recipe part = recipe;
        part.folder = "part";
        part.training.replace(part.training.find("20"), 2, "10");
        train(0, part);
        part.training = recipe.training;
        train(0, part, "--resume");
        EXPECT_EQ(weights(model), weights(file("part/last.safetensors")));
#ifdef SURROGATE_MPIRUN
        recipe.folder = "spread";
        train(0, recipe, "", SURROGATE_MPIRUN " 3");
        EXPECT_EQ(weights(model), weights(file("spread/last.safetensors")));
#endif
    }
    ClassSet{.bad_sample = 3, .bad_label = 2, .is_binary = true}.write(file("train.h5"));
    Recipe recipe = classifier();
    recipe.model.replace(recipe.model.find("['low', 'middle', 'high']"), 25, "['high']");
    recipe.model.replace(recipe.model.find("out_dim = 3"), 11, "out_dim = 1");
    expect_told(train(2, recipe), "has the label 2 at point 5, expected 0 to 1, or -100");
    recipe.training = "epochs = 1\nloss = 'focal'\nlabel_smoothing = 0.1\n";
    ClassSet{.is_binary = true}.write(file("train.h5"));
    expect_told(train(2, recipe), "label_smoothing is 0.1, expected 0 with loss=focal");
    recipe.data = "";
    expect_told(train(2, recipe), "loss 'focal' needs 'labels'");
}

/// The output of the network is a probability.
TEST_F(TrainProgram, ThePileupTaskIsTrainedAndEvaluated) {
    FourAxesSet().write(file("train.h5"));
    FourAxesSet{.n_sample = 3}.write(file("test.h5"));
    Recipe recipe;
    recipe.model =
        "family = 'hept'\ninputs = ['a1', 'a2', 'c', 'd', 'a', 'kind']\noutputs = ['leading']\n"
        "network = { task = 'pileup', in_dim = 2, h_dim = 16, num_heads = 2, n_layers = 1, "
        "n_hashes = 2, block_size = 10, num_regions = 9 }\n";
    recipe.data = "labels = 'label'\nnormalize = false\n";
    recipe.training = "epochs = 10\nlearning_rate = 5e-3\nloss = 'focal'\n";
    recipe.options = "threads = 1\n";
    recipe.validation = "test.h5";
    train(0, recipe);
    const double error = column_of("out", "error of leading").back();
    EXPECT_LT(error, 0.2);
    const Outcome evaluated =
        surrogate("evaluate " + file("out/last.safetensors") + " --data " + file("test.h5") +
                  " --labels label --json " + file("r.json"));
    ASSERT_EQ(evaluated.status, 0) << evaluated.text;
    const json found = json::parse(read(file("r.json")));
    EXPECT_NEAR(found.at("accuracy").get<double>(), 1 - error, 1e-9);
    EXPECT_LT(found.at("cross_entropy").get<double>(), 0.6);
}

TEST_F(TrainProgram, BadLabelsAreErrorsBeforeTheFirstStep) {
    const auto expect_refused = [&](const Recipe& recipe, const std::string& text) {
        expect_told(train(2, recipe), text);
        EXPECT_FALSE(std::filesystem::exists(file("out/loss.csv")));
    };
    ClassSet{.bad_sample = 3, .bad_label = 3}.write(file("train.h5"));
    expect_refused(classifier(), "'kind' of sample 3 of '" + file("train.h5") +
                                     "' has the label 3 at point 5, expected 0 to 2");
    ClassSet{.bad_sample = 15, .bad_label = -1}.write(file("train.h5"));  // held out
    expect_refused(classifier(), "has the label -1 at point 5");
    ClassSet{.ignored_sample = 2}.write(file("train.h5"));
    expect_refused(classifier(), "'kind' of sample 2 of '" + file("train.h5") + "' ignores all");
    ClassSet().write(file("train.h5"));
    Recipe recipe = classifier();
    recipe.data = "labels = 'kinds'\n";
    expect_refused(recipe, "did you mean 'kind'?");
    recipe.data = "labels = 'height'\n";
    expect_refused(recipe, "has no integer variable 'height'");
    recipe.data = "";
    expect_refused(recipe, "loss 'cross_entropy' needs 'labels'");
    recipe = classifier();
    recipe.training = "epochs = 1\n";
    expect_refused(recipe, "'labels' in [data] needs loss = \"cross_entropy\"");
    recipe = classifier();
    recipe.training.replace(recipe.training.find("high ="), 6, "hihg =");
    expect_refused(recipe, "did you mean 'high'?");
    recipe = classifier();
    recipe.model.replace(recipe.model.find("out_dim = 3"), 11, "out_dim = 2");
    expect_refused(recipe, "out");
}

TEST_F(TrainProgram, EarlyStoppingEndsATrainingThatDoesNotImprove) {
    Recipe recipe;
    // A rate that changes nothing: only the first epoch has the smallest loss so far.
    recipe.training = "epochs = 30\nbatch = 2\nlearning_rate = 1e-30\nearly_stopping = 3\n";
    recipe.data = "";
    expect_told(train(0, recipe), "the validation loss was not smaller in the last 3 epochs");
    EXPECT_EQ(column_of("out", "epoch").size(), 4u);
    // A resumed training that is more patient goes on.
    recipe.training = "epochs = 30\nbatch = 2\nlearning_rate = 1e-30\nearly_stopping = 5\n";
    train(0, recipe, "--resume");
    EXPECT_EQ(column_of("out", "epoch").size(), 6u);
    recipe.validation = "0";
    recipe.folder = "none";
    expect_told(train(2, recipe), "'early_stopping' needs held-out samples");
}

TEST_F(TrainProgram, SgdWithMomentumAndStepsResumesToTheSameWeights) {
    const std::string settings =
        "batch = 2\noptimizer = 'sgd'\nmomentum = 0.9\nnesterov = true\nlearning_rate = 0.1\n"
        "schedule = 'step'\nstep_size = 10\ngamma = 0.5\nwarmup = 3\nloss = 'huber'\n";
    Recipe whole;
    whole.training = "epochs = 6\n" + settings;
    whole.folder = "whole";
    train(0, whole);
    const auto loss = column_of("whole", "loss");
    // The optimizer itself is compared with PyTorch in optimizer_test.
    EXPECT_LT(loss.back(), 0.98 * loss.front());
    const auto rate = column_of("whole", "learning_rate");
    EXPECT_NEAR(rate.back() / rate[1], 0.5 * 0.5 * 0.5 * 0.5 / 0.5, 1e-9);
    Recipe part = whole;
    part.folder = "part";
    part.training = "epochs = 3\n" + settings;
    train(0, part);
    part.training = whole.training;
    train(0, part, "--resume");
    EXPECT_EQ(weights(file("whole/last.safetensors")), weights(file("part/last.safetensors")));
}

// A script that runs a chain of trainings again goes on with the second: the model that it starts
// from has the same bytes.
TEST_F(TrainProgram, FinishedTrainingThatIsResumedOnAnotherDayLeavesTheSameBytes) {
    const Recipe recipe;
    train(0, recipe, "", "SOURCE_DATE_EPOCH=1000000000");
    EXPECT_EQ(card(file("out/last.safetensors")).at("provenance").at("date"),
              "2001-09-09T01:46:40Z");
    std::map<std::string, std::string> before;
    for (const std::string name : {"best", "last", "checkpoint"})
        before[name] = read(file("out/" + name + ".safetensors"));
    train(0, recipe, "--resume");
    for (const auto& [name, bytes] : before)
        EXPECT_EQ(read(file("out/" + name + ".safetensors")), bytes) << name;
}

TEST_F(TrainProgram, SignalWritesACheckpointInTheMiddleOfAnEpochFromWhichItGoesOn) {
    Recipe whole;
    whole.training = "epochs = 400\nbatch = 1\nseed = 1\n";
    whole.folder = "stopped";
    const std::string program = SURROGATE_PROGRAM " train " + config(whole);
    // Wait for the first epochs, then stop it.
    const Outcome stopped =
        shell(program + " & id=$!; until [ -s " + file("stopped/loss.csv") +
              " ] || ! kill -0 $id; do sleep 0.05; done; kill -TERM $id; wait $id");
    EXPECT_EQ(stopped.status, 4) << stopped.text;
    expect_told(stopped, "--resume continues");
    const size_t n_done = column_of("stopped", "epoch").size();
    ASSERT_LT(n_done, 400u);
    const std::string epochs = std::to_string(n_done + 2);
    whole.training = "epochs = " + epochs + "\nbatch = 1\nseed = 1\n";
    train(0, whole, "--resume");
    Recipe other = whole;
    other.folder = "whole";
    train(0, other);
    EXPECT_EQ(weights(file("stopped/last.safetensors")), weights(file("whole/last.safetensors")));
    EXPECT_EQ(column_of("stopped", "loss"), column_of("whole", "loss"));
}

TEST_F(TrainProgram, AnotherTrainingIsNotResumedAndEveryDifferenceIsListed) {
    Recipe recipe;
    train(0, recipe);
    recipe.training = "epochs = 4\nbatch = 2\nlearning_rate = 3e-3\nseed = 1\n";
    recipe.data = "";
    LatticeSet{.seed = 5}.write(file("train.h5"));
    const Outcome outcome = train(2, recipe, "--resume");
    expect_told(outcome, "data set 0 (xxh3)");
    expect_told(outcome, "data.symmetries: 'square' in the checkpoint, not given now");
    LatticeSet().write(file("train.h5"));
    recipe.model.replace(recipe.model.find("num_latents = 8"), 15, "num_latents = 4");
    EXPECT_EQ(train(2, recipe, "--resume").text.find("data set"), std::string::npos);
}

TEST_F(TrainProgram, FolderWithATrainingIsNotLostUnasked) {
    Recipe recipe;
    expect_told(train(2, recipe, "--resume"), "nothing to resume");
    recipe.training = "epochs = 1\n";
    train(0, recipe);
    const std::string before = read(file("out/last.safetensors"));
    expect_told(train(2, recipe), "--overwrite discards it");
    EXPECT_EQ(read(file("out/last.safetensors")), before);
    train(0, recipe, "--overwrite --quiet");
}

TEST_F(TrainProgram, DryRunPrintsMemoryAndTimesAndWritesNothing) {
    const Outcome outcome = train(0, Recipe(), "--dry-run");
    expect_told(outcome, "time of a step");
    expect_told(outcome, "parameters");
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

// Errors in the data, such as NaN, are reported later.
TEST_F(TrainProgram, RejectsAnUnknownFamilyBeforeNumbersAreRead) {
    Recipe recipe;
    recipe.model =
        "family = 'mlp'\ninputs = ['x', 'y', 'mobility']\noutputs = ['pressure']\n"
        "network = {}\n";
    for (const std::string option : {"", "--dry-run"}) {
        const Outcome outcome = train(2, recipe, option);
        expect_told(outcome, "unknown model family 'mlp', expected one of: bsa, ");
        EXPECT_EQ(outcome.text.find("reading the training set"), std::string::npos);
    }
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, RejectsALossThatACallerComputes) {
    Recipe recipe;
    recipe.training += "loss = 'custom'\n";
    expect_told(train(2, recipe), "expected a loss of the library");
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, NamesTargetsThatAreZeroEverywhereBeforeTheFirstStep) {
    Recipe recipe;
    const std::string zero = "sample 18 of '" + file("train.h5") + "' is zero everywhere";
    LatticeSet{.zero_sample = 18}.write(file("train.h5"));  // held out
    expect_told(train(2, recipe), "the target of the held-out " + zero);
    EXPECT_FALSE(std::filesystem::exists(file("out")));
    recipe.training += "loss = 'mse'\n";
    const Outcome outcome = train(0, recipe);
    expect_told(outcome,
                "'pressure' is zero everywhere in 1 held-out samples, the first is sample 18");
    EXPECT_TRUE(std::isfinite(column_of("out", "error of pressure").back()));
    EXPECT_EQ(outcome.text.find("inf"), std::string::npos) << outcome.text;
    recipe.training = "epochs = 1\n";
    LatticeSet{.zero_sample = 3}.write(file("train.h5"));
    const std::string learnt = "sample 3 of '" + file("train.h5") + "' is zero everywhere";
    expect_told(train(2, recipe, "--overwrite"), "the target of the training set's " + learnt);
}

TEST_F(TrainProgram, ModelOfAFileIsTrainedFurtherUnderItsOwnNormalisation) {
    Recipe recipe;
    recipe.training = "epochs = 8\nbatch = 2\nlearning_rate = 3e-3\n";
    train(0, recipe);
    Recipe further = recipe;
    further.folder = "further";
    further.model = "file = '" + file("out/last.safetensors") + "'\n";
    train(0, further);
    EXPECT_EQ(card(file("further/last.safetensors")).at("inputs"),
              card(file("out/last.safetensors")).at("inputs"));
    EXPECT_LT(column_of("further", "loss").back(), column_of("out", "loss").back());
    // The same field in other units: the data contradict the card.
    LatticeSet{.unit = "m^2/(kPa s)"}.write(file("train.h5"));
    further.folder = "other";
    expect_told(train(2, further), "mobility");
}

TEST_F(TrainProgram, SeveralResolutionsAreLearntTogether) {
    LatticeSet{.n_sample = 6, .n = 9, .seed = 3}.write(file("coarse.h5"));
    LatticeSet{.n_sample = 4, .n = 15, .seed = 4}.write(file("fine.h5"));
    Recipe recipe;
    recipe.train = "train.h5', '" + file("coarse.h5");
    recipe.validation = "fine.h5";
    const std::string path = config(recipe);
    std::string text = read(path);
    text.replace(text.find("train = '"), 8, "train = [");
    text.replace(text.find("coarse.h5'"), 10, "coarse.h5']");
    write(path, text);
    const Outcome outcome = shell(SURROGATE_PROGRAM " train " + path);
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_LT(column_of("out", "loss").back(), column_of("out", "loss").front());
}

TEST_F(TrainProgram, CloudsOfDifferentSizesAreLearntFrom) {
    RaggedSet().write(file("train.h5"));
    Recipe recipe;
    recipe.model =
        "family = 'flare'\ninputs = ['x', 'a']\noutputs = ['u']\n"
        "network = { in_dim = 2, out_dim = 1, channel_dim = 16, num_blocks = 1, num_heads = 2, "
        "num_latents = 8 }\n";
    recipe.data = "";
    recipe.training = "epochs = 30\nbatch = 2\nlearning_rate = 5e-3\n";
    train(0, recipe);
    const auto loss = column_of("out", "loss");
    EXPECT_LT(loss.back(), 0.5 * loss.front());
    const Outcome check = surrogate("check " + file("out/best.safetensors"));
    EXPECT_EQ(check.status, 0) << check.text;
}

/// An emulator of one hour on the sphere.
Recipe emulator() {
    Recipe recipe;
    recipe.model =
        "family = 'sphere'\ninputs = ['height']\noutputs = ['height']\noutput_scale = 0.5\n"
        "network = { model = 'SphericalTransformer', img_size = [8, 16], grid = 'legendre-gauss', "
        "grid_internal = 'legendre-gauss', in_chans = 1, out_chans = 1, scale_factor = 2, "
        "embed_dim = 8, num_layers = 1, num_heads = 1, attention_mode = 'neighborhood', "
        "residual_prediction = true, bias = false }\n";
    recipe.data = "symmetries = 'longitude'\nlead = 3600\n";
    recipe.training =
        "batch = 2\nlearning_rate = 5e-3\nloss = 'weighted_mse'\nscale = 'increment'\n";
    return recipe;
}

TEST_F(TrainProgram, SeriesOnTheSphereAreLearntFrom) {
    SphereSet().write(file("train.h5"));
    Recipe recipe = emulator();
    recipe.training += "epochs = 20\n";
    train(0, recipe);
    const auto loss = column_of("out", "loss");
    EXPECT_LT(loss.back(), 0.5 * loss.front());
    const Outcome check = surrogate("check " + file("out/best.safetensors"));
    EXPECT_EQ(check.status, 0) << check.text;
    // Held-out samples in a file of their own lie on the same grid.
    SphereSet{.n_sample = 5}.write(file("held_out.h5"));
    recipe.validation = "held_out.h5";
    recipe.folder = "apart";
    train(0, recipe);
    EXPECT_LT(column_of("apart", "validation").back(), 0.5 * column_of("apart", "validation")[0]);
}

TEST_F(TrainProgram, DerivativesOnTheSphereAreLearntFrom) {
    SphereSet().write(file("train.h5"));
    Recipe whole = emulator();
    whole.training.replace(whole.training.find("weighted_mse"), 12, "l1_w11");
    whole.training += "w11_weight = 0.5\nepochs = 20\n";
    whole.folder = "whole";
    train(0, whole);
    const auto loss = column_of("whole", "loss");
    EXPECT_LT(loss.back(), 0.5 * loss.front());
    const Outcome evaluated =
        surrogate("evaluate " + file("whole/best.safetensors") + " --data " + file("train.h5"));
    EXPECT_EQ(evaluated.status, 0) << evaluated.text;
    Recipe part = whole;
    part.folder = "part";
    part.training.replace(part.training.find("epochs = 20"), 11, "epochs = 9");
    train(0, part);
    part.training = whole.training;
    train(0, part, "--resume");
    EXPECT_EQ(weights(file("whole/last.safetensors")), weights(file("part/last.safetensors")));
#ifdef SURROGATE_MPIRUN
    Recipe spread = whole;
    spread.folder = "spread";
    train(0, spread, "", SURROGATE_MPIRUN " 3");
    EXPECT_EQ(weights(file("whole/last.safetensors")), weights(file("spread/last.safetensors")));
#endif
    Recipe other = whole;
    other.training.replace(other.training.find("w11_weight = 0.5"), 16, "w11_weight = 0.4");
    expect_told(train(2, other, "--resume"), "w11_weight");
    other.training.replace(other.training.find("w11_weight = 0.4"), 16, "w11_weight = -1 ");
    expect_told(train(2, other), "expected a number from 0");
    LatticeSet().write(file("train.h5"));
    Recipe points;
    points.training = "epochs = 1\nloss = 'l1_w11'\n";
    expect_told(train(2, points), "expected a grid on the sphere for loss=l1_w11");
}

TEST_F(TrainProgram, RolloutLearnsFromTheModelsOwnPredictions) {
    SphereSet{.n_time = 8}.write(file("train.h5"));
    Recipe recipe = emulator();
    recipe.training += "epochs = 10\n";
    train(0, recipe);
    // Weights stay: what differs is where the inputs come from.
    Recipe still = emulator();
    still.model = "file = '" + file("out/last.safetensors") + "'\n";
    const auto loss_of = [&](const std::string& rollout) {
        still.training =
            "epochs = 1\nbatch = 1\nlearning_rate = 1e-12\nloss = 'weighted_mse'\n"
            "scale = 'increment'\nrollout = " +
            rollout + "\n";
        still.folder = "rollout_" + rollout;
        train(0, still);
        return column_of(still.folder, "loss").back();
    };
    const double one = loss_of("1"), two = loss_of("2"), six = loss_of("6");
    EXPECT_GT(two, 1.1 * one);
    EXPECT_GT(six, 1.1 * two);
    EXPECT_NEAR(column_of("rollout_6", "validation")[0], column_of("rollout_1", "validation")[0],
                1e-6 * column_of("rollout_1", "validation")[0]);
    // The model is also trained on them.
    Recipe further = still;
    further.training =
        "epochs = 20\nbatch = 2\nlearning_rate = 1e-3\nloss = 'weighted_mse'\n"
        "scale = 'increment'\nrollout = 6\nschedule = 'cosine'\n";
    further.folder = "further";
    train(0, further);
    still.model = "file = '" + file("further/last.safetensors") + "'\n";
    std::filesystem::remove_all(file("rollout_6"));
    EXPECT_LT(loss_of("6"), 0.8 * six);
}

TEST_F(TrainProgram, RolloutAndNoiseGoOnWithTheSameBits) {
    SphereSet{.n_time = 8}.write(file("train.h5"));
    Recipe whole = emulator();
    whole.training += "seed = 4\nrollout = 4\nnoise = 0.1\nepochs = 3\n";
    whole.folder = "whole";
    train(0, whole);
    Recipe part = emulator();
    part.training += "seed = 4\nrollout = 4\nnoise = 0.1\nepochs = 2\n";
    part.folder = "part";
    train(0, part);
    part.training = whole.training;
    train(0, part, "--resume");
    EXPECT_EQ(weights(file("whole/last.safetensors")), weights(file("part/last.safetensors")));
#ifdef SURROGATE_MPIRUN
    for (const std::string ranks : {"2", "3"}) {
        Recipe spread = whole;
        spread.folder = "r" + ranks;
        train(0, spread, "", SURROGATE_MPIRUN " " + ranks);
        EXPECT_EQ(weights(file("whole/last.safetensors")),
                  weights(file("r" + ranks + "/last.safetensors")));
    }
    // Samples of groups have different numbers of own predictions before them.
    Recipe groups = whole;
    groups.training += "groups = 2\n";
    groups.folder = "groups";
    train(0, groups, "", SURROGATE_MPIRUN " 2");
    EXPECT_EQ(weights(file("whole/last.safetensors")), weights(file("groups/last.safetensors")));
#endif
}

TEST_F(TrainProgram, RolloutIsRefusedWhereAModelCannotStepFromItself) {
    Recipe recipe;
    recipe.training += "rollout = 3\n";
    expect_told(train(2, recipe), "has no axis time");
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, BadDataAreRefusedByName) {
    Recipe recipe;
    recipe.train = "absent.h5";
    expect_told(train(2, recipe), "absent.h5");
    recipe = {};
    LatticeSet{.input = "mobilty"}.write(file("train.h5"));
    expect_told(train(2, recipe), "did you mean 'mobilty'?");
    LatticeSet{.n_sample = 1}.write(file("train.h5"));
    expect_told(train(2, recipe), "the training set has 1 samples, 'batch' is 2");
    recipe.validation = "0.9";
    LatticeSet{.n_sample = 1, .n = 3}.write(file("train.h5"));
    expect_told(train(2, recipe), "the training set has no sample");
    EXPECT_FALSE(std::filesystem::exists(file("out"))) << "the folder is made after all checks";
}

TEST_F(TrainProgram, ConfigurationThatIsNoFileIsRefusedWithTheReason) {
    for (const auto& [path, reason] : {std::pair(file("."), "it is a folder"),
                                       std::pair(file("none.toml"), "there is no such file")}) {
        const Outcome outcome = shell(SURROGATE_PROGRAM " train " + path);
        EXPECT_EQ(outcome.status, 2);
        expect_told(outcome, "cannot read the configuration '" + path + "': " + reason);
    }
}

TEST_F(TrainProgram, ValuesThatTheLibraryRefusesHaveTheirPlace) {
    Recipe recipe;
    recipe.training = "epochs = 1\nloss = 'relativ_l2'\n";
    const Outcome outcome = train(2, recipe);
    expect_told(outcome, "t.toml:12:8: ");
    expect_told(outcome, "relative_l2");
    for (const std::string value : {"0", "-1", "1.5", "'1 MiB'"}) {
        recipe.training = "epochs = 1\nbucket = " + value + "\n";
        const Outcome refused = train(2, recipe);
        expect_told(refused, "t.toml:12:10: ");
        expect_told(refused, "bucket");
    }
}

/// Buckets decide how gradients are exchanged, not which: a training may resume with another size.
TEST_F(TrainProgram, BucketsOfAnySizeLearnTheSameBits) {
    Recipe recipe;
    recipe.training = "epochs = 2\nbatch = 2\nseed = 1\n";
    expect_told(train(0, recipe, "--dry-run"), "bucket=1048576 ");
    recipe.folder = "usual";
    train(0, recipe);
    recipe.folder = "small";
    recipe.training = "epochs = 1\nbatch = 2\nseed = 1\nbucket = 1\n";
    expect_told(train(0, recipe, "--dry-run"), "bucket=1 ");
    train(0, recipe);
    recipe.training = "epochs = 2\nbatch = 2\nseed = 1\nbucket = 4096\n";
    train(0, recipe, "--resume");
    EXPECT_EQ(weights(file("usual/last.safetensors")), weights(file("small/last.safetensors")));
}

/// Name and content of each file of a folder.
std::map<std::string, std::string> files_of(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        all[entry.path().filename().string()] = read(entry.path().string());
    return all;
}

TEST_F(TrainProgram, AnEarlierTrainingStaysUntilTheNextOneHasACheckpoint) {
    Recipe recipe;
    recipe.training += "average = 0.9\n";
    train(0, recipe);
    const auto before = files_of(file("out"));
    EXPECT_EQ(before.count("average.safetensors"), 1u);
    EXPECT_EQ(before.count(".surrogate.lock"), 0u);
    Recipe wrong = recipe;  // the engine rejects it
    wrong.model.replace(wrong.model.find("num_heads = 2"), 13, "num_heads = 3");
    expect_told(train(2, wrong, "--overwrite"), "num_heads");
    EXPECT_TRUE(files_of(file("out")) == before);  // too long to print
    Recipe of_itself = recipe;
    of_itself.model = "file = '" + file("out/best.safetensors") + "'\n";
    const Outcome outcome = train(2, of_itself, "--overwrite");
    expect_told(outcome, "would replace '" + file("out/best.safetensors") +
                             "', which is the model to train further");
    EXPECT_TRUE(files_of(file("out")) == before);
    Recipe diverging = recipe;  // it begins, and fails before its first checkpoint
    diverging.training = "epochs = 60\nlearning_rate = 1e30\nmax_grad_norm = 0\nloss = 'mse'\n";
    train(1, diverging, "--overwrite");
    EXPECT_TRUE(files_of(file("out")) == before);
    Recipe next = recipe;
    next.training = "epochs = 2\nbatch = 2\nseed = 2\n";
    train(0, next, "--overwrite");
    const auto after = files_of(file("out"));
    for (const char* name : {"best.safetensors", "last.safetensors", "checkpoint.safetensors",
                             "config.toml", "essence.json", "loss.csv"})
        EXPECT_NE(after.at(name), before.at(name)) << name;
    EXPECT_EQ(after.count("average.safetensors"), 0u);  // it would be taken for this one's
}

TEST_F(TrainProgram, ARefusedTrainingLeavesNoFolder) {
    Recipe recipe;
    recipe.folder = "a/b/out";
    recipe.model.replace(recipe.model.find("num_heads = 2"), 13, "num_heads = 3");
    train(2, recipe);
    EXPECT_FALSE(std::filesystem::exists(file("a")));
}

TEST_F(TrainProgram, FilesOfOthersStopIt) {
    std::filesystem::create_directory(file("out"));
    for (const char* name :
         {"config.toml", "essence.json", "loss.csv", "loss.png", "average.safetensors"}) {
        write(file(std::string("out/") + name), "mine");
        expect_told(train(2, {}), "out/" + std::string(name) + "' exists; --overwrite");
        EXPECT_EQ(files_of(file("out")).size(), 1u);
        EXPECT_EQ(read(file(std::string("out/") + name)), "mine");
        std::filesystem::remove(file(std::string("out/") + name));
    }
    write(file("out/best.safetensors.tmp"), "mine");
    write(file("notes"), "mine");
    std::filesystem::create_symlink("../train.h5", file("out/loss.csv"));
    const std::string data = read(file("train.h5"));
    for (const std::string options : {"", "--overwrite"})
        expect_told(train(2, {}, options), "which is a training set");
    EXPECT_EQ(read(file("train.h5")), data);
    std::filesystem::remove(file("out/loss.csv"));
    for (const char* name :
         {"loss.csv", "checkpoint.safetensors", "best.safetensors", "essence.json"})
        std::filesystem::create_symlink("../notes", file(std::string("out/") + name));
    train(2, {});
    train(0, {}, "--overwrite");  // replaces the links themselves
    EXPECT_EQ(read(file("notes")), "mine");
    EXPECT_EQ(read(file("out/best.safetensors.tmp")), "mine");
    EXPECT_FALSE(std::filesystem::is_symlink(file("out/checkpoint.safetensors")));
    Recipe here;
    here.folder = ".";
    write(file("config.toml"), "mine");
    expect_told(train(2, here), "config.toml' exists");
    EXPECT_EQ(read(file("config.toml")), "mine");
}

TEST_F(TrainProgram, TwoInOneFolderAreNotAllowed) {
    Recipe recipe;
    recipe.training = "epochs = 100000\nbatch = 2\n";
#ifdef SURROGATE_MPIRUN
    const std::string launcher = SURROGATE_MPIRUN " 2 ";
#else
    const std::string launcher;
#endif
    const std::string lock = file("out/.surrogate.lock");
    const std::string program = SURROGATE_PROGRAM " train " + config(recipe, "first.toml");
    const Outcome outcome = shell("sh -c '" + launcher + program + " --quiet > " + file("log") +
                                  " 2>&1 & " + "n=0; while [ ! -s " + lock +
                                  " ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done; " +
                                  SURROGATE_PROGRAM " train " + config({}) +
                                  " --overwrite; echo status $?; "
                                  "kill -9 $(sed \"s/process \\([0-9]*\\) .*/\\1/\" " +
                                  lock + "); wait; exit 0'");
    expect_told(outcome, "is in use by process ");
    expect_told(outcome, "status 2");
    train(0, {}, "--overwrite");  // the lock of a killed one is taken over
    EXPECT_FALSE(std::filesystem::exists(lock));
}

/// --quiet leaves errors and warnings. A folder is in the way of the checkpoint alone.
TEST_F(TrainProgram, QuietTellsOfCheckpointsThatCannotBeWritten) {
    std::filesystem::create_directories(file("out/checkpoint.safetensors.surrogate.tmp"));
    const Outcome outcome = train(2, {}, "--quiet");
    expect_told(outcome, "warning: IO: cannot write");
    const size_t first = outcome.text.find("warning: ");
    EXPECT_NE(outcome.text.find("warning: ", first + 1), std::string::npos) << outcome.text;
}

TEST_F(TrainProgram, OneDataSetIsNotTakenTwice) {
    std::filesystem::copy_file(file("train.h5"), file("copy.h5"));
    std::filesystem::create_symlink("train.h5", file("link.h5"));
    for (const std::string other : {"train.h5", "link.h5", "copy.h5"}) {
        Recipe recipe;
        recipe.validation = other;
        expect_told(train(2, recipe), "of 'validation' is '" + file("train.h5") + "' of 'train'");
        recipe = {};
        recipe.train = "train.h5', '" + file(other);
        const std::string path = config(recipe);
        std::string text = read(path);
        text.replace(text.find("train = '"), 8, "train = [");
        const std::string end = file(other) + "'";
        text.insert(text.find(end + "\n") + end.size(), "]");
        write(path, text);
        const Outcome outcome = shell(SURROGATE_PROGRAM " train " + path);
        EXPECT_EQ(outcome.status, 2) << outcome.text;
        expect_told(outcome, "the same data set is twice in 'train'");
    }
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, DatesThatAreNoneAreRefused) {
    for (const std::string date : {"99999999999999999999", "253402300800", "-1", "junk", "12x"})
        expect_told(train(2, {}, "", "SOURCE_DATE_EPOCH=" + date),
                    "SOURCE_DATE_EPOCH is '" + date + "', expected an integer");
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

TEST_F(TrainProgram, FolderThatCannotBeMadeIsAnErrorBeforeAnythingIsComputed) {
    Recipe recipe;
    write(file("plain"), "");
    recipe.folder = "plain/out";
    expect_told(train(2, recipe), "cannot make the folder");
}

TEST_F(TrainProgram, LearningRateThatDivergesStopsTheTrainingAndKeepsWhatWasWritten) {
    Recipe recipe;
    recipe.training = "epochs = 60\nlearning_rate = 1e30\nmax_grad_norm = 0\nloss = 'mse'\n";
    recipe.options = "threads = 1\n";
    const Outcome outcome = train(1, recipe);
    expect_told(outcome, "epoch ");
    expect_told(outcome, "sample ");
}

#ifdef SURROGATE_MPIRUN
TEST_F(TrainProgram, ReproducibleTrainingHasTheSameBitsOnAnyNumberOfRanks) {
    Recipe recipe;
    recipe.training = "epochs = 2\nbatch = 2\nseed = 1\n";
    recipe.folder = "r1";
    train(0, recipe);
    for (const std::string ranks : {"2", "3"}) {
        recipe.folder = "r" + ranks;
        train(0, recipe, "", mpirun + " " + ranks);
        EXPECT_EQ(weights(file("r1/last.safetensors")),
                  weights(file("r" + ranks + "/last.safetensors")));
        EXPECT_EQ(column_of("r1", "validation"), column_of("r" + ranks, "validation"));
    }
    // And when it goes on with another number of them.
    Recipe longer = recipe;
    longer.training = "epochs = 3\nbatch = 2\nseed = 1\n";
    train(0, longer, "--resume", mpirun + " 2");
    longer.folder = "r1";
    train(0, longer, "--resume");
    EXPECT_EQ(weights(file("r1/last.safetensors")), weights(file("r3/last.safetensors")));
}

TEST_F(TrainProgram, GroupsLearnFromDifferentSamplesOfABatch) {
    Recipe recipe;
    recipe.training = "epochs = 3\nbatch = 2\nseed = 1\n";
    recipe.options = "threads = 1\n";
    recipe.folder = "one";
    train(0, recipe);
    recipe.training += "groups = 2\n";
    recipe.folder = "two";
    train(0, recipe, "", mpirun + " 2");
    const auto one = column_of("one", "loss"), two = column_of("two", "loss");
    ASSERT_EQ(one.size(), two.size());
    for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-4 * one[i]);
    expect_told(train(2, recipe, "--overwrite", mpirun + " 3"), "3 ranks are no multiple of that");
}
#endif

}  // namespace

}  // namespace surrogate::test
