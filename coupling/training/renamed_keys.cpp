// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/renamed_keys.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace surrogate::tool {

namespace {

struct RenamedKey {
    const char *table, *old_name, *name;
    std::string old_key() const { return std::string(table) + "." + old_name; }
    std::string key() const { return std::string(table) + "." + name; }
};
constexpr std::array<RenamedKey, 5> renamed_keys = {
    {{"data", "normalise", "normalize"},
     {"training", "gradient_share", "gradient_weight"},
     {"training", "clip", "max_grad_norm"},
     {"training", "average", "ema_decay"},
     {"training", "max_bad_steps", "max_nonfinite_steps"}}};

using RenamedLoss = std::pair<const char*, const char*>;
constexpr std::array<RenamedLoss, 2> renamed_losses = {
    {{"mean_square", "mse"}, {"weighted_square", "weighted_mse"}}};

std::string note(const std::string& place, const std::string& what, const std::string& now) {
    return place + ": " + what + " is now called '" + now + "'; the old name ends with version 0.3";
}

}  // namespace

void rename_old_keys(toml::table* config, ConfigErrors* errors, std::vector<std::string>* notes) {
    for (const RenamedKey& key : renamed_keys) {
        toml::table* const table = config->get_as<toml::table>(key.table);
        toml::node* const node = table ? table->get(key.old_name) : nullptr;
        if (!node) continue;
        const toml::source_region at = node->source();
        if (table->contains(key.name)) {
            errors->add(at, std::string("'") + key.old_name + "' is the old name of '" + key.name +
                                "', which is given too: leave it out");
            continue;
        }
        notes->push_back(note(errors->place(at), std::string("'") + key.old_name + "'", key.name));
        table->insert(key.name, std::move(*node));  // with its location in the file
        table->erase(key.old_name);
    }
    toml::table* const training = config->get_as<toml::table>("training");
    toml::value<std::string>* const loss =
        training ? training->get_as<std::string>("loss") : nullptr;
    for (const auto& [old_name, name] : renamed_losses) {
        if (!loss || loss->get() != old_name) continue;
        notes->push_back(
            note(errors->place(loss->source()), std::string("loss = '") + old_name + "'", name));
        *loss = std::string(name);
        break;
    }
}

void restore_old_keys(std::map<std::string, std::string>* fingerprint) {
    for (const RenamedKey& key : renamed_keys) {
        auto entry = fingerprint->extract(key.key());
        if (entry.empty()) continue;
        entry.key() = key.old_key();
        fingerprint->insert(std::move(entry));
    }
    const auto loss = fingerprint->find("training.loss");
    if (loss == fingerprint->end()) return;
    for (const auto& [old_name, name] : renamed_losses)
        if (loss->second == name) loss->second = old_name;
}

std::string present_key(const std::string& stored) {
    for (const RenamedKey& key : renamed_keys)
        if (key.old_key() == stored) return key.key();
    return stored;
}

}  // namespace surrogate::tool
