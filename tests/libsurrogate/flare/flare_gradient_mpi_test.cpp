// SPDX-License-Identifier: Apache-2.0
// Gradients of FLARE on any number of ranks are equal to the published implementation's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/libsurrogate/flare/flare_gradients.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

double largest(const std::vector<double>& values) {
    double size = 0;
    for (const double value : values) size = std::max(size, std::abs(value));
    return size;
}

/// Gradients of the mean over samples of |y - target| / |target|, on this rank's rows.
struct GoldenGradients {
    GoldenGradients(const Context& context, const Model& model, const GoldenFile& file,
                    const char* partition, const GradientWay& way)
        : own(context, model,
              own_rows(partition, file.tensor("check/input/target").shape[1], world), way) {
        const GoldenTensor target = file.tensor("check/input/target");
        const int64_t n_sample = target.shape[0];
        for (int64_t sample = 0; sample < n_sample; ++sample) {
            own.x = part(inputs(model, file, sample), own.n_in());
            EXPECT_TRUE(own.evaluate());
            const std::vector<double> wanted = part(target.part(sample), own.n_out());
            double norms[2] = {0, 0};
            for (size_t i = 0; i < wanted.size(); ++i) {
                norms[0] += std::pow(own.y[i] - wanted[i], 2);
                norms[1] += std::pow(wanted[i], 2);
            }
            context.reduce(SURROGATE_SUM, 2, norms);
            const double scale = 1 / std::sqrt(norms[0] * norms[1]) / static_cast<double>(n_sample);
            for (size_t i = 0; i < wanted.size(); ++i) own.dy[i] = (own.y[i] - wanted[i]) * scale;
            EXPECT_TRUE(own.backward());
            dx.push_back(own.dx);
            loss += std::sqrt(norms[0] / norms[1]) / static_cast<double>(n_sample);
        }
        EXPECT_TRUE(own.reduce());
    }

    /// The channels of all input ports at all points.
    static std::vector<double> inputs(const Model& model, const GoldenFile& file, int64_t sample) {
        std::vector<std::vector<double>> ports;
        for (const surrogate_port_info& port : model.ports())
            if (!port.is_output)
                ports.push_back(file.tensor(std::string("check/input/") + port.name).part(sample));
        const int64_t n = file.tensor("check/input/target").shape[1];
        std::vector<double> rows;
        for (int64_t i = 0; i < n; ++i) {
            for (const std::vector<double>& values : ports) {
                const int64_t n_channel = std::ssize(values) / n;
                rows.insert(rows.end(), values.begin() + i * n_channel,
                            values.begin() + (i + 1) * n_channel);
            }
        }
        return rows;
    }

    /// Rows of this rank.
    std::vector<double> part(const std::vector<double>& all, int64_t n_channel) const {
        std::vector<double> rows;
        for (int64_t i = 0; i < own.n(); ++i)
            rows.insert(rows.end(), all.begin() + own.row(i) * n_channel,
                        all.begin() + (own.row(i) + 1) * n_channel);
        return rows;
    }

    FlareGradients own;
    std::vector<std::vector<double>> dx;  // (n_sample)
    double loss = 0;
};

class FlareGradient : public testing::TestWithParam<std::string> {
protected:
    /// In the metric of the golden files: relative to the largest entry of a tensor, and to a
    /// thousandth of the largest of all gradients, because some nearly cancel.
    void expect_published(const char* partition, const GradientWay& way, double tolerance) const {
        SCOPED_TRACE(partition);
        const GoldenGradients found(context, model, file, partition, way);
        const std::string prefix = "check/grad64/";
        double of_all = 0;
        for (const std::string& name : file.names())
            if (name.starts_with(prefix))
                of_all = std::max(of_all, largest(file.tensor(name).values));
        const auto compare = [&](const std::string& name, const std::vector<double>& expected,
                                 double size, const double* values) {
            for (size_t i = 0; i < expected.size(); ++i)
                ASSERT_LE(std::abs(values[i] - expected[i]), tolerance * (size + 1e-3 * of_all))
                    << name << " " << i << ": " << values[i] << ", published " << expected[i];
        };
        size_t n_compared = 0;
        for (const auto& entry : model.get()->model->weights()->entries()) {
            const std::vector<double> expected = file.tensor(prefix + entry.name).values;
            compare(entry.name, expected, largest(expected),
                    found.own.sums.total().data() + entry.first);
            ++n_compared;
        }
        EXPECT_EQ(n_compared, model.get()->model->weights()->entries().size());
        const GoldenTensor dx = file.tensor(prefix + "input_x");
        for (size_t sample = 0; sample < found.dx.size(); ++sample) {
            const std::vector<double> all = dx.part(static_cast<int64_t>(sample));
            compare("input_x", found.part(all, found.own.n_in()), largest(dx.values),
                    found.dx[sample].data());
        }
        EXPECT_NEAR(found.loss, file.tensor("check/output64/loss").values.front(),
                    std::max(tolerance, 1e-10));
    }

    const GoldenFile file{stored_case("flare/" + GetParam())};
    const Context context = mpi_context(world);
    const Model model{context, stored_case("flare/" + GetParam())};
};

TEST_P(FlareGradient, InDoubleIsThePublishedOne) {
    const TrapGuard traps;
    const auto expect = [&](const char* partition, bool reproducible, bool saves_less) {
        const impl::GradientOrder order =
            reproducible ? impl::GradientOrder::exact : impl::GradientOrder::real;
        expect_published(partition,
                         {.reproducible = reproducible, .saves_less = saves_less, .order = order},
                         1e-10);
    };
    expect("contiguous", false, false);
    expect("uneven", false, true);
    expect("scattered", true, false);
    expect("contiguous", true, true);
}

/// Five times the error of the published implementation in single precision, or 1e-4.
TEST_P(FlareGradient, InSingleIsClose) {
    const TrapGuard traps;
    for (const bool reproducible : {false, true}) {
        for (const kernels::Queue& queue : {kernels::Queue(), simd(2)}) {
            const impl::GradientOrder order =
                reproducible ? impl::GradientOrder::exact : impl::GradientOrder::single;
            expect_published(
                "scattered",
                {.precision = "fp32", .reproducible = reproducible, .queue = queue, .order = order},
                1e-4);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Files, FlareGradient,
                         testing::Values("tiny", "tiny_options", "layers", "odd", "mid",
                                         "physicsnemo_small", "physicsnemo_time"),
                         [](const auto& name) { return name.param; });

// ---- sequences ----

class FlareSequenceGradient : public testing::TestWithParam<std::string> {};

/// The official tables of positions are floats, also in double precision.
TEST_P(FlareSequenceGradient, IsThePublishedOne) {
    const TrapGuard traps;
    const GoldenFile file(stored_case("flare/" + GetParam()));
    const Context context = mpi_context(world);
    const Model model(context, stored_case("flare/" + GetParam()));
    const GoldenTensor words = file.tensor("check/input/ids"),
                       slopes = file.tensor("check/input/loss_weights");
    const auto expect = [&](const char* partition, const GradientWay& way, double tolerance) {
        FlareGradients own(context, model, own_rows(partition, words.shape[1], world), way);
        const auto part = [&](const GoldenTensor& tensor, int64_t sample, auto& to) {
            const std::vector<double> all = tensor.part(sample);
            const auto n = static_cast<int64_t>(all.size()) / words.shape[1];
            for (size_t i = 0; i < to.size(); ++i) {
                const auto place = static_cast<int64_t>(i);
                const int64_t from = n == 0 ? place : own.row(place / n) * n + place % n;
                to[i] = static_cast<std::decay_t<decltype(to[i])>>(all[static_cast<size_t>(from)]);
            }
        };
        for (int64_t sample = 0; sample < words.shape[0]; ++sample) {
            part(words, sample, own.words);
            part(slopes, sample, own.dy);
            own.mask.assign(own.mask.size(), 1);
            if (file.has("check/input/mask"))
                part(file.tensor("check/input/mask"), sample, own.mask);
            ASSERT_TRUE(own.evaluate());
            ASSERT_TRUE(own.backward());
        }
        ASSERT_TRUE(own.reduce());
        double of_all = 0;
        for (const std::string& name : file.names())
            if (name.starts_with("check/grad64/"))
                of_all = std::max(of_all, largest(file.tensor(name).values));
        for (const auto& entry : model.get()->model->weights()->entries()) {
            const std::vector<double> expected = file.tensor("check/grad64/" + entry.name).values;
            for (size_t i = 0; i < expected.size(); ++i) {
                const double found = own.sums.total()[static_cast<size_t>(entry.first) + i];
                ASSERT_LE(std::abs(found - expected[i]),
                          tolerance * (largest(expected) + 1e-3 * of_all))
                    << entry.name << " " << i << ": " << found << ", published " << expected[i];
            }
        }
    };
    expect("scattered", {}, 1e-6);
    expect("uneven", {.saves_less = true}, 1e-6);
    expect("contiguous", {.reproducible = true, .order = impl::GradientOrder::exact}, 1e-6);
    expect("scattered",
           {.precision = "fp32",
            .reproducible = true,
            .queue = simd(2),
            .order = impl::GradientOrder::exact},
           1e-4);
}

INSTANTIATE_TEST_SUITE_P(Files, FlareSequenceGradient,
                         testing::Values("lra_mean_sin", "lra_tokens_mask"),
                         [](const auto& name) { return name.param; });

// ---- the numbers of the specification's self-check ----

/// Case 1: weights f sin(i) over one counter of all elements, in double.
TEST(FlareGradientSelfCheck, IsThatOfTheSpecification) {
    const Context context = mpi_context(world);
    const Model model(context, stored_case("flare/tiny"));
    const auto& weights = model.get()->model->weights();
    const std::span<double> values = weights->precise();
    // In the order of the specification blocks come last, and begin with both norms.
    std::vector<const impl::MasterWeights::Entry*> ordered;
    for (const auto& entry : weights->entries()) ordered.push_back(&entry);
    std::ranges::stable_sort(ordered, {}, [](const auto* entry) {
        const bool is_of_block = entry->name.starts_with("blocks.");
        return std::pair(is_of_block ? entry->name.substr(0, 8) : "",
                         entry->name.find(".norm") == std::string::npos);
    });
    int64_t count = 0;
    for (const auto* const entry : ordered) {
        const bool is_vector = entry->shape.size() == 1;
        const bool is_norm = is_vector && entry->name.ends_with("weight");
        const double f = is_vector ? 0.1 : entry->name.ends_with("latent_q") ? 1.0 : 0.3;
        for (int64_t i = 0; i < entry->size; ++i)
            values[static_cast<size_t>(entry->first + i)] =
                (is_norm ? 1 : 0) + f * std::sin(static_cast<double>(count++));
    }
    EXPECT_EQ(count, 2897);
    weights->refresh();

    FlareGradients own(context, model, own_rows("scattered", 5, world), {});
    std::vector<double> target;
    for (int64_t i = 0; i < own.n(); ++i) {
        for (int64_t c = 0; c < 2; ++c)
            own.x[static_cast<size_t>(2 * i + c)] =
                std::cos(0.5 * static_cast<double>(2 * own.row(i) + c));
        target.push_back(std::sin(static_cast<double>(own.row(i))));
    }
    own.evaluate();
    double norms[2] = {0, 0};
    for (size_t i = 0; i < target.size(); ++i) {
        norms[0] += std::pow(own.y[i] - target[i], 2);
        norms[1] += std::pow(target[i], 2);
    }
    context.reduce(SURROGATE_SUM, 2, norms);
    EXPECT_NEAR(std::sqrt(norms[0] / norms[1]), 0.94054291, 1e-8);
    for (size_t i = 0; i < target.size(); ++i)
        own.dy[i] = (own.y[i] - target[i]) / std::sqrt(norms[0] * norms[1]);
    own.backward();
    ASSERT_TRUE(own.reduce());

    double square = 0;
    for (const double g : own.sums.total()) square += g * g;
    EXPECT_NEAR(std::sqrt(square), 0.82002437, 1e-8);
    struct Expected {
        const char* name;
        double first, second, sum;
    };
    for (const Expected& e :
         {Expected{"in_proj.fc1.weight", -0.01061341, 0.03463284, -0.01937201},
          Expected{"blocks.0.att.latent_q", 5.5149456e-6, 4.6522853e-4, 0.00200459},
          Expected{"blocks.0.att.k_proj.fc1.weight", 2.4624755e-4, -9.9847455e-5, 8.8868702e-4},
          Expected{"blocks.0.norm1.weight", -0.00099776, -0.00127095, -0.00355274}}) {
        const auto* const entry = weights->find(e.name);
        const double* const found = own.sums.total().data() + entry->first;
        double sum = 0;
        for (int64_t i = 0; i < entry->size; ++i) sum += found[i];
        EXPECT_NEAR(found[0], e.first, 1e-8) << e.name;
        EXPECT_NEAR(found[1], e.second, 1e-8) << e.name;
        EXPECT_NEAR(sum, e.sum, 1e-8) << e.name;
    }
    const double dx[] = {0.01316753,  0.00489605,  -0.01392151, -0.00662574, -0.02347703,
                         -0.02527255, -0.00127782, -0.00213829, 0.02821660,  0.02272521};
    for (size_t i = 0; i < own.dx.size(); ++i)
        EXPECT_NEAR(own.dx[i], dx[2 * own.row(static_cast<int64_t>(i / 2)) + i % 2], 1e-8);
}

}  // namespace
}  // namespace surrogate::test
