// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/device_accuracy.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {

/// Points for a network with these keys; features, if it takes some, from another wave.
inline SequoiaCase wave_for(const nlohmann::json& network, int64_t n) {
    SequoiaCase points = SequoiaCase::wave(n, network.value("dimensionality", 3));
    if (network.value("pos_enc", "fourier") == "none")
        points.features = SequoiaCase::wave(n, network.at("c_in").get<int64_t>()).positions;
    return points;
}

/// Families on trees of points, Sequoia and Ball Sparse Attention, on one device: what is the same
/// for both.
class TreeDevice : public OnDevice {
protected:
    std::vector<double> on_device(const Model& model, const SequoiaCase& points,
                                  const std::string& precision = "fp32") {
        return run(*context, model, points, {{"backend", "cuda"}, {"precision", precision}});
    }
    std::vector<double> in_double(const Model& model, const SequoiaCase& points) {
        return run(*context, model, points, {{"precision", "fp64"}});
    }

    void expect_no_work_without_points(const std::string& bytes) {
        const ModelOnDisk disk(bytes);
        const Model model(*context, disk.path());
        EXPECT_TRUE(on_device(model, SequoiaCase::wave(0)).empty());
    }

    /// Stored cases of `folder`, in single precision.
    void expect_close_as_pytorch(const std::string& folder, const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            const std::string path = SURROGATE_TEST_DATA "/" + folder + "/" + name + ".safetensors";
            const GoldenFile file(path);
            const Model model(*context, path);
            const std::vector<double> truth = file.tensor("check/output64/y").values;
            const double official = relative_l2(file.tensor("check/output/y").values, truth);
            EXPECT_LE(relative_l2(on_device(model, SequoiaCase(file)), truth),
                      bound_of_fp32(official))
                << name;
        }
    }

    /// Every product rounds two operands, and probabilities and values are rounded again: about
    /// four independent errors of the size that rounding the weights alone makes, which is computed
    /// here. They add up to twice that size, and seldom to four times.
    void expect_cost_of_rounding(const ModelWriter& writer, int64_t n) {
        const ModelOnDisk disk(writer.bytes());
        const Model model(*context, disk.path());
        const SequoiaCase points = SequoiaCase::wave(n);
        const std::vector<double> exact = in_double(model, points);
        for (const auto& [precision, n_bit] :
             {std::pair("tf32", 10), std::pair("fp16", 10), std::pair("bf16", 7)}) {
            const ModelOnDisk narrow(rounded(writer, n_bit).bytes());
            const double cost =
                relative_l2(in_double(Model(*context, narrow.path()), points), exact);
            const double error = relative_l2(on_device(model, points, precision), exact);
            EXPECT_LE(error, 4 * cost) << precision;
            EXPECT_GE(error, cost / 8) << precision;  // really used
        }
    }

    void expect_bits_of_any_order(const std::string& bytes) {
        const ModelOnDisk disk(bytes);
        const Model model(*context, disk.path());
        const SequoiaCase points = SequoiaCase::wave(70);
        std::vector<int64_t> rows = points.all();
        std::reverse(rows.begin(), rows.end());
        const std::vector<double> ordered = on_device(model, points);
        std::vector<double> reversed = on_device(model, points.rows(rows));
        std::reverse(reversed.begin(), reversed.end());
        EXPECT_EQ(ordered, reversed);
    }

    /// For a network of 16 given features, arrays on the device are read and written where they
    /// lie, NaN is named and leaves no trace.
    void expect_device_arrays(const std::string& bytes, const SequoiaCase& points) {
        const ModelOnDisk disk(bytes);
        const Model model(*context, disk.path());
        const std::vector<double> expected = on_device(model, points);
        const Domain domain = points.domain(*context);
        Plan plan(model, domain, {{"backend", "cuda"}});
        DeviceArray<double> features(*device, points.features);
        const DeviceArray<double> y(*device,
                                    std::vector<double>(static_cast<size_t>(points.n), -1));
        const auto run_there = [&] {
            const surrogate_named_array in{"features", features.matrix(points.n, 16)};
            const surrogate_named_array out{"y", y.matrix(points.n, 1)};
            return answer(surrogate_plan_run_network(plan.get(), 1, &in, 1, &out));
        };
        const auto expect_right = [&] {
            EXPECT_EQ(run_there().status, SURROGATE_SUCCESS);
            // Float's rounding of what is a double there.
            EXPECT_LE(relative_l2(y.get(), expected), 1e-7);
        };
        expect_right();
        std::vector<double> bad = points.features;
        bad[16 * 11 + 5] = NAN;
        features.put(bad);
        const Answer found = run_there();
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE) << found;
        EXPECT_TRUE(found.says("point with id 11")) << found;
        for (const double value : y.get()) EXPECT_TRUE(std::isnan(value));
        features.put(points.features);
        expect_right();
    }

    struct Refused {
        std::string bytes;  ///< of a model
        const char *limit, *value;
    };
    void expect_refused(const std::vector<Refused>& refused) {
        for (const Refused& r : refused) {
            const ModelOnDisk disk(r.bytes);
            const Model model(*context, disk.path());
            const Domain domain = SequoiaCase::wave(20).domain(*context);
            const Answer found = refusal_on_device(model, domain);
            EXPECT_TRUE(found.says(r.limit) && found.says(r.value)) << found;
        }
    }
};

}  // namespace surrogate::test
