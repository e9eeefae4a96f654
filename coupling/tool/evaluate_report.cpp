// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/evaluate_report.hpp"

#include <nlohmann/json.hpp>

#include "coupling/job/output.hpp"
#include "coupling/job/report_values.hpp"
#include "coupling/job/text.hpp"

namespace surrogate::tool {

using nlohmann::json;

std::string outside_text(const std::vector<OutsideCount>& counts) {
    std::string text;
    for (const OutsideCount& count : counts)
        if (count.n_outside > 0)
            text += "  " + one_line(count.name, 60) + ": " + number(100 * count.fraction()) +
                    " % of the values\n";
    return text.empty() ? "" : "inputs outside the range of the training data:\n" + text;
}

json sample_json(const TrainData& data, const Pair& pair) {
    return {{"file", data.file(pair.file).path()},
            {"sample", pair.target.sample},
            {"state", pair.target.time}};
}

std::string sample_cells(const TrainData& data, const Pair& pair) {
    return csv_text(data.file(pair.file).path()) + "," + std::to_string(pair.target.sample) + "," +
           std::to_string(pair.target.time);
}

std::string report_text(const EvaluateArguments& arguments,
                        const std::vector<OutsideCount>& outside, const json& own) {
    json report = own;
    report["program"] = std::string("surrogate evaluate ") + surrogate_version();
    report["model"] = arguments.model;
    report["data"] = arguments.data;
    report["inputs"] = json::array();
    for (const OutsideCount& count : outside)
        report["inputs"].push_back(
            {{"name", count.name}, {"values", count.n_value}, {"outside_range", count.n_outside}});
    return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace surrogate::tool
