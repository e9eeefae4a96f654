// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/config.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/training/renamed_keys.hpp"
#include "coupling/training/toml_table.hpp"

namespace surrogate::tool {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Keys of surrogate_trainer_options_set that a configuration may contain. `accumulate`, `seed` and
/// `steps` follow from other keys.
const std::vector<std::string> trainer_keys = {"loss",
                                               "gradient_weight",
                                               "huber_delta",
                                               "w11_weight",
                                               "label_smoothing",
                                               "focal_alpha",
                                               "focal_gamma",
                                               "pair_radius",
                                               "pair_neighbors",
                                               "pair_random",
                                               "similarity",
                                               "similarity_width",
                                               "temperature",
                                               "optimizer",
                                               "learning_rate",
                                               "weight_decay",
                                               "decay_all",
                                               "beta1",
                                               "beta2",
                                               "epsilon",
                                               "momentum",
                                               "nesterov",
                                               "max_grad_norm",
                                               "ema_decay",
                                               "schedule",
                                               "warmup",
                                               "initial_divisor",
                                               "final_divisor",
                                               "cycle_momentum",
                                               "step_size",
                                               "gamma",
                                               "plateau_factor",
                                               "plateau_patience",
                                               "max_nonfinite_steps",
                                               "noise",
                                               "dropout",
                                               "bucket"};

const std::vector<std::string> option_keys = {"threads",   "backend",      "vector",
                                              "precision", "reproducible", "gradients"};

/// Library options that other keys replace in a configuration, with the reason.
const std::map<std::string, std::string> other_words = {
    {"steps", "it follows from 'epochs', 'batch' and the number of samples"},
    {"accumulate", "it follows from 'batch' and 'groups'"},
    {"reservoir", "it is for samples that a solver pushes"}};

std::string json_of(const toml::table& table) {
    std::ostringstream text;
    text << toml::json_formatter(table);
    return text.str();
}

void read_model(TomlTable table, TrainConfig* config) {
    auto& model = config->model;
    model.place = table.place();
    model.file = table.text("file", "");
    model.family = table.text("family", "");
    model.inputs = table.texts("inputs");
    model.outputs = table.texts("outputs");
    if (TomlTable network = table.table("network"); network.get() != nullptr)
        model.hyperparameters = json_of(*network.get());
    model.output_scale = table.real("output_scale", 1e-30, 1e30).value_or(1);
    const bool is_new = !model.family.empty();
    if (is_new == !model.file.empty())
        table.refuse(is_new ? "family" : "file",
                     "[model] has either 'file', a model to go on from, or 'family' and 'network'");
    const std::vector<std::string> parts = {"network", "inputs", "outputs"};
    for (const std::string& key : parts) {
        if (is_new && !table.has(key))
            table.refuse(key, "[model] has no '" + key + "', which a new network needs");
        if (!is_new && !model.file.empty() && table.has(key))
            table.refuse(key,
                         "'" + key + "' is set beside 'file', expected one of them; remove it");
    }
    if (!is_new && !model.file.empty() && table.has("output_scale"))
        table.refuse("output_scale", "'output_scale' is for a new network; remove it");
    table.finish();
}

void read_names(TomlTable table, TrainConfig* config) {
    if (table.get() == nullptr) return;
    for (const auto& [key, value] : *table.get()) {
        const std::string field(key.str());
        config->data.names[field] = table.text(field, field);
    }
}

/// Reads the smallest and the largest factor of a range.
void read_factors(TomlTable& table, const std::string& key, double* least, double* largest) {
    const toml::node* const node = table.node(key);
    if (node == nullptr) return;
    const toml::array* const array = node->as_array();
    const auto at = [&](size_t i) { return array->get(i)->value<double>().value_or(-1); };
    const bool is_range = array != nullptr && array->size() == 2 && at(0) > 0 && at(1) >= at(0) &&
                          std::isfinite(at(1));
    if (!is_range)
        return table.refuse(key, "'" + key + "' is " + shown(*node) +
                                     ", expected a list of two numbers above 0, the "
                                     "smallest and the largest factor, such as [0.9, 1.1]");
    *least = at(0);
    *largest = at(1);
}

void read_augmentation(TomlTable table, Augmentation* augmentation) {
    const std::string rotate = table.one_of("rotate", {"none", "x", "y", "z", "all"});
    if (rotate != "none") augmentation->rotate = rotate;
    augmentation->degrees = table.real("degrees", 0, 180).value_or(180);
    if (table.has("degrees") && (rotate == "none" || rotate == "all"))
        table.refuse("degrees",
                     "'degrees' is the largest angle about an axis, and needs rotate = "
                     "\"x\", \"y\" or \"z\"");
    for (const std::string& axis : table.texts("flip")) {
        if (axis == "x" || axis == "y" || axis == "z")
            augmentation->flip[static_cast<size_t>(axis[0] - 'x')] = true;
        else
            table.refuse("flip", "'flip' has '" + one_line(axis, 60) + "', expected x, y or z");
    }
    read_factors(table, "scale", &augmentation->least_scale, &augmentation->largest_scale);
    augmentation->jitter = table.real("jitter", 0, 1e300).value_or(0);
    augmentation->is_about_box = table.one_of("center", {"origin", "box"}) == "box";
    table.finish();
}

void read_data(TomlTable table, TrainConfig* config) {
    auto& data = config->data;
    data.train = table.texts("train");
    if (!table.has("train"))
        table.refuse("train", "[data] has no 'train', the files of the training set");
    const toml::node* const validation = table.node("validation");
    if (validation == nullptr)
        table.refuse("validation",
                     "[data] has no 'validation': files, or the share of the samples in 'train' "
                     "that is kept for it, such as 0.1");
    else if (validation->is_number())
        data.validation_share = table.real("validation", 0, 0.9).value_or(0);
    else
        data.validation = table.texts("validation");
    data.lead_s = table.real("lead", 0, infinity);
    if (data.lead_s && *data.lead_s == 0) table.refuse("lead", "'lead' is 0 s, expected more");
    const std::string symmetries = table.one_of("symmetries", {"none", "square", "longitude"});
    if (symmetries == "square") data.symmetries = Symmetry::square;
    if (symmetries == "longitude") data.symmetries = Symmetry::longitude;
    data.normalize = table.flag("normalize");
    data.labels = table.text("labels", "");
    data.n_drawn = table.whole("points", 0, 1);
    read_names(table.table("names"), config);
    read_augmentation(table.table("augment"), &data.augmentation);
    table.finish();
}

/// Returns plain values of a table as settings.
std::vector<Setting> settings_of(TomlTable& table, const std::vector<std::string>& keys) {
    std::vector<Setting> settings;
    for (const std::string& key : keys) {
        const toml::node* const node = table.node(key);
        if (node == nullptr) continue;
        const auto value = plain_text(*node);
        const toml::source_region at = node->source();
        if (!value)
            table.refuse(key, "'" + key + "' is " + shown(*node) +
                                  ", expected a number, a text, true or false");
        else
            settings.push_back({key, *value, table.place_of(at)});
    }
    return settings;
}

/// Returns the numbers of a table by name, `least` or more.
std::map<std::string, double> numbers_of(TomlTable table, double least) {
    std::map<std::string, double> numbers;
    if (table.get() == nullptr) return numbers;
    for (const auto& [key, value] : *table.get()) {
        const std::string name(key.str());
        if (const auto number = table.real(name, least, 1e300)) numbers[name] = *number;
    }
    return numbers;
}

void read_scale(TomlTable& table, TrainConfig* config) {
    const toml::node* const node = table.node("scale");
    if (node == nullptr) return;
    if (node->is_string()) {
        config->has_increment_scale = table.one_of("scale", {"increment"}) == "increment";
        return;
    }
    config->scale = numbers_of(table.table("scale"), 1e-300);
}

void read_training(TomlTable table, TrainConfig* config) {
    config->training = settings_of(table, trainer_keys);
    config->n_epoch = table.whole("epochs", 0, 1);
    if (!table.has("epochs"))
        table.refuse("epochs", "[training] has no 'epochs', the number of passes over all samples");
    config->batch = table.whole("batch", 1, 1);
    config->seed = table.whole("seed", 0, 0);
    config->n_group = table.whole("groups", 1, 1);
    config->rollout = table.whole("rollout", 1, 1);
    config->early_stopping = table.whole("early_stopping", 0, 1);
    read_scale(table, config);
    config->class_weights = numbers_of(table.table("class_weights"), 0);
    for (const auto& [key, why] : other_words)
        if (table.node(key) != nullptr)
            table.refuse(key, "'" + key + "' is not given here: " + why);
    if (config->batch % config->n_group != 0)
        table.refuse(table.has("batch") ? "batch" : "groups",
                     "'batch' is " + std::to_string(config->batch) +
                         ", which 'groups' = " + std::to_string(config->n_group) +
                         " does not divide: each group takes as many samples of a batch");
    table.finish();
}

void read_output(TomlTable table, TrainConfig* config) {
    config->folder = table.text("folder", "");
    if (!table.has("folder"))
        table.refuse("folder", "[output] has no 'folder', where models and checkpoints go");
    config->checkpoint_epochs = table.whole("checkpoint", 1, 1);
    table.finish();
}

/// Collects all plain keys and lists of a file, except keys of its output.
void collect(const toml::table& table, const std::string& prefix,
             std::map<std::string, std::string>* fingerprint) {
    for (const auto& [key, value] : table) {
        const std::string name = prefix + std::string(key.str());
        if (name == "output") continue;
        if (const toml::table* const inner = value.as_table()) {
            collect(*inner, name + ".", fingerprint);
        } else if (const auto text = plain_text(value)) {
            (*fingerprint)[name] = *text;
        } else {
            std::ostringstream list;
            list << toml::json_formatter(value);
            (*fingerprint)[name] = list.str();
        }
    }
}

/// Removes settings that may change in a resumed training: the number of threads, the size of
/// gradient messages, names of files (their content is compared), and the length of the training if
/// it does not affect the steps, with the criterion that ends it early.
void forget_what_may_change(TrainConfig* config) {
    auto& fingerprint = config->fingerprint;
    for (const char* const key :
         {"options.threads", "options.vector", "training.bucket", "data.train"})
        fingerprint.erase(key);
    if (config->data.validation_share == 0) fingerprint.erase("data.validation");
    const auto schedule = fingerprint.find("training.schedule");
    const bool has_length = schedule != fingerprint.end() &&
                            (schedule->second == "one_cycle" || schedule->second == "cosine");
    if (!has_length) fingerprint.erase("training.epochs");
    fingerprint.erase("training.early_stopping");
}

}  // namespace

TrainConfig parse_train_config(const std::string& text, const std::string& name) {
    toml::table file = parse_toml(text, name);
    ConfigErrors config_errors(name);
    TrainConfig config;
    rename_old_keys(&file, &config_errors, &config.old_keys);
    TomlTable root(&file, "", {}, &config_errors);
    read_model(root.table("model"), &config);
    read_data(root.table("data"), &config);
    read_training(root.table("training"), &config);
    TomlTable options = root.table("options");
    config.options = settings_of(options, option_keys);
    options.finish();
    read_output(root.table("output"), &config);
    root.finish();
    if (config_errors.are_there()) throw Failure(Exit::bad_usage, config_errors.text());
    collect(file, "", &config.fingerprint);
    restore_old_keys(&config.fingerprint);
    forget_what_may_change(&config);
    return config;
}

}  // namespace surrogate::tool
