// SPDX-License-Identifier: Apache-2.0
// Erwin's U-net, and its ball attention alone, with backend cuda on one rank: every variant against
// the host in double, stored cases. On an emulated device, and on a real one where there is one.
#include <cmath>
#include <cstring>

#include "tests/support/bsa_models.hpp"
#include "tests/support/tree_device.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

class ErwinDevice : public TreeDevice {
protected:
    struct Edges {
        std::vector<int64_t> source, target;
    };
    /// From the point itself, its neighbors by number and one far away; the first point has none.
    static Edges edges_of(const SequoiaCase& points) {
        Edges edges;
        for (int64_t i = 1; i < points.n; ++i)
            for (const int64_t from : {i, i - 1, i + 1, 7 * i + 3}) {
                edges.source.push_back(points.ids[static_cast<size_t>(from % points.n)]);
                edges.target.push_back(points.ids[static_cast<size_t>(i)]);
            }
        return edges;
    }
    Domain domain_of(const SequoiaCase& points, const Edges& edges) {
        Domain domain = points.domain(*context);
        domain.set_edges(edges.source, edges.target);
        return domain;
    }
    std::vector<double> run_with(const Model& model, const SequoiaCase& points, const Edges& edges,
                                 const Options& options) {
        const Domain domain = domain_of(points, edges);
        Plan plan(model, domain, options);
        return run(plan, model, points);
    }
    std::vector<double> run_with(const Model& model, const SequoiaCase& points,
                                 const Options& options) {
        return run_with(model, points, edges_of(points), options);
    }
};
INSTANTIATE_TEST_SUITE_P(On, ErwinDevice, testing::Values(emulated_kind, real_kind),
                         name_of_device);

const Options by_cuda{{"backend", "cuda"}}, in_fp64{{"precision", "fp64"}};

/// Two levels, from five features to six channels.
json small_net(const json& changes = json::object()) {
    return changed({{"c_in", 5},
                    {"c_hidden", {6, 8}},
                    {"ball_sizes", {16, 8}},
                    {"enc_num_heads", {2, 1}},
                    {"enc_depths", {2, 2}},
                    {"dec_num_heads", {3}},
                    {"dec_depths", {2}},
                    {"strides", {2}},
                    {"rotate", 45},
                    {"mlp_ratio", 2},
                    {"dimensionality", 2},
                    {"mp_steps", 2}},
                   changes);
}
ModelWriter net_model(const json& network) {
    return bsa_model({{"format", 1}, {"family", "erwin"}, {"network", network}});
}
json layer_alone(const json& changes = json::object()) {
    return changed({{"model", "erwin_ball_attention"}, {"dim", 16}, {"heads", 2}, {"ball", 16}},
                   changes);
}

/// Points with features from another wave.
SequoiaCase points_for(int64_t n, int64_t n_axis, int64_t n_feature) {
    SequoiaCase points = SequoiaCase::wave(n, n_axis);
    points.features = SequoiaCase::wave(n, n_feature).positions;
    return points;
}
SequoiaCase points_of(const json& network, int64_t n) {
    SequoiaCase points =
        points_for(n, network.value("dimensionality", 3), network.at("c_in").get<int64_t>());
    if (network.value("pos_enc", "none") != "none") points.features.clear();
    return points;
}

struct Variant {
    const char* name;
    json changes = json::object();
};

const std::vector<Variant>& variants() {
    static const std::vector<Variant> list = {
        {"default"},
        {"one level",
         {{"c_hidden", {6}},
          {"ball_sizes", {16}},
          {"enc_num_heads", {2}},
          {"enc_depths", {3}},
          {"dec_num_heads", nullptr},
          {"dec_depths", nullptr},
          {"strides", nullptr}}},
        {"three levels",
         {{"c_hidden", {12, 20, 40}},
          {"ball_sizes", {32, 16, 8}},
          {"enc_num_heads", {2, 4, 1}},
          {"enc_depths", {1, 2, 3}},
          {"dec_num_heads", {3, 2}},
          {"dec_depths", {2, 1}},
          {"strides", {2, 4}}}},
        {"nothing pooled", {{"c_hidden", {6, 6}}, {"strides", {1}}}},
        {"four children, not rotated", {{"strides", {4}}, {"rotate", 0}}},
        {"stages without blocks", {{"enc_depths", {0, 1}}, {"dec_depths", {0}}}},
        {"no messages", {{"mp_steps", 0}}},
        {"wide messages",
         {{"c_hidden", {136, 8}},
          {"enc_num_heads", {2, 1}},
          {"dec_num_heads", {4}},
          {"mp_steps", 3}}},
        {"balls of one slot", {{"ball_sizes", {1, 1}}}},
        {"large balls", {{"ball_sizes", {64, 128}}}},
        {"three axes", {{"dimensionality", 3}}},
        {"one axis", {{"dimensionality", 1}}},
        {"head of fields", {{"c_out", 3}}},
        {"head without blocks",
         {{"c_out", 40}, {"enc_depths", {0, 0}}, {"dec_depths", {0}}, {"pos_enc", "linear"}}},
        {"fourier", {{"c_out", 1}, {"c_in", 18}, {"pos_enc", "fourier"}}},
    };
    return list;
}

/// As for Ball Sparse Attention: two operands that drop 2^-21 each, here in n_product products
/// behind each other, taken twice.
double bound_of_products(double host_error, int64_t n_product) {
    return std::max(8 * host_error,
                    2 * std::sqrt(2 * static_cast<double>(n_product)) * std::exp2(-21));
}

/// Products behind each other: two per step of messages, four per block, two between levels, one
/// before and two behind them.
int64_t n_product_of(const json& network) {
    int64_t n_block = 0, n_way = 0;
    for (const char* key : {"enc_depths", "dec_depths"})
        if (network.contains(key) && network[key].is_array())
            for (const json& depth : network[key]) n_block += depth.get<int64_t>();
    if (network.contains("strides") && network["strides"].is_array())
        n_way = static_cast<int64_t>(network["strides"].size());
    return 3 + 2 * network.at("mp_steps").get<int64_t>() + 4 * n_block + 2 * n_way;
}

TEST_P(ErwinDevice, EveryVariantIsThatOfTheHost) {
    for (const Variant& v : variants()) {
        const json network = small_net(v.changes);
        const ModelOnDisk disk(net_model(network).bytes());
        const Model model(*context, disk.path());
        for (const int64_t n : {1, 2, 23, 130}) {
            const SequoiaCase points = points_of(network, n);
            const std::vector<double> exact = run_with(model, points, in_fp64);
            const double host = relative_l2(run_with(model, points, {}), exact);
            EXPECT_LE(relative_l2(run_with(model, points, by_cuda), exact),
                      bound_of_products(host, n_product_of(network)))
                << v.name << ", " << n << " points";
        }
    }
}

TEST_P(ErwinDevice, LayersAloneAreThoseOfTheHost) {
    for (const json& changes : {json::object(), json{{"ball", 2}, {"d", 2}}, json{{"ball", 64}},
                                json{{"dim", 20}, {"heads", 4}, {"ball", 8}},
                                json{{"dim", 48}, {"heads", 1}, {"d", 1}}}) {
        const json network = layer_alone(changes);
        const ModelOnDisk disk(bsa_network(network).bytes());
        const Model model(*context, disk.path());
        for (const int64_t n_ball : {1, 2, 3, 7}) {
            const SequoiaCase points =
                points_for(n_ball * network.at("ball").get<int64_t>(), network.value("d", 3),
                           network.at("dim").get<int64_t>());
            const std::vector<double> exact = in_double(model, points);
            const double host = relative_l2(run(*context, model, points), exact);
            EXPECT_LE(relative_l2(on_device(model, points), exact), bound_of_products(host, 4))
                << network << ", " << n_ball << " balls";
        }
    }
}

TEST_P(ErwinDevice, StoredLayerIsAsCloseAsPyTorch) {
    expect_close_as_pytorch("bsa", {"erwin_ball_attention_official"});
}

/// The nearest points send the messages.
TEST_P(ErwinDevice, StoredModelsAreAsCloseAsPyTorch) {
    expect_close_as_pytorch("bsa",
                            {"erwin_fourier_grad", "erwin_features_grad", "erwin_linear_grad"});
}

TEST_P(ErwinDevice, StoredNetIsAsCloseAsPyTorch) {
    const std::string path = SURROGATE_TEST_DATA "/bsa/erwin_unet_official.safetensors";
    const GoldenFile file(path);
    const Model model(*context, path);
    const SequoiaCase points(file);
    const std::vector<double> stored = file.tensor("check/input/edges").values;
    const auto half = static_cast<std::ptrdiff_t>(stored.size() / 2);
    const Edges edges{{stored.begin(), stored.begin() + half},
                      {stored.begin() + half, stored.end()}};
    const std::vector<double> truth = file.tensor("check/output64/y").values;
    const double official = relative_l2(file.tensor("check/output/y").values, truth);
    EXPECT_LE(relative_l2(run_with(model, points, edges, by_cuda), truth), bound_of_fp32(official));
}

/// As for Ball Sparse Attention (tree_device.hpp).
TEST_P(ErwinDevice, NarrowOperandsCostWhatRoundingCosts) {
    const json network = small_net();
    const ModelWriter writer = net_model(network);
    const ModelOnDisk disk(writer.bytes());
    const Model model(*context, disk.path());
    const SequoiaCase points = points_of(network, 60);
    const std::vector<double> exact = run_with(model, points, in_fp64);
    for (const auto& [precision, n_bit] :
         {std::pair("tf32", 10), std::pair("fp16", 10), std::pair("bf16", 7)}) {
        const ModelOnDisk narrow(rounded(writer, n_bit).bytes());
        const double cost =
            relative_l2(run_with(Model(*context, narrow.path()), points, in_fp64), exact);
        const double error = relative_l2(
            run_with(model, points, {{"backend", "cuda"}, {"precision", precision}}), exact);
        EXPECT_LE(error, 4 * cost) << precision;
        EXPECT_GE(error, cost / 8) << precision;  // really used
    }
}

TEST_P(ErwinDevice, BitsDoNotDependOnTheOrderOfPoints) {
    const json network = small_net();
    const ModelOnDisk disk(net_model(network).bytes());
    const Model model(*context, disk.path());
    const SequoiaCase points = points_of(network, 70);
    std::vector<int64_t> rows = points.all();
    std::reverse(rows.begin(), rows.end());
    const Edges edges = edges_of(points);
    const std::vector<double> ordered = run_with(model, points, edges, by_cuda);
    const std::vector<double> turned = run_with(model, points.rows(rows), edges, by_cuda);
    const auto n = std::ssize(ordered) / points.n;
    for (int64_t i = 0; i < std::ssize(ordered); ++i)
        EXPECT_EQ(ordered[static_cast<size_t>(i)],
                  turned[static_cast<size_t>((points.n - 1 - i / n) * n + i % n)])
            << i;
}

TEST_P(ErwinDevice, BadInputsAreNamedAndLeaveNoTrace) {
    const auto expect_named = [&](const Model& model, const Domain& domain, const char* port,
                                  SequoiaCase points, int64_t n_in, int64_t n_out) {
        Plan plan(model, domain, by_cuda);
        const std::vector<double> expected = run(plan, model, points);
        const std::vector<double> good = points.features;
        points.features[static_cast<size_t>(n_in * 11 + 2)] = NAN;
        std::vector<double> y(static_cast<size_t>(points.n * n_out), -1);
        const surrogate_named_array in{port, matrix(points.features.data(), points.n, n_in)};
        const surrogate_named_array out{"y", matrix(y.data(), points.n, n_out)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        EXPECT_TRUE(found.says("point with id 11")) << found;
        for (const double value : y) EXPECT_TRUE(std::isnan(value));
        points.features = good;
        EXPECT_EQ(run(plan, model, points), expected);
    };
    const json network = small_net();
    const ModelOnDisk net(net_model(network).bytes());
    const SequoiaCase points = points_of(network, 37);
    expect_named(Model(*context, net.path()), domain_of(points, edges_of(points)), "features",
                 points, 5, 6);
    const ModelOnDisk layer(bsa_network(layer_alone({{"dim", 20}, {"heads", 4}})).bytes());
    const SequoiaCase balls = points_for(48, 3, 20);
    expect_named(Model(*context, layer.path()), balls.domain(*context), "x", balls, 20, 20);
}

/// Numbers that overflow inside end the run, and only that one.
TEST_P(ErwinDevice, OverflowInsideEndsTheRun) {
    const json network = small_net();
    ModelWriter writer = net_model(network);
    for (WriterTensor& tensor : writer.tensors) {
        if (tensor.name != "embed.embed_fn.weight") continue;
        for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
            float value;
            std::memcpy(&value, &tensor.bytes[at], sizeof value);
            value *= 1e5F;
            std::memcpy(&tensor.bytes[at], &value, sizeof value);
        }
    }
    const ModelOnDisk disk(writer.bytes());
    const Model model(*context, disk.path());
    SequoiaCase points = points_of(network, 37);
    const Domain domain = domain_of(points, edges_of(points));
    for (const char* backend : {"cuda", "simd"}) {
        Plan plan(model, domain, {{"backend", backend}});
        const std::vector<double> expected = run(plan, model, points);
        std::vector<double> large(points.features.size(), 3e38), y(37 * 6, -1);
        const surrogate_named_array in{"features", matrix(large.data(), 37, 5)};
        const surrogate_named_array out{"y", matrix(y.data(), 37, 6)};
        const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << backend << found;
        EXPECT_EQ(run(plan, model, points), expected) << backend;
    }
}

TEST_P(ErwinDevice, NothingIsAllocatedInARunAndNothingIsSent) {
    if (GetParam().plugin != emulated_kind.plugin) GTEST_SKIP() << "only the emulation counts";
    const json network = small_net();
    const ModelOnDisk disk(net_model(network).bytes());
    const Model model(*context, disk.path());
    const SequoiaCase points = points_of(network, 50);
    const Domain domain = domain_of(points, edges_of(points));
    Plan plan(model, domain, by_cuda);
    run(plan, model, points);
    const int64_t before = emulated_device().counts().n_allocation;
    for (int i = 0; i < 3; ++i) run(plan, model, points);
    EXPECT_EQ(emulated_device().counts().n_allocation, before);
    const std::string table = plan.describe();
    for (const char* part : {"embed.mpnn step 1", "encoder.0.blocks.1", "decoder.0.unpool",
                             "slots of a ball tree with 2 levels"})
        EXPECT_NE(table.find(part), std::string::npos) << table;
    EXPECT_EQ(plan.counter("collectives"), 0);
    EXPECT_EQ(plan.counter("bytes_sent"), 0);
}

TEST_P(ErwinDevice, PointsMayMoveAndTakeTheirEdgesAlong) {
    const json network = small_net();
    const ModelOnDisk disk(net_model(network).bytes());
    const Model model(*context, disk.path());
    SequoiaCase points = points_of(network, 60);
    Domain domain = domain_of(points, edges_of(points));
    Plan plan(model, domain, by_cuda);
    points = points_of(network, 33);
    for (double& x : points.positions) x *= -0.5;
    domain.update_points(
        {matrix(points.positions.data(), 33, 2), points.ids.data(), nullptr, nullptr});
    std::vector<double> y(33 * 6, -1);
    const surrogate_named_array in{"features", matrix(points.features.data(), 33, 5)};
    const surrogate_named_array out{"y", matrix(y.data(), 33, 6)};
    const Answer found = answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT) << found;
    EXPECT_TRUE(found.says("since its points moved")) << found;
    const Edges edges = edges_of(points);
    check(surrogate_domain_set_edges(domain.get(), std::ssize(edges.source), edges.source.data(),
                                     edges.target.data()));
    EXPECT_EQ(run(plan, model, points), run_with(model, points, by_cuda));
}

TEST_P(ErwinDevice, NoPointsAreNoWork) {
    const json network = small_net();
    for (const std::string& bytes :
         {net_model(network).bytes(), bsa_network(layer_alone()).bytes()}) {
        const ModelOnDisk disk(bytes);
        const Model model(*context, disk.path());
        EXPECT_TRUE(on_device(model, points_of(network, 0)).empty());
    }
}

TEST_P(ErwinDevice, SizesThatAreNotTakenAreNamedWithTheLimit) {
    const json messages = small_net({{"dimensionality", 3},
                                     {"c_hidden", {272, 8}},
                                     {"enc_num_heads", {4, 1}},
                                     {"dec_num_heads", {4}}});
    const json head = small_net({{"dimensionality", 3}, {"c_hidden", {6, 136}}});
    const json alone = layer_alone({{"dim", 136}, {"heads", 1}});
    expect_refused({
        {net_model(messages).bytes(), "channels of messages (c_hidden[0]) up to 256", "272"},
        {net_model(head).bytes(), "channels of a head up to 128", "136"},
        {bsa_network(alone).bytes(), "channels of a head up to 128", "136"},
    });
}

}  // namespace
}  // namespace surrogate::test
