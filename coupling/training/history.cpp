// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/history.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "coupling/job/note_reader.hpp"
#include "coupling/job/report_values.hpp"
#include "coupling/job/text.hpp"
#ifdef SURROGATE_HAVE_VTK
#include "coupling/figure/chart.hpp"
#endif

namespace surrogate::tool {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

#ifdef SURROGATE_HAVE_VTK
std::string in_words(const std::string& loss) {
    static const std::map<std::string, std::string> words = {
        {"relative_l2", "relative L2 error"},
        {"mse", "mean square error, normalized"},
        {"weighted_mse", "weighted square error"},
        {"gradient_l2", "relative L2 error, with gradients"},
        {"l1", "absolute error, scaled"},
        {"huber", "Huber loss"},
        {"l1_w11", "absolute error and derivatives, scaled"},
        {"cross_entropy", "cross-entropy"},
        {"focal", "focal loss"},
        {"infonce", "InfoNCE"}};
    const auto found = words.find(loss);
    return found == words.end() ? loss : found->second;
}
#endif

}  // namespace

const EpochRow* TrainHistory::best() const {
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row)
        if (row->is_best) return &*row;
    return nullptr;
}

std::string TrainHistory::csv() const {
    std::string text = "epoch,step,learning_rate,loss,validation";
    for (const std::string& output : outputs_) text += "," + csv_text("error of " + output);
    text += ",best,samples_per_s,seconds\n";
    for (const EpochRow& row : rows_) {
        text += std::to_string(row.epoch) + "," + std::to_string(row.step) + "," +
                csv_number(row.learning_rate) + "," + csv_number(row.loss) + "," +
                csv_number(row.validation);
        for (size_t i = 0; i < outputs_.size(); ++i)
            text += "," + csv_number(i < row.error.size() ? row.error[i] : none);
        text += (row.is_best ? ",1," : ",0,") + csv_number(row.samples_per_s, 4) + "," +
                csv_number(row.seconds, 4) + "\n";
    }
    return text;
}

std::string TrainHistory::chart(const std::string& title) const {
#ifdef SURROGATE_HAVE_VTK
    vtk::Curve training{"training", {}, {}}, validation{"validation", {}, {}};
    for (const EpochRow& row : rows_) {
        training.x.push_back(static_cast<double>(row.epoch));
        training.y.push_back(row.loss);
        if (!std::isfinite(row.validation)) continue;
        validation.x.push_back(static_cast<double>(row.epoch));
        validation.y.push_back(row.validation);
    }
    vtk::Chart chart{title, "epoch", in_words(loss_), {training}};
    if (!validation.x.empty()) chart.curves.push_back(validation);
    const auto bytes = vtk::draw_chart(chart);
    return {bytes.begin(), bytes.end()};
#else
    static_cast<void>(title);
    return "";
#endif
}

nlohmann::json TrainHistory::json() const {
    nlohmann::json rows = nlohmann::json::array();
    for (const EpochRow& row : rows_) {
        nlohmann::json error = nlohmann::json::array();
        for (const double value : row.error) error.push_back(json_number(value));
        rows.push_back({row.epoch, row.step, json_number(row.learning_rate), json_number(row.loss),
                        json_number(row.validation), error, row.is_best,
                        json_number(row.samples_per_s), json_number(row.seconds)});
    }
    return rows;
}

void TrainHistory::restore(const nlohmann::json& rows, int64_t n_step) {
    rows_.clear();
    const NoteReader note(rows, "history");
    note.require(rows.is_array(), "a list of epochs");
    int64_t least_step = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        const NoteReader from = note.at(i);
        from.require(rows[i].is_array() && rows[i].size() == 9, "a list of 9 values");
        EpochRow row;
        const auto epoch = static_cast<int64_t>(i) + 1;
        row.epoch = from.at(0).whole(epoch, epoch);
        row.step = from.at(1).whole(least_step, n_step);
        row.learning_rate = from.at(2).number();
        row.loss = from.at(3).number();
        row.validation = from.at(4).number();
        const NoteReader errors = from.at(5);
        const size_t n_error = errors.value().size();
        errors.require(errors.value().is_array() && (n_error == 0 || n_error == outputs_.size()),
                       "a list of a number for each output");
        for (size_t k = 0; k < n_error; ++k) row.error.push_back(errors.at(k).number());
        from.at(6).require(from.at(6).value().is_boolean(), "true or false");
        row.is_best = from.at(6).value().get<bool>();
        row.samples_per_s = from.at(7).number();
        row.seconds = from.at(8).number();
        rows_.push_back(row);
        least_step = row.step;
    }
}

}  // namespace surrogate::tool
