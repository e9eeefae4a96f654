// SPDX-License-Identifier: Apache-2.0
// Gradients of the loss 0.5 sum(y^2), compared with the stored cases and with the norms in the
// table of the specification.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/model/sequoia/gradient.hpp"
#include "libsurrogate/src/ranks/split_order.hpp"
#include "libsurrogate/src/ranks/split_rules.hpp"
#include "tests/libsurrogate/sequoia/self_check_table.hpp"
#include "tests/support/golden_weights.hpp"

namespace surrogate::test {
namespace {

using namespace surrogate::impl;
using kernels::Buffer;
using kernels::Tiles;

/// Leaf of each point.
std::vector<int64_t> leaves_of(const SequoiaCase& points, const sequoia::Config& config) {
    if (config.is_sequence) return points.all();
    const int64_t n = points.n, n_axis = points.n_axis;
    std::vector<double> x(points.positions.size());
    for (int64_t i = 0; i < n; ++i)
        for (int64_t axis = 0; axis < n_axis; ++axis)
            x[static_cast<size_t>(axis * n + i)] =
                points.positions[static_cast<size_t>(i * n_axis + axis)];
    const auto self = self_communicator();
    const std::vector<int64_t> begins = {0, n};
    return split_positions(*self, {}, {static_cast<int>(n_axis), x, points.ids},
                           BranchRule(config.k), begins);
}

/// Forward and backward of a case, on one rank.
template <class T>
class Evaluation {
public:
    /// shift: of all weights, in the direction of a wave.
    Evaluation(const GoldenFile& file, const SequoiaCase& points, const kernels::Queue& queue,
               float shift = 0, bool saves_less = false)
        : points_(points),
          config(sequoia::parse_config(file.card().at("network"))),
          master(golden_weights(file, sequoia::layout(config), shift)),
          layers_(config, master),
          sums_(*master, queue.n_thread(), GradientOrder::real),
          tree_(points.n, config.k, 0, 1, sequoia::block_level(points.n, config.k)),
          leaves_(leaves_of(points, config)),
          n_real(sequoia::Embedding<T>::n_real(config)),
          network_(config, layers_, queue, saves_less),
          real_(tiles(n_real)),
          dreal_(tiles(n_real)),
          y_(tiles(config.num_classes)) {
        network_.resize(tree_);
        set_inputs();
        rows_.resize(static_cast<size_t>(network_.n_row() * config.num_classes));
        const auto self = self_communicator();
        network_.forward(*self, inputs_, {tiles(y_, config.num_classes), rows_.data()});
        // The gradient of the loss is the prediction itself.
        network_.backward(*self, inputs_,
                          {tiles(y_, config.num_classes), is_in_rows() ? rows_.data() : nullptr},
                          sums_, tiles(dreal_, n_real));
        EXPECT_TRUE(sums_.reduce(*self));
    }

    double loss() const {
        double sum = 0;
        if (is_in_rows()) {
            for (const T value : rows_) sum += static_cast<double>(value * value);
            return sum / 2;
        }
        const Tiles<const T> y{y_.data(), config.num_classes, points_.n};
        for (int64_t i = 0; i < points_.n; ++i)
            for (int64_t c = 0; c < config.num_classes; ++c)
                sum += static_cast<double>(y(c, i) * y(c, i));
        return sum / 2;
    }

    std::vector<double> gradient(const std::string& name) const {
        const MasterWeights::Entry& entry = *master->find(name);
        const double* first = sums_.total().data() + entry.first;
        return {first, first + entry.size};
    }
    std::span<const double> gradients() const { return sums_.total(); }

    /// (n, channels) of the real inputs from `first` on, in the order of the points.
    std::vector<double> input_gradient(int64_t first, int64_t n_channel) const {
        std::vector<double> values;
        const Tiles<const T> dreal{dreal_.data(), n_real, points_.n};
        for (int64_t i = 0; i < points_.n; ++i)
            for (int64_t c = 0; c < n_channel; ++c)
                values.push_back(
                    static_cast<double>(dreal(first + c, leaves_[static_cast<size_t>(i)])));
        return values;
    }

    const SequoiaCase& points_;
    const sequoia::Config config;
    const std::shared_ptr<MasterWeights> master;

private:
    bool is_in_rows() const { return sequoia::place_of(config) != sequoia::Place::leaves; }
    Buffer<T> tiles(int64_t n_channel) const {
        return Buffer<T>(kernels::round_up(points_.n, kernels::tile_points) * n_channel);
    }
    Tiles<T> tiles(Buffer<T>& buffer, int64_t n_channel) const {
        return {buffer.data(), n_channel, points_.n};
    }
    void set_inputs() {
        const int64_t n_axis = config.takes_positions() ? config.dimensionality : 0;
        const Tiles<T> real = tiles(real_, n_real);
        tokens_.resize(points_.tokens.size());
        for (int64_t i = 0; i < points_.n; ++i) {
            const int64_t leaf = leaves_[static_cast<size_t>(i)];
            for (int64_t c = 0; c < n_real; ++c) {
                const double value =
                    c < n_axis
                        ? points_.positions[static_cast<size_t>(i * n_axis + c)]
                        : points_.features[static_cast<size_t>(i * config.c_in + c - n_axis)];
                real(c, leaf) = static_cast<T>(value);
            }
            if (!tokens_.empty())
                tokens_[static_cast<size_t>(leaf)] = points_.tokens[static_cast<size_t>(i)];
        }
        inputs_ = {real, tokens_.data()};
    }

    const sequoia::Layers<T> layers_;
    GradientSums sums_;
    const sequoia::Tree tree_;
    const std::vector<int64_t> leaves_;
    const int64_t n_real;
    sequoia::NetworkGradient<T> network_;
    Buffer<T> real_, dreal_, y_;
    std::vector<T> rows_;
    std::vector<int64_t> tokens_;
    sequoia::LeafInputs<T> inputs_;
};

double largest(const std::vector<double>& values) {
    double size = 0;
    for (const double value : values) size = std::max(size, std::abs(value));
    return size;
}

/// Relative to the largest entry of the tensor; gradients that are 0 in truth, to 1. The files hold
/// gradients of weights rounded to single precision.
void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance, const std::string& name, double rounding = 0) {
    ASSERT_EQ(found.size(), expected.size()) << name;
    const double scale = name.ends_with("W_k.bias") ? 1 : largest(expected);
    for (size_t i = 0; i < found.size(); ++i)
        EXPECT_LE(std::abs(found[i] - expected[i]),
                  tolerance * scale + rounding * std::abs(expected[i]))
            << name << " " << i;
}

class SequoiaGradient : public testing::TestWithParam<std::string> {
protected:
    template <class T>
    void expect_stored(const kernels::Queue& queue, double tolerance) {
        const Evaluation<T> found(file, points, queue);
        constexpr double rounding = 0x1p-24;
        for (const std::string& name : file.names()) {
            const std::string prefix = "check/grad/";
            if (!name.starts_with(prefix)) continue;
            const std::string weight = name.substr(prefix.size());
            expect_near(found.gradient(weight), file.tensor(name).values, tolerance, weight,
                        rounding);
        }
        const int64_t n_axis = points.n_axis;
        if (file.has("check/grad_input/positions"))
            expect_near(found.input_gradient(0, n_axis),
                        file.tensor("check/grad_input/positions").values, tolerance, "positions");
        if (file.has("check/grad_input/features"))
            expect_near(found.input_gradient(n_axis, found.config.c_in),
                        file.tensor("check/grad_input/features").values, tolerance, "features");
    }

    const GoldenFile file{SURROGATE_TEST_DATA "/sequoia/" + GetParam() + ".safetensors"};
    const SequoiaCase points{file};
};

TEST_P(SequoiaGradient, InDoubleIsTheReference) {
    expect_stored<double>({}, 1e-9);
}

// Sums of up to 268 nodes with terms of both signs, through three layers: found are 3e-6.
TEST_P(SequoiaGradient, InSingleIsClose) {
    expect_stored<float>({}, 1e-5);
    expect_stored<float>({kernels::Backend::simd, kernels::best_vector_level(), 1}, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Files, SequoiaGradient,
                         testing::Values("points_small_grad", "points_features_grad",
                                         "sequence_grad"),
                         [](const auto& name) { return name.param; });

class SequoiaGradientSelfCheck : public testing::TestWithParam<Check> {};

double square(const std::vector<double>& values) {
    return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

TEST_P(SequoiaGradientSelfCheck, GivesTheNormsOfTheSpecification) {
    const Check& check = GetParam();
    const SmallCase small = check.made();
    const Evaluation<double> found(GoldenFile(small.disk.path()), small.points, {});
    expect_equal(2 * found.loss(), check.square, "sum of squares");
    const std::string name = sequoia::layer_name(found.config, 0) + "mha.W_q.weight";
    // One point: the softmax over one key has no gradient, but for rounding.
    if (check.dwq == 0) {
        EXPECT_LE(square(found.gradient(name)), 1e-30);
    } else {
        expect_equal(square(found.gradient(name)), check.dwq, "W_q");
    }
    if (!small.is_tokens) expect_equal(square(found.input_gradient(0, 3)), check.dpos, "positions");
}

INSTANTIATE_TEST_SUITE_P(Table, SequoiaGradientSelfCheck, testing::ValuesIn(self_checks()),
                         [](const auto& check) { return check.param.name; });

/// Cases that neither the stored files nor the table contain.
struct Variant {
    std::string name;
    nlohmann::json changes;
    int64_t n;
};

void PrintTo(const Variant& variant, std::ostream* stream) {
    *stream << variant.name;
}

class SequoiaGradientVariants : public testing::TestWithParam<Variant> {};

TEST_P(SequoiaGradientVariants, IsTheSameWithLessMemory) {
    const Variant& variant = GetParam();
    SmallCase small(variant.changes, variant.n, variant.changes.contains("vocab_size"));
    const GoldenFile file(small.disk.path());
    for (const float feature : wave(variant.n * 16, 0.3)) small.points.features.push_back(feature);
    const kernels::Queue queue{kernels::Backend::simd, kernels::best_vector_level(), 1};
    const Evaluation<float> stored(file, small.points, queue),
        recomputed(file, small.points, queue, 0, true);
    EXPECT_TRUE(std::ranges::equal(stored.gradients(), recomputed.gradients()));
}

// Along one direction in the space of all weights. Weights are floats: what counts is by how much
// they have moved. A small step: relus of the head have kinks.
TEST_P(SequoiaGradientVariants, IsTheSlopeOfTheLoss) {
    const Variant& variant = GetParam();
    SmallCase small(variant.changes, variant.n, variant.changes.contains("vocab_size"));
    const GoldenFile file(small.disk.path());
    SequoiaCase& points = small.points;
    for (const float feature : wave(variant.n * 16, 0.3)) points.features.push_back(feature);
    const Evaluation<double> center(file, points, {}), up(file, points, {}, 1e-6f),
        down(file, points, {}, -1e-6f);
    const std::span<const float> high = up.master->values(), low = down.master->values();
    const std::span<const double> gradient = center.gradients();
    double expected = 0;
    for (size_t i = 0; i < gradient.size(); ++i)
        expected += gradient[i] * (static_cast<double>(high[i]) - static_cast<double>(low[i]));
    const double found = up.loss() - down.loss();
    EXPECT_LE(std::abs(found - expected), 1e-5 * std::abs(expected)) << found << " " << expected;
}

INSTANTIATE_TEST_SUITE_P(
    All, SequoiaGradientVariants,
    testing::Values(
        Variant{"Interleaved", {{"seq_mode", "interleaved"}}, 50},
        Variant{"WithoutChildren", {{"drop", {"children"}}}, 50},
        Variant{"WithoutSiblings", {{"drop", {"siblings"}}, {"seq_mode", "complete"}}, 50},
        Variant{"AllNodes", {{"probe_layer", "all"}, {"num_classes", 2}}, 50},
        Variant{"VirtualNodes", {{"probe_layer", "virtual"}}, 50},
        Variant{"MeanOfAll", {{"probe_layer", "all"}, {"pooling_mode", "MEAN"}}, 50},
        Variant{"Linear", {{"pos_enc", "linear"}}, 50}, Variant{"Raw", {{"pos_enc", "none"}}, 50},
        Variant{"RawInSequence", {{"pos_enc", "none"}, {"tree", "sequence"}}, 50},
        Variant{"MarkedRepeat", {{"level_marker", "zero"}, {"ragged", "repeat"}, {"k", 4}}, 70},
        Variant{"TokensEach", {{"vocab_size", 11}, {"pooling_mode", "NONE"}}, 50},
        Variant{"GroupsOfMoreThanATile", {{"k", 70}}, 150},
        Variant{"SeveralTilesOfParents", {{"k", 2}, {"num_layers", 1}}, 300}),
    [](const auto& variant) { return variant.param.name; });

}  // namespace
}  // namespace surrogate::test
