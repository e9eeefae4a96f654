// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/renamed.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Type of a key's value: one of some words, a number, or a whole number.
enum class Takes { word, number, whole };

struct Key {
    std::string name;
    std::string value;  ///< the default
    Takes takes = Takes::word;
    std::vector<std::string> words = {};
    double least = 0, most = infinity;
    bool is_open_below = false, is_open_above = false;  ///< the limit itself is not allowed
    bool is_in_0_1 = true;                              ///< version 0.1 has the key
};

Key word(const char* name, std::vector<std::string> words) {
    return {name, words.front(), Takes::word, words};
}
Key positive(const char* name, const char* value) {
    return {name, value, Takes::number, {}, 0, infinity, true, true};
}
Key not_negative(const char* name, const char* value) {
    return {name, value, Takes::number, {}, 0, infinity, false, true};
}
Key fraction(const char* name, const char* value, bool is_open_above) {
    return {name, value, Takes::number, {}, 0, 1, false, is_open_above};
}
Key whole(const char* name, const char* value, double least) {
    return {name, value, Takes::whole, {}, least, 0x1p53};
}

/// Returns a key that version 0.1 does not have.
Key added(Key key) {
    key.is_in_0_1 = false;
    return key;
}

const std::vector<Key>& keys() {
    static const std::vector<Key> table = {
        word("loss", {"relative_l2", "mse", "weighted_mse", "gradient_l2", "l1", "huber", "l1_w11",
                      "cross_entropy", "focal", "infonce", "custom"}),
        added(positive("huber_delta", "1")),
        added(not_negative("w11_weight", "0.1")),
        added(fraction("label_smoothing", "0", false)),
        added({"focal_alpha", "0.25", Takes::number, {}, 0, 1, true, false}),
        added(not_negative("focal_gamma", "2")),
        not_negative("gradient_weight", "0.1"),
        added(positive("pair_radius", "1")),
        added(whole("pair_neighbors", "256", 1)),
        added(fraction("pair_random", "0.1", false)),
        added(word("similarity", {"l2_rbf", "l2_inverse", "cosine"})),
        added(positive("similarity_width", "0.75")),
        added(positive("temperature", "0.05")),
        word("optimizer", {"adamw", "adam", "sgd"}),
        positive("learning_rate", "1e-3"),
        not_negative("weight_decay", "1e-5"),
        word("decay_all", {"false", "true"}),
        fraction("beta1", "0.9", true),
        fraction("beta2", "0.999", true),
        positive("epsilon", "1e-8"),
        added(fraction("momentum", "0", true)),
        added(word("nesterov", {"false", "true"})),
        not_negative("max_grad_norm", "1"),
        fraction("ema_decay", "0", false),
        word("schedule", {"constant", "one_cycle", "cosine", "plateau", "step"}),
        whole("steps", "0", 0),
        not_negative("warmup", ""),  // 0.1 for one_cycle, otherwise 0
        positive("initial_divisor", "1e4"),
        positive("final_divisor", "1e4"),
        word("cycle_momentum", {"true", "false"}),
        added(whole("step_size", "0", 0)),
        added({"gamma", "0.1", Takes::number, {}, 0, 1, true, false}),
        {"plateau_factor", "0.5", Takes::number, {}, 0, 1, true, false},
        whole("plateau_patience", "10", 1),
        not_negative("noise", "0"),
        added(word("dropout", {"card", "off"})),
        added(word("sample", {"domain", "cloud"})),
        whole("accumulate", "1", 1),
        whole("bucket", "1048576", 1),
        whole("max_nonfinite_steps", "0", 0),
        whole("reservoir", "0", 0),
        whole("seed", "0", 0),
    };
    return table;
}

const Key& find(std::string_view name) {
    const auto key = std::ranges::find(keys(), name, &Key::name);
    if (key != keys().end()) return *key;
    std::vector<std::string> names;
    for (const Key& k : keys()) names.push_back(k.name);
    throw Error(Status::unknown_name, no_such_text("training setting", name, names));
}

/// The whole text as a number; none if it is something else.
std::optional<double> number_in(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
        return {};
    return number;
}

/// The shortest text of the same number, so that settings can be compared: "1e-3" is "0.001".
std::string canonical(const Key& key, std::string_view value) {
    const std::optional<double> number = number_in(value);
    if (key.takes == Takes::word || !number) return std::string(value);
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, *number + 0.0).ptr;
    return std::string(text, end);
}

bool is_allowed(const Key& key, std::string_view value) {
    if (key.takes == Takes::word) return std::ranges::find(key.words, value) != key.words.end();
    const std::optional<double> number = number_in(value);
    if (!number || (key.takes == Takes::whole && *number != std::floor(*number))) return false;
    const bool is_above = key.is_open_below ? *number > key.least : *number >= key.least;
    const bool is_below = key.is_open_above ? *number < key.most : *number <= key.most;
    return is_above && is_below;
}

std::string allowed_text(const Key& key) {
    std::string text;
    for (const std::string& w : key.words) text += (text.empty() ? "" : ", ") + w;
    if (key.takes == Takes::word) return text;
    text = key.takes == Takes::whole ? "a whole number" : "a number";
    text += (key.is_open_below ? " above " : " from ") + number_text(key.least);
    if (std::isinf(key.most) || key.takes == Takes::whole)
        return text + (key.is_open_below ? "" : " on");
    return text + (key.is_open_above ? " to below " : " to ") + number_text(key.most);
}

constexpr RenamedName renamed_keys[] = {{"gradient_share", "gradient_weight"},
                                        {"average", "ema_decay"},
                                        {"clip", "max_grad_norm"},
                                        {"max_bad_steps", "max_nonfinite_steps"}};
constexpr RenamedName renamed_losses[] = {{"mean_square", "mse"},
                                          {"weighted_square", "weighted_mse"}};

[[noreturn]] void contradict(const std::string& text) {
    throw Error(Status::invalid_argument, "training settings: " + text);
}

}  // namespace

void TrainingSettings::set(std::string_view name, std::string_view value) {
    const std::string_view asked = name, asked_value = value;
    name = present_name(renamed_keys, name);
    if (name != asked) add_old_name(renamed_text("training setting", asked, name));
    const Key& key = find(name);
    if (key.name == "loss") value = present_name(renamed_losses, value);
    if (value != asked_value) add_old_name(renamed_text("loss", asked_value, value));
    if (!is_allowed(key, value)) {
        throw Error(Status::invalid_argument, "invalid value '" + printable(value) +
                                                  "' for training setting '" + key.name +
                                                  "'; expected " + allowed_text(key));
    }
    values_[key.name] = canonical(key, value);
}

std::map<std::string, std::string> TrainingSettings::all() const {
    std::map<std::string, std::string> values;
    for (const Key& key : keys()) values[key.name] = canonical(key, key.value);
    for (const auto& [key, value] : values_) values[key] = value;
    if (values["warmup"].empty())
        values["warmup"] = values["schedule"] == "one_cycle" ? "0.1" : "0";
    return values;
}

std::map<std::string, std::string> TrainingSettings::stored() const {
    std::map<std::string, std::string> stored;
    for (const auto& [key, value] : all()) {
        const Key& known = find(key);
        if (key == "sample") continue;  // changes no result: a resumed training may have another
        if (!known.is_in_0_1 && value == canonical(known, known.value)) continue;
        const std::string_view kept = key == "loss" ? stored_name(renamed_losses, value) : value;
        stored[std::string(stored_name(renamed_keys, key))] = kept;
    }
    return stored;
}

std::string_view TrainingSettings::present_key(std::string_view stored) {
    return present_name(renamed_keys, stored);
}

void TrainingSettings::add_old_name(const std::string& text) {
    if (old_names_.find(text) == std::string::npos) old_names_ += text + "\n";
}

namespace {

/// Reads values of all(), of which each is allowed.
class Values {
public:
    explicit Values(const std::map<std::string, std::string>& values) : values_(values) {}
    double number(const char* key) const { return *number_in(values_.at(key)); }
    int64_t count(const char* key) const { return static_cast<int64_t>(number(key)); }
    bool is(const char* key, const char* word) const { return values_.at(key) == word; }
    template <class Kind>
    Kind kind(const char* key) const {
        const Key& k = find(key);
        return static_cast<Kind>(std::ranges::find(k.words, values_.at(key)) - k.words.begin());
    }

private:
    const std::map<std::string, std::string>& values_;
};

void require_schedule(const Recipe& recipe) {
    const bool has_end =
        recipe.schedule == ScheduleKind::one_cycle || recipe.schedule == ScheduleKind::cosine;
    if (has_end && recipe.n_step < 1) {
        contradict(
            "schedule=one_cycle and schedule=cosine need 'steps', their length in steps of "
            "the optimizer");
    }
    if (recipe.schedule == ScheduleKind::step && recipe.step_size < 1) {
        contradict(
            "schedule=step needs 'step_size', the number of optimizer steps between two "
            "reductions of the rate");
    }
    if (recipe.schedule == ScheduleKind::one_cycle) {
        if (recipe.warmup > 1) {
            contradict("warmup is " + number_text(recipe.warmup) +
                       ", but with schedule=one_cycle it is a fraction of the steps, 0 to 1");
        }
        return;
    }
    if (recipe.warmup != std::floor(recipe.warmup)) {
        contradict("warmup is " + number_text(recipe.warmup) +
                   ", but it is a number of steps unless schedule=one_cycle, or below 1 with "
                   "schedule=cosine");
    }
    if (recipe.schedule == ScheduleKind::cosine &&
        recipe.warmup > static_cast<double>(recipe.n_step)) {
        contradict("warmup is " + number_text(recipe.warmup) + " steps, and steps only " +
                   std::to_string(recipe.n_step));
    }
}

void require_clouds(const Recipe& recipe, const std::string& loss) {
    const bool is_whole = recipe.loss == LossKind::gradient_l2 || recipe.loss == LossKind::l1_w11 ||
                          recipe.loss == LossKind::infonce || recipe.loss == LossKind::custom;
    if (is_whole) contradict("sample=cloud and loss=" + loss + "; set sample=domain");
    if (recipe.noise > 0) contradict("sample=cloud and noise above 0; set sample=domain");
    if (recipe.reservoir > 0) contradict("sample=cloud and a reservoir; set sample=domain");
}

}  // namespace

Recipe TrainingSettings::recipe() const {
    const std::map<std::string, std::string> written = all();
    const Values values(written);
    Recipe recipe;
    recipe.loss = values.kind<LossKind>("loss");
    recipe.gradient_weight = values.number("gradient_weight");
    recipe.huber_delta = values.number("huber_delta");
    recipe.w11_weight = values.number("w11_weight");
    recipe.label_smoothing = values.number("label_smoothing");
    recipe.focal_alpha = values.number("focal_alpha");
    recipe.focal_gamma = values.number("focal_gamma");
    recipe.pair_radius = values.number("pair_radius");
    recipe.pair_neighbors = values.count("pair_neighbors");
    recipe.pair_random = values.number("pair_random");
    recipe.similarity = {values.kind<kernels::losses::Likeness>("similarity"),
                         values.number("temperature"), values.number("similarity_width")};
    recipe.optimizer = values.kind<OptimizerKind>("optimizer");
    recipe.learning_rate = values.number("learning_rate");
    recipe.weight_decay = values.number("weight_decay");
    recipe.decays_all = values.is("decay_all", "true");
    const bool is_sgd = recipe.optimizer == OptimizerKind::sgd;
    recipe.beta1 = values.number(is_sgd ? "momentum" : "beta1");
    recipe.is_nesterov = values.is("nesterov", "true");
    recipe.beta2 = values.number("beta2");
    recipe.epsilon = values.number("epsilon");
    recipe.max_grad_norm = values.number("max_grad_norm");
    recipe.ema_decay = values.number("ema_decay");
    recipe.schedule = values.kind<ScheduleKind>("schedule");
    recipe.n_step = values.count("steps");
    recipe.warmup = values.number("warmup");
    if (recipe.schedule == ScheduleKind::cosine && recipe.warmup < 1)
        recipe.warmup = std::ceil(recipe.warmup * static_cast<double>(recipe.n_step));
    recipe.initial_divisor = values.number("initial_divisor");
    recipe.final_divisor = values.number("final_divisor");
    recipe.cycles_momentum = values.is("cycle_momentum", "true");
    recipe.step_size = values.count("step_size");
    recipe.gamma = values.number("gamma");
    recipe.plateau_factor = values.number("plateau_factor");
    recipe.plateau_patience = values.count("plateau_patience");
    recipe.noise = values.number("noise");
    recipe.has_dropout = values.is("dropout", "card");
    recipe.are_clouds_samples = values.is("sample", "cloud");
    recipe.accumulate = values.count("accumulate");
    recipe.bucket = values.count("bucket");
    recipe.max_nonfinite_steps = values.count("max_nonfinite_steps");
    recipe.reservoir = values.count("reservoir");
    recipe.seed = values.count("seed");
    require_schedule(recipe);
    if (recipe.are_clouds_samples) require_clouds(recipe, written.at("loss"));
    if (recipe.is_nesterov && (!is_sgd || recipe.beta1 == 0))
        contradict("nesterov=true needs optimizer=sgd and a momentum above 0");
    if (recipe.loss == LossKind::focal && recipe.label_smoothing > 0) {
        contradict("label_smoothing is " + number_text(recipe.label_smoothing) +
                   ", expected 0 with loss=focal; remove it or set loss=cross_entropy");
    }
    if (recipe.loss == LossKind::custom && recipe.reservoir > 0) {
        contradict(
            "reservoir is set, but steps on stored samples need a loss that the trainer computes; "
            "remove 'reservoir' or choose another loss than 'custom'");
    }
    return recipe;
}

}  // namespace surrogate::impl
