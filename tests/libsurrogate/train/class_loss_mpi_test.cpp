// SPDX-License-Identifier: Apache-2.0
// Losses of classes, alone and in a training.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/train/loss.hpp"
#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::SampleOutcome;

constexpr size_t n_class = 3;

impl::FieldCard logit(const char* name) {
    return {name, "", false, -1, false, 0, 1, -INFINITY, INFINITY};
}

kernels::Queue queue(int n_thread) {
    return {kernels::Backend::simd, kernels::best_vector_level(), n_thread};
}

/// Points of a sample of classes: logit(i, c) = 2 sin(1.3 (3 i + c) + 0.2).
struct Points {
    Points(std::vector<int64_t> rows, const std::vector<int64_t>& labels) {
        for (size_t c = 0; c < n_class; ++c)
            for (const int64_t row : rows)
                logits.push_back(
                    2 *
                    std::sin(1.3 * (3 * static_cast<double>(row) + static_cast<double>(c)) + 0.2));
        for (const int64_t row : rows) {
            const int64_t found = labels[static_cast<size_t>(row) % labels.size()];
            label.push_back(found == -100 ? -1 : found);
            weight.push_back(1.5 + std::sin(2.0 * static_cast<double>(row)));
        }
    }
    impl::Sample sample(bool is_weighted = false) const {
        return {logits.data(), nullptr, is_weighted ? weight.data() : nullptr, std::ssize(label),
                label.data()};
    }
    std::vector<double> logits, weight;
    std::vector<int64_t> label;
};

/// Results of torch.nn.functional.cross_entropy for seven points; gradients by point and class.
struct Golden {
    std::vector<double> class_weights;
    double smoothing, value;
    std::vector<double> gradient;
};

const std::vector<int64_t> golden_labels = {0, 2, 1, -100, 2, 0, 1};
const Golden golden[] = {{{1, 1, 1},
                          0,
                          1.4054503558471598,
                          {-0.1436934885282886,
                           0.1135199598475127,
                           0.030173528680775906,
                           0.012218681326628041,
                           0.013383080820787806,
                           -0.025601762147415847,
                           0.1389869973161218,
                           -0.14202169875747145,
                           0.0030347014413496425,
                           0,
                           0,
                           0,
                           0.09969044089817075,
                           0.016739203512132383,
                           -0.11642964441030314,
                           -0.09441047378897804,
                           0.0856597012244315,
                           0.00875077256454655,
                           0.0034587998244055987,
                           -0.1505769197804742,
                           0.14711811995606858}},
                         {{0.5, 2, 1.25},
                          0,
                          1.5486293996101268,
                          {-0.05747739541131544,
                           0.04540798393900508,
                           0.012069411472310363,
                           0.012218681326628041,
                           0.013383080820787806,
                           -0.025601762147415847,
                           0.2223791957057949,
                           -0.22723471801195433,
                           0.004855522306159429,
                           0,
                           0,
                           0,
                           0.09969044089817075,
                           0.016739203512132383,
                           -0.11642964441030314,
                           -0.03776418951559122,
                           0.0342638804897726,
                           0.0035003090258186203,
                           0.005534079719048958,
                           -0.2409230716487587,
                           0.23538899192970975}},
                         {{0.5, 2, 1.25},
                          0.1,
                          1.5623418242655958,
                          {-0.05165456027856832,
                           0.04333029264096695,
                           0.00832426763760136,
                           0.00999645910440582,
                           0.004494191931898919,
                           -0.014490651036304751,
                           0.21181775364460537,
                           -0.2109356383087283,
                           -0.0008821153358771061,
                           0,
                           0,
                           0,
                           0.09746821867594854,
                           0.007850314623243497,
                           -0.10531853329919205,
                           -0.02898437349848547,
                           0.0305145736743496,
                           -0.0015302001758641425,
                           0.0031043295073624,
                           -0.2241106786841525,
                           0.22100634917679005}}};

impl::Recipe focal(double alpha = 0.25, double gamma = 2) {
    impl::Recipe recipe;
    recipe.loss = impl::LossKind::focal;
    recipe.focal_alpha = alpha;
    recipe.focal_gamma = gamma;
    return recipe;
}

class ClassLosses : public testing::Test {
protected:
    impl::ClassLoss loss(const impl::Recipe& recipe, const std::vector<double>& class_weights,
                         int n_thread) const {
        impl::ClassLoss made(recipe, outputs, false, queue(n_thread));
        made.set_class_weights(class_weights);
        return made;
    }
    impl::ClassLoss loss(const Golden& settings, int n_thread) const {
        impl::Recipe recipe;
        recipe.loss = impl::LossKind::cross_entropy;
        recipe.label_smoothing = settings.smoothing;
        return loss(recipe, settings.class_weights, n_thread);
    }
    /// Expects value and gradient (point, class) of the golden points.
    void expect(impl::ClassLoss loss, const char* partition, double value,
                const std::vector<double>& gradient) const {
        const std::vector<int64_t> rows = own_rows(partition, 7, world);
        const Points points(rows, golden_labels);
        ASSERT_EQ(loss.measure(comm, points.sample(), 7, SampleOutcome::good), SampleOutcome::good);
        EXPECT_NEAR(loss.value(), value, 1e-14);
        std::vector<double> found(n_class * rows.size());
        loss.gradient(points.sample(), found.data());
        for (size_t i = 0; i < rows.size(); ++i)
            for (size_t c = 0; c < n_class; ++c)
                EXPECT_NEAR(found[c * rows.size() + i],
                            gradient[static_cast<size_t>(rows[i]) * n_class + c], 1e-15);
    }
    const Context context = mpi_context(world);
    impl::Communicator& comm = context.get()->context->comm();
    const std::vector<impl::FieldCard> outputs = {logit("a"), logit("b"), logit("c")};
};

TEST_F(ClassLosses, CrossEntropyIsThatOfPyTorch) {
    for (const Golden& expected : golden)
        expect(loss(expected, 2), "scattered", expected.value, expected.gradient);
}

/// alpha (1 - exp(-ce))^gamma ce of torch.nn.functional.cross_entropy(.., reduction="none"),
/// averaged with the weights of the classes.
TEST_F(ClassLosses, FocalIsThatOfPyTorch) {
    expect(loss(focal(), {1, 1, 1}, 2), "scattered", 0.23443906680128637,
           {-0.04362255137259125,
            0.03446245429059734,
            0.009160097081993916,
            0.00020454892407678607,
            0.00022404175291477845,
            -0.00042859067699156455,
            0.04196785430245461,
            -0.04288419835190791,
            0.0009163440494533057,
            0,
            0,
            0,
            0.02474946954485805,
            0.004155728511140562,
            -0.028905198055998615,
            -0.017262607229887268,
            0.015662560713041212,
            0.0016000465168460587,
            0.0010584319341583517,
            -0.04607824347575339,
            0.04501981154159504});
    expect(loss(focal(0.6, 0.5), {0.5, 2, 1.25}, 1), "contiguous", 0.8433823510017001,
           {-0.03709412449243942,
            0.02930490146831786,
            0.00778922302412156,
            0.004193529149859266,
            0.004593158462573971,
            -0.008786687612433237,
            0.1435948658171573,
            -0.1467301774267361,
            0.003135311609578811,
            0,
            0,
            0,
            0.06292785036939892,
            0.010566329975311725,
            -0.07349418034471064,
            -0.022507864149588,
            0.020421642227569117,
            0.0020862219220188875,
            0.0035503103892656923,
            -0.15456078114382213,
            0.15101047075455643});
}

/// Points with one output. Losses are of one rank.
struct BinaryPoints {
    std::vector<double> outputs;
    std::vector<int64_t> label;  ///< 0, 1, or negative
    impl::Sample sample() const {
        return {outputs.data(), nullptr, nullptr, std::ssize(label), label.data()};
    }
    /// Returns the loss; fills `gradient` unless it is null.
    double measure(const impl::Recipe& recipe, bool are_probabilities,
                   std::vector<double>* gradient = nullptr,
                   const std::vector<double>& class_weights = {1, 1}) const {
        const std::vector<impl::FieldCard> output = {logit("signal")};
        impl::ClassLoss loss(recipe, output, are_probabilities, queue(1));
        loss.set_class_weights(class_weights);
        const auto alone = impl::self_communicator();
        EXPECT_EQ(loss.measure(*alone, sample(), std::ssize(label), SampleOutcome::good),
                  SampleOutcome::good);
        if (gradient) {
            gradient->resize(label.size());
            loss.gradient(sample(), gradient->data());
        }
        return loss.value();
    }
};

void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

/// b = binary_cross_entropy_with_logits(.., reduction="none"), and 0.25 (1 - exp(-b))^2 b.
TEST(BinaryLosses, AreThoseOfPyTorch) {
    BinaryPoints points{{}, {0, 1, 1, -1, 1, 0, 1}};
    for (int i = 0; i < 7; ++i) points.outputs.push_back(2 * std::sin(1.3 * 3 * i + 0.2));
    impl::Recipe entropy;
    entropy.loss = impl::LossKind::cross_entropy;
    std::vector<double> g;
    EXPECT_NEAR(points.measure(entropy, false, &g), 1.2457049914606058, 1e-14);
    expect_near(g,
                {0.0996746795596837, -0.1395109207260521, -0.0202426211612603, 0,
                 -0.09097074554492736, 0.1363405576458605, -0.14677416029411433},
                1e-15);
    EXPECT_NEAR(points.measure(entropy, false, &g, {0.5, 3}), 1.2218589156082316, 1e-14);
    expect_near(g,
                {0.023001849129157783, -0.19316896715914908, -0.028028244684821953, 0,
                 -0.1259594938314379, 0.031463205610583196, -0.20322576040723525},
                1e-15);
    EXPECT_NEAR(points.measure(focal(), false, &g), 0.19263204909428278, 1e-14);
    expect_near(g,
                {0.019831501232069008, -0.04169985532990599, -0.0002144985947584718, 0,
                 -0.015675291232795624, 0.040100022328083636, -0.04485373450918369},
                1e-15);
    EXPECT_NEAR(points.measure(focal(), false, &g, {0.5, 3}), 0.196227061320843, 1e-14);
    expect_near(g,
                {0.004576500284323618, -0.057738261226023685, -0.000296998054280961, 0,
                 -0.021704249399255485, 0.009253851306480841, -0.06210517085886972},
                1e-15);
}

/// The network of the pileup task returns probabilities.
TEST(BinaryLosses, OfProbabilitiesAreThoseOfTheOfficialCode) {
    const GoldenFile file(SURROGATE_TEST_DATA "/hept/losses.safetensors");
    const std::vector<double> y = file.tensor("check/focal/y").values,
                              want = file.tensor("check/focal/grad").values;
    const BinaryPoints points{file.tensor("check/focal/p").values, {y.begin(), y.end()}};
    std::vector<double> g;
    // The independent program computed the loss: the file has the gradient alone.
    EXPECT_NEAR(points.measure(focal(), true, &g), 0.2880903330956881, 1e-14);
    ASSERT_EQ(g.size(), want.size());
    for (size_t i = 0; i < g.size(); ++i)
        EXPECT_NEAR(g[i], want[i], 1e-12 * std::max(1.0, std::abs(want[i])));
}

TEST(BinaryLosses, OfLogitsAreThoseOfTheirProbabilities) {
    BinaryPoints of_logits, of_p;
    for (double z = -15; z < 15; z += 0.37) {
        of_logits.outputs.push_back(z);
        of_p.outputs.push_back(1 / (1 + std::exp(-z)));
        of_logits.label.push_back(of_logits.outputs.size() % 3 == 0 ? 1 : 0);
    }
    of_p.label = of_logits.label;
    const auto n = static_cast<double>(of_p.label.size());
    std::vector<double> dz, dp;
    EXPECT_NEAR(of_logits.measure(focal(), false, &dz), of_p.measure(focal(), true, &dp), 1e-12);
    for (size_t i = 0; i < dz.size(); ++i) {
        const double p = of_p.outputs[i], c = of_p.label[i] == 1 ? p : 1 - p;
        // The formula of the specification of HEPT.
        const double want = 0.25 * (1 - c) * (1 - c) * (2 * c * std::log(c) - (1 - c)) / n;
        EXPECT_NEAR(dz[i], of_p.label[i] == 1 ? want : -want, 1e-11);
        EXPECT_NEAR(dz[i], dp[i] * p * (1 - p), 1e-11);
    }
}

TEST(BinaryLosses, AreBoundedAndNeverOverflow) {
    const std::vector<int64_t> label = {1, 0, 0, 1, 1};
    const BinaryPoints of_logits{{-1e30, 1e30, -1e30, 1e30, -800}, label};
    const BinaryPoints of_p{{0, 1, 0, 1, 1e-60}, label};
    const TrapGuard traps;
    for (const double gamma : {0.0, 0.5, 2.0}) {
        std::vector<double> g;
        EXPECT_NEAR(of_logits.measure(focal(0.25, gamma), false, &g), 0.25 * 100 * 3 / 5, 1e-12);
        EXPECT_EQ(g, (std::vector<double>{-0.05, 0.05, 0, 0, -0.05}));
        EXPECT_NEAR(of_p.measure(focal(0.25, gamma), true, &g), 0.25 * 100 * 3 / 5, 1e-12);
        for (const double value : g) EXPECT_TRUE(std::isfinite(value));
    }
}

TEST(BinaryLosses, GradientsAreThoseOfDifferences) {
    const BinaryPoints of_logits{{-3, -0.5, 0.1, 2, 6}, {1, 0, 1, 1, 0}},
        of_p{{0.2, 0.4, 0.7, 0.8, 0.75}, {1, 0, 1, 1, 0}};
    for (const impl::Recipe& recipe : {focal(), focal(0.6, 1), focal(1, 3.5), focal(1, 0.5)}) {
        for (const BinaryPoints* points : {&of_logits, &of_p}) {
            const bool are_probabilities = points == &of_p;
            std::vector<double> g;
            points->measure(recipe, are_probabilities, &g);
            for (size_t i = 0; i < g.size(); ++i) {
                BinaryPoints low = *points, high = *points;
                constexpr double h = 1e-6;
                low.outputs[i] -= h;
                high.outputs[i] += h;
                const double difference = (high.measure(recipe, are_probabilities) -
                                           low.measure(recipe, are_probabilities)) /
                                          (2 * h);
                EXPECT_NEAR(g[i], difference, 1e-8);
            }
        }
    }
}

TEST_F(ClassLosses, HaveTheSameBitsOnAnyRanksAndThreads) {
    constexpr int64_t n = 2500;
    std::vector<int64_t> all_rows;
    for (int64_t i = 0; i < n; ++i) all_rows.push_back(i);
    const std::vector<int64_t> rows = own_rows("uneven", n, world);
    const Points all(all_rows, golden_labels), own(rows, golden_labels);
    const auto alone = impl::self_communicator();
    impl::ClassLoss one = loss(focal(), {1, 2, 3}, 1), many = loss(focal(), {1, 2, 3}, 3);
    for (const bool is_focal : {true, false}) {
        if (!is_focal) {
            one = loss(golden[2], 1);
            many = loss(golden[2], 3);
        }
        ASSERT_EQ(one.measure(*alone, all.sample(true), n, SampleOutcome::good),
                  SampleOutcome::good);
        ASSERT_EQ(many.measure(comm, own.sample(true), n, SampleOutcome::good),
                  SampleOutcome::good);
        EXPECT_EQ(one.value(), many.value());
    }
    std::vector<double> wrong(n_class), total(n_class);
    for (size_t i = 0; i < all_rows.size(); ++i) {
        if (all.label[i] < 0) continue;
        size_t largest = 0;
        for (size_t c = 1; c < n_class; ++c)
            if (all.logits[c * all_rows.size() + i] > all.logits[largest * all_rows.size() + i])
                largest = c;
        const auto label = static_cast<size_t>(all.label[i]);
        total[label] += all.weight[i];
        if (largest != label) wrong[label] += all.weight[i];
    }
    for (size_t c = 0; c < n_class; ++c) {
        EXPECT_EQ(one.error(c), many.error(c));
        EXPECT_NEAR(one.error(c), wrong[c] / total[c], 1e-12);
    }
}

TEST_F(ClassLosses, AreUndefinedWithoutPoints) {
    const Points points(own_rows("contiguous", 7, world), {-100});
    impl::ClassLoss loss = this->loss(golden[0], 1);
    ASSERT_EQ(loss.measure(comm, points.sample(), 7, SampleOutcome::good), SampleOutcome::good);
    const Refusal found = refusal([&] { (void)loss.value(); });
    EXPECT_EQ(found.status, kernels::Status::not_finite);
    EXPECT_TRUE(found.says("all points are ignored")) << found.text;
    EXPECT_TRUE(std::isnan(loss.error(0)));
}

/// Large logits overflow no exponential.
TEST_F(ClassLosses, LargeLogitsAreFinite) {
    Points points(own_rows("contiguous", 7, world), golden_labels);
    for (double& value : points.logits) value *= 1e6;
    impl::ClassLoss loss = this->loss(golden[0], 1);
    ASSERT_EQ(loss.measure(comm, points.sample(), 7, SampleOutcome::good), SampleOutcome::good);
    EXPECT_TRUE(std::isfinite(loss.value()));
    std::vector<double> gradient(points.logits.size());
    loss.gradient(points.sample(), gradient.data());
    for (const double g : gradient) EXPECT_TRUE(std::isfinite(g));
}

/// A classifier of points into left, middle and right of the unit square, or, with one output, left
/// and right.
struct Classifier {
    explicit Classifier(const Settings& settings, const char* partition = "contiguous",
                        int n_output = 3)
        : context(mpi_context(MPI_COMM_WORLD)),
          model(initialized_model(context, context.rank() == 0 ? card(n_output) : "", 1)),
          rows(own_rows(partition, n, MPI_COMM_WORLD)),
          x(points_of(rows)),
          labels(labels_of(rows, x, std::max(2, n_output))),
          domain(context, matrix(x.data(), std::ssize(rows), 2), rows.data()),
          plan(model, domain, {{"gradients", "true"}, {"threads", "1"}, {"reproducible", "true"}}),
          trainer(plan, training_of(settings)) {}

    static constexpr int64_t n = 60;
    static std::string card(int n_output) {
        const auto field = [](const char* name, int axis) {
            nlohmann::json found = {{"name", name}, {"unit", ""}, {"mean", 0}, {"std", 1}};
            if (axis < 0) return found;
            found["role"] = "coordinate";
            found["axis"] = axis;
            return found;
        };
        nlohmann::json outputs = {field("left", -1), field("middle", -1), field("right", -1)};
        if (n_output == 1) outputs = {field("right", -1)};
        return nlohmann::json{{"format", 1},
                              {"family", "flare"},
                              {"network",
                               {{"in_dim", 2},
                                {"out_dim", n_output},
                                {"channel_dim", 16},
                                {"num_blocks", 1},
                                {"num_heads", 2},
                                {"num_latents", 8}}},
                              {"inputs", {field("x", 0), field("y", 1)}},
                              {"outputs", outputs}}
            .dump();
    }
    static std::vector<double> points_of(const std::vector<int64_t>& rows) {
        std::vector<double> x;
        for (const int64_t row : rows)
            for (const double seed : {0.37, 0.71})
                x.push_back(std::fmod(seed * static_cast<double>(row + 1), 1.0));
        return x;
    }
    static std::vector<int32_t> labels_of(const std::vector<int64_t>& rows,
                                          const std::vector<double>& x, int n_label) {
        std::vector<int32_t> labels;
        for (size_t i = 0; i < rows.size(); ++i)
            labels.push_back(rows[i] == 7 ? -100 : static_cast<int32_t>(n_label * x[2 * i]));
        return labels;
    }
    surrogate_array label_array() {
        return {labels.data(), {std::ssize(labels), 1}, {1, 1}, SURROGATE_INT32, SURROGATE_HOST};
    }
    void bind() { trainer.bind_labels(label_array()); }
    std::vector<double> weights() const {
        const auto precise = model.get()->model->weights()->precise();
        return {precise.begin(), precise.end()};
    }

    Context context;
    Model model;
    std::vector<int64_t> rows;
    std::vector<double> x;
    std::vector<int32_t> labels;
    Domain domain;
    Plan plan;
    Trainer trainer;
};

const Settings class_settings = {
    {"loss", "cross_entropy"}, {"learning_rate", "1e-2"}, {"reservoir", "2"}};

TEST(Classification, LearnsToSeparateItsClasses) {
    Classifier c(class_settings);
    c.bind();
    const Trainer::Validation before = c.trainer.validate(3);
    EXPECT_NEAR(before.loss, std::log(3), 0.1);  // equal probabilities
    for (int i = 0; i < 150; ++i) c.trainer.step();
    const Trainer::Validation after = c.trainer.validate(3);
    EXPECT_LT(after.loss, 0.15);
    for (const double error : after.error) EXPECT_LT(error, 0.1);
}

/// Bitwise equal on one rank and on all.
TEST(Classification, OneOutputLearnsToSeparateTwoClasses) {
    for (const char* loss : {"cross_entropy", "focal"}) {
        const Settings settings = {{"loss", loss}, {"learning_rate", "1e-2"}, {"focal_alpha", "1"}};
        Classifier c(settings, "scattered", 1), same(settings, "contiguous", 1);
        for (Classifier* run : {&c, &same}) {
            run->bind();
            run->trainer.set_class_weights({1, 2});
        }
        const Trainer::Validation before = c.trainer.validate(1);
        // Equal probabilities: p = 1/2.
        EXPECT_NEAR(before.loss, std::log(2) * (loss == std::string("focal") ? 0.25 : 1), 0.1);
        for (int i = 0; i < 100; ++i) c.trainer.step();
        for (int i = 0; i < 100; ++i) same.trainer.step();
        EXPECT_EQ(c.weights(), same.weights());
        EXPECT_LT(c.trainer.validate(1).error[0], 0.1);
        c.labels.back() = 2;
        const Answer found = answer(surrogate_trainer_step(c.trainer.get(), nullptr));
        EXPECT_TRUE(found.says("label 2")) << found;
        EXPECT_TRUE(found.says("expected 0 to 1, or -100")) << found;
        const double three[] = {1, 1, 1};
        const Answer weights =
            answer(surrogate_trainer_set_class_weights(c.trainer.get(), three, 3));
        EXPECT_TRUE(weights.says("expected 2, of the labels 0 and 1")) << weights;
    }
}

/// Bitwise: the sums do not depend on ranks, and neither do steps on stored samples.
TEST(Classification, StoredSamplesTrainAsBoundOnes) {
    Classifier bound(class_settings), stored(class_settings, "scattered");
    bound.bind();
    bound.trainer.set_class_weights({1, 2, 0.5});
    stored.bind();
    stored.trainer.set_class_weights({1, 2, 0.5});
    stored.trainer.reservoir_add();
    for (int32_t& label : stored.labels) label = 0;
    for (int i = 0; i < 3; ++i) bound.trainer.step();
    stored.trainer.reservoir_step(3);
    EXPECT_EQ(bound.weights(), stored.weights());
}

TEST(Classification, BadLabelsAreErrorsOnAllRanksThatLoseNothing) {
    Classifier c(class_settings), undisturbed(class_settings);
    undisturbed.bind();
    surrogate_trainer* const trainer = c.trainer.get();
    Answer found = answer(surrogate_trainer_step(trainer, nullptr));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("surrogate_trainer_bind_labels first")) << found;
    c.bind();
    c.trainer.step();
    const bool is_last = c.context.rank() == c.context.size() - 1;
    for (const int32_t bad : {3, -1}) {
        const int32_t saved = c.labels.back();
        if (is_last) c.labels.back() = bad;
        found = answer(surrogate_trainer_step(trainer, nullptr));
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(found.says("label " + std::to_string(bad))) << found;
        EXPECT_TRUE(found.says("expected 0 to 2, or -100")) << found;
        c.labels.back() = saved;
    }
    c.trainer.step();
    for (int i = 0; i < 2; ++i) undisturbed.trainer.step();
    EXPECT_EQ(c.weights(), undisturbed.weights());
}

TEST(Classification, ArgumentsMustFitTheLoss) {
    Classifier c(class_settings);
    surrogate_trainer* const trainer = c.trainer.get();
    const std::vector<double> values(c.rows.size());
    const surrogate_array reals = column(values.data(), std::ssize(values));
    Answer found = answer(surrogate_trainer_bind_labels(trainer, &reals));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    surrogate_array wide = c.label_array();
    wide.shape[1] = 2;
    EXPECT_NE(answer(surrogate_trainer_bind_labels(trainer, &wide)).status, SURROGATE_SUCCESS);
    found = answer(surrogate_trainer_bind_target(trainer, "left", nullptr, &reals));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("losses of fields, and loss is 'cross_entropy'")) << found;
    const double good[] = {1, 1, 1}, negative[] = {1, -1, 1}, zero[] = {0, 0, 0};
    EXPECT_EQ(answer(surrogate_trainer_set_class_weights(trainer, good, 2)).status,
              SURROGATE_SHAPE);
    found = answer(surrogate_trainer_set_class_weights(trainer, negative, 3));
    EXPECT_TRUE(found.says("weight of class 'middle' is -1")) << found;
    found = answer(surrogate_trainer_set_class_weights(trainer, zero, 3));
    EXPECT_TRUE(found.says("all class weights are 0")) << found;
    GoldenRun fields = on_ranks({});
    const surrogate_array array = c.label_array();
    found = answer(surrogate_trainer_bind_labels(fields.trainer.get(), &array));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("expected 'cross_entropy', 'focal' or 'infonce'")) << found;
    surrogate_trainer* none = nullptr;
    for (const char* loss : {"cross_entropy", "focal"}) {
        const TrainerOptions options = training_of({{"loss", loss}});
        found = answer(surrogate_trainer_create(fields.plan.get(), nullptr, options.get(), &none));
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(found.says("on the card, expected 0 and 1")) << found;
    }
    const TrainerOptions sphere = training_of({{"loss", "l1_w11"}});
    found = answer(surrogate_trainer_create(fields.plan.get(), nullptr, sphere.get(), &none));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says("expected a grid on the sphere for loss=l1_w11")) << found;
}

}  // namespace
}  // namespace surrogate::test
