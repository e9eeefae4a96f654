// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace surrogate::tool {

/// Results of an epoch.
struct EpochRow {
    int64_t epoch = 0;  ///< from 1
    int64_t step = 0;   ///< number of optimizer steps so far
    double learning_rate = 0;
    double loss = 0;            ///< mean over its steps, each before its step
    double validation = 0;      ///< mean loss of the validation set; NaN without one
    std::vector<double> error;  ///< relative L2 of each output on the validation set
    bool is_best = false;
    double samples_per_s = 0, seconds = 0;
};

/// Holds all epochs of a training, including epochs before an interruption.
class TrainHistory {
public:
    /// Starts an empty history. `loss` is the name of the loss, `outputs` are the names of the
    /// outputs.
    TrainHistory(std::string loss, std::vector<std::string> outputs)
        : loss_(std::move(loss)), outputs_(std::move(outputs)) {}

    void add(const EpochRow& row) { rows_.push_back(row); }
    const std::vector<EpochRow>& rows() const { return rows_; }
    /// Returns the last of the best epochs; null without validation.
    const EpochRow* best() const;

    std::string csv() const;

    /// Returns a PNG of the losses over the epochs; empty in a build without VTK.
    std::string chart(const std::string& title) const;

    nlohmann::json json() const;
    /// Reads rows that json() has written. Throws Failure with the key of the first invalid entry,
    /// such as "history[2][5]": epochs count from 1, steps increase up to n_step, numbers are
    /// finite or null.
    void restore(const nlohmann::json& rows, int64_t n_step);

private:
    std::string loss_;
    std::vector<std::string> outputs_;
    std::vector<EpochRow> rows_;
};

}  // namespace surrogate::tool
