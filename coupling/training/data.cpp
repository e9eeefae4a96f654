// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/data.hpp"

#include <algorithm>
#include <cmath>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

using dataset::PointForm;
using dataset::ReadFile;

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + one_line(name, 60);
    return text.empty() ? "none" : text;
}

/// Returns the number of states between the input and the target of a pair.
int64_t lead_of(const ReadFile& file, const std::optional<double>& lead_s) {
    if (!file.form().is_series) {
        if (lead_s) fail("'lead' is for series; data set '" + file.path() + "' has no axis time");
        return 0;
    }
    if (!lead_s) return 1;
    const double step = file.time_step();
    const double states = step > 0 ? *lead_s / step : 0;
    if (!(states >= 0.5) || std::abs(states - std::round(states)) > 1e-6 * states)
        fail("'lead' is " + number(*lead_s) + " s, expected a multiple of " + number(step) +
             " s, after which data set '" + file.path() + "' has the next state");
    return std::llround(states);
}

const dataset::StoredCoordinate* find_coordinate(const ReadFile& file, const std::string& name) {
    for (const auto& coordinate : file.form().coordinates)
        if (coordinate.name == name) return &coordinate;
    return nullptr;
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse_name(const ReadFile& file, const std::string& name,
                              const std::string& stored) {
    const auto fields = file.fields();
    const std::string why = file.why_no_field(stored);
    if (!why.empty())
        fail("data set '" + file.path() + "' has no field '" + one_line(stored, 60) +
             "': " + one_line(why, 600));
    const std::string near = near_word(stored, fields);
    std::string text = "data set '" + file.path() + "' has no field '" + one_line(stored, 60) + "'";
    if (stored != name) text += " (for '" + one_line(name, 60) + "')";
    text += "; its fields are " + listed(fields);
    if (!near.empty()) text += "; did you mean '" + near + "'?";
    fail(text + "\n[data.names] of the configuration gives a field of the card another name");
}

/// Checks the unit, which is written to the card.
void check_unit(const ReadFile& file, const std::string& field, const std::string& unit) {
    if (!is_utf8(unit))
        fail("data set '" + file.path() + "': the unit of '" + one_line(field, 60) + "' is '" +
             one_line(unit, 60) + "', expected UTF-8");
}

}  // namespace

TrainData::TrainData(const TrainConfig& config) : config_(&config) {
    for (const std::string& path : config.data.train) open(path);
    const size_t n_train = files_.size();
    for (const std::string& path : config.data.validation) open(path);
    divide(config, n_train);
    if (training_.empty())
        fail("the training set has no sample: " + std::to_string(files_.front()->form().n_sample) +
             " in '" + files_.front()->path() + "'" +
             (form().is_series ? " of " + std::to_string(form().n_time) + " states" : "") +
             (config.data.validation_share > 0 ? ", of which validation takes some" : ""));
}

size_t TrainData::open(const std::string& path) {
    files_.push_back(std::make_unique<ReadFile>(path));
    const ReadFile& file = *files_.back();
    lead_.push_back(lead_of(file, config_->data.lead_s));
    const auto& mine = file.form();
    const auto& first = form();
    const bool is_same_kind =
        (mine.points == PointForm::sphere) == (first.points == PointForm::sphere) &&
        mine.coordinates.size() == first.coordinates.size();
    if (!is_same_kind)
        fail("data sets '" + file.path() + "' and '" + files_.front()->path() +
             "' have points of different kinds");
    const bool is_same_grid = mine.grid == first.grid && mine.extents == first.extents;
    if (mine.points == PointForm::sphere && !is_same_grid)
        fail("data sets '" + file.path() + "' and '" + files_.front()->path() +
             "' lie on different grids of the sphere");
    return files_.size() - 1;
}

std::vector<Pair> TrainData::pairs_of(size_t file, int64_t first_sample, int64_t end_sample) const {
    std::vector<Pair> pairs;
    const int64_t n_time = files_[file]->form().n_time;
    for (int64_t sample = first_sample; sample < end_sample; ++sample) {
        if (files_[file]->n_point(sample) == 0) continue;
        for (int64_t time = 0; time + lead_[file] < n_time; ++time)
            pairs.push_back({file, {sample, time}, {sample, time + lead_[file]}});
    }
    return pairs;
}

/// Divides the data by whole samples, because states of one run are similar. The last samples of
/// every file are used for validation.
void TrainData::divide(const TrainConfig& config, size_t n_train) {
    const auto append = [](std::vector<Pair>& all, const std::vector<Pair>& more) {
        all.insert(all.end(), more.begin(), more.end());
    };
    for (size_t file = 0; file < files_.size(); ++file) {
        const int64_t n = files_[file]->form().n_sample;
        const double share = file < n_train ? config.data.validation_share : 1;
        auto n_kept = static_cast<int64_t>(std::llround(share * static_cast<double>(n)));
        if (share > 0 && n > 1) n_kept = std::max<int64_t>(n_kept, 1);
        append(training_, pairs_of(file, 0, n - n_kept));
        append(validation_, pairs_of(file, n - n_kept, n));
    }
}

Channel TrainData::channel(const std::string& name, bool is_input) const {
    const auto renamed = config_->data.names.find(name);
    Channel channel{name, renamed == config_->data.names.end() ? name : renamed->second, "", -1};
    for (const auto& file : files_) {
        const bool is_first = file == files_.front();
        if (const auto* coordinate = find_coordinate(*file, channel.stored);
            coordinate && is_input) {
            check_unit(*file, channel.stored, coordinate->unit);
            if (is_first) channel.unit = coordinate->unit;
            channel.axis = coordinate->axis;
            continue;
        }
        const bool is_integer = is_input && is_in(file->integer_fields(), channel.stored);
        const bool is_per_sample = is_in(file->sample_fields(), channel.stored);
        const bool is_field = is_in(file->fields(), channel.stored);
        if (is_first) {
            channel.is_integer = is_integer;
            channel.is_per_sample = is_per_sample;
        }
        if (!(is_field || is_integer || is_per_sample) || channel.is_coordinate() ||
            is_integer != channel.is_integer || is_per_sample != channel.is_per_sample)
            refuse_name(*file, name, channel.stored);
        const std::string unit = is_integer ? "" : file->unit(channel.stored);
        check_unit(*file, channel.stored, unit);
        if (is_first) channel.unit = unit;
        if (unit != channel.unit)
            fail("'" + channel.stored + "' has the unit '" + one_line(unit, 60) + "' in '" +
                 file->path() + "' and '" + one_line(channel.unit, 60) + "' in '" +
                 files_.front()->path() + "'");
    }
    return channel;
}

std::optional<Channel> TrainData::labels() const {
    const std::string& stored = config_->data.labels;
    if (stored.empty()) return std::nullopt;
    const bool is_per_sample = files_.front()->is_per_sample(stored);
    for (const auto& file : files_) {
        if (is_in(is_per_sample ? file->sample_integers() : file->integer_fields(), stored))
            continue;
        auto names = file->integer_fields();
        const auto of_samples = file->sample_integers();
        names.insert(names.end(), of_samples.begin(), of_samples.end());
        const std::string near = near_word(stored, names);
        fail("data set '" + file->path() + "' has no integer variable '" + one_line(stored, 60) +
             "' over samples" + (is_per_sample ? "" : " and points") + "; it has " + listed(names) +
             (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    return Channel{stored, stored, "", -1, true, is_per_sample};
}

bool TrainData::has_weights() const {
    return form().points == PointForm::sphere ||
           std::any_of(files_.begin(), files_.end(),
                       [](const auto& file) { return file->form().has_weight; });
}

void TrainData::require_weights() const {
    for (const auto& file : files_) {
        if (file->form().has_weight) continue;
        fail("data set '" + file->path() +
             "' has no variable 'weight', expected weights of the points, because the network "
             "uses them (point_weights); add areas or volumes");
    }
}

bool TrainData::has_clouds() const {
    return std::any_of(files_.begin(), files_.end(),
                       [](const auto& file) { return file->form().has_clouds; });
}

bool TrainData::has_fixed_points() const {
    return std::none_of(files_.begin(), files_.end(), [](const auto& file) {
        return file->form().points == PointForm::rows ||
               file->form().points == PointForm::moving_cloud || file->form().has_sample_clouds;
    });
}

bool TrainData::has_one_place() const {
    // Files on different grids of the sphere were rejected before.
    return has_fixed_points() && (n_file() == 1 || form().points == PointForm::sphere);
}

std::vector<std::string> names_of(const std::vector<Channel>& channels) {
    std::vector<std::string> names;
    for (const Channel& channel : channels) names.push_back(channel.name);
    return names;
}

std::optional<std::string> component_of(const Channel& channel) {
    const size_t dot = channel.name.rfind('.');
    if (dot == std::string::npos || channel.is_coordinate()) return std::nullopt;
    if (channel.name.find_first_not_of("xyz", dot + 1) != std::string::npos) return std::nullopt;
    return channel.name.substr(dot + 1);
}

std::string sample_text(const TrainData& data, size_t file, const dataset::State& state) {
    std::string text = "sample " + std::to_string(state.sample);
    if (data.form().is_series) text += ", state " + std::to_string(state.time);
    return text + " of '" + data.file(file).path() + "'";
}

}  // namespace surrogate::tool
