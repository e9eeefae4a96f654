// SPDX-License-Identifier: Apache-2.0
// `surrogate train` and `evaluate` on samples of several clouds, with numbers per cloud.
#include "tests/coupling/training/train_program.hpp"

namespace surrogate::test {

namespace {

/// Small problems on a line, u = speed sin(pi x), where speed is one number per problem; mean is
/// the mean of u over the points of a problem. A sample holds several problems, or each problem is
/// a sample: `splits`.
struct ProblemSet {
    static constexpr int64_t n_sample = 8, n_point = 24;
    bool splits = false;
    bool has_offset = false;      ///< rows and `offset`
    bool has_axis = true;         ///< numbers per cloud; otherwise one speed per sample
    int64_t bad_index = 1 << 20;  ///< cloud_index of point 5 of sample 3
    int32_t index_type = SURROGATE_INT64;
    std::vector<const char*> index_axes = {"sample", "point"};

    static int64_t n_cloud(int64_t sample) { return 2 + sample % 2; }
    static int64_t cloud(int64_t sample, int64_t point) {
        return (point * 7 + sample) % n_point * n_cloud(sample) / n_point;  // in no order
    }
    static double speed(int64_t sample, int64_t cloud) { return 2 + wave(sample, cloud, 1); }
    static double x(int64_t sample, int64_t point) {
        return (static_cast<double>(point) + 0.5 + 0.3 * wave(sample, point, 2)) / n_point;
    }
    double u(int64_t sample, int64_t point) const {
        return speed(sample, has_axis ? cloud(sample, point) : 0) *
               std::sin(M_PI * x(sample, point));
    }

    void write(const std::string& path) const {
        std::vector<double> xs, us, speeds, means;
        std::vector<int64_t> index, offset = {0};
        for (int64_t s = 0; s < n_sample; ++s) {
            for (int64_t c = 0; c < 3; ++c) {
                double sum = 0, n = 0;
                for (int64_t i = 0; i < n_point; ++i) {
                    if (cloud(s, i) != c) continue;
                    sum += u(s, i);
                    n += 1;
                    if (!splits) continue;
                    xs.push_back(x(s, i));
                    us.push_back(u(s, i));
                }
                if (splits && n == 0) continue;
                speeds.push_back(speed(s, c));
                means.push_back(n > 0 ? sum / n : -7);
                if (splits) offset.push_back(std::ssize(xs));
            }
            for (int64_t i = 0; i < n_point && !splits; ++i) {
                xs.push_back(x(s, i));
                us.push_back(u(s, i));
                index.push_back(s == 3 && i == 5 && bad_index < 1 << 20 ? bad_index : cloud(s, i));
            }
            if (!splits) offset.push_back(std::ssize(xs));
            if (!has_axis) speeds.resize(static_cast<size_t>(s) + 1, speed(s, 0));
        }
        const bool has_rows = splits || has_offset;
        const Context context;
        NewDataset set(context, path);
        const std::vector<const char*> points = has_rows
                                                    ? std::vector<const char*>{"row"}
                                                    : std::vector<const char*>{"sample", "point"};
        std::vector<const char*> numbers = {"sample"};
        set.add_axis("sample", has_rows ? std::ssize(offset) - 1 : n_sample);
        if (has_rows) {
            set.add_axis("row", std::ssize(xs));
            set.add_axis("end", std::ssize(offset));
            set.add("offset", {"end"}, nullptr, nullptr, SURROGATE_INT64);
        } else {
            set.add_axis("point", n_point);
        }
        if (!splits) {
            set.add_axis("cloud", 3);
            if (has_axis) numbers.push_back("cloud");
            set.add("cloud_index", has_rows ? points : index_axes, nullptr, nullptr, index_type);
        }
        set.add("x", points, "m", nullptr, SURROGATE_FLOAT64, "X");
        set.add("speed", numbers, "m/s", nullptr, SURROGATE_FLOAT64);
        set.add("u", points, "m/s", nullptr, SURROGATE_FLOAT64);
        if (has_axis) set.add("mean", numbers, "m/s", nullptr, SURROGATE_FLOAT64);
        set.begin();
        if (has_rows) set.put("offset", 0, column(offset.data(), std::ssize(offset)));
        if (index_axes.size() == 1) index.resize(n_sample);
        const std::vector<double> real(index.begin(), index.end());
        if (!splits && index_type != SURROGATE_INT64)
            set.put("cloud_index", 0, column(real.data(), std::ssize(real)));
        else if (!splits)
            set.put("cloud_index", 0, column(index.data(), std::ssize(index)));
        set.put("x", 0, column(xs.data(), std::ssize(xs)));
        set.put("speed", 0, column(speeds.data(), std::ssize(speeds)));
        set.put("u", 0, column(us.data(), std::ssize(us)));
        if (has_axis) set.put("mean", 0, column(means.data(), std::ssize(means)));
        set.finish();
    }
};

Recipe problems(int n_epoch = 60) {
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

/// A network with one row per cloud.
Recipe means() {
    Recipe recipe = problems(20);
    recipe.model =
        "family = 'sequoia'\ninputs = ['x', 'speed']\noutputs = ['mean']\n"
        "network = { pos_enc = 'none', dimensionality = 1, c_in = 1, num_classes = 1, "
        "transformer_dim = 16, num_head = 2, head_dim = 16, transformer_hidden_dim = 32, "
        "num_layers = 1, k = 4, pooling_mode = 'MEAN' }\n";
    return recipe;
}

class TrainSampleClouds : public TrainProgram {
protected:
    /// The largest error and the mean of each sample.
    std::vector<std::array<double, 2>> errors(const std::string& set,
                                              const std::string& launcher = "") const {
        const Outcome outcome =
            shell(launcher + " " SURROGATE_PROGRAM " evaluate " + file("out/last.safetensors") +
                  " --reproducible --overwrite --data " + file(set) + " --json " + file("r.json"));
        EXPECT_EQ(outcome.status, 0) << outcome.text;
        std::vector<std::array<double, 2>> all;
        for (const json& sample : json::parse(read(file("r.json"))).at("samples")) {
            const json& output = sample.at("outputs").at(0);
            all.push_back({output.at("max").get<double>(), output.at("l1").get<double>()});
        }
        return all;
    }

    /// Expects that a sample has the errors of its clouds as samples of their own.
    void expect_errors_of_clouds(bool is_pooled) const {
        ProblemSet{.splits = true}.write(file("each.h5"));
        const auto all = errors("train.h5"), each = errors("each.h5");
        size_t at = 0;
        for (size_t s = 0; s < all.size(); ++s) {
            double largest = 0, mean = 0;
            const auto n = static_cast<size_t>(ProblemSet::n_cloud(static_cast<int64_t>(s)));
            for (size_t c = 0; c < n; ++c, ++at) {
                largest = std::max(largest, each.at(at)[0]);
                mean += each.at(at)[1] / static_cast<double>(n);
            }
            EXPECT_EQ(all[s][0], largest);
            if (is_pooled) {
                EXPECT_NEAR(all[s][1] / mean, 1, 1e-12);
            }
        }
        EXPECT_EQ(at, each.size());
    }

    void expect_refused(const Recipe& recipe, const std::string& text,
                        [[maybe_unused]] bool on_ranks = false) const {
        expect_told(train(2, recipe), text);
        EXPECT_FALSE(std::filesystem::exists(file(recipe.folder + "/loss.csv")));
#ifdef SURROGATE_MPIRUN
        if (!on_ranks) return;
        const Outcome outcome = train(2, recipe, "", mpirun + " 3");
        expect_told(outcome, text);
        EXPECT_EQ(outcome.text.find(text), outcome.text.rfind(text)) << outcome.text;
#endif
    }
};

TEST_F(TrainSampleClouds, AreTrainedAndEvaluatedCloudByCloud) {
    ProblemSet().write(file("train.h5"));
    train(0, problems());
    EXPECT_LT(column_of("out", "validation").back(), 0.1);
    const json input = card(file("out/last.safetensors")).at("inputs").at(1);
    EXPECT_EQ(input.at("role"), "cloud");
    // The numbers of the clouds that the training samples have.
    double mean = 0, n = 0;
    for (int64_t s = 0; s < 6; ++s)
        for (int64_t c = 0; c < ProblemSet::n_cloud(s); ++c, ++n) mean += ProblemSet::speed(s, c);
    EXPECT_NEAR(input.at("mean").get<double>(), mean / n, 1e-12);
    expect_errors_of_clouds(false);
#ifdef SURROGATE_MPIRUN
    const auto one = errors("train.h5"), three = errors("train.h5", mpirun + " 3");
    for (size_t s = 0; s < one.size(); ++s) EXPECT_EQ(three[s][0], one[s][0]);
#endif
}

TEST_F(TrainSampleClouds, GiveTheSameWeightsOnRanksAndFromRows) {
    ProblemSet().write(file("train.h5"));
    train(0, problems(3));
    expect_same_on_ranks(problems(3), 3);
    expect_same_on_ranks(problems(3), 2, "groups = 2\n");
    expect_resumes(problems(3), 1);
    ProblemSet{.has_offset = true}.write(file("rows.h5"));
    Recipe rows = problems(3);
    rows.train = "rows.h5";
    rows.folder = "rows";
    train(0, rows);
    EXPECT_EQ(weights(file("rows/last.safetensors")), weights(file("out/last.safetensors")));
    // All clouds of a sample read its number.
    ProblemSet{.has_axis = false}.write(file("rows.h5"));
    train(0, rows, "--overwrite");
    EXPECT_NE(weights(file("rows/last.safetensors")), weights(file("out/last.safetensors")));
}

TEST_F(TrainSampleClouds, MayHaveATargetEach) {
    ProblemSet().write(file("train.h5"));
    train(0, means());
    const auto error = column_of("out", "error of mean");
    EXPECT_LT(error.back(), 0.8 * error.front());
    expect_errors_of_clouds(true);
    Recipe brief = means();
    brief.training.replace(brief.training.find("epochs = 20"), 11, "epochs = 2");
    train(0, brief, "--overwrite");
    expect_same_on_ranks(brief, 3);
}

TEST_F(TrainSampleClouds, SmallSamplesOfABatchGiveTheSameWeightsOnAnyThreads) {
    // Several threads compute the samples of a batch as clouds.
    const auto expect_same = [&](Recipe recipe) {
        recipe.training.replace(recipe.training.find("batch = 2"), 9, "batch = 4");
        train(0, recipe, "--overwrite");
        const std::string expected = weights(file("out/last.safetensors"));
        recipe.options = "threads = 2\nreproducible = true\n";
        recipe.folder = "threads";
        train(0, recipe, "--overwrite");
        EXPECT_EQ(weights(file("threads/last.safetensors")), expected);
        EXPECT_EQ(column_of("threads", "validation"), column_of("out", "validation"));
    };
    ProblemSet{.splits = true}.write(file("train.h5"));
    expect_same(problems(3));
    Recipe varied = problems(3);
    varied.data = "points = 6\n[data.augment]\nflip = ['x']\njitter = 0.01\ncenter = 'box'\n";
    expect_same(varied);
    Recipe pooled = means();
    pooled.training.replace(pooled.training.find("epochs = 20"), 11, "epochs = 2");
    expect_same(pooled);  // with dropout, one sample after the other
    pooled.training += "dropout = 'off'\n";
    expect_same(pooled);
}

TEST_F(TrainSampleClouds, ThatDoNotFitAreErrorsOnAllRanks) {
    ProblemSet{.bad_index = -1}.write(file("train.h5"));
    expect_refused(problems(1),
                   "'cloud_index' of sample 3 is -1 at point 5, expected 0 to 2, the "
                   "positions of the axis 'cloud'");
    ProblemSet{.bad_index = 3}.write(file("train.h5"));
    expect_refused(problems(1), "'cloud_index' of sample 3 is 3 at point 5, expected 0 to 2", true);
    ProblemSet{.has_axis = false, .bad_index = 24}.write(file("train.h5"));
    expect_refused(problems(1), "is 24 at point 5, expected 0 to 23, below the number of points");
    ProblemSet{.index_axes = {"sample"}}.write(file("train.h5"));
    expect_refused(problems(1),
                   "'cloud_index' has the axes (sample) and the shape (8), expected "
                   "the axes (point)");
    ProblemSet{.index_type = SURROGATE_FLOAT64}.write(file("train.h5"));
    expect_refused(problems(1), "'cloud_index' holds no integers");
    ProblemSet().write(file("train.h5"));
    Recipe recipe = problems(1);
    recipe.data = "points = 5\n";
    expect_refused(recipe, "but clouds of points ('cloud_index') need all of theirs");
    recipe = means();
    recipe.model.replace(recipe.model.find("['mean']"), 8, "['u']");
    expect_refused(recipe, "expected one number per sample, over 'sample', or per cloud");
    ProblemSet{.has_axis = false}.write(file("train.h5"));
    recipe.model.replace(recipe.model.find("['u']"), 5, "['speed']");
    recipe.model.replace(recipe.model.find("['x', 'speed']"), 14, "['x', 'u']");
    expect_refused(recipe,
                   "'speed' has 1 number for sample 0 of '" + file("train.h5") +
                       "', expected one for each of its 2 clouds",
                   true);
}

}  // namespace

}  // namespace surrogate::test
