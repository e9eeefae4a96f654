// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coupling/dataset/read_file.hpp"
#include "coupling/training/config.hpp"

namespace surrogate::tool {

/// Sample of a training: a state and the one that follows from it. For data without
/// time both are the same state.
struct Pair {
    size_t file = 0;
    dataset::State input, target;
};

/// A number that a network takes or gives at each point, and what a data set calls it.
struct Channel {
    std::string name;    ///< on the card
    std::string stored;  ///< in the files
    std::string unit;    ///< as the first file has it
    int32_t axis = -1;   ///< of a coordinate; -1 for fields
    bool is_coordinate() const { return axis >= 0; }
};

/// The data sets of a training. Local; every rank has the same.
class TrainData {
public:
    /// Opens the files and checks that they fit together: the same form of points, and of series
    /// the same lead. Throws Error (of ReadFile), Failure.
    explicit TrainData(const TrainConfig& config);

    const dataset::ReadFile& file(size_t index) const { return *files_[index]; }
    size_t n_file() const { return files_.size(); }
    const dataset::StoredForm& form() const { return files_.front()->form(); }

    const std::vector<Pair>& training() const { return training_; }
    const std::vector<Pair>& validation() const { return validation_; }

    /// A name of the card among what all files have: their unit is that of the first, and a
    /// coordinate is one only as an input. Throws Failure with near misses.
    Channel channel(const std::string& name, bool is_input) const;

    /// Returns whether the points are the same in every sample of a file.
    bool has_fixed_points() const;
    /// Returns whether they are the same in every sample of all files.
    bool has_one_place() const;

private:
    size_t open(const std::string& path);
    std::vector<Pair> pairs_of(size_t file, int64_t first_sample, int64_t end_sample) const;
    void divide(const TrainConfig& config, size_t n_train);

    const TrainConfig* config_;
    std::vector<std::unique_ptr<dataset::ReadFile>> files_;
    std::vector<int64_t> lead_;  ///< of each file, in states
    std::vector<Pair> training_, validation_;
};

}  // namespace surrogate::tool
