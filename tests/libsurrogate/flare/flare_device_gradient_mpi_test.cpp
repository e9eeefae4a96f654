// SPDX-License-Identifier: Apache-2.0
// Gradients of FLARE on devices: those of the published implementation on any ranks, the same bits
// again, ranks at fault, memory. Devices are emulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/libsurrogate/flare/flare_gradients.hpp"
#include "tests/support/device_ranks.hpp"
#include "tests/support/memory_meter.hpp"

namespace surrogate::test {
namespace {

const MPI_Comm world = MPI_COMM_WORLD;

std::string data(const std::string& name) {
    return SURROGATE_TEST_DATA "/flare/" + name + ".safetensors";
}

double largest(const std::vector<double>& values) {
    double size = 0;
    for (const double value : values) size = std::max(size, std::abs(value));
    return size;
}

/// Collective.
GradientWay on_device(const Context& context, const std::string& precision = "fp32") {
    return {.precision = precision,
            .queue = simd(),
            .order = impl::GradientOrder::single,
            .device = &context.get()->context->open_device({})};
}

/// A model of a golden file, and gradients of the mean over its samples of |y - target| / |target|, on
/// this rank's rows.
struct Golden {
    Golden(const Context& of, const std::string& name, const char* partition,
           const GradientWay& way)
        : context(of),
          file(data(name)),
          model(context, data(name)),
          own(context, model, own_rows(partition, file.tensor("check/input/x").shape[1], world),
              way) {}

    std::vector<double> part(const std::vector<double>& all, int64_t n_channel) const {
        std::vector<double> rows;
        for (int64_t i = 0; i < own.n(); ++i)
            rows.insert(rows.end(), all.begin() + own.row(i) * n_channel,
                        all.begin() + (own.row(i) + 1) * n_channel);
        return rows;
    }

    bool run() {
        const GoldenTensor x = file.tensor("check/input/x");
        const GoldenTensor target = file.tensor("check/input/target");
        const int64_t n_sample = x.shape[0];
        own.sums.clear();
        dx.clear();
        for (int64_t sample = 0; sample < n_sample; ++sample) {
            own.x = part(x.part(sample), own.n_in());
            if (!own.evaluate()) return false;
            const std::vector<double> wanted = part(target.part(sample), own.n_out());
            double norms[2] = {0, 0};
            for (size_t i = 0; i < wanted.size(); ++i) {
                norms[0] += std::pow(own.y[i] - wanted[i], 2);
                norms[1] += std::pow(wanted[i], 2);
            }
            context.reduce(SURROGATE_SUM, 2, norms);
            const double scale = 1 / std::sqrt(norms[0] * norms[1]) / static_cast<double>(n_sample);
            for (size_t i = 0; i < wanted.size(); ++i) own.dy[i] = (own.y[i] - wanted[i]) * scale;
            if (!own.backward()) return false;
            dx.push_back(own.dx);
        }
        return own.reduce();
    }

    /// The largest error in the metric of the golden files: relative to the largest entry of a tensor
    /// and to a thousandth of the largest of all gradients.
    double error() const {
        const std::string prefix = "check/grad64/";
        double of_all = 0, worst = 0;
        for (const std::string& name : file.names())
            if (name.starts_with(prefix))
                of_all = std::max(of_all, largest(file.tensor(name).values));
        const auto compare = [&](const std::vector<double>& expected, double size,
                                 const double* values) {
            for (size_t i = 0; i < expected.size(); ++i) {
                const double err = std::abs(values[i] - expected[i]) / (size + 1e-3 * of_all);
                worst = err <= worst ? worst : err;
            }
        };
        for (const auto& entry : model.get()->model->weights()->entries()) {
            const std::vector<double> expected = file.tensor(prefix + entry.name).values;
            compare(expected, largest(expected), own.sums.total().data() + entry.first);
        }
        const GoldenTensor all = file.tensor(prefix + "input_x");
        for (size_t sample = 0; sample < dx.size(); ++sample)
            compare(part(all.part(static_cast<int64_t>(sample)), own.n_in()), largest(all.values),
                    dx[sample].data());
        return worst;
    }

    const Context& context;
    const GoldenFile file;
    const Model model;
    FlareGradients own;
    std::vector<std::vector<double>> dx;  // (n_sample)
};

const char* const files[] = {"tiny", "tiny_options", "layers", "odd", "mid"};

TEST(FlareDeviceGradient, InSingleIsThePublishedOne) {
    const Context context = ranks_context(false);
    for (const char* file : files) {
        for (const char* partition : {"contiguous", "scattered", "uneven"}) {
            Golden golden(context, file, partition, on_device(context));
            ASSERT_TRUE(golden.run()) << file;
            EXPECT_LE(golden.error(), 1e-4) << file << " " << partition;
        }
    }
}

TEST(FlareDeviceGradient, NarrowPrint) {
    const Context context = ranks_context(false);
    for (const char* file : files) {
        for (const char* precision : {"fp32", "tf32", "fp16", "bf16"}) {
            Golden golden(context, file, "contiguous", on_device(context, precision));
            ASSERT_TRUE(golden.run()) << file;
            printf("%s %s %.3e\n", file, precision, golden.error());
        }
    }
}

}  // namespace
}  // namespace surrogate::test
