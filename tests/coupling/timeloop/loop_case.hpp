// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <surrogate/surrogate_timeloop.hpp>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {

using Entries = std::vector<nlohmann::json>;

inline nlohmann::json field_entry(const char* name, double mean, double std) {
    return {{"name", name}, {"unit", "m"}, {"mean", mean}, {"std", std}};
}
inline nlohmann::json input_entry(const char* name, double mean, double std, double min,
                                  double max) {
    nlohmann::json entry = field_entry(name, mean, std);
    entry.update({{"role", "field"}, {"min", min}, {"max", max}});
    return entry;
}
inline nlohmann::json coordinate_entry() {
    return {{"name", "x"}, {"role", "coordinate"}, {"axis", 0},  {"unit", ""},
            {"mean", 0.5}, {"std", 0.3},           {"min", 0.0}, {"max", 1.0}};
}

/// A model of a small network of the given inputs and outputs. Collective.
inline Model model_of(const Context& context, const char* file, const Entries& inputs,
                      const Entries& outputs, const nlohmann::json& more = {}) {
    ModelParts<float> parts(std::string(SURROGATE_TEST_DATA "/flare/") + file);
    parts.card["inputs"] = inputs;
    parts.card["outputs"] = outputs;
    if (more.is_object()) parts.card.update(more);
    const std::string card = parts.card.dump();
    const std::vector<surrogate_tensor> tensors = parts.tensors();
    surrogate_model* model = nullptr;
    check(surrogate_model_create(context.get(), card.c_str(), static_cast<int32_t>(tensors.size()),
                                 tensors.data(), &model));
    return Model(model);
}

/// One field that is stepped in place: height, in training 4 .. 16.
inline Model height_model(const Context& context, const nlohmann::json& more = {}) {
    return model_of(context, "tiny.safetensors",
                    {coordinate_entry(), input_entry("height", 10, 2, 4, 16)},
                    {field_entry("height", 10, 2)}, more);
}

/// A vector that is stepped in place.
inline Model velocity_model(const Context& context) {
    return model_of(context, "odd.safetensors",
                    {coordinate_entry(), input_entry("velocity.x", 0, 1, -9, 9),
                     input_entry("velocity.y", 0, 1, -9, 9)},
                    {field_entry("velocity.x", 0, 1), field_entry("velocity.y", 0, 1)});
}

/// Output and input of different names.
inline Model renamed_model(const Context& context) {
    return model_of(context, "tiny.safetensors",
                    {coordinate_entry(), input_entry("height_now", 10, 2, 4, 16)},
                    {field_entry("height_next", 10, 2)});
}

/// Points of a line with a height, as this rank of a partition has them.
struct Points {
    explicit Points(std::vector<int64_t> own_rows) : rows(std::move(own_rows)) {
        for (const int64_t row : rows) {
            const double r = static_cast<double>(row);
            x.push_back(std::fmod(0.5 + 0.6180339887498949 * r, 1.0));
            height.push_back(10 + 3 * std::sin(1.7 * r));
        }
    }
    int64_t n() const { return std::ssize(rows); }
    surrogate_points points() const {
        return {matrix(x.data(), n(), 1), rows.data(), nullptr, nullptr};
    }
    std::vector<int64_t> rows;
    std::vector<double> x, height;
};

/// A loop around the height model, bound.
struct HeightLoop {
    static constexpr int64_t n_row = 24;

    explicit HeightLoop(MPI_Comm given = MPI_COMM_WORLD, const char* partition = "contiguous",
                        const Options& options = {}, const nlohmann::json& more = {})
        : comm(given),
          context(mpi_context(given, {{"threads", "1"}})),
          model(height_model(context, more)),
          own(own_rows(partition, n_row, given)),
          domain(context, own.points()),
          plan(model, domain, options),
          loop(plan) {
        loop.bind("height", column(own.height.data(), own.n()), "m");
    }

    /// The value of a point, wherever it lies: sets it on the rank that has it.
    void set(int64_t row, double value) {
        for (size_t i = 0; i < own.rows.size(); ++i)
            if (own.rows[i] == row) own.height[i] = value;
    }
    /// Heights of all points by row, on all ranks.
    std::vector<double> all() const { return all(own.height); }
    std::vector<double> all(const std::vector<double>& values) const {
        const std::vector<int64_t> rows = gathered(own.rows, comm);
        const std::vector<double> found = gathered(values, comm);
        std::vector<double> ordered(rows.size());
        for (size_t i = 0; i < rows.size(); ++i) ordered[static_cast<size_t>(rows[i])] = found[i];
        return ordered;
    }

    const MPI_Comm comm;
    Context context;
    Model model;
    Points own;
    Domain domain;
    Plan plan;
    TimeLoop loop;
};

/// Returns true if the values are bitwise identical, NaN and -0 included.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

/// Returns whether a number is the same on all ranks.
inline bool is_same_everywhere(double value, MPI_Comm comm) {
    const std::vector<double> all = gathered(std::vector<double>{value}, comm);
    return std::ranges::all_of(
        all, [&](double other) { return std::memcmp(&other, &all[0], sizeof other) == 0; });
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace surrogate::test
