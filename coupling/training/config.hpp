// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace surrogate::tool {

/// A key with the value for a function of the library, and its location in the file:
/// "train.toml:7:3".
struct Setting {
    std::string key, value, place;
};

/// Random symmetry operations on training samples, so that a model learns a symmetry.
enum class Symmetry { none, square, longitude };

/// Random transforms of the points of training samples, [data.augment].
struct Augmentation {
    std::string rotate;    ///< "x", "y" or "z": about this axis; "all": any rotation; "": none
    double degrees = 180;  ///< largest angle about an axis
    std::array<bool, 3> flip{};  ///< axes that are reflected with probability 1/2
    double least_scale = 1, largest_scale = 1;
    double jitter = 0;          ///< standard deviation of a displacement, in units of coordinates
    bool is_about_box = false;  ///< center: the middle of the bounding box, or the origin
    /// Returns true if vectors change with the points.
    bool turns() const { return !rotate.empty() || flip != std::array<bool, 3>{}; }
    bool is_on() const { return turns() || least_scale != 1 || largest_scale != 1 || jitter > 0; }
};

/// Configuration of `surrogate train CONFIG` (see reference/training-configuration.md for each
/// key).
struct TrainConfig {
    struct Network {
        std::string file;             ///< model to continue training; "": a new model of
        std::string family;           ///< this family
        std::string hyperparameters;  ///< JSON object, by official names
        std::vector<std::string> inputs, outputs;
        double output_scale = 1;  ///< of surrogate_model_initialize_scaled
        std::string place;        ///< location of the table [model]
    } model;

    struct Data {
        std::vector<std::string> train, validation;
        double validation_share = 0;   ///< fraction of the samples in `train`; used without files
        std::optional<double> lead_s;  ///< lead of a series; default: its time step
        Symmetry symmetries = Symmetry::none;
        Augmentation augmentation;
        std::optional<bool> normalize;
        int64_t n_drawn = 0;  ///< random points of a sample that a step uses; 0: all
        /// Integer variable with the class or particle of each point; "": fields are trained.
        std::string labels;
        std::map<std::string, std::string> names;  ///< name in the file, by field of the card
    } data;

    std::vector<Setting> training;        ///< for surrogate_trainer_options_set
    std::map<std::string, double> scale;  ///< for surrogate_trainer_set_scale
    /// For surrogate_trainer_set_class_weights, by class.
    std::map<std::string, double> class_weights;
    bool has_increment_scale = false;  ///< scale: mean change of each output within the lead
    int64_t n_epoch = 0;
    int64_t early_stopping = 0;  ///< epochs without a smaller validation loss; 0: never stops early
    int64_t batch = 1;
    int64_t seed = 0;
    int64_t n_group = 1;
    int64_t rollout =
        1;  ///< leads per sample, of which the last is trained on; see random_own_leads()

    std::vector<Setting> options;  ///< for surrogate_options_set of the plan

    std::string folder;             ///< folder of the output files
    int64_t checkpoint_epochs = 1;  ///< epochs between checkpoints

    /// All settings that affect the result, by key, as written in the file. They must be equal when
    /// a training is resumed.
    std::map<std::string, std::string> fingerprint;

    std::vector<std::string> old_keys;  ///< log lines about names of version 0.1
};

/// Maximum size of a configuration in bytes.
constexpr uint64_t largest_config = uint64_t{1} << 20;

/// Returns the configuration in `text`; `name` is the name of the file in messages. Throws Failure
/// (bad_usage) with all errors, one line each: "train.toml:7:3: unknown key 'epoch' in [training];
/// did you mean 'epochs'?". Does not read other files.
TrainConfig parse_train_config(const std::string& text, const std::string& name);

}  // namespace surrogate::tool
