// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "tests/coupling/training/train_case.hpp"

namespace surrogate::test {

/// A cloud of 30 points with n_axis coordinates, which all samples share, in the middle of which is
/// (2, 1, 0): scalar a, vector v = a (position - (2, 1, 0)), weights of each sample.
struct FlowSet {
    int64_t n_sample = 8, n_point = 30;
    int64_t n_axis = 2;
    std::vector<std::string> vector = {"v.x", "v.y"};
    bool has_mean = false;  ///< one number per sample: the mean of a
    bool has_weight = false;
    int64_t n_masked = 0;          ///< first points of each sample of weight 0, ..
    double masked_value = 0;       ///< .. with these numbers as targets
    int64_t masked_sample = -1;    ///< whose weights are all 0
    int64_t negative_sample = -1;  ///< point 7 of which has weight -1
    std::vector<std::string> weight_axes = {"sample", "point"};

    double position(int64_t point, int64_t axis) const {
        const double center = axis == 0 ? 2 : axis == 1 ? 1 : 0;
        return center + 0.5 * wave(point, axis, 3);
    }
    double a(int64_t sample, int64_t point) const {
        return 1 + 0.3 * wave(sample, point, 1) + 0.3 * wave(sample, 0, 2);
    }
    double mean(int64_t sample) const {
        double sum = 0;
        for (int64_t i = 0; i < n_point; ++i) sum += a(sample, i);
        return sum / static_cast<double>(n_point);
    }
    double weight(int64_t sample, int64_t point) const {
        if (sample == masked_sample || point < n_masked) return 0;
        if (sample == negative_sample && point == 7) return -1;
        return 1 + 0.3 * static_cast<double>((sample + point) % 4);
    }

    void write(const std::string& path) const {
        const Context context;
        NewDataset set(context, path);
        set.add_axis("sample", n_sample);
        set.add_axis("point", n_point);
        const char* const names[] = {"x", "y", "z"};
        const char* const axes[] = {"X", "Y", "Z"};
        const auto n = static_cast<size_t>(n_axis);
        for (size_t k = 0; k < n; ++k)
            set.add(names[k], {"point"}, "m", nullptr, SURROGATE_FLOAT64, axes[k]);
        set.add("a", {"sample", "point"}, "1");
        for (const std::string& name : vector) set.add(name.c_str(), {"sample", "point"}, "m");
        if (has_mean) set.add("mean", {"sample"}, "1");
        std::vector<const char*> of_weight;
        for (const std::string& axis : weight_axes) of_weight.push_back(axis.c_str());
        if (has_weight) set.add("weight", of_weight, "1");
        set.begin();
        std::vector<double> x, field, weights, means;
        for (int64_t k = 0; k < n_axis; ++k) {
            x.clear();
            for (int64_t i = 0; i < n_point; ++i) x.push_back(position(i, k));
            set.put(names[k], 0, column(x.data(), n_point));
        }
        for (size_t k = 0; k <= vector.size(); ++k) {
            field.clear();
            for (int64_t s = 0; s < n_sample; ++s)
                for (int64_t i = 0; i < n_point; ++i) {
                    const int64_t axis = static_cast<int64_t>(k) - 1;
                    const double center = axis == 0 ? 2 : axis == 1 ? 1 : 0;
                    const bool is_masked = has_weight && weight(s, i) == 0;
                    field.push_back(k == 0      ? a(s, i)
                                    : is_masked ? masked_value
                                                : a(s, i) * (position(i, axis) - center));
                }
            set.put(k == 0 ? "a" : vector[k - 1].c_str(), 0,
                    column(field.data(), std::ssize(field)));
        }
        for (int64_t s = 0; s < n_sample; ++s) means.push_back(mean(s));
        if (has_mean) set.put("mean", 0, column(means.data(), n_sample));
        const bool has_own = weight_axes[0] == "sample";
        for (int64_t s = 0; s < (has_own ? n_sample : 1); ++s)
            for (int64_t i = 0; i < n_point; ++i) weights.push_back(weight(s, i));
        if (has_weight) set.put("weight", 0, column(weights.data(), std::ssize(weights)));
        set.finish();
    }
};

/// Sequences of 12 tokens 0 .. 5, without coordinates; kind 1 if more of them are above 2 than not.
/// mask: token 11 of odd samples does not count.
struct TokenSet {
    int64_t n_sample = 24, n_point = 12, seed = 0;
    int64_t bad_sample = -1, bad_label = 0;

    int64_t token(int64_t sample, int64_t point) const {
        const double middle = 2.5 + 2 * wave(sample, seed, 1);
        return std::clamp<int64_t>(std::llround(middle + wave(sample, point, 2)), 0, 5);
    }
    int64_t kind(int64_t sample) const {
        if (sample == bad_sample) return bad_label;
        int64_t n_above = 0;
        for (int64_t i = 0; i < n_point; ++i) n_above += token(sample, i) > 2 ? 1 : -1;
        return n_above > 0 ? 1 : 0;
    }

    void write(const std::string& path) const {
        const Context context;
        NewDataset set(context, path);
        set.add_axis("sample", n_sample);
        set.add_axis("point", n_point);
        set.add("token", {"sample", "point"}, nullptr, nullptr, SURROGATE_INT64);
        set.add("mask", {"sample", "point"}, nullptr, nullptr, SURROGATE_INT64);
        set.add("kind", {"sample"}, nullptr, nullptr, SURROGATE_INT64);
        set.begin();
        std::vector<int64_t> tokens, mask, kinds;
        for (int64_t s = 0; s < n_sample; ++s) {
            kinds.push_back(kind(s));
            for (int64_t i = 0; i < n_point; ++i) {
                tokens.push_back(token(s, i));
                mask.push_back(s % 2 == 1 && i == 11 ? 0 : 1);
            }
        }
        set.put("token", 0, column(tokens.data(), std::ssize(tokens)));
        set.put("mask", 0, column(mask.data(), std::ssize(mask)));
        set.put("kind", 0, column(kinds.data(), n_sample));
        set.finish();
    }
};

}  // namespace surrogate::test
