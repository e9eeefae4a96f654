// SPDX-License-Identifier: Apache-2.0
// Cards of Sequoia, names of its weights, and its tree.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/tree.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using impl::sequoia::Config;
using kernels::Status;
using nlohmann::json;
namespace sequoia = impl::sequoia;

const json no_changes = json::object();

int64_t n_parameter(const json& network) {
    int64_t n = 0;
    for (const impl::TensorSpec& spec : sequoia::layout(sequoia::parse_config(network))) {
        n += std::accumulate(spec.shape.begin(), spec.shape.end(), int64_t{1},
                             std::multiplies<int64_t>());
    }
    return n;
}

TEST(SequoiaConfig, HasTheDefaultsOfTheSpecification) {
    EXPECT_EQ(n_parameter(no_changes), 1214689);
    EXPECT_EQ(n_parameter({{"tied_weights", true}}), 322657);
    const json sequence = {
        {"pos_enc", "tokens"}, {"vocab_size", 100}, {"max_seq_len", 512}, {"num_classes", 100}};
    EXPECT_EQ(n_parameter(sequence), 1297380);
    const Config c = sequoia::parse_config(sequence);
    EXPECT_TRUE(c.is_sequence && c.repeats_last && c.has_sinusoid && c.has_marker && c.is_mean);
    const Config points = sequoia::parse_config(no_changes);
    EXPECT_FALSE(points.is_sequence || points.repeats_last || points.has_sinusoid ||
                 points.has_marker || points.is_mean);
    EXPECT_EQ(points.k, 16);
}

TEST(SequoiaConfig, ListsTensorsInTheOrderOfTheStateDict) {
    const std::vector<impl::TensorSpec> list = sequoia::layout(sequoia::parse_config(no_changes));
    EXPECT_EQ(list.front().name, "pos_enc.linear.weight");
    EXPECT_EQ(list[3].name, "model.transformer_0.norm1.weight");
    EXPECT_EQ(list[5].name, "model.transformer_0.mha.W_q.weight");
    EXPECT_EQ(list.back().name, "seq_classifer.mlpblock.2.bias");
    for (const json& changes : {json{{"pos_enc", "linear"}}, json{{"tied_weights", true}},
                                json{{"num_layers", 0}}, json{{"pos_enc", "none"}}}) {
        const Config c = sequoia::parse_config(changes);
        EXPECT_EQ(c.n_tensor(), std::ssize(sequoia::layout(c))) << changes;
    }
}

struct Refused {
    const char* name;
    json network;
    Status status;
    std::vector<std::string> says;
};

class SequoiaCards : public testing::TestWithParam<Refused> {};

TEST_P(SequoiaCards, AreRefusedWithValueAndRemedy) {
    const Refused& refused = GetParam();
    const Refusal found = refusal([&] { sequoia::parse_config(refused.network); });
    EXPECT_EQ(found.status, refused.status) << found.text;
    for (const std::string& part : refused.says) EXPECT_TRUE(found.says(part)) << found.text;
}

INSTANTIATE_TEST_SUITE_P(
    All, SequoiaCards,
    testing::Values(
        Refused{"OneChild", {{"k", 1}}, Status::bad_file, {"network.k", "from 2", "is 1"}},
        Refused{"FourAxes", {{"dimensionality", 4}}, Status::bad_file, {"from 1 to 3", "is 4"}},
        Refused{"OddFeatures", {{"c_in", 15}}, Status::bad_file, {"c_in is 15", "even"}},
        Refused{"OddChannelsWithSinusoid",
                {{"transformer_dim", 15}, {"virtual_pos_encodings", "sin"}},
                Status::bad_file,
                {"transformer_dim is 15", "even"}},
        Refused{"WideHeads",
                {{"num_head", 2000}, {"head_dim", 2000}},
                Status::bad_file,
                {"4000000", "at most 1048576"}},
        Refused{"DropoutOfAll",
                {{"dropout_prob", 1}},
                Status::bad_file,
                {"network.dropout_prob", "below 1", "is 1"}},
        Refused{"RandomOrder", {{"seq_mode", "random"}}, Status::not_supported, {"complete"}},
        Refused{"UnknownOrder", {{"seq_mode", "bottom-top"}}, Status::bad_file, {"bottom-up"}},
        Refused{"UnknownNeighborhood", {{"drop", {"childs"}}}, Status::bad_file, {"children"}},
        Refused{"DropThatIsNoList", {{"drop", "children"}}, Status::bad_file, {"a list"}},
        Refused{"DropTwice", {{"drop", {"children", "children"}}}, Status::bad_file, {"different"}},
        Refused{"TokensAtPoints",
                {{"pos_enc", "tokens"}, {"tree", "points"}},
                Status::bad_file,
                {"'sequence'"}},
        Refused{"TokensWithoutVocabulary",
                {{"pos_enc", "tokens"}, {"max_seq_len", 5}},
                Status::bad_file,
                {"vocab_size is missing"}},
        Refused{"TokensWithoutLength",
                {{"pos_enc", "tokens"}, {"vocab_size", 5}},
                Status::bad_file,
                {"max_seq_len is missing"}},
        Refused{"UnknownKey", {{"head_dims", 5}}, Status::bad_file, {"head_dim"}}),
    [](const auto& refused) { return refused.param.name; });

// ---- the tree ----

TEST(SequoiaTree, HasLevelsUpToOneNode) {
    using Sizes = std::vector<int64_t>;
    EXPECT_EQ(sequoia::level_sizes(13, 3), (Sizes{13, 5, 2, 1}));
    EXPECT_EQ(sequoia::level_sizes(13, 2), (Sizes{13, 7, 4, 2, 1}));
    EXPECT_EQ(sequoia::level_sizes(125, 5), (Sizes{125, 25, 5, 1}));
    EXPECT_EQ(sequoia::level_sizes(126, 5), (Sizes{126, 26, 6, 2, 1}));
    EXPECT_EQ(sequoia::level_sizes(1, 2), (Sizes{1}));
    EXPECT_EQ(sequoia::level_sizes(0, 2), (Sizes{0}));
    EXPECT_EQ(sequoia::Tree(1000000, 16, 0, 1).n_node(), 1000000 + 62500 + 3907 + 245 + 16 + 1);
}

TEST(SequoiaTree, IsVisitedInTheOrderOfTheSchedule) {
    using List = std::vector<int>;
    using sequoia::Schedule;
    EXPECT_EQ(visits(Schedule::bottom_up, 3), (List{0, 1, 2}));
    EXPECT_EQ(visits(Schedule::top_down, 3), (List{2, 1, 0}));
    EXPECT_EQ(visits(Schedule::complete, 3), (List{0, 1, 2, 2, 1, 0}));
    EXPECT_EQ(visits(Schedule::interleaved, 3), (List{0, 2, 1, 1, 2, 0}));
}

TEST(SequoiaTree, IsCutWhereEveryRankHasEightNodes) {
    EXPECT_EQ(sequoia::Tree(1000000, 16, 0, 8).cut(), 3);   // 245 nodes
    EXPECT_EQ(sequoia::Tree(1000000, 16, 0, 31).cut(), 2);  // 3907
    EXPECT_EQ(sequoia::Tree(972, 16, 0, 8).cut(), 1);       // of 61 nodes: 64 are leaves only
    EXPECT_EQ(sequoia::Tree(20, 16, 0, 8).cut(), 1);        // two ranks work
    EXPECT_EQ(sequoia::Tree(1, 16, 0, 8).cut(), 0);
    EXPECT_EQ(sequoia::Tree(0, 16, 0, 8).cut(), 0);
    // Level 1 has 8 nodes per rank, but 62,500 are more than a rank's leaves and their ancestors.
    EXPECT_EQ(sequoia::Tree(1000000, 16, 0, 512).cut(), 3);
    EXPECT_LT(sequoia::Tree(1000000, 16, 0, 4096).n_held(), 5000);
}

/// Every node below the cut has one owner, who also owns its parent.
TEST(SequoiaTree, IsSharedByWholeSubtrees) {
    for (const int64_t k : {2, 3, 16, 100}) {
        for (const int64_t n : {1, 2, 17, 100, 999, 4097}) {
            for (const int size : {1, 2, 3, 8}) {
                SCOPED_TRACE("k " + std::to_string(k) + ", n " + std::to_string(n) + ", ranks " +
                             std::to_string(size));
                const sequoia::Tree tree(n, k, size - 1, size);
                for (int l = 0; l <= tree.cut(); ++l) {
                    int64_t end = 0;
                    for (int rank = 0; rank < size; ++rank) {
                        const impl::Range own = tree.owned(l, rank);
                        EXPECT_EQ(own.begin, end);
                        end = own.end;
                        if (l == tree.cut() || own.size() == 0) continue;
                        EXPECT_EQ(own.begin % k, 0);
                        EXPECT_EQ(own.begin / k, tree.owned(l + 1, rank).begin);
                        EXPECT_EQ((own.end - 1) / k, tree.owned(l + 1, rank).end - 1);
                    }
                    EXPECT_EQ(end, tree.level(l).n);
                    EXPECT_EQ(tree.begins(l).back(), end);
                }
            }
        }
    }
}

// ---- plans ----

class SequoiaPlans : public testing::Test {
protected:
    static std::string text_of(const std::string& bytes, const SequoiaCase& points,
                               surrogate_status status) {
        const ModelOnDisk file(bytes);
        const Context context;
        const Model model(context, file.path());
        const Domain domain = points.domain(context);
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), domain.get(), nullptr, nullptr, &plan));
        surrogate_plan_destroy(&plan);
        EXPECT_EQ(found.status, status) << found;
        return found.text;
    }
    static bool says(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }
};

TEST_F(SequoiaPlans, OfMoreLevelsThanChannelsAreRefused) {
    const std::string model =
        sequoia_model(small_sequoia({{"transformer_dim", 6}, {"level_marker", "zero"}, {"k", 2}}));
    text_of(model, SequoiaCase::wave(16), SURROGATE_SUCCESS);  // 5 levels
    const std::string text = text_of(model, SequoiaCase::wave(17), SURROGATE_SHAPE);
    EXPECT_TRUE(says(text, "6 levels") && says(text, "transformer_dim is 6")) << text;
}

TEST_F(SequoiaPlans, OfTokensAreAsLongAsTheModelHasPositions) {
    const std::string model = sequoia_model(small_sequence());
    text_of(model, SequoiaCase::sequence(64), SURROGATE_SUCCESS);
    const std::string text = text_of(model, SequoiaCase::sequence(65), SURROGATE_SHAPE);
    EXPECT_TRUE(says(text, "65 tokens") && says(text, "max_seq_len = 64")) << text;
}

TEST_F(SequoiaPlans, OfTokensNameThoseThatAreNoWords) {
    const ModelOnDisk file(sequoia_model(small_sequence()));
    const Context context;
    const Model model(context, file.path());
    for (const int64_t token : {int64_t{-1}, int64_t{11}, int64_t{1} << 40}) {
        SequoiaCase points = SequoiaCase::sequence(20);
        points.tokens[13] = token;
        try {
            run(context, model, points);
            ADD_FAILURE() << token;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), SURROGATE_INVALID_ARGUMENT);
            EXPECT_TRUE(says(error.what(), "id 13") && says(error.what(), "0 .. 10"))
                << error.what();
        }
    }
}

TEST_F(SequoiaPlans, TakeLessThanTwoKilobytesAPointBottomUp) {
    constexpr int64_t n = 20000;
    const ModelOnDisk file(sequoia_model(no_changes));
    const Context context({{"threads", "1"}});
    const Model model(context, file.path());
    const Domain domain = SequoiaCase::wave(n).domain(context);
    const Plan plan(model, domain);
    EXPECT_LE(plan.counter("workspace_bytes"), 2048 * n);
    EXPECT_GE(plan.counter("workspace_bytes"), 4 * 128 * n);  // x alone
}

}  // namespace
}  // namespace surrogate::test
