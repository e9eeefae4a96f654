// SPDX-License-Identifier: Apache-2.0
// FLARE's sequence classifier as a caller meets it: tokens on any ranks, words that are none, masks
// that are left out, sequences that change.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "tests/support/model_parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// This rank's tokens of a sequence; token i of the whole has id 10 i - 3.
class Tokens {
public:
    Tokens(const std::vector<int64_t>& rows, int64_t n_word) {
        for (const int64_t row : rows) {
            ids.push_back(10 * row - 3);
            words.push_back(static_cast<int32_t>(row * 5 % n_word));
            mask.push_back(row % 4 != 1);
        }
    }
    int64_t n() const { return std::ssize(ids); }
    surrogate_points points() const {
        return {matrix(&nothing, n(), 0), ids_data(), nullptr, nullptr};
    }
    Domain domain(const Context& context) const { return Domain(context, points()); }
    std::vector<surrogate_named_array> inputs(bool has_mask) {
        std::vector<surrogate_named_array> list = {
            {"ids", {words.data(), {n(), 1}, {1, 1}, SURROGATE_INT32, SURROGATE_HOST}}};
        if (has_mask)
            list.push_back(
                {"mask", {mask.data(), {n(), 1}, {1, 1}, SURROGATE_INT64, SURROGATE_HOST}});
        return list;
    }

    std::vector<int64_t> ids, mask;
    std::vector<int32_t> words;

private:
    // A rank without tokens still says that they have ids.
    const int64_t* ids_data() const { return ids.empty() ? &no_id : ids.data(); }
    int64_t no_id = 0;
    double nothing = 0;
};

/// The model of a golden file with some keys of the network changed.
class SequenceOnRanks : public testing::Test {
protected:
    Model model(const std::string& name, const nlohmann::json& changes = nlohmann::json::object()) {
        ModelParts<float> parts(std::string(SURROGATE_TEST_DATA "/flare/") + name + ".safetensors");
        parts.card["network"].update(changes);
        return Model(context, parts.card.dump(), parts.tensors());
    }
    Answer refused(const std::string& name, const nlohmann::json& changes) {
        try {
            model(name, changes);
        } catch (const Error& error) {
            return {error.status(), error.what()};
        }
        return {};
    }
    static Answer run(Plan& plan, Tokens& tokens, bool has_mask, std::vector<float>& y,
                      int64_t n_row) {
        const auto in = tokens.inputs(has_mask);
        const std::vector<surrogate_named_array> out = {
            {"logits", matrix(y.data(), n_row, n_row == 0 ? 4 : std::ssize(y) / n_row)}};
        return answer(surrogate_plan_run_network(plan.get(), static_cast<int32_t>(in.size()),
                                                 in.data(), 1, out.data()));
    }

    const Context context = mpi_context(world);
    const int rank = rank_of(world), size = size_of(world);
};

TEST_F(SequenceOnRanks, PredictsTheSameOnEveryRankAndForAnyShares) {
    const Model model = this->model("sequence_cls_abs");
    std::vector<float> expected;
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        Tokens tokens(own_rows(partition, 100, world), 20);
        Plan plan(model, tokens.domain(context), {{"reproducible", "true"}});
        std::vector<float> y(3, NAN);
        EXPECT_EQ(run(plan, tokens, false, y, 1).status, SURROGATE_SUCCESS);
        for (const float value : gathered(y, world)) EXPECT_TRUE(std::isfinite(value));
        for (int other = 0; other < size; ++other) {
            const auto of_other = gathered(y, world);
            EXPECT_EQ(
                std::vector<float>(of_other.begin() + 3 * other, of_other.begin() + 3 * other + 3),
                y);
        }
        if (expected.empty()) expected = y;
        EXPECT_EQ(y, expected) << partition;
    }
}

TEST_F(SequenceOnRanks, WithoutAMaskIsThatOfAMaskThatHidesNothing) {
    const Model model = this->model("lra_tokens_mask");
    EXPECT_TRUE(model.port_is_optional(1));
    EXPECT_FALSE(model.port_is_optional(0));
    Tokens tokens(own_rows("uneven", 12, world), 20);
    Plan plan(model, tokens.domain(context));
    const auto room = static_cast<size_t>(4 * tokens.n());
    std::vector<float> without(room), shown(room), hidden(room);
    EXPECT_EQ(run(plan, tokens, false, without, tokens.n()).status, SURROGATE_SUCCESS);
    EXPECT_EQ(run(plan, tokens, true, hidden, tokens.n()).status, SURROGATE_SUCCESS);
    std::fill(tokens.mask.begin(), tokens.mask.end(), 1);
    EXPECT_EQ(run(plan, tokens, true, shown, tokens.n()).status, SURROGATE_SUCCESS);
    EXPECT_EQ(without, shown);
    EXPECT_NE(gathered(without, world), gathered(hidden, world));
}

TEST_F(SequenceOnRanks, OfWordsThatAreNoneIsRefusedByTheRankThatHasThem) {
    const Model model = this->model("lra_tokens_mask");
    for (const char* agree : {"false", "true"}) {
        Tokens tokens(own_rows("contiguous", 12, world), 20);
        Plan plan(model, tokens.domain(context), {{"agree", agree}});
        std::vector<float> y(static_cast<size_t>(4 * tokens.n()), -1), good = y;
        EXPECT_EQ(run(plan, tokens, false, good, tokens.n()).status, SURROGATE_SUCCESS);
        for (const int32_t bad : {21, -1}) {
            const int32_t word = tokens.words[1];
            if (rank == size - 1) tokens.words[1] = bad;
            const Answer found = run(plan, tokens, false, y, tokens.n());
            if (rank == size - 1 || std::string(agree) == "true") {
                EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
                EXPECT_TRUE(found.says("'ids' is " + std::to_string(bad)) &&
                            found.says("the vocabulary has 21 words, 0 .. 20"))
                    << found;
            } else {
                EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
            }
            if (rank == size - 1) {
                EXPECT_TRUE(found.says("id " + std::to_string(tokens.ids[1]))) << found;
            }
            for (const float value : y) EXPECT_TRUE(std::isnan(value));
            tokens.words[1] = word;
            EXPECT_EQ(run(plan, tokens, false, y, tokens.n()).status, SURROGATE_SUCCESS);
            EXPECT_EQ(y, good);
        }
    }
}

TEST_F(SequenceOnRanks, FollowsTokensThatComeGoAndMove) {
    const Model model = this->model("sequence_max_rope");
    Tokens tokens(own_rows("contiguous", 60, world), 20);
    Domain domain = tokens.domain(context);
    Plan plan(model, domain, {{"reproducible", "true"}});
    for (const int64_t n : {70, 3, 65}) {
        for (const char* partition : {"scattered", "uneven"}) {
            Tokens now(own_rows(partition, n, world), 20);
            domain.update_points(now.points());
            Plan anew(model, now.domain(context), {{"reproducible", "true"}});
            std::vector<float> y(3, NAN), expected(3);
            EXPECT_EQ(run(plan, now, false, y, 1).status, SURROGATE_SUCCESS);
            EXPECT_EQ(run(anew, now, false, expected, 1).status, SURROGATE_SUCCESS);
            EXPECT_EQ(y, expected) << n << " tokens, " << partition;
        }
    }
    Tokens many(own_rows("contiguous", 71, world), 20);
    domain.update_points(many.points());
    std::vector<float> y(3);
    const Answer found = run(plan, many, false, y, 1);
    EXPECT_EQ(found.status, SURROGATE_SHAPE);
    EXPECT_TRUE(found.says("71 tokens") && found.says("max_length 70")) << found;
    domain.update_points(tokens.points());
    EXPECT_EQ(run(plan, tokens, false, y, 1).status, SURROGATE_SUCCESS);
}

TEST_F(SequenceOnRanks, WithoutTokensHasNoMeanAndNoLargest) {
    for (const char* name : {"lra_mean_sin", "sequence_max_rope"}) {
        Tokens none({}, 20);
        Plan plan(model(name), none.domain(context));
        std::vector<float> y(std::string(name) == "lra_mean_sin" ? 1 : 3, 1.0f);
        const TrapGuard guard;
        const Answer found = run(plan, none, false, y, 1);
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        EXPECT_TRUE(found.says("'logits'") && found.says("cloud 0")) << found;
        for (const float value : y) EXPECT_TRUE(std::isnan(value));
    }
}

TEST_F(SequenceOnRanks, IsBoundByTheFieldsOfACard) {
    ModelParts<float> parts(SURROGATE_TEST_DATA "/flare/sequence_cls_abs.safetensors");
    parts.card["inputs"] = {{{"name", "word"}, {"unit", ""}, {"mean", 0}, {"std", 1}},
                            {{"name", "shown"}, {"unit", ""}, {"mean", 0}, {"std", 1}}};
    for (const char* name : {"a", "b", "c"})
        parts.card["outputs"].push_back({{"name", name}, {"unit", ""}, {"mean", 1}, {"std", 2}});
    const Model model(context, parts.card.dump(), parts.tensors());
    Tokens tokens(own_rows("scattered", 50, world), 20);
    Plan plan(model, tokens.domain(context));
    plan.bind_input("word", tokens.inputs(false)[0].array);
    std::vector<float> bare(3), bare_masked(3);
    EXPECT_EQ(run(plan, tokens, false, bare, 1).status, SURROGATE_SUCCESS);
    EXPECT_EQ(run(plan, tokens, true, bare_masked, 1).status, SURROGATE_SUCCESS);
    double y[3];
    const char* const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; ++i) plan.bind_output(names[i], column(&y[i], 1));
    plan.run();
    for (size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(static_cast<float>(y[i]), 2 * bare[i] + 1);
    plan.bind_input("shown", tokens.inputs(true)[1].array);
    plan.run();
    for (size_t i = 0; i < 3; ++i)
        EXPECT_FLOAT_EQ(static_cast<float>(y[i]), 2 * bare_masked[i] + 1);
    check(surrogate_plan_unbind(plan.get()));
    plan.bind_input("word", tokens.inputs(false)[0].array);
    for (size_t i = 0; i < 3; ++i) plan.bind_output(names[i], column(&y[i], 1));
    plan.run();
    for (size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(static_cast<float>(y[i]), 2 * bare[i] + 1);
}

/// Tokens with targets of their own give losses that are bitwise identical to one rank's.
TEST_F(SequenceOnRanks, IsLearntWhereEachTokenHasARow) {
    ModelParts<float> parts(SURROGATE_TEST_DATA "/flare/lra_tokens_mask.safetensors");
    parts.card["inputs"] = {{{"name", "word"}, {"unit", ""}, {"mean", 0}, {"std", 1}},
                            {{"name", "shown"}, {"unit", ""}, {"mean", 0}, {"std", 1}}};
    const char* const names[] = {"a", "b", "c", "d"};
    for (const char* name : names)
        parts.card["outputs"].push_back({{"name", name}, {"unit", ""}, {"mean", 0}, {"std", 1}});
    const auto losses = [&](const Context& where, const std::vector<int64_t>& rows) {
        const Model model(where, parts.card.dump(), parts.tensors());
        Tokens tokens(rows, 20);
        Plan plan(model, tokens.domain(where), {{"reproducible", "true"}, {"gradients", "true"}});
        const auto inputs = tokens.inputs(true);
        plan.bind_input("word", inputs[0].array);
        plan.bind_input("shown", inputs[1].array);
        Trainer trainer(plan, TrainerOptions{{"loss", "mse"}, {"learning_rate", "1e-2"}});
        std::vector<double> targets[4];
        for (size_t c = 0; c < 4; ++c) {
            for (const int64_t row : rows)
                targets[c].push_back(
                    std::sin(static_cast<double>(4 * row) + static_cast<double>(c)));
            targets[c].reserve(1);
            trainer.bind_target(names[c], column(targets[c].data(), tokens.n()));
        }
        std::vector<double> list;
        for (int step = 0; step < 20; ++step) list.push_back(trainer.step().loss);
        return list;
    };
    const Context self;
    for (const double rate : {0.0, 0.1}) {
        for (const char* key : {"emb_drop", "proj_drop", "cls_drop"})
            parts.card["network"][key] = rate;
        const std::vector<double> alone = losses(self, own_rows("contiguous", 12, MPI_COMM_SELF));
        EXPECT_LT(alone.back(), 0.5 * alone.front()) << rate;
        EXPECT_EQ(losses(context, own_rows("scattered", 12, world)), alone) << rate;
        EXPECT_EQ(losses(context, own_rows("uneven", 12, world)), alone) << rate;
    }
}

/// A sequence with one row of three outputs.
struct PooledSequence {
    ModelParts<float> parts{SURROGATE_TEST_DATA "/flare/sequence_cls_abs.safetensors"};
    PooledSequence() {
        for (const char* key : {"emb_drop", "attn_drop"}) parts.card["network"][key] = 0;
        parts.card["inputs"] = {{{"name", "word"}, {"unit", ""}, {"mean", 0}, {"std", 1}},
                                {{"name", "shown"}, {"unit", ""}, {"mean", 0}, {"std", 1}}};
        for (const char* name : {"a", "b", "c"})
            parts.card["outputs"].push_back(
                {{"name", name}, {"unit", ""}, {"mean", 0}, {"std", 1}});
    }
};

// The row of the sequence counts once, however many ranks have it.
TEST_F(SequenceOnRanks, OfOnePredictionIsTrainedWithTheSameBits) {
    const PooledSequence pooled;
    std::vector<double> target = {0.5, -1, 2};
    std::vector<double> values(3);
    int64_t label = 2;
    const auto losses = [&](const Context& where, const std::vector<int64_t>& rows,
                            const std::string& loss) {
        const Model model(where, pooled.parts.card.dump(), pooled.parts.tensors());
        Tokens tokens(rows, 20);
        Plan plan(model, tokens.domain(where), {{"reproducible", "true"}, {"gradients", "true"}});
        const auto inputs = tokens.inputs(true);
        plan.bind_input("word", inputs[0].array);
        plan.bind_input("shown", inputs[1].array);
        const char* const names[] = {"a", "b", "c"};
        for (size_t c = 0; c < 3; ++c) plan.bind_output(names[c], column(&values[c], 1));
        plan.run();
        Trainer trainer(plan, TrainerOptions{{"loss", loss}, {"learning_rate", "1e-2"}});
        for (size_t c = 0; c < 3 && loss == "mse"; ++c)
            trainer.bind_target(names[c], column(&target[c], 1));
        if (loss != "mse") trainer.bind_labels(column(&label, 1));
        double first = 0;
        for (size_t c = 0; c < 3; ++c)
            first += loss == "mse" ? std::pow(values[c] - target[c], 2) / 3 : std::exp(values[c]);
        if (loss != "mse") first = std::log(first) - values[2];
        EXPECT_NEAR(trainer.validate(3).loss / first, 1, 1e-5);
        std::vector<double> list;
        for (int step = 0; step < 10; ++step) list.push_back(trainer.step().loss);
        EXPECT_NEAR(list.front() / first, 1, 1e-5);
        return list;
    };
    const Context self;
    for (const char* loss : {"mse", "cross_entropy"}) {
        const std::vector<double> alone =
            losses(self, own_rows("contiguous", 12, MPI_COMM_SELF), loss);
        EXPECT_LT(alone.back(), 0.5 * alone.front());
        EXPECT_EQ(losses(context, own_rows("scattered", 12, world), loss), alone);
        EXPECT_EQ(losses(context, own_rows("uneven", 12, world), loss), alone);
    }
}

TEST_F(SequenceOnRanks, OfOnePredictionHasNeitherWeightsOfPointsNorAReservoir) {
    const PooledSequence pooled;
    const Model model(context, pooled.parts.card.dump(), pooled.parts.tensors());
    const Tokens tokens(own_rows("scattered", 50, world), 20);
    Plan plan(model, tokens.domain(context), {{"gradients", "true"}});
    surrogate_trainer* trainer = nullptr;
    const TrainerOptions reservoir{{"reservoir", "4"}};
    Answer found = answer(surrogate_trainer_create(plan.get(), nullptr, reservoir.get(), &trainer));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
    EXPECT_TRUE(found.says("has one row per cloud, and a reservoir needs outputs at points"))
        << found;
    const Trainer allowed(plan, TrainerOptions{});
    double weight = 1;
    const surrogate_array array = column(&weight, 1);
    found = answer(surrogate_trainer_set_point_weights(allowed.get(), &array));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    EXPECT_TRUE(found.says("weights of points need outputs at points")) << found;
}

TEST_F(SequenceOnRanks, IsRefusedWithWhatWouldHelp) {
    struct Case {
        const char* file;
        nlohmann::json changes;
        surrogate_status status;
        const char* says;
    };
    const Case cases[] = {
        {"lra_mean_sin", {{"task", "retrieval"}}, SURROGATE_NOT_SUPPORTED, "tasks of one sequence"},
        {"lra_mean_sin",
         {{"backend", "transformer"}},
         SURROGATE_BAD_FILE,
         "backend is 'transformer', expected flare"},
        {"lra_mean_sin", {{"pool", "sum"}}, SURROGATE_BAD_FILE, "known: none, mean, max, cls"},
        {"lra_mean_sin", {{"pos_embed", "alibi"}}, SURROGATE_BAD_FILE, "known: sin, abs, rope"},
        {"lra_mean_sin",
         {{"attn_drop", 1}},
         SURROGATE_BAD_FILE,
         "attn_drop is 1, expected a probability"},
        {"lra_mean_sin", {{"vocab_size", nullptr}}, SURROGATE_BAD_FILE, "vocab_size is missing"},
        {"lra_mean_sin", {{"num_labels", nullptr}}, SURROGATE_BAD_FILE, "num_labels is missing"},
        {"lra_mean_sin", {{"num_head", 2}}, SURROGATE_BAD_FILE, "did you mean 'num_heads'?"},
        {"lra_mean_sin",
         {{"pool", "cls"}},
         SURROGATE_BAD_FILE,
         "tensor 'cls_token' (16) is missing"},
        {"lra_mean_sin", {{"pad_id", 20}}, SURROGATE_BAD_FILE, "expected (21, 16)"},
        {"lra_tokens_mask", {{"num_heads", 16}}, SURROGATE_BAD_FILE, "channels in pairs"},
        {"lra_tokens_mask",
         {{"num_heads", 3}},
         SURROGATE_BAD_FILE,
         "expected a divisor of channel_dim"},
        {"ablation_shared",
         {{"num_latent_blocks", 2}},
         SURROGATE_BAD_FILE,
         "remove one of the two"},
        {"ablation_shared", {{"qk_norm", true}}, SURROGATE_BAD_FILE, "not a parameter of BigFLARE"},
        {"ablation_shared", {{"model", "BigFlare"}}, SURROGATE_BAD_FILE, "built: FLAREModel"},
        {"physicsnemo_small", {{"unified_pos", true}}, SURROGATE_NOT_SUPPORTED, "unified_pos"},
        {"physicsnemo_small", {{"use_te", true}}, SURROGATE_NOT_SUPPORTED, "Transformer Engine"},
        {"physicsnemo_small",
         {{"n_head", 5}},
         SURROGATE_BAD_FILE,
         "n_head is 5, expected a divisor of n_hidden"},
        {"physicsnemo_small", {{"act", "elu"}}, SURROGATE_BAD_FILE, "known: gelu, silu, relu"},
        {"physicsnemo_small",
         {{"embedding_dim", nullptr}},
         SURROGATE_BAD_FILE,
         "embedding_dim is missing"},
        {"physicsnemo_small",
         {{"functional_dim", nullptr}},
         SURROGATE_BAD_FILE,
         "functional_dim is missing"},
        {"physicsnemo_small", {{"slice_num", 15}}, SURROGATE_BAD_FILE, "expected (1, 4, 15, 8)"},
        {"physicsnemo_small",
         {{"dropout", 1}},
         SURROGATE_BAD_FILE,
         "dropout is 1, expected a probability"},
        {"physicsnemo_small", {{"num_heads", 4}}, SURROGATE_BAD_FILE, "not a parameter of FLARE"},
        {"physicsnemo_small",
         {{"time_input", true}},
         SURROGATE_BAD_FILE,
         "tensor 'time_embed.freqs' (16) is missing"},
    };
    for (const Case& c : cases) {
        const Answer found = refused(c.file, c.changes);
        EXPECT_EQ(found.status, c.status) << c.changes << found;
        EXPECT_TRUE(found.says(c.says)) << c.changes << found;
    }
}

}  // namespace
}  // namespace surrogate::test
