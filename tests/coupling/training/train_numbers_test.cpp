// SPDX-License-Identifier: Apache-2.0
// `surrogate train` and `evaluate` with inputs that are one number per sample.
#include "tests/coupling/training/train_program.hpp"

namespace surrogate::test {

namespace {

/// Points of a line that all samples share: u = speed sin(pi x), where speed is one number per
/// sample, or per state of a series whose states all have it. place: its axes.
struct SpeedSet {
    int64_t n_sample = 16, n_point = 30;
    std::vector<std::string> place = {"sample"};
    bool is_series = false;

    static double speed(int64_t sample) { return 2 + wave(sample, 3, 1); }
    double x(int64_t point) const { return (static_cast<double>(point) + 0.5) / 30; }

    void write(const std::string& path) const {
        const Context context;
        NewDataset set(context, path);
        set.add_axis("sample", n_sample);
        const int64_t n_time = is_series ? 3 : 1;
        if (is_series) set.add_axis("time", n_time);
        set.add_axis("point", n_point);
        set.add("x", {"point"}, "m", nullptr, SURROGATE_FLOAT64, "X");
        if (is_series) set.add("time", {"time"}, "s");
        std::vector<const char*> axes = {"sample", "time", "point"};
        if (!is_series) axes.erase(axes.begin() + 1);
        std::vector<const char*> of_speed;
        for (const std::string& axis : place) of_speed.push_back(axis.c_str());
        set.add("speed", of_speed, "m/s");
        set.add("u", axes, "m/s");
        set.begin();
        std::vector<double> points, u, speeds, times;
        for (int64_t i = 0; i < n_point; ++i) points.push_back(x(i));
        for (int64_t s = 0; s < n_sample; ++s)
            for (int64_t t = 0; t < n_time; ++t) {
                if (t == 0 || place.back() == "time") speeds.push_back(speed(s));
                for (int64_t i = 0; i < n_point; ++i) {
                    u.push_back(speed(s) * std::sin(M_PI * x(i)));
                    if (place.back() == "point" && i > 0) speeds.push_back(speed(s));
                }
            }
        set.put("x", 0, column(points.data(), n_point));
        for (int64_t t = 0; t < n_time; ++t) times.push_back(static_cast<double>(t));
        if (is_series) set.put("time", 0, column(times.data(), n_time));
        set.put("speed", 0, column(speeds.data(), std::ssize(speeds)));
        set.put("u", 0, column(u.data(), std::ssize(u)));
        set.finish();
    }
};

Recipe with_speed(int n_epoch = 80) {
    Recipe recipe;
    recipe.model =
        "family = 'flare'\ninputs = ['x', 'speed']\noutputs = ['u']\n"
        "network = { in_dim = 2, out_dim = 1, channel_dim = 16, num_blocks = 1, num_heads = 2, "
        "num_latents = 8 }\n";
    recipe.data = "";
    recipe.training =
        "epochs = " + std::to_string(n_epoch) + "\nbatch = 2\nseed = 1\nlearning_rate = 1e-2\n";
    return recipe;
}

class TrainNumbers : public TrainProgram {
protected:
    Outcome evaluate(const std::string& launcher, const std::string& out) const {
        return shell(launcher + " " SURROGATE_PROGRAM " evaluate " + file("out/last.safetensors") +
                     " --reproducible --overwrite --data " + file("train.h5") + " --json " +
                     file(out));
    }
};

TEST_F(TrainNumbers, AreTheTimeOfAFlareOfPhysicsNemo) {
    SpeedSet().write(file("train.h5"));
    Recipe recipe = with_speed(40);
    recipe.model =
        "family = 'flare'\ninputs = ['x', 'speed']\noutputs = ['u']\n"
        "network = { model = 'FLARE', embedding_dim = 1, functional_dim = 0, out_dim = 1, "
        "n_layers = 1, n_hidden = 16, n_head = 2, slice_num = 8, time_input = true }\n";
    train(0, recipe);
    EXPECT_LT(column_of("out", "error of u").back(), 0.15);
    EXPECT_EQ(card(file("out/last.safetensors")).at("inputs").at(1).at("role"), "cloud");
    const Outcome check = surrogate("check " + file("out/last.safetensors"));
    EXPECT_EQ(check.status, 0) << check.text;
    const Outcome evaluated = evaluate("", "evaluated.json");
    EXPECT_EQ(evaluated.status, 0) << evaluated.text;
    // The file is trained further.
    recipe.model = "file = '" + file("out/best.safetensors") + "'\n";
    recipe.training = "epochs = 2\nbatch = 2\nseed = 1\nlearning_rate = 1e-3\n";
    recipe.options = "reproducible = true\n";
    recipe.folder = "further";
    train(0, recipe);
    EXPECT_LT(column_of("further", "error of u").back(), 0.15);
    expect_same_on_ranks(recipe, 3);
}

TEST_F(TrainNumbers, AreLearnedFromSamples) {
    SpeedSet().write(file("train.h5"));
    train(0, with_speed());
    // Without the number the network predicts the mean over the samples.
    Recipe without = with_speed();
    without.folder = "without";
    without.model.replace(without.model.find(", 'speed'"), 9, "");
    without.model.replace(without.model.find("in_dim = 2"), 10, "in_dim = 1");
    train(0, without);
    EXPECT_LT(column_of("out", "validation").back(), 0.1);
    EXPECT_GT(column_of("without", "validation").back(), 0.2);
    // The card has the statistics of the training samples, each of which counts once.
    const json input = card(file("out/last.safetensors")).at("inputs").at(1);
    double mean = 0, square = 0, low = 9, high = 0;
    for (int64_t s = 0; s < 12; ++s) {
        mean += SpeedSet::speed(s) / 12;
        low = std::min(low, SpeedSet::speed(s));
        high = std::max(high, SpeedSet::speed(s));
    }
    for (int64_t s = 0; s < 12; ++s) square += std::pow(SpeedSet::speed(s) - mean, 2) / 11;
    EXPECT_EQ(input.at("role"), "cloud");
    EXPECT_EQ(input.at("unit"), "m/s");
    EXPECT_NEAR(input.at("mean").get<double>(), mean, 1e-12);
    EXPECT_NEAR(input.at("std").get<double>(), std::sqrt(square), 1e-6);
    EXPECT_EQ(input.at("min").get<double>(), low);
    EXPECT_EQ(input.at("max").get<double>(), high);
    // The model in a solver, and its check case.
    const Context context;
    const Model model(context, file("out/last.safetensors"));
    std::vector<double> x, u(30);
    for (int64_t i = 0; i < 30; ++i) x.push_back(SpeedSet().x(i));
    const Domain domain(context, matrix(x.data(), 30, 1));
    Plan plan(model, domain);
    const double speed = 2.5;
    plan.bind_input("speed", speed, "m/s");
    plan.bind_output("u", column(u.data(), 30));
    plan.run();
    EXPECT_NEAR(u[14], 2.5 * std::sin(M_PI * x[14]), 0.3);
    EXPECT_EQ(shell(SURROGATE_PROGRAM " check " + file("out/last.safetensors")).status, 0);
    EXPECT_EQ(evaluate("", "one.json").status, 0);
#ifdef SURROGATE_MPIRUN
    EXPECT_EQ(
        shell(mpirun + " 3 " SURROGATE_PROGRAM " check " + file("out/last.safetensors")).status, 0);
    EXPECT_EQ(evaluate(mpirun + " 3", "three.json").status, 0);
    const auto largest = [&](const char* name) {
        std::vector<double> all;
        for (const json& sample : json::parse(read(file(name))).at("samples"))
            all.push_back(sample.at("outputs").at(0).at("max").get<double>());
        return all;
    };
    EXPECT_EQ(largest("three.json"), largest("one.json"));
#endif
}

TEST_F(TrainNumbers, GiveTheSameWeightsOnRanksAndWhenResumed) {
    SpeedSet().write(file("train.h5"));
    train(0, with_speed(4));
    expect_same_on_ranks(with_speed(4), 3);
    expect_resumes(with_speed(4), 2);
}

TEST_F(TrainNumbers, OfSamplesOfDifferentSizesAndOfStates) {
    RaggedSet{.is_per_sample = true}.write(file("train.h5"));
    train(0, ragged());
    EXPECT_EQ(card(file("out/last.safetensors")).at("inputs").at(1).at("role"), "cloud");
    expect_same_on_ranks(ragged(), 2, "groups = 2\n");
    for (const std::vector<std::string>& place :
         {std::vector<std::string>{"sample"}, std::vector<std::string>{"sample", "time"}}) {
        SpeedSet{.place = place, .is_series = true}.write(file("train.h5"));
        Recipe recipe = with_speed(3);
        recipe.folder = "series_" + place.back();
        recipe.model.replace(recipe.model.find("['x', 'speed']"), 14, "['x', 'speed', 'u']");
        recipe.model.replace(recipe.model.find("in_dim = 2"), 10, "in_dim = 3");
        recipe.training += "rollout = 2\n";
        train(0, recipe);
        const json made = card(file(recipe.folder + "/last.safetensors"));
        EXPECT_EQ(made.at("inputs").at(1).at("role"), "cloud");
    }
    // The states of a sample have the same number in both.
    EXPECT_EQ(weights(file("series_time/last.safetensors")),
              weights(file("series_sample/last.safetensors")));
}

TEST_F(TrainNumbers, ThatDoNotFitTheModelAreErrors) {
    SpeedSet().write(file("train.h5"));
    train(0, with_speed(1));
    SpeedSet{.place = {"sample", "point"}}.write(file("points.h5"));
    Recipe further = with_speed(1);
    further.model = "file = '" + file("out/last.safetensors") + "'\n";
    further.folder = "further";
    train(0, further);
    further.folder = "again";
    further.train = "points.h5";
    expect_told(train(2, further),
                "input 'speed' of the model is one number per cloud, and 'speed' in data set");
    Recipe at_points = with_speed(1);
    at_points.train = "points.h5";
    at_points.folder = "points";
    train(0, at_points);
    further.model = "file = '" + file("points/last.safetensors") + "'\n";
    further.train = "train.h5";
    expect_told(train(2, further), "input 'speed' of the model is a field at points, and 'speed'");
    Recipe target = with_speed(1);
    target.model.replace(target.model.find("['u']"), 5, "['speed']");
    expect_told(train(2, target), "the network has one row per point; 'speed' in data set");
}

}  // namespace

}  // namespace surrogate::test
