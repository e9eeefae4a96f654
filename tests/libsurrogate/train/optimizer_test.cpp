// SPDX-License-Identifier: Apache-2.0
// Optimiser and schedules beside PyTorch 2.15 in double precision.
#include "libsurrogate/src/train/optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace surrogate::test {
namespace {

using impl::MasterWeights;
using impl::Recipe;
using impl::ScheduleKind;

impl::Tensor tensor(const std::string& name, const std::vector<float>& values,
                    std::vector<int64_t> shape) {
    impl::Tensor made{{name, impl::DType::float32, std::move(shape)},
                      kernels::Buffer<std::byte>(std::ssize(values) * 4)};
    std::ranges::copy(std::as_bytes(std::span(values)), made.data.begin());
    return made;
}

MasterWeights one_weight(const std::vector<float>& values) {
    std::vector<impl::Tensor> tensors;
    tensors.push_back(tensor("fc.weight", values, {1, std::ssize(values)}));
    return MasterWeights(tensors);
}

kernels::Queue queue(int n_thread) {
    return {kernels::Backend::simd, kernels::best_vector_level(), n_thread};
}

TEST(Schedule, OneCycleIsThatOfPyTorch) {
    // OneCycleLR(max_lr=2e-3, total_steps=30, pct_start=0.25, div_factor=25, final_div_factor=100)
    Recipe recipe;
    recipe.schedule = ScheduleKind::one_cycle;
    recipe.learning_rate = 2e-3;
    recipe.n_step = 30;
    recipe.warmup = 0.25;
    recipe.initial_divisor = 25;
    recipe.final_divisor = 100;
    const struct {
        int64_t step;
        double rate, beta1;
    } table[] = {{0, 7.999999999999999e-05, 0.95},
                 {1, 0.00018996221537291862, 0.9442728012826604},
                 {6, 0.00197210414472901, 0.8514529091286974},
                 {7, 0.00199756502463972, 0.8501217974870088},
                 {8, 0.001978156341693512, 0.8510926199633096},
                 {15, 0.001374856750778546, 0.8812696703292043},
                 {28, 1.0528038485926267e-05, 0.9495134034370785},
                 {29, 8.000000000000001e-07, 0.95},
                 {77, 8.000000000000001e-07, 0.95}};  // stays
    for (const auto& row : table) {
        const impl::Rate rate = impl::rate_at(recipe, row.step, 0);
        EXPECT_NEAR(rate.learning_rate, row.rate, 1e-15 * 2e-3) << row.step;
        EXPECT_NEAR(rate.beta1, row.beta1, 1e-15) << row.step;
    }
}

TEST(Schedule, OneCycleMayBeginBehindItsWarmup) {
    // OneCycleLR(max_lr=2e-3, total_steps=5, pct_start=0.1, .., cycle_momentum=False)
    Recipe recipe;
    recipe.schedule = ScheduleKind::one_cycle;
    recipe.learning_rate = 2e-3;
    recipe.n_step = 5;
    recipe.warmup = 0.1;
    recipe.cycles_momentum = false;
    const double table[] = {0.0019396926213889822, 0.001500000005, 0.0008263518340695515,
                            0.00023395557454146653, 2e-11};
    for (int64_t j = 0; j < 5; ++j) {
        EXPECT_NEAR(impl::rate_at(recipe, j, 0).learning_rate, table[j], 1e-18) << j;
        EXPECT_EQ(impl::rate_at(recipe, j, 0).beta1, 0.9);
    }
    recipe.warmup = 0.2;  // ends at step 0, where the official one divides by zero
    EXPECT_NEAR(impl::rate_at(recipe, 0, 0).learning_rate, 2e-3 / 1e4, 1e-18);
    recipe.n_step = 1;
    recipe.warmup = 1;
    EXPECT_TRUE(std::isfinite(impl::rate_at(recipe, 0, 0).learning_rate));
}

TEST(Schedule, CosineWithWarmupIsThatOfPyTorch) {
    // SequentialLR: LinearLR(1/4, 1, 3), then CosineAnnealingLR(16, 2e-3/50) from step 4 on
    Recipe recipe;
    recipe.schedule = ScheduleKind::cosine;
    recipe.learning_rate = 2e-3;
    recipe.n_step = 20;
    recipe.warmup = 4;
    recipe.final_divisor = 50;
    const std::pair<int64_t, double> table[] = {{0, 0.0005},
                                                {1, 0.001},
                                                {3, 0.002},
                                                {4, 0.002},
                                                {5, 0.001981169574795166},
                                                {12, 0.00102},
                                                {19, 5.883042520483418e-05},
                                                {20, 4e-5},
                                                {99, 4e-5}};
    for (const auto& [step, rate] : table)
        EXPECT_NEAR(impl::rate_at(recipe, step, 0).learning_rate, rate, 1e-17) << step;
}

TEST(Schedule, PlateauIsThatOfPyTorch) {
    // ReduceLROnPlateau(factor=0.3, patience=1, threshold=0): its patience is one less than ours
    Recipe recipe;
    recipe.schedule = ScheduleKind::plateau;
    recipe.learning_rate = 2e-3;
    recipe.plateau_factor = 0.3;
    recipe.plateau_patience = 2;
    const double errors[] = {5, 4, 4.5, 4.2, 3.9, 4, 3.9, 3.9, 3.9, 1};
    const double rates[] = {2e-3, 2e-3, 2e-3, 6e-4, 6e-4, 6e-4, 1.8e-4, 1.8e-4, 5.4e-5, 5.4e-5};
    const bool best[] = {true, true, false, false, true, false, false, false, false, true};
    impl::Plateau plateau;
    for (size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(plateau.note(recipe, errors[i]), best[i]) << i;
        EXPECT_NEAR(impl::rate_at(recipe, 7, plateau.n_drop).learning_rate, rates[i], 1e-17) << i;
    }
    EXPECT_FALSE(plateau.note(recipe, NAN));
    EXPECT_EQ(plateau.best, 1);
}

TEST(Optimizer, StepsAreThoseOfPyTorch) {
    // Six steps of AdamW and Adam: lr 0.01, betas 0.8, 0.95, eps 1e-3, weight_decay 0.1, clipped to
    // 1.5.
    const std::vector<double> expected[] = {
        {0.46027027962631145, -1.2530408536808144, 3.0170756328999935},
        {0.4566767438438962, -1.1905875308366332, 3.0142648835356063}};
    for (int adam = 0; adam < 2; ++adam) {
        MasterWeights master = one_weight({0.5, -1.25, 3.0});
        Recipe recipe;
        if (adam == 1) recipe.optimizer = impl::OptimizerKind::adam;
        recipe.beta2 = 0.95;
        recipe.epsilon = 1e-3;
        recipe.weight_decay = 0.1;
        recipe.max_grad_norm = 1.5;
        impl::Optimizer optimizer(master, recipe, queue(2));
        std::vector<double> gradients(master.values().size());
        for (int j = 0; j < 6; ++j) {
            gradients[0] = 0.3 - 0.1 * j;
            gradients[1] = 1e-4 * (j + 1);
            gradients[2] = -2.0 * (j % 2);
            const double norm = optimizer.scale(gradients, 1);
            optimizer.step(gradients, norm, {0.01, 0.8});
        }
        for (size_t i = 0; i < 3; ++i)
            EXPECT_NEAR(master.precise()[i], expected[adam][i], 1e-14) << adam << " " << i;
        EXPECT_NE(master.values()[0], static_cast<float>(master.precise()[0]));
        master.refresh();
        EXPECT_EQ(master.values()[0], static_cast<float>(master.precise()[0]));
    }
}

TEST(Optimizer, SgdStepsAreThoseOfPyTorch) {
    // Six steps of torch.optim.SGD: lr 0.01, momentum 0.8, weight_decay 0.1, clipped to 1.5.
    const std::vector<double> expected[] = {
        {0.4767580265426355, -1.231047984459854, 3.0558496062394003},
        {0.4755213871054189, -1.2274222303996598, 3.0713810769658014}};
    for (int nesterov = 0; nesterov < 2; ++nesterov) {
        MasterWeights master = one_weight({0.5, -1.25, 3.0});
        Recipe recipe;
        recipe.optimizer = impl::OptimizerKind::sgd;
        recipe.is_nesterov = nesterov == 1;
        recipe.weight_decay = 0.1;
        recipe.max_grad_norm = 1.5;
        impl::Optimizer optimizer(master, recipe, queue(2));
        EXPECT_TRUE(optimizer.second_moment().empty());
        std::vector<double> gradients(master.values().size());
        for (int j = 0; j < 6; ++j) {
            gradients[0] = 0.3 - 0.1 * j;
            gradients[1] = 1e-4 * (j + 1);
            gradients[2] = -2.0 * (j % 2);
            const double norm = optimizer.scale(gradients, 1);
            optimizer.step(gradients, norm, {0.01, 0.8});
        }
        for (size_t i = 0; i < 3; ++i)
            EXPECT_NEAR(master.precise()[i], expected[nesterov][i], 1e-14) << nesterov << " " << i;
    }
}

TEST(Schedule, StepsAreThoseOfPyTorch) {
    // StepLR(step_size=4, gamma=0.3)
    Recipe recipe;
    recipe.schedule = ScheduleKind::step;
    recipe.learning_rate = 2e-3;
    recipe.step_size = 4;
    recipe.gamma = 0.3;
    const std::pair<int64_t, double> table[] = {{0, 0.002},   {3, 0.002},   {4, 0.0006},
                                                {7, 0.0006},  {8, 0.00018}, {11, 0.00018},
                                                {12, 5.4e-05}};
    for (const auto& [step, rate] : table)
        EXPECT_NEAR(impl::rate_at(recipe, step, 0).learning_rate, rate, 1e-18) << step;
    recipe.warmup = 2;
    EXPECT_NEAR(impl::rate_at(recipe, 0, 0).learning_rate, 1e-3, 1e-18);
}

TEST(Optimizer, BitsDoNotDependOnThreads) {
    std::vector<double> found[2];
    for (int threads : {1, 3}) {
        std::vector<float> values(20011);
        for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
        MasterWeights master = one_weight(values);
        Recipe recipe;
        recipe.ema_decay = 0.9;
        impl::Optimizer optimizer(master, recipe, queue(threads));
        std::vector<double> gradients(master.values().size());
        for (int j = 0; j < 3; ++j) {
            for (size_t i = 0; i < values.size(); ++i)
                gradients[i] = std::cos(0.1 * static_cast<double>(i + 1) * (j + 1));
            optimizer.step(gradients, optimizer.scale(gradients, 1.0 / 3), {1e-2, 0.9});
        }
        std::vector<double>& all = found[threads == 1 ? 0 : 1];
        all.assign(master.precise().begin(), master.precise().end());
        all.insert(all.end(), optimizer.average().begin(), optimizer.average().end());
    }
    EXPECT_EQ(found[0], found[1]);
}

TEST(Optimizer, ConstantsOfTheNetworkStay) {
    std::vector<impl::Tensor> tensors;
    tensors.push_back(tensor("regions", {3, 5}, {1, 2}));
    tensors.push_back(tensor("fc.weight", {3, 5}, {1, 2}));
    MasterWeights master(tensors);
    Recipe recipe;
    recipe.weight_decay = 0.1;
    recipe.decays_all = true;
    const std::vector<std::string> fixed = {"regions"};
    impl::Optimizer optimizer(master, recipe, queue(1), fixed);
    std::vector<double> gradients(master.values().size());
    optimizer.step(gradients, optimizer.scale(gradients, 1), {0.01, 0.9});
    master.refresh();
    for (const int64_t i : {0, 1}) {
        const double value = i == 0 ? 3 : 5;
        EXPECT_EQ(master.precise()[static_cast<size_t>(master.find("regions")->first + i)], value);
        EXPECT_LT(master.precise()[static_cast<size_t>(master.find("fc.weight")->first + i)],
                  value);
    }
}

TEST(Optimizer, BiasesNormsAndEmbeddingsDoNotDecay) {
    const auto entry = [](const char* name, std::vector<int64_t> shape) {
        return MasterWeights::Entry{name, std::move(shape), 0, 1};
    };
    EXPECT_TRUE(impl::decays(entry("blocks.0.mlp.fc1.weight", {4, 4})));
    EXPECT_TRUE(impl::decays(entry("blocks.0.att.latent_q", {4, 4})));
    EXPECT_TRUE(impl::decays(entry("pos_emb.pos_scale", {})));
    EXPECT_FALSE(impl::decays(entry("blocks.0.mlp.fc1.bias", {4})));
    EXPECT_FALSE(impl::decays(entry("blocks.0.norm1.weight", {4})));
    EXPECT_FALSE(impl::decays(entry("out_proj.0.weight", {4})));
    EXPECT_FALSE(impl::decays(entry("token_emb.token_embed.weight", {9, 4})));
    EXPECT_FALSE(impl::decays(entry("pos_emb.pe.weight", {9, 4})));
    EXPECT_FALSE(impl::decays(entry("cls_token", {4})));
}

}  // namespace
}  // namespace surrogate::test
