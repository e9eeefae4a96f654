// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coupling/dataset/read_file.hpp"
#include "coupling/training/config.hpp"

namespace surrogate::tool {

/// Sample of a training: an input state and the target state. For data without time both are the
/// same state.
struct Pair {
    size_t file = 0;
    dataset::State input, target;
};

/// An input or output of a network, with its name in the data set.
struct Channel {
    std::string name;         ///< name on the card
    std::string stored;       ///< name in the files
    std::string unit;         ///< unit in the first file
    int32_t axis = -1;        ///< axis of a coordinate; -1 for fields
    bool is_integer = false;  ///< such as tokens
    /// One number per sample or state, or per cloud of it, not per point. Of inputs, the card has
    /// the role cloud.
    bool is_per_sample = false;
    bool is_coordinate() const { return axis >= 0; }
};

/// Holds the data sets of a training. Local; all ranks have the same contents.
class TrainData {
public:
    /// Opens the files and checks that they are compatible: they must have the same form of points,
    /// and series must have the same lead. Throws Error (see ReadFile) or Failure.
    explicit TrainData(const TrainConfig& config);

    const dataset::ReadFile& file(size_t index) const { return *files_[index]; }
    size_t n_file() const { return files_.size(); }
    const dataset::StoredForm& form() const { return files_.front()->form(); }

    const std::vector<Pair>& training() const { return training_; }
    const std::vector<Pair>& validation() const { return validation_; }

    /// Returns the channel with this name on the card. All files must contain it; its unit is the
    /// unit in the first file. Coordinates and integers are found only for inputs. Throws Failure
    /// with near misses.
    Channel channel(const std::string& name, bool is_input) const;

    /// Returns the variable of the labels, which all files must have as integers; none for fields.
    /// Throws Failure with near misses.
    std::optional<Channel> labels() const;

    /// Returns true if points have weights in losses: in a file, or areas on the sphere.
    bool has_weights() const;

    /// Checks that all files have weights, for a network that uses them. Throws Failure.
    void require_weights() const;

    /// Returns true if the points of a file have clouds.
    bool has_clouds() const;

    /// Returns true if points and clouds are the same in every sample of each file.
    bool has_fixed_points() const;
    /// Returns true if points and clouds are the same in every sample of all files.
    bool has_one_place() const;

private:
    size_t open(const std::string& path);
    std::vector<Pair> pairs_of(size_t file, int64_t first_sample, int64_t end_sample) const;
    void divide(const TrainConfig& config, size_t n_train);

    const TrainConfig* config_;
    std::vector<std::unique_ptr<dataset::ReadFile>> files_;
    std::vector<int64_t> lead_;  ///< lead of each file, in states
    std::vector<Pair> training_, validation_;
};

/// Returns the names of channels.
std::vector<std::string> names_of(const std::vector<Channel>& channels);

/// Returns the axes of a component of a vector or tensor, such as "x" of "velocity.x"; none for
/// other fields.
std::optional<std::string> component_of(const Channel& channel);

/// Returns a text for messages: "sample 3 of 'data.h5'", in a series "sample 3, state 2 of ..".
std::string sample_text(const TrainData& data, size_t file, const dataset::State& state);

}  // namespace surrogate::tool
