// SPDX-License-Identifier: Apache-2.0
// `surrogate evaluate` from outside: its errors equal the errors of predictions by the library.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "tests/coupling/training/train_program.hpp"

namespace surrogate::test {

namespace {

/// Errors of one output in one sample, as the help describes them, without weights.
struct Errors {
    double l1 = 0, l2 = 0, relative_l2 = 0, max = 0;
};

Errors errors_of(const std::vector<double>& prediction, const std::vector<double>& target) {
    double sum = 0, square = 0, norm = 0, largest = 0;
    for (size_t i = 0; i < target.size(); ++i) {
        const double e = prediction[i] - target[i];
        sum += std::abs(e);
        square += e * e;
        norm += target[i] * target[i];
        largest = std::max(largest, std::abs(e));
    }
    const auto n = static_cast<double>(target.size());
    return {sum / n, std::sqrt(square / n), std::sqrt(square / norm), largest};
}

void expect_errors(const json& found, const Errors& expected) {
    EXPECT_NEAR(found.at("l1").get<double>() / expected.l1, 1, 1e-6);
    EXPECT_NEAR(found.at("l2").get<double>() / expected.l2, 1, 1e-6);
    EXPECT_NEAR(found.at("relative_l2").get<double>() / expected.relative_l2, 1, 1e-6);
    EXPECT_NEAR(found.at("max").get<double>() / expected.max, 1, 1e-6);
}

class EvaluateProgram : public TrainProgram {
protected:
    void SetUp() override {
        TrainProgram::SetUp();
        Recipe recipe;
        recipe.training = "epochs = 2\nbatch = 2\nseed = 1\n";
        train(0, recipe);
        LatticeSet{.n_sample = 4, .seed = 9}.write(file("test.h5"));
    }
    std::string model() const { return file("out/last.safetensors"); }
    Outcome evaluate(int status, const std::string& arguments,
                     const std::string& launcher = "") const {
        const Outcome outcome = shell(launcher + " " SURROGATE_PROGRAM " evaluate " + arguments);
        if (outcome.status != status) throw std::runtime_error(outcome.text);
        return outcome;
    }
    json report(const std::string& name) const { return json::parse(read(file(name))); }
};

TEST_F(EvaluateProgram, ErrorsAreThoseOfTheLibrary) {
    const Outcome outcome = evaluate(0, model() + " --data " + file("test.h5") + " --json " +
                                            file("r.json") + " --csv " + file("r.csv"));
    const json found = report("r.json");
    const LatticeSet set{.n_sample = 4, .seed = 9};
    const Context context;
    const Model loaded(context, model());
    std::vector<double> x, m, p;
    for (int64_t i = 0; i < set.n; ++i)
        for (int64_t j = 0; j < set.n; ++j) x.insert(x.end(), {set.at(i), set.at(j)});
    const int64_t n_point = set.n * set.n;
    const Domain domain(context, matrix(x.data(), n_point, 2));
    Plan plan(loaded, domain);
    m.resize(static_cast<size_t>(n_point));
    p.resize(m.size());
    plan.bind_input("mobility", column(m.data(), n_point));
    plan.bind_output("pressure", column(p.data(), n_point));
    Errors total;
    double worst = 0;
    int64_t worst_sample = -1;
    for (int64_t s = 0; s < set.n_sample; ++s) {
        std::vector<double> target;
        for (size_t i = 0; i < m.size(); ++i) {
            m[i] = set.mobility(s, x[2 * i], x[2 * i + 1]);
            target.push_back(set.pressure(s, x[2 * i], x[2 * i + 1]));
        }
        plan.run();
        const Errors errors = errors_of(p, target);
        const json& sample = found.at("samples").at(static_cast<size_t>(s));
        EXPECT_EQ(sample.at("sample"), s);
        expect_errors(sample.at("outputs").at(0), errors);
        total.l1 += errors.l1 / 4;
        total.l2 += errors.l2 * errors.l2 / 4;
        total.relative_l2 += errors.relative_l2 / 4;
        total.max = std::max(total.max, errors.max);
        if (errors.relative_l2 > worst) worst_sample = s;
        worst = std::max(worst, errors.relative_l2);
    }
    total.l2 = std::sqrt(total.l2);
    const json& output = found.at("outputs").at(0);
    EXPECT_EQ(output.at("name"), "pressure");
    EXPECT_EQ(output.at("unit"), "Pa");
    expect_errors(output, total);
    EXPECT_EQ(found.at("worst").at("sample"), worst_sample);
    EXPECT_NEAR(found.at("worst").at("relative_l2").get<double>() / worst, 1, 1e-6);
    expect_told(outcome, "pressure [Pa]");
    expect_told(outcome, "worst sample: sample " + std::to_string(worst_sample));
    std::istringstream csv(read(file("r.csv")));
    std::string line;
    std::getline(csv, line);
    EXPECT_EQ(line, "file,sample,state,output,unit,l1,l2,relative_l2,max");
    int n_row = 0;
    while (std::getline(csv, line)) ++n_row;
    EXPECT_EQ(n_row, 4);
}

#ifdef SURROGATE_MPIRUN
TEST_F(EvaluateProgram, ErrorsDoNotDependOnTheRanks) {
    const std::string arguments =
        model() + " --data " + file("test.h5") + " --overwrite --reproducible --json ";
    evaluate(0, arguments + file("1.json"));
    const json one = report("1.json");
    for (const std::string ranks : {"2", "3"}) {
        evaluate(0, arguments + file("n.json"), mpirun + " " + ranks);
        const json many = report("n.json");
        EXPECT_EQ(many.at("worst").at("sample"), one.at("worst").at("sample"));
        EXPECT_EQ(many.at("inputs"), one.at("inputs"));
        for (const std::string key : {"l1", "l2", "relative_l2", "max"}) {
            const auto value = [&](const json& of) {
                return of.at("outputs").at(0).at(key).get<double>();
            };
            EXPECT_NEAR(value(many) / value(one), 1, 1e-12) << key;
        }
    }
}
#endif

TEST_F(EvaluateProgram, InputsOutsideTheTrainingRangeAreCounted) {
    LatticeSet set{.n_sample = 1, .seed = 9};
    set.write(file("inside.h5"));
    json found;
    evaluate(0, model() + " --data " + file("inside.h5") + " --json " + file("r.json"));
    found = report("r.json").at("inputs").at(2);
    EXPECT_EQ(found.at("name"), "mobility");
    EXPECT_EQ(found.at("values"), 144);
    const auto ranges = card(model()).at("inputs").at(2);
    int64_t n_outside = 0;
    for (int64_t i = 0; i < set.n; ++i) {
        for (int64_t j = 0; j < set.n; ++j) {
            const double value = set.mobility(0, set.at(i), set.at(j));
            if (value < ranges.at("min").get<double>() || value > ranges.at("max").get<double>())
                ++n_outside;
        }
    }
    EXPECT_EQ(found.at("outside_range"), n_outside);
}

#ifdef SURROGATE_HAS_CHART
TEST_F(EvaluateProgram, WorstSampleIsDrawnAndWritten) {
    evaluate(0, model() + " --data " + file("test.h5") + " --plot " + file("w.png") + " --worst " +
                    file("w.pvd"));
    EXPECT_EQ(read(file("w.png")).substr(1, 3), "PNG");
    EXPECT_NE(read(file("w.pvd")).find("w/step_000000.vtu"), std::string::npos);
    const std::string mesh = read(file("w/step_000000.vtu"));
    for (const std::string name : {"pressure", "pressure.target", "pressure.error"})
        EXPECT_NE(mesh.find("Name=\"" + name + "\""), std::string::npos) << name;
    EXPECT_NE(mesh.find("NumberOfPoints=\"144\""), std::string::npos);
    EXPECT_NE(mesh.find("NumberOfCells=\"121\""), std::string::npos);
    expect_told(evaluate(2, model() + " --data " + file("test.h5") + " --plot " + file("w.png")),
                "--overwrite replaces it");
    expect_told(evaluate(2, model() + " --data " + file("test.h5") + " --worst " + file("w.vtu")),
                "expected .pvd");
}
#endif

TEST_F(EvaluateProgram, CloudsOfDifferentSizesAreEvaluated) {
    RaggedSet().write(file("train.h5"));
    Recipe recipe = ragged();
    recipe.folder = "ragged";
    train(0, recipe);
    const std::string arguments = file("ragged/last.safetensors") + " --data " + file("train.h5");
    evaluate(0, arguments + " --json " + file("r.json"));
    EXPECT_EQ(report("r.json").at("samples").size(), 12u);
    // Held-out samples are the last three of the data: the errors of loss.csv.
    double mean = 0;
    for (size_t s = 9; s < 12; ++s)
        mean += report("r.json")
                    .at("samples")
                    .at(s)
                    .at("outputs")
                    .at(0)
                    .at("relative_l2")
                    .get<double>() /
                3;
    EXPECT_NEAR(mean / column_of("ragged", "error of u").back(), 1, 1e-5);
#ifdef SURROGATE_HAS_CHART
    expect_told(evaluate(2, arguments + " --plot " + file("w.png")), "expected by --plot");
    evaluate(0, arguments + " --worst " + file("w.pvd"));
#endif
}

TEST_F(EvaluateProgram, ErrorsOnTheSphereAreWeightedAndListedByLatitude) {
    SphereSet().write(file("train.h5"));
    Recipe recipe;
    recipe.model =
        "family = 'sphere'\ninputs = ['height']\noutputs = ['height']\n"
        "network = { model = 'SphericalTransformer', img_size = [8, 16], grid = 'legendre-gauss', "
        "grid_internal = 'legendre-gauss', in_chans = 1, out_chans = 1, scale_factor = 2, "
        "embed_dim = 8, num_layers = 1, num_heads = 1, attention_mode = 'neighborhood', "
        "encoder_kernel_shape = [3, 4], filter_basis_type = 'morlet', pos_embed = 'none' }\n";
    recipe.data = "";
    recipe.training = "epochs = 1\nloss = 'weighted_mse'\n";
    recipe.folder = "sphere";
    train(0, recipe);
    std::string arguments = file("sphere/last.safetensors") + " --data " + file("train.h5") +
                            " --json " + file("r.json");
#ifdef SURROGATE_HAS_CHART
    arguments += " --plot " + file("w.png") + " --worst " + file("w.pvd");
#endif
    evaluate(0, arguments);
    const json output = report("r.json").at("outputs").at(0);
    EXPECT_EQ(report("r.json").at("samples").size(), 12u);  // 4 samples of 3 leads
    const json rows = output.at("latitudes");
    std::vector<double> latitude(8), weight(8);
    ASSERT_EQ(
        surrogate_sphere_nodes("legendre-gauss", 8, 16, latitude.data(), nullptr, weight.data()),
        SURROGATE_SUCCESS);
    double sum = 0, square = 0, weights = 0;
    for (size_t i = 0; i < 8; ++i) {
        EXPECT_NEAR(rows.at("latitude").at(i).get<double>(), latitude[i], 1e-9);
        sum += weight[i] * rows.at("l1").at(i).get<double>();
        square += weight[i] * std::pow(rows.at("l2").at(i).get<double>(), 2);
        weights += weight[i];
    }
    EXPECT_NEAR(output.at("l1").get<double>() / (sum / weights), 1, 1e-9);
    EXPECT_NEAR(output.at("l2").get<double>() / std::sqrt(square / weights), 1, 1e-9);
    // A lead of two hours has two pairs in each sample of four states.
    evaluate(0, file("sphere/last.safetensors") + " --data " + file("train.h5") +
                    " --lead 7200 --json " + file("two.json"));
    EXPECT_EQ(report("two.json").at("samples").size(), 8u);
}

/// Scores from the confusion matrix of the library's own predictions, as scikit-learn defines them.
TEST_F(EvaluateProgram, ClassesHaveTheScoresOfTheirConfusionMatrix) {
    ClassSet{.seed = 2}.write(file("train.h5"));
    Recipe recipe;
    recipe.model =
        "family = 'flare'\ninputs = ['x', 'y', 'height']\noutputs = ['low', 'middle', 'high']\n"
        "network = { in_dim = 3, out_dim = 3, channel_dim = 16, num_blocks = 1, num_heads = 2, "
        "num_latents = 8 }\n";
    recipe.data = "labels = 'kind'\n";
    recipe.training = "epochs = 8\nlearning_rate = 1e-2\nloss = 'cross_entropy'\n";
    recipe.folder = "classes";
    train(0, recipe);
    const ClassSet set{.n_sample = 3, .seed = 5};
    set.write(file("test.h5"));
    const std::string model = file("classes/last.safetensors");
    const std::string arguments =
        model + " --data " + file("test.h5") + " --labels kind --reproducible ";
    const Outcome outcome =
        evaluate(0, arguments + "--json " + file("r.json") + " --csv " + file("r.csv"));
    const Context context;
    const Model loaded(context, model);
    std::vector<double> x, height;
    std::vector<std::vector<double>> logits(3);
    for (int64_t i = 0; i < set.n; ++i)
        for (int64_t j = 0; j < set.n; ++j)
            x.insert(x.end(), {static_cast<double>(i), static_cast<double>(j)});
    const int64_t n_point = set.n * set.n;
    height.resize(static_cast<size_t>(n_point));
    const Domain domain(context, matrix(x.data(), n_point, 2));
    Plan plan(loaded, domain);
    plan.bind_input("height", column(height.data(), n_point));
    const char* const names[] = {"low", "middle", "high"};
    for (size_t c = 0; c < 3; ++c) {
        logits[c].resize(height.size());
        plan.bind_output(names[c], column(logits[c].data(), n_point));
    }
    double confusion[3][3] = {}, loss = 0, n = 0, correct = 0, weighted = 0, weight = 0;
    for (int64_t s = 0; s < set.n_sample; ++s) {
        const auto at = [&](size_t i) {
            const auto point = static_cast<int64_t>(i);
            return std::pair(point / set.n, point % set.n);
        };
        for (size_t i = 0; i < height.size(); ++i)
            height[i] = set.height(s, at(i).first, at(i).second);
        plan.run();
        for (size_t i = 0; i < height.size(); ++i) {
            const int64_t label = set.label(s, at(i).first, at(i).second);
            if (label < 0) continue;
            double sum = 0;
            size_t largest = 0;
            for (size_t c = 0; c < 3; ++c) {
                sum += std::exp(logits[c][i]);
                if (logits[c][i] > logits[largest][i]) largest = c;
            }
            loss += std::log(sum) - logits[static_cast<size_t>(label)][i];
            confusion[label][largest] += 1;
            const bool is_correct = static_cast<size_t>(label) == largest;
            correct += is_correct ? 1 : 0;
            n += 1;
            const double w = set.weight(at(i).first, at(i).second);  // the same in all samples
            weighted += is_correct ? w : 0;
            weight += w;
        }
    }
    const json found = report("r.json");
    EXPECT_EQ(n, 3 * 63);
    EXPECT_NEAR(found.at("accuracy").get<double>(), correct / n, 1e-12);
    EXPECT_NEAR(found.at("cross_entropy").get<double>() / (loss / n), 1, 1e-6);
    for (size_t c = 0; c < 3; ++c) {
        double labeled = 0, predicted = 0;
        for (size_t k = 0; k < 3; ++k) {
            EXPECT_EQ(found.at("confusion").at(c).at(k).get<double>(), confusion[c][k]);
            labeled += confusion[c][k];
            predicted += confusion[k][c];
        }
        const json& scores = found.at("classes").at(c);
        EXPECT_EQ(scores.at("name"), names[c]);
        if (predicted > 0) {
            EXPECT_NEAR(scores.at("precision").get<double>(), confusion[c][c] / predicted, 1e-12);
        }
        EXPECT_NEAR(scores.at("recall").get<double>(), confusion[c][c] / labeled, 1e-12);
        EXPECT_NEAR(scores.at("f1").get<double>(), 2 * confusion[c][c] / (labeled + predicted),
                    1e-12);
        EXPECT_NEAR(scores.at("iou").get<double>(),
                    confusion[c][c] / (labeled + predicted - confusion[c][c]), 1e-12);
    }
    expect_told(outcome, "accuracy");
    expect_told(outcome, "label / predicted");
    EXPECT_EQ(read(file("r.csv")).substr(0, 23), "label,predicted,points\n");
#ifdef SURROGATE_MPIRUN
    evaluate(0, arguments + "--json " + file("3.json"), mpirun + " 3");
    EXPECT_EQ(report("3.json"), found);
#endif
    EXPECT_EQ(found.at("top_k").at(0).at("accuracy"), found.at("accuracy"));
    EXPECT_EQ(found.at("samples").size(), 3u);
    EXPECT_GT(found.at("mean").at("roc_auc"), 0.5);
    evaluate(0, arguments + "--top-k 2 --top-k 3 --json " + file("k.json"));
    EXPECT_NEAR(report("k.json").at("top_k").at(1).at("accuracy").get<double>(), 1, 1e-12);
    expect_told(evaluate(2, arguments + "--top-k 4"), "--top-k is 4, expected 1 to 3");
    expect_told(evaluate(2, model + " --data " + file("test.h5")), "there are no labels");
    expect_told(evaluate(2, model + " --particles particle --data " + file("test.h5")),
                "the outputs of the model are classes");
    expect_told(surrogate("info " + model), "3: low, middle, high");
#ifdef SURROGATE_HAS_CHART
    evaluate(0, arguments + "--plot " + file("w.png") + " --worst " + file("w.pvd"));
    EXPECT_EQ(read(file("w.png")).substr(1, 3), "PNG");
    const std::string mesh = read(file("w/step_000000.vtu"));
    for (const std::string name : {"class", "class.target", "low", "middle", "high"})
        EXPECT_NE(mesh.find("Name=\"" + name + "\""), std::string::npos) << name;
#endif
    ClassSet{.n_sample = 3, .seed = 5, .has_weights = true}.write(file("weights.h5"));
    evaluate(0, model + " --labels kind --data " + file("weights.h5") + " --json " +
                    file("weights.json"));
    EXPECT_NEAR(report("weights.json").at("accuracy").get<double>(), weighted / weight, 1e-12);
    // Cards of earlier versions have no classes.
    const std::string earlier = file("earlier.safetensors");
    EXPECT_EQ(surrogate("convert " + model + " " + earlier +
                        " --remove outputs.low.role --remove outputs.middle.role --remove "
                        "outputs.high.role")
                  .status,
              0);
    evaluate(0, earlier + " --data " + file("test.h5") + " --labels kind --reproducible --json " +
                    file("earlier.json"));
    EXPECT_EQ(report("earlier.json").at("classes"), found.at("classes"));
    ClassSet{.n_sample = 2, .bad_sample = 1, .bad_label = 9}.write(file("bad.h5"));
    expect_told(evaluate(2, model + " --labels kind --data " + file("bad.h5")),
                "has the label 9 at point 5");
}

/// The trained model of one output as a classifier and as an embedding.
TEST_F(EvaluateProgram, OneLogitSeparatesTwoClasses) {
    const std::string classifier = file("binary.safetensors");
    const Outcome outcome = surrogate(
        "convert " + model() + " " + classifier +
        " --set outputs.pressure.role=class --set outputs.pressure.unit= --set "
        "outputs.pressure.mean=0 --set outputs.pressure.std=1 --remove outputs.pressure.min "
        "--remove outputs.pressure.max --set outputs.pressure.name=wet --set "
        "inputs.mobility.unit=m");
    ASSERT_EQ(outcome.status, 0) << outcome.text;
    expect_told(surrogate("info " + classifier), "2: not wet, wet");
    const std::string arguments =
        classifier + " --map mobility=height --labels kind --data " + file("classes.h5");
    ClassSet{.n_sample = 2}.write(file("classes.h5"));
    expect_told(evaluate(2, arguments), "expected 0 to 1, or -100");
    ClassSet{.n_sample = 2, .is_binary = true}.write(file("classes.h5"));
    evaluate(0, arguments + " --json " + file("r.json"));
    const json classes = report("r.json").at("classes");
    EXPECT_EQ(classes.at(0).at("name"), "not wet");
    EXPECT_EQ(classes.at(1).at("name"), "wet");
    EXPECT_EQ(classes.at(0).at("points").get<int>() + classes.at(1).at("points").get<int>(), 126);
    EXPECT_NEAR(classes.at(0).at("roc_auc").get<double>(),
                classes.at(1).at("roc_auc").get<double>(), 1e-12);
}

TEST_F(EvaluateProgram, EmbeddingsAreScoredByTheParticlesOfNearestPoints) {
    const std::string embedding = file("embedding.safetensors");
    ASSERT_EQ(
        surrogate("convert " + model() + " " + embedding + " --set inputs.mobility.unit=m").status,
        0);
    const ClassSet set{.n_sample = 3};
    set.write(file("hits.h5"));
    const std::string arguments = embedding +
                                  " --map mobility=height --reproducible --particles particle "
                                  "--data " +
                                  file("hits.h5");
    expect_told(evaluate(0, arguments + " --json " + file("r.json") + " --csv " + file("r.csv")),
                "accuracy@k");
    const json found = report("r.json");
    const Context context;
    const Model loaded(context, embedding);
    std::vector<double> x, height(64), p(64);
    std::vector<int64_t> particle;
    for (int64_t i = 0; i < 8; ++i) {
        for (int64_t j = 0; j < 8; ++j) {
            x.insert(x.end(), {static_cast<double>(i), static_cast<double>(j)});
            particle.push_back(set.particle(i, j));
        }
    }
    const Domain domain(context, matrix(x.data(), 64, 2));
    Plan plan(loaded, domain, {{"reproducible", "true"}});
    plan.bind_input("mobility", column(height.data(), 64));
    plan.bind_output("pressure", column(p.data(), 64));
    double accuracy = 0, recall = 0, above = 0;
    for (int64_t s = 0; s < set.n_sample; ++s) {
        for (size_t i = 0; i < 64; ++i)
            height[i] = set.height(s, static_cast<int64_t>(i) / 8, static_cast<int64_t>(i) % 8);
        plan.run();
        double first = 0, all = 0, n = 0, first_above = 0, n_above = 0;
        for (size_t i = 0; i < 64; ++i) {
            const auto k = std::count(particle.begin(), particle.end(), particle[i]) - 1;
            if (particle[i] < 0 || k == 0) continue;
            std::vector<std::pair<float, size_t>> others;
            for (size_t j = 0; j < 64; ++j) {
                const auto e = static_cast<float>(p[i]) - static_cast<float>(p[j]);
                others.emplace_back(e * e, j);
            }
            std::sort(others.begin(), others.end());
            const double before = first;
            for (size_t j = 1; j < 20; ++j) {
                const double match = particle[others[j].second] == particle[i] ? 1 : 0;
                all += match / static_cast<double>(k);
                if (j <= static_cast<size_t>(k)) first += match / static_cast<double>(k);
            }
            n += 1;
            if (!(height[i] > 0.4)) continue;
            first_above += first - before;
            n_above += 1;
        }
        EXPECT_EQ(n, 60);
        above += first_above / n_above / 3;
        const json& sample = found.at("samples").at(static_cast<size_t>(s));
        EXPECT_EQ(sample.at("hits"), 60);
        EXPECT_NEAR(sample.at("accuracy").get<double>(), first / n, 1e-12);
        accuracy += first / n / 3;
        recall += all / n / 3;
    }
    EXPECT_NEAR(found.at("accuracy").get<double>(), accuracy, 1e-12);
    EXPECT_NEAR(found.at("recall").get<double>(), recall, 1e-12);
    EXPECT_NEAR(found.at("precision").get<double>(), recall * 3 / 19, 1e-12);
    EXPECT_EQ(read(file("r.csv")).substr(0, 49),
              "file,sample,state,hits,accuracy,precision,recall\n");
#ifdef SURROGATE_MPIRUN
    evaluate(0, arguments + " --json " + file("3.json"), mpirun + " 3");
    EXPECT_EQ(report("3.json"), found);
#endif
    expect_told(evaluate(0, arguments + " --map pt=height --min-pt 0.4 --overwrite --json " +
                                file("r.json")),
                "scored hits of pt above 0.4");
    EXPECT_NEAR(report("r.json").at("accuracy").get<double>(), above, 1e-6);
    EXPECT_EQ(report("r.json").at("min_pt"), 0.4);
    expect_told(evaluate(2, arguments + " --min-pt 0.4"), "has no field 'pt'");
    expect_told(evaluate(2, arguments + " --min-pt -1"), "--min-pt is '-1', expected a number");
    expect_told(evaluate(2, arguments + " --labels kind"), "--labels");
    expect_told(evaluate(2, arguments + " --plot " + file("w.png")), "with --particles");
    const std::string of_kinds =
        embedding + " --map mobility=height --particles kind --data " + file("hits.h5");
    expect_told(evaluate(2, of_kinds), "allow at most 20");
}

TEST_F(EvaluateProgram, BadArgumentsAreErrorsBeforeAnythingIsWritten) {
    const std::string data = " --data " + file("test.h5");
    const auto expect_refused = [&](const std::string& arguments, const std::string& text) {
        expect_told(evaluate(2, arguments + " --json " + file("none.json")), text);
        EXPECT_FALSE(std::filesystem::exists(file("none.json"))) << arguments;
    };
    expect_refused(model(), "--data is required");
    expect_refused(model() + " --data " + file("no.h5"), "no.h5");
    expect_refused(model() + data + " --lead abc", "--lead is 'abc'");
    expect_refused(model() + data + " --lead 60", "has no axis time");
    expect_refused(model() + data + " --map mobility=mobilty", "did you mean 'mobility'");
    expect_refused(model() + data + " --map mobility", "mobility");
    expect_refused(model() + data + " --top-k 1", "--top-k is for classifiers");
    expect_refused(model() + data + " --labels mobility", "has no integer variable 'mobility'");
    expect_refused(file("no.safetensors") + data, "no.safetensors");
    expect_refused(SURROGATE_TEST_DATA "/flare/tiny.safetensors" + data, "names no fields");
    LatticeSet{.unit = "1"}.write(file("unit.h5"));
    expect_refused(model() + " --data " + file("unit.h5"), "the array in '1'");
}

}  // namespace

}  // namespace surrogate::test
