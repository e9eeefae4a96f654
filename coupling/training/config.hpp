// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace surrogate::tool {

/// A key with the value that a function of the library takes, and where it stands:
/// "train.toml:7:3".
struct Setting {
    std::string key, value, place;
};

/// Random symmetry operations on samples in training, so that a model learns a symmetry.
enum class Symmetry { none, square, longitude };

/// Configuration of `surrogate train CONFIG` (see reference/training-configuration.md for each
/// key).
struct TrainConfig {
    struct Network {
        std::string file;             ///< a model to go on from; "": a new one of
        std::string family;           ///< this family
        std::string hyperparameters;  ///< JSON object, by official names
        std::vector<std::string> inputs, outputs;
        double output_scale = 1;  ///< of surrogate_model_initialize_scaled
        std::string place;        ///< of the table [model]
    } model;

    struct Data {
        std::vector<std::string> train, validation;
        double validation_share = 0;   ///< of the samples in `train`, where there are no files
        std::optional<double> lead_s;  ///< of a series; its time step without
        Symmetry symmetries = Symmetry::none;
        std::optional<bool> normalize;
        std::map<std::string, std::string> names;  ///< by a field of the card: the one in the file
    } data;

    std::vector<Setting> training;        ///< of surrogate_trainer_options_set
    std::map<std::string, double> scale;  ///< of surrogate_trainer_set_scale
    bool has_increment_scale = false;     ///< each output's mean change within the lead
    int64_t n_epoch = 0;
    int64_t batch = 1;
    int64_t seed = 0;
    int64_t n_group = 1;
    int64_t rollout = 1;  ///< the last lead of so many is learnt from; see random_own_leads()

    std::vector<Setting> options;  ///< of surrogate_options_set, for the plan

    std::string folder;             ///< of what is written
    int64_t checkpoint_epochs = 1;  ///< epochs between checkpoints

    /// Everything that decides what is learnt, by key, as it was given: what a resumed training
    /// must have in common with the one before.
    std::map<std::string, std::string> fingerprint;

    std::vector<std::string> old_keys;  ///< lines about names of version 0.1
};

/// The largest configuration, in bytes.
constexpr uint64_t largest_config = uint64_t{1} << 20;

/// Throws Failure (bad_usage) with all that is wrong, one line each: "train.toml:7:3: unknown key
/// 'epoch' in [training]; did you mean 'epochs'?". `name` stands for the file. Looks at no other
/// file.
TrainConfig parse_train_config(const std::string& text, const std::string& name);

}  // namespace surrogate::tool
