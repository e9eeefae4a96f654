// SPDX-License-Identifier: Apache-2.0
// `surrogate train` on clouds and sequences: weights and masks, random transforms, targets per
// cloud, tokens.
#include "tests/coupling/training/cloud_case.hpp"
#include "tests/coupling/training/train_program.hpp"

namespace surrogate::test {

namespace {

/// Vectors at the points of a cloud.
Recipe flow() {
    Recipe recipe;
    recipe.model =
        "family = 'flare'\ninputs = ['x', 'y', 'a']\noutputs = ['v.x', 'v.y']\n"
        "network = { in_dim = 3, out_dim = 2, channel_dim = 16, num_blocks = 1, num_heads = 2, "
        "num_latents = 8 }\n";
    recipe.data = "";
    recipe.training = "epochs = 2\nbatch = 2\nseed = 1\nloss = 'weighted_mse'\n";
    return recipe;
}

TEST_F(TrainProgram, PointsOfWeightZeroDoNotCount) {
    const FlowSet set{.has_weight = true, .n_masked = 5};
    set.write(file("train.h5"));
    train(0, flow());
    // The loss of the held-out samples, from predictions of the library.
    const Context context;
    const Model model(context, file("out/last.safetensors"));
    std::vector<double> x, a, vx(30), vy(30);
    for (int64_t i = 0; i < 30; ++i) x.insert(x.end(), {set.position(i, 0), set.position(i, 1)});
    const Domain domain(context, matrix(x.data(), 30, 2));
    Plan plan(model, domain);
    plan.bind_output("v.x", column(vx.data(), 30));
    plan.bind_output("v.y", column(vy.data(), 30));
    const json outputs = card(file("out/last.safetensors")).at("outputs");
    double loss = 0, least = 0;
    for (int64_t s = 6; s < 8; ++s) {
        a.clear();
        for (int64_t i = 0; i < 30; ++i) a.push_back(set.a(s, i));
        plan.bind_input("a", column(a.data(), 30));
        plan.run();
        double sum = 0, weights = 0;
        for (size_t i = 0; i < 30; ++i) {
            const double w = set.weight(s, static_cast<int64_t>(i));
            const double ex = (vx[i] - a[i] * (x[2 * i] - 2)) / outputs[0].at("std").get<double>();
            const double ey =
                (vy[i] - a[i] * (x[2 * i + 1] - 1)) / outputs[1].at("std").get<double>();
            sum += w * (ex * ex + ey * ey) / 2;
            weights += w;
        }
        loss += sum / weights / 2;
    }
    EXPECT_NEAR(column_of("out", "validation").back() / loss, 1, 1e-5);
    // Only points that count are in the ranges of targets.
    for (int64_t s = 0; s < 6; ++s)
        for (int64_t i = 5; i < 30; ++i)
            least = std::min(least, set.a(s, i) * (set.position(i, 0) - 2));
    EXPECT_EQ(outputs[0].at("min").get<double>(), least);
    // Numbers at excluded points change nothing, also in errors.
    const auto evaluate = [&](const std::string& name) {
        EXPECT_EQ(shell(SURROGATE_PROGRAM " evaluate " + file("out/last.safetensors") +
                        " --reproducible --overwrite --data " + file("train.h5") + " --json " +
                        file(name))
                      .status,
                  0);
        return json::parse(read(file(name)));
    };
    const json errors = evaluate("errors.json");
    FlowSet{.has_weight = true, .n_masked = 5, .masked_value = 1e6}.write(file("train.h5"));
    EXPECT_EQ(evaluate("other.json").at("samples"), errors.at("samples"));
    Recipe other = flow();
    other.folder = "other";
    train(0, other);
    EXPECT_EQ(weights(file("other/last.safetensors")), weights(file("out/last.safetensors")));
    EXPECT_EQ(column_of("other", "validation"), column_of("out", "validation"));
    // Other weights give another model.
    FlowSet{.has_weight = true, .n_masked = 6}.write(file("train.h5"));
    other.folder = "six";
    train(0, other);
    EXPECT_NE(weights(file("six/last.safetensors")), weights(file("out/last.safetensors")));
#ifdef SURROGATE_MPIRUN
    set.write(file("train.h5"));
    other.folder = "spread";
    train(0, other, "", SURROGATE_MPIRUN " 3");
    EXPECT_EQ(weights(file("spread/last.safetensors")), weights(file("out/last.safetensors")));
#endif
}

/// A network that counts points with their weights.
Recipe weighted_flow() {
    Recipe recipe = flow();
    recipe.model.replace(recipe.model.find(" }"), 2, ", point_weights = true }");
    recipe.training.replace(recipe.training.find("epochs = 2"), 10, "epochs = 4");
    return recipe;
}

TEST_F(TrainProgram, NetworksLearnWithWeightsOfPoints) {
    const FlowSet set{.has_weight = true, .n_masked = 5};
    set.write(file("train.h5"));
    train(0, weighted_flow());
    const auto validation = column_of("out", "validation");
    EXPECT_LT(validation.back(), 0.9 * validation.front());
    Recipe plain = flow();
    plain.folder = "plain";
    plain.training = weighted_flow().training;
    train(0, plain);
    EXPECT_NE(weights(file("plain/last.safetensors")), weights(file("out/last.safetensors")));
    // Evaluate predicts with the weights of a sample, as the library does here.
    const std::string model_file = file("out/last.safetensors"), program = SURROGATE_PROGRAM;
    ASSERT_EQ(shell(program + " evaluate " + model_file + " --reproducible --data " +
                    file("train.h5") + " --json " + file("errors.json"))
                  .status,
              0);
    const Context context;
    const Model model(context, model_file);
    std::vector<double> x, a, w, vx(30);
    for (int64_t i = 0; i < 30; ++i) {
        x.insert(x.end(), {set.position(i, 0), set.position(i, 1)});
        a.push_back(set.a(6, i));
        w.push_back(set.weight(6, i));
    }
    const Domain domain(context,
                        surrogate_points{matrix(x.data(), 30, 2), nullptr, nullptr, w.data()});
    Plan plan(model, domain, {{"reproducible", "true"}});
    plan.bind_input("a", column(a.data(), 30));
    plan.bind_output("v.x", column(vx.data(), 30));
    std::vector<double> vy(30);
    plan.bind_output("v.y", column(vy.data(), 30));
    plan.run();
    double error = 0, size = 0;
    for (size_t i = 0; i < 30; ++i) {
        const double target = a[i] * (x[2 * i] - 2);
        error += w[i] * (vx[i] - target) * (vx[i] - target);
        size += w[i] * target * target;
    }
    const json sample = json::parse(read(file("errors.json"))).at("samples").at(6);
    EXPECT_NEAR(sample.at("outputs").at(0).at("relative_l2").get<double>(), std::sqrt(error / size),
                1e-5);
    // The check case has the weights.
    EXPECT_EQ(shell(program + " check " + model_file).status, 0);
#ifdef SURROGATE_MPIRUN
    EXPECT_EQ(
        shell(SURROGATE_MPIRUN " 3 " + program + " check " + model_file + " --reproducible").status,
        0);
#endif
    EXPECT_EQ(shell(program + " bench " + model_file + " --points 200").status, 0);
    expect_resumes(weighted_flow(), 1);
    expect_same_on_ranks(weighted_flow(), 3);
    // Weights that all samples share, and random points.
    FlowSet{.has_weight = true, .weight_axes = {"point"}}.write(file("train.h5"));
    Recipe drawn = weighted_flow();
    drawn.folder = "drawn";
    drawn.data = "points = 20\n";
    train(0, drawn);
    FlowSet().write(file("train.h5"));
    expect_told(train(2, weighted_flow(), "--overwrite"),
                "data set '" + file("train.h5") + "' has no variable 'weight'");
}

TEST_F(TrainProgram, WeightsThatCannotBeUsedAreErrorsBeforeTheFirstStep) {
    const auto expect_refused = [&](const Recipe& recipe, const std::string& text) {
        expect_told(train(2, recipe), text);
        EXPECT_FALSE(std::filesystem::exists(file("out/loss.csv")));
    };
    FlowSet{.has_weight = true, .masked_sample = 3}.write(file("train.h5"));
    expect_refused(flow(), "no point of sample 3 of '" + file("train.h5") +
                               "' counts in the loss: 'weight' is 0 at all of them");
    FlowSet{.has_weight = true, .negative_sample = 7}.write(file("train.h5"));  // held out
    expect_refused(flow(), "'weight' of sample 7 is -1.000000 at point 7, expected 0 or more");
    FlowSet{.has_weight = true, .n_masked = 28}.write(file("train.h5"));
    Recipe recipe = flow();
    recipe.data = "points = 3\n";
    expect_refused(recipe, "28 of 30 points of sample 0");
    FlowSet{.has_weight = true, .n_masked = 1}.write(file("train.h5"));
    recipe = flow();
    recipe.training = "epochs = 1\nloss = 'mse'\n";
    expect_refused(recipe, "is 0 at point 0, and loss 'mse' has no weights");
    recipe.training = "epochs = 1\nloss = 'gradient_l2'\n";
    expect_refused(recipe, "has weights of points, and loss 'gradient_l2' cannot use them");
    FlowSet{.has_weight = true, .weight_axes = {"point"}}.write(file("train.h5"));
    train(0, flow());
}

TEST_F(TrainProgram, AugmentedSamplesAreTheSameOnAnyRanksAndGroups) {
    FlowSet().write(file("train.h5"));
    Recipe whole = flow();
    whole.data =
        "[data.augment]\nrotate = 'z'\nflip = ['x']\nscale = [0.9, 1.1]\njitter = 0.01\n"
        "center = 'box'\n";
    whole.training.replace(whole.training.find("epochs = 2"), 10, "epochs = 4");
    train(0, whole);
    const auto validation = column_of("out", "validation");
    EXPECT_LT(validation.back(), validation.front());
    Recipe plain = whole;
    plain.data = "";
    plain.folder = "plain";
    train(0, plain);
    EXPECT_NE(weights(file("plain/last.safetensors")), weights(file("out/last.safetensors")));
    // Statistics come from the data as they are.
    EXPECT_EQ(card(file("plain/last.safetensors")).at("inputs"),
              card(file("out/last.safetensors")).at("inputs"));
    expect_resumes(whole, 1);
    Recipe part = whole;
    part.folder = "part";
    part.data.replace(part.data.find("0.01"), 4, "0.02");
    expect_told(train(2, part, "--resume"), "data.augment.jitter");
    expect_same_on_ranks(whole, 3);
    expect_same_on_ranks(whole, 2, "groups = 2\n");
}

TEST_F(TrainProgram, AugmentationThatDoesNotFitTheDataIsAnError) {
    const auto expect_refused = [&](Recipe recipe, const std::string& augment,
                                    const std::string& text) {
        recipe.data += "[data.augment]\n" + augment + "\n";
        expect_told(train(2, recipe), text);
        EXPECT_FALSE(std::filesystem::exists(file("out")));
    };
    FlowSet{.vector = {"v.x", "v.y", "s.xy"}}.write(file("train.h5"));
    expect_refused(flow(), "rotate = 'x'", "rotate = \"x\" in [data.augment] needs 3 coordinates");
    expect_refused(flow(), "flip = ['z']", "flip = \"z\" in [data.augment] needs 3 coordinates");
    Recipe one = flow();
    one.model.replace(one.model.find("['v.x', 'v.y']"), 14, "['v.x']");
    one.model.replace(one.model.find("out_dim = 2"), 11, "out_dim = 1");
    expect_refused(one, "rotate = 'z'", "mixes 'v.x' with 'v.y', which is not among the outputs");
    one.data = "[data.augment]\nflip = ['x']\n";  // mixes nothing
    train(0, one);
    std::filesystem::remove_all(file("out"));
    one = flow();
    one.model.replace(one.model.find("['v.x', 'v.y']"), 14, "['v.x', 's.xy']");
    expect_refused(one, "flip = ['x']", "'s.xy' is a component of a tensor");
    one = flow();
    one.training = "epochs = 1\nloss = 'gradient_l2'\n";
    expect_refused(one, "scale = [1, 2]", "needs the structured grid; use 'symmetries'");
}

/// A classifier of sequences.
Recipe sequences() {
    Recipe recipe;
    recipe.model =
        "family = 'flare'\ninputs = ['token', 'mask']\noutputs = ['low', 'high']\n"
        "network = { model = 'ModelWrapper', task = 'listops', vocab_size = 6, num_labels = 2, "
        "max_length = 12, pool = 'mean', pos_embed = 'sin', backend = 'flare', channel_dim = 16, "
        "num_blocks = 1, num_heads = 2, num_latents = 4 }\n";
    recipe.data = "labels = 'kind'\n";
    recipe.training =
        "epochs = 10\nbatch = 2\nlearning_rate = 1e-2\nloss = 'cross_entropy'\nseed = 1\n";
    return recipe;
}

TEST_F(TrainProgram, SequencesOfTokensAreClassified) {
    TokenSet().write(file("train.h5"));
    train(0, sequences());
    const auto loss = column_of("out", "loss");
    EXPECT_LT(loss.back(), 0.3 * loss.front());
    const json inputs = card(file("out/last.safetensors")).at("inputs");
    EXPECT_EQ(inputs.at(0).at("std"), 1.0);
    EXPECT_FALSE(inputs.at(0).contains("max"));
    expect_resumes(sequences(), 4);
    expect_checks(sequences());
    // Samples have one label each.
    TokenSet{.n_sample = 30, .seed = 2}.write(file("test.h5"));
    const auto evaluate = [&](const std::string& launcher) {
        const Outcome outcome = shell(
            launcher + " " SURROGATE_PROGRAM " evaluate " + file("out/last.safetensors") +
            " --overwrite --labels kind --data " + file("test.h5") + " --json " + file("r.json"));
        EXPECT_EQ(outcome.status, 0) << outcome.text;
        return json::parse(read(file("r.json")));
    };
    const json found = evaluate("");
    EXPECT_GT(found.at("accuracy"), 0.85);
    double n = 0;
    for (const json& row : found.at("confusion"))
        for (const json& count : row) n += count.get<double>();
    EXPECT_EQ(n, 30);
#ifdef SURROGATE_MPIRUN
    EXPECT_EQ(evaluate(SURROGATE_MPIRUN " 3").at("confusion"), found.at("confusion"));
#endif
    expect_same_on_ranks(sequences(), 3);
    Recipe threads = sequences();
    threads.options = "threads = 2\nreproducible = true\n";
    threads.folder = "threads";
    train(0, threads);
    EXPECT_EQ(weights(file("threads/last.safetensors")), weights(file("out/last.safetensors")));
#ifdef SURROGATE_MPIRUN
    Recipe spread = sequences();
    spread.folder = "ranks_3";
    expect_checks(spread);
#endif
    TokenSet{.bad_sample = 3, .bad_label = 2}.write(file("train.h5"));
    Recipe bad = sequences();
    bad.folder = "bad";
    expect_told(train(2, bad), "has the label 2 at point 0, expected 0 to 1");
}

/// A network with one number per cloud of points.
Recipe cloud_number() {
    Recipe recipe;
    recipe.model =
        "family = 'sequoia'\ninputs = ['x', 'y', 'a']\noutputs = ['mean']\n"
        "network = { pos_enc = 'none', dimensionality = 2, c_in = 1, num_classes = 1, "
        "transformer_dim = 16, num_head = 2, head_dim = 16, transformer_hidden_dim = 32, "
        "num_layers = 1, k = 4, pooling_mode = 'MEAN' }\n";
    recipe.data = "";
    recipe.training = "epochs = 20\nbatch = 2\nlearning_rate = 3e-3\nseed = 1\n";
    return recipe;
}

TEST_F(TrainProgram, OneNumberPerCloudIsATarget) {
    FlowSet{.n_sample = 16, .has_mean = true}.write(file("train.h5"));
    train(0, cloud_number());
    const auto error = column_of("out", "error of mean");
    EXPECT_LT(error.back(), 0.5 * error.front());
    EXPECT_NEAR(error.back() / column_of("out", "validation").back(), 1, 1e-12);
    const FlowSet set;
    double mean = 0, square = 0;
    for (int64_t s = 0; s < 12; ++s) mean += set.mean(s) / 12;
    for (int64_t s = 0; s < 12; ++s) square += std::pow(set.mean(s) - mean, 2) / 11;
    const json output = card(file("out/last.safetensors")).at("outputs").at(0);
    EXPECT_NEAR(output.at("mean").get<double>(), mean, 1e-12);
    EXPECT_NEAR(output.at("std").get<double>(), std::sqrt(square), 1e-6);
    const auto evaluate = [&](const std::string& launcher) {
        const Outcome outcome =
            shell(launcher + " " SURROGATE_PROGRAM " evaluate " + file("out/last.safetensors") +
                  " --overwrite --data " + file("train.h5") + " --json " + file("r.json"));
        EXPECT_EQ(outcome.status, 0) << outcome.text;
        return json::parse(read(file("r.json"))).at("samples");
    };
    const json samples = evaluate("");
    double held_out = 0;
    for (size_t s = 12; s < 16; ++s)
        held_out += samples.at(s).at("outputs").at(0).at("relative_l2").get<double>() / 4;
    EXPECT_NEAR(held_out / error.back(), 1, 1e-5);
#ifdef SURROGATE_MPIRUN
    EXPECT_EQ(evaluate(SURROGATE_MPIRUN " 3"), samples);
#endif
    expect_checks(cloud_number());
    expect_same_on_ranks(cloud_number(), 2, "groups = 2\n");
}

TEST_F(TrainProgram, TargetsThatDoNotFitTheRowsOfTheNetworkAreErrors) {
    const auto expect_refused = [&](const Recipe& recipe, const std::string& text) {
        expect_told(train(2, recipe), text);
        EXPECT_FALSE(std::filesystem::exists(file("out")));
    };
    FlowSet{.has_mean = true, .has_weight = true}.write(file("train.h5"));
    expect_refused(cloud_number(), "its targets are numbers per sample; remove 'weight'");
    FlowSet{.has_mean = true}.write(file("train.h5"));
    Recipe recipe = cloud_number();
    recipe.model.replace(recipe.model.find("['mean']"), 8, "['v.x']");
    expect_refused(recipe, "the network has one row per cloud");
    recipe = cloud_number();
    recipe.model.replace(recipe.model.find("MEAN"), 4, "NONE");
    expect_refused(recipe, "h5py: f['mean'] = numpy.broadcast_to(values[:, None], (8, 30))");
    recipe = cloud_number();
    recipe.model.replace(recipe.model.find("'MEAN'"), 6, "'NONE', probe_layer = 'virtual'");
    expect_refused(recipe, "a row for each node");
    TokenSet().write(file("train.h5"));
    recipe = sequences();
    recipe.model =
        "family = 'flare'\ninputs = ['token', 'mask']\noutputs = ['low', 'high']\n"
        "network = { in_dim = 2, out_dim = 2, channel_dim = 16, num_blocks = 1, num_heads = 2, "
        "num_latents = 4 }\n";
    expect_refused(recipe, "'token' does not hold float32 or float64; h5py: f['token'] =");
    FlowSet{.has_mean = true}.write(file("train.h5"));
    recipe = sequences();
    recipe.model.replace(recipe.model.find("['token', 'mask']"), 17, "['a', 'v.x']");
    recipe.model.replace(recipe.model.find("['low', 'high']"), 15, "['mean']");
    recipe.model.replace(recipe.model.find("num_labels = 2"), 14, "num_labels = 1");
    recipe.data = "";
    recipe.training = "epochs = 1\n";
    expect_refused(recipe, "input 'a' of the network is an integer, and 'a' in data set");
}

}  // namespace

}  // namespace surrogate::test
