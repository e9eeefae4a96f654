// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of classes, alone and in a training.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/train/loss.hpp"
#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::SampleOutcome;

constexpr size_t n_class = 3;

impl::FieldCard logit(const char* name) {
    return {name, "", false, -1, 0, 1, -INFINITY, INFINITY};
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

class ClassLosses : public testing::Test {
protected:
    impl::ClassLoss loss(const Golden& settings, int n_thread) const {
        impl::Recipe recipe;
        recipe.loss = impl::LossKind::cross_entropy;
        recipe.label_smoothing = settings.smoothing;
        impl::ClassLoss made(recipe, outputs, queue(n_thread));
        made.set_class_weights(settings.class_weights);
        return made;
    }
    const Context context = mpi_context(world);
    impl::Communicator& comm = context.get()->context->comm();
    const std::vector<impl::FieldCard> outputs = {logit("a"), logit("b"), logit("c")};
};

TEST_F(ClassLosses, AreThoseOfPyTorch) {
    const std::vector<int64_t> rows = own_rows("scattered", 7, world);
    const Points points(rows, golden_labels);
    for (const Golden& expected : golden) {
        impl::ClassLoss loss = this->loss(expected, 2);
        ASSERT_EQ(loss.measure(comm, points.sample(), 7, SampleOutcome::good), SampleOutcome::good);
        EXPECT_NEAR(loss.value(), expected.value, 1e-14);
        std::vector<double> gradient(n_class * rows.size());
        loss.gradient(points.sample(), gradient.data());
        for (size_t i = 0; i < rows.size(); ++i)
            for (size_t c = 0; c < n_class; ++c)
                EXPECT_NEAR(gradient[c * rows.size() + i],
                            expected.gradient[static_cast<size_t>(rows[i]) * n_class + c], 1e-15);
    }
}

TEST_F(ClassLosses, HaveTheSameBitsOnAnyRanksAndThreads) {
    constexpr int64_t n = 2500;
    std::vector<int64_t> all_rows;
    for (int64_t i = 0; i < n; ++i) all_rows.push_back(i);
    const std::vector<int64_t> rows = own_rows("uneven", n, world);
    const Points all(all_rows, golden_labels), own(rows, golden_labels);
    const auto alone = impl::self_communicator();
    impl::ClassLoss one = loss(golden[2], 1), many = loss(golden[2], 3);
    ASSERT_EQ(one.measure(*alone, all.sample(true), n, SampleOutcome::good), SampleOutcome::good);
    ASSERT_EQ(many.measure(comm, own.sample(true), n, SampleOutcome::good), SampleOutcome::good);
    EXPECT_EQ(one.value(), many.value());
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

/// A classifier of points into left, middle and right of the unit square.
struct Classifier {
    explicit Classifier(const Settings& settings, const char* partition = "contiguous")
        : context(mpi_context(MPI_COMM_WORLD)),
          model(initialized_model(context, context.rank() == 0 ? card() : "", 1)),
          rows(own_rows(partition, n, MPI_COMM_WORLD)),
          x(points_of(rows)),
          labels(labels_of(rows, x)),
          domain(context, matrix(x.data(), std::ssize(rows), 2), rows.data()),
          plan(model, domain, {{"gradients", "true"}, {"threads", "1"}, {"reproducible", "true"}}),
          trainer(plan, training_of(settings)) {}

    static constexpr int64_t n = 60;
    static std::string card() {
        const auto field = [](const char* name, int axis) {
            nlohmann::json found = {{"name", name}, {"unit", ""}, {"mean", 0}, {"std", 1}};
            if (axis < 0) return found;
            found["role"] = "coordinate";
            found["axis"] = axis;
            return found;
        };
        return nlohmann::json{
            {"format", 1},
            {"family", "flare"},
            {"network",
             {{"in_dim", 2},
              {"out_dim", 3},
              {"channel_dim", 16},
              {"num_blocks", 1},
              {"num_heads", 2},
              {"num_latents", 8}}},
            {"inputs", {field("x", 0), field("y", 1)}},
            {"outputs", {field("left", -1), field("middle", -1), field("right", -1)}}}
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
                                          const std::vector<double>& x) {
        std::vector<int32_t> labels;
        for (size_t i = 0; i < rows.size(); ++i)
            labels.push_back(rows[i] == 7 ? -100 : static_cast<int32_t>(3 * x[2 * i]));
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
    EXPECT_TRUE(found.says("expected 'cross_entropy'")) << found;
    surrogate_trainer* none = nullptr;
    const TrainerOptions options = training_of({{"loss", "cross_entropy"}});
    found = answer(surrogate_trainer_create(fields.plan.get(), nullptr, options.get(), &none));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("two or more classes")) << found;
}

}  // namespace
}  // namespace surrogate::test
