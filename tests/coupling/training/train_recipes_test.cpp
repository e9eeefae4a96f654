// SPDX-License-Identifier: Apache-2.0
// `surrogate train` from outside: families, data, losses and schedules.
#include <filesystem>

#include "tests/coupling/training/train_program.hpp"

namespace surrogate::test {

namespace {

/// Networks of the families on trees and blocks, and FLARE of PhysicsNeMo, from new weights.
/// Relative L2 errors on held-out samples; a constant has 0.36. Trainings over ranks and groups are
/// bitwise identical to one rank.
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
        {"erwin",
         "{ pos_enc = 'none', dimensionality = 2, c_in = 3, c_out = 1, c_hidden = [16, 16], "
         "ball_sizes = [32, 32], enc_num_heads = [2, 2], enc_depths = [2, 2], strides = [2], "
         "dec_num_heads = [2], dec_depths = [1], rotate = 45, mlp_ratio = 2, mp_steps = 1, "
         "neighbors = 5 }",
         0.04},
        {"hept",
         "{ in_dim = 3, coords_dim = 2, h_dim = 16, num_heads = 2, n_layers = 2, n_hashes = 2, "
         "block_size = 16, num_regions = 9, num_classes = 1 }",
         0.06},
        {"flare",
         "{ model = 'FLARE', embedding_dim = 2, functional_dim = 3, out_dim = 1, n_layers = 2, "
         "n_hidden = 16, n_head = 2, slice_num = 8, mlp_ratio = 2, dropout = 0.1 }",
         0.04}};
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
        recipe.training = "epochs = 1\nbatch = 2\nlearning_rate = 5e-3\nseed = 1\n";
        recipe.options = "threads = 1\nreproducible = true\n";
        recipe.folder = c.family + "_short";
        train(0, recipe);
        expect_same_on_ranks(recipe, 3);
        expect_same_on_ranks(recipe, 4, "groups = 2\n");
        for (const char* folder : {"ranks_3", "groups_4"})
            std::filesystem::remove_all(file(folder));
    }
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
    expect_resumes(recipe, 1);
    expect_same_on_ranks(recipe, 3);
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
    EXPECT_FALSE(card(file("out/best.safetensors")).at("outputs").at(0).contains("role"));
    const Outcome evaluated =
        surrogate("evaluate " + file("out/best.safetensors") + " --data " + file("train.h5") +
                  " --particles particle --json " + file("r.json"));
    ASSERT_EQ(evaluated.status, 0) << evaluated.text;
    EXPECT_EQ(json::parse(read(file("r.json"))).at("hits"), 8 * 7 * 6);  // two tracks of nine: 0
    for (const std::string name : {"best", "last"}) {
        const Outcome check = surrogate("check " + file("out/" + name + ".safetensors"));
        EXPECT_EQ(check.status, 0) << check.text;
    }
    expect_told(expect_resumes(recipe, 4), "loss on held-out samples");
    expect_same_on_ranks(recipe, 2, "groups = 2\n");
#ifdef SURROGATE_MPIRUN
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
    EXPECT_EQ(outputs.at(0).at("role"), "class");
    EXPECT_EQ(outputs.at(0).at("unit"), "1");
    EXPECT_EQ(outputs.at(0).at("std"), 1.0);
    EXPECT_FALSE(outputs.at(0).contains("max"));
    const Outcome check = surrogate("check " + file("out/best.safetensors"));
    EXPECT_EQ(check.status, 0) << check.text;
    // Resumed, and trained further from the model file.
    expect_resumes(recipe, 20);
    Recipe further = classifier();
    further.model = "file = '" + file("out/best.safetensors") + "'\n";
    further.training.replace(further.training.find("40"), 2, "1");
    further.folder = "further";
    train(0, further);
    EXPECT_LT(column_of("further", "loss").back(), 0.6);
    EXPECT_EQ(card(file("further/last.safetensors")).at("outputs"), outputs);
    further.data = "";
    further.training = "epochs = 1\n";
    further.folder = "fields";
    expect_told(train(2, further), "the outputs of the model are classes");
    expect_same_on_ranks(recipe, 3);
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
        expect_resumes(recipe, 10);
        expect_same_on_ranks(recipe, 3);
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
    expect_checks(recipe);
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
    expect_resumes(whole, 3);
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
    Recipe recipe = ragged();
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
    expect_resumes(whole, 9);
    expect_same_on_ranks(whole, 3);
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
    expect_resumes(whole, 2);
    expect_same_on_ranks(whole, 2);
    expect_same_on_ranks(whole, 3);
    // Samples of groups have different numbers of own predictions before them.
    expect_same_on_ranks(whole, 2, "groups = 2\n");
}

TEST_F(TrainProgram, RolloutIsRefusedWhereAModelCannotStepFromItself) {
    Recipe recipe;
    recipe.training += "rollout = 3\n";
    expect_told(train(2, recipe), "has no axis time");
    EXPECT_FALSE(std::filesystem::exists(file("out")));
}

}  // namespace

}  // namespace surrogate::test
