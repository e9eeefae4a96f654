// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/fingerprint.hpp"

#include <nlohmann/json.hpp>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/training/renamed_keys.hpp"

namespace surrogate::tool {

using nlohmann::json;

json fingerprint_of(const TrainConfig& config, const json& provenance) {
    json fingerprint = config.fingerprint;
    size_t number = 0;
    for (const json& one : provenance.at("data"))
        fingerprint["data set " + std::to_string(number++) + " (xxh3)"] = one.at("xxh3");
    if (provenance.contains("trained further from"))
        fingerprint["model.file (xxh3)"] = provenance.at("trained further from").at("xxh3");
    return fingerprint;
}

void require_same(const json& before, const json& now, const std::string& folder) {
    json keys = before;
    keys.update(now);
    const auto shown = [&](const json& texts, const std::string& key) {
        if (!texts.contains(key)) return std::string("not given");
        const json& text = texts.at(key);
        if (!text.is_string())
            throw Failure(Exit::bad_usage, "cannot resume '" + folder + "': '" + one_line(key, 80) +
                                               "' of the earlier training is " +
                                               one_line(text.dump(), 80) + ", expected a text");
        return "'" + one_line(text.get<std::string>(), 80) + "'";
    };
    std::string different;
    for (const auto& [key, value] : keys.items())
        if (shown(before, key) != shown(now, key))
            different += "\n  " + present_key(key) + ": " + shown(before, key) +
                         " in the checkpoint, " + shown(now, key) + " now";
    if (!different.empty())
        throw Failure(Exit::bad_usage, "cannot resume '" + folder +
                                           "': settings or data differ from the earlier training" +
                                           different);
}

}  // namespace surrogate::tool
