// SPDX-License-Identifier: Apache-2.0
#include "coupling/dataset/read_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "coupling/dataset/read_variable.hpp"
#include "coupling/error/error.hpp"
#include "coupling/hdf5/disk_file.hpp"
#include "coupling/hdf5/handle.hpp"
#include "coupling/hdf5/own_storage.hpp"

namespace surrogate::dataset {

namespace {

using h5::check;
using h5::Handle;

constexpr int64_t version = 1;  // of the supported layout

std::string shown_place(const std::vector<std::string>& axes, const Box& box, size_t at) {
    std::string text;
    auto rest = static_cast<int64_t>(at);
    std::vector<int64_t> place(box.n.size());
    for (size_t i = box.n.size(); i-- > 0; rest /= box.n[i])
        place[i] = box.first[i] + rest % box.n[i];
    for (size_t i = 0; i < place.size(); ++i)
        text += (i > 0 ? ", " : "") + axes[i] + " " + std::to_string(place[i]);
    return text;
}

/// Checks the attributes that identify a data set.
void check_head(hid_t file) {
    if (H5Aexists(file, "surrogate_dataset") <= 0)
        coupling::fail(SURROGATE_BAD_FILE,
                       "the attribute 'surrogate_dataset' of a data set is missing (page "
                       "reference/dataset-format.md)");
    int64_t found = 0;
    h5::get(file, "surrogate_dataset", &found);
    if (found != version)
        coupling::fail(SURROGATE_BAD_FILE, "the layout has version " + std::to_string(found) +
                                               ", expected version " + std::to_string(version));
}

}  // namespace

struct ReadFile::Parts {
    explicit Parts(const std::string& from)
        : path(from), disk(from, h5::DiskFile::read_only, from), driver(&disk) {}

    /// Runs work and adds the name of the file to errors. Errors of the disk are preferred, because
    /// they have more detail than errors of HDF5.
    template <class Work>
    auto named(const Work& work) {
        const h5::QuietErrors quiet;
        const h5::NoPlugins none;
        try {
            try {
                return work();
            } catch (const std::exception&) {
                driver.check_storage();
                throw;
            }
        } catch (const Error& error) {
            const std::string text = coupling::text_of(error);
            if (text.find(path) != std::string::npos) throw;
            coupling::fail(error.status(), "data set '" + path + "': " + text);
        }
    }

    hid_t dataset(const std::string& name) {
        const auto at = open.find(name);
        if (at != open.end()) return at->second;
        return open
            .emplace(name, Handle(H5Dopen2(*file, name.c_str(), H5P_DEFAULT), H5Dclose,
                                  "open a data set"))
            .first->second;
    }

    void open_file() {
        file = std::make_unique<Handle>(H5Fopen("dataset", H5F_ACC_RDONLY, hid_t(driver.access())),
                                        H5Fclose, "open the file as HDF5");
        check_head(*file);
        variables = read_variables(*file);
        form = form_of(variables, text_attribute(*file, "grid").value_or(""));
        require_all_written();
        if (form.points == PointForm::rows) read_offset();
        if (form.is_series) read_times();
    }

    /// Throws if the file does not store all numbers, before memory is allocated for them.
    void require_all_written() const {
        for (const StoredVariable& variable : variables) {
            if (!is_read(form, variable)) continue;
            const Handle at(H5Dopen2(*file, variable.name.c_str(), H5P_DEFAULT), H5Dclose,
                            "open a data set");
            try {
                h5::require_written(at, disk.size());
            } catch (const Error& error) {
                coupling::fail(error.status(),
                               "'" + variable.name + "': " + coupling::text_of(error));
            }
        }
    }

    void read_offset() {
        offset.resize(static_cast<size_t>(form.n_sample) + 1);
        check(H5Dread(dataset("offset"), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      offset.data()),
              "read 'offset'");
        if (offset.front() != 0 || offset.back() != form.extents[0] ||
            !std::is_sorted(offset.begin(), offset.end()))
            coupling::fail(SURROGATE_BAD_FILE,
                           "'offset' goes from " + std::to_string(offset.front()) + " to " +
                               std::to_string(offset.back()) +
                               ", expected numbers that rise from 0 to the number of rows, " +
                               std::to_string(form.extents[0]));
    }

    void read_times() {
        const StoredVariable* const time = find(variables, "time");
        if (time == nullptr || time->kind == StoredVariable::Kind::none || form.n_time < 2) return;
        std::vector<double> seconds(static_cast<size_t>(form.n_time));
        check(H5Dread(dataset("time"), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                      seconds.data()),
              "read 'time'");
        time_step = seconds[1] - seconds[0];
        if (!(time_step > 0) || !std::isfinite(time_step))
            coupling::fail(SURROGATE_BAD_FILE, "'time' begins with " + std::to_string(seconds[0]) +
                                                   ", " + std::to_string(seconds[1]) +
                                                   ", expected seconds that rise");
        for (size_t i = 1; i < seconds.size(); ++i)
            if (!(std::abs(seconds[i] - seconds[i - 1] - time_step) <= 1e-6 * time_step))
                coupling::fail(SURROGATE_BAD_FILE,
                               "'time' is not equally spaced at state " + std::to_string(i));
    }

    void read(const StoredVariable& variable, const State& state, const Box& box,
              std::span<double> values);
    void check_finite(const StoredVariable& variable, const State& state, const Box& box,
                      std::span<const double> values) const;

    std::string path;
    h5::DiskFile disk;
    h5::Driver driver;
    std::unique_ptr<Handle> file;
    std::map<std::string, Handle> open;  ///< closed before the file
    std::vector<StoredVariable> variables;
    StoredForm form;
    std::vector<int64_t> offset;
    std::map<std::pair<int64_t, int64_t>, int64_t> n_cloud;  ///< by sample and time, once counted
    double time_step = 0;
};

void ReadFile::Parts::read(const StoredVariable& variable, const State& state, const Box& box,
                           std::span<double> values) {
    if (values.empty()) return;
    std::vector<hsize_t> first, n;
    for (const std::string& axis : variable.axes) {
        if (axis != "sample" && axis != "time") break;
        first.push_back(static_cast<hsize_t>(axis == "sample" ? state.sample : state.time));
        n.push_back(1);
    }
    const bool is_rows = form.points == PointForm::rows && !is_over_clouds(form, variable);
    const int64_t shift = is_rows ? offset[static_cast<size_t>(state.sample)] : 0;
    for (size_t i = 0; i < box.n.size(); ++i) {
        first.push_back(static_cast<hsize_t>(box.first[i] + shift));
        n.push_back(static_cast<hsize_t>(box.n[i]));
    }
    if (first.size() != variable.shape.size())
        coupling::fail(SURROGATE_INTERNAL,
                       "'" + variable.name + "' has the shape " + h5::shape_text(variable.shape) +
                           ", " + std::to_string(first.size()) + " axes are asked for");
    const hid_t from = dataset(variable.name);
    const Handle space(H5Dget_space(from), H5Sclose, "read a shape");
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, n.data(), nullptr),
          "select points");
    const auto count = static_cast<hsize_t>(values.size());
    const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose, "make a data space");
    const std::string what = "read '" + variable.name + "'";
    check(H5Dread(from, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()),
          what.c_str());
    check_finite(variable, state, box, values);
}

void ReadFile::Parts::check_finite(const StoredVariable& variable, const State& state,
                                   const Box& box, std::span<const double> values) const {
    const auto at = std::find_if(values.begin(), values.end(),
                                 [](double value) { return !std::isfinite(value); });
    if (at == values.end()) return;
    std::string text = "'" + variable.name + "' of sample " + std::to_string(state.sample);
    if (form.is_series) text += ", time " + std::to_string(state.time);
    text += std::isnan(*at) ? " is NaN" : " is infinite";
    if (!box.n.empty())
        text +=
            " at " + shown_place(is_over_clouds(form, variable) ? std::vector<std::string>{"cloud"}
                                                                : form.point_axes,
                                 box, static_cast<size_t>(at - values.begin()));
    coupling::fail(SURROGATE_NOT_FINITE, text);
}

ReadFile::ReadFile(const std::string& path) : parts_(std::make_unique<Parts>(path)) {
    parts_->named([&] { parts_->open_file(); });
}
ReadFile::~ReadFile() = default;

const std::string& ReadFile::path() const {
    return parts_->path;
}
const StoredForm& ReadFile::form() const {
    return parts_->form;
}
double ReadFile::time_step() const {
    return parts_->time_step;
}

std::vector<std::string> ReadFile::fields() const {
    std::vector<std::string> names;
    for (const StoredVariable& variable : parts_->variables)
        if (is_field(parts_->form, variable)) names.push_back(variable.name);
    return names;
}

std::vector<std::string> ReadFile::integer_fields() const {
    std::vector<std::string> names;
    for (const StoredVariable& variable : parts_->variables)
        if (is_integer_field(parts_->form, variable)) names.push_back(variable.name);
    return names;
}

std::vector<std::string> ReadFile::sample_fields() const {
    std::vector<std::string> names;
    for (const StoredVariable& variable : parts_->variables)
        if (is_sample_field(parts_->form, variable) && variable.kind == StoredVariable::Kind::real)
            names.push_back(variable.name);
    return names;
}

std::vector<std::string> ReadFile::sample_integers() const {
    std::vector<std::string> names;
    for (const StoredVariable& variable : parts_->variables)
        if (is_sample_field(parts_->form, variable) &&
            variable.kind == StoredVariable::Kind::integer)
            names.push_back(variable.name);
    return names;
}

bool ReadFile::is_per_sample(const std::string& name) const {
    const StoredVariable* const found = find(parts_->variables, name);
    return found != nullptr && is_sample_field(parts_->form, *found);
}

Box ReadFile::box_of(const std::string& name, const State& state) const {
    const StoredVariable* const found = find(parts_->variables, name);
    if (found == nullptr || !is_over_clouds(parts_->form, *found)) return {};
    return {{0}, {n_cloud(state)}};
}

const std::string& ReadFile::unit(const std::string& field) const {
    const StoredVariable* const found = find(parts_->variables, field);
    if (found != nullptr &&
        (is_field(parts_->form, *found) || is_sample_field(parts_->form, *found)))
        return found->unit;
    std::string all;
    for (const std::string& name : fields()) all += (all.empty() ? "" : ", ") + name;
    coupling::fail(SURROGATE_BAD_FILE, "data set '" + parts_->path + "': there is no field '" +
                                           field + "'; fields are " + all);
}

std::string ReadFile::why_no_field(const std::string& name) const {
    const StoredVariable* const found = find(parts_->variables, name);
    return found == nullptr ? "" : dataset::why_no_field(parts_->form, *found);
}

int64_t ReadFile::n_point(int64_t sample) const {
    int64_t n = 1;
    for (const int64_t extent : extents(sample)) n *= extent;
    return n;
}

std::vector<int64_t> ReadFile::extents(int64_t sample) const {
    if (parts_->form.points != PointForm::rows) return parts_->form.extents;
    const auto s = static_cast<size_t>(sample);
    return {parts_->offset[s + 1] - parts_->offset[s]};
}

void ReadFile::read(const std::string& field, const State& state, const Box& box,
                    std::span<double> values) const {
    unit(field);
    parts_->named([&] { parts_->read(*find(parts_->variables, field), state, box, values); });
}

std::vector<double> ReadFile::along(const std::string& axis) const {
    const StoredVariable& variable = *find(parts_->variables, axis);
    std::vector<double> values(static_cast<size_t>(variable.shape[0]));
    parts_->named([&] { parts_->read(variable, {}, {{0}, {variable.shape[0]}}, values); });
    return values;
}

void ReadFile::read_integers(const std::string& field, const State& state, const Box& box,
                             std::span<double> values) const {
    constexpr double largest = 9007199254740992.0;  // 2^53: larger integers are not exact doubles
    const StoredVariable* const found = find(parts_->variables, field);
    const bool is_known = found != nullptr && found->kind == StoredVariable::Kind::integer &&
                          (is_integer_field(parts_->form, *found) || is_per_sample(field));
    if (!is_known)
        coupling::fail(SURROGATE_BAD_FILE, "data set '" + parts_->path + "': '" + field +
                                               "' is not an integer variable over samples");
    parts_->named([&] { parts_->read(*found, state, box, values); });
    for (const double value : values)
        if (!(std::abs(value) <= largest))
            coupling::fail(SURROGATE_BAD_FILE, "data set '" + parts_->path + "': '" + field +
                                                   "' has an integer of more than 53 bits");
}

void ReadFile::read_weight(const State& state, const Box& box, std::span<double> values) const {
    parts_->named([&] {
        parts_->read(*find(parts_->variables, "weight"), state, box, values);
        const auto at = std::find_if(values.begin(), values.end(), [](double w) { return w < 0; });
        if (at == values.end()) return;
        coupling::fail(SURROGATE_BAD_FILE,
                       "'weight' of sample " + std::to_string(state.sample) + " is " +
                           std::to_string(*at) + " at " +
                           shown_place(parts_->form.point_axes, box,
                                       static_cast<size_t>(at - values.begin())) +
                           ", expected 0 or more");
    });
}

void ReadFile::read_clouds(const State& state, const Box& box, std::span<double> values) const {
    const auto& form = parts_->form;
    const int64_t n = n_point(state.sample);
    const bool is_few = form.n_cloud > 0 && form.n_cloud < n;
    const auto n_allowed = static_cast<double>(is_few ? form.n_cloud : n);
    parts_->named([&] {
        parts_->read(*find(parts_->variables, "cloud_index"), state, box, values);
        const auto at = std::find_if(values.begin(), values.end(),
                                     [&](double v) { return !(v >= 0 && v < n_allowed); });
        if (at == values.end()) return;
        char found[32];
        std::snprintf(found, sizeof found, "%.0f", *at);
        coupling::fail(
            SURROGATE_BAD_FILE,
            "'cloud_index' of sample " + std::to_string(state.sample) + " is " + found + " at " +
                shown_place(form.point_axes, box, static_cast<size_t>(at - values.begin())) +
                ", expected 0 to " + std::to_string(static_cast<int64_t>(n_allowed) - 1) +
                (is_few ? ", the positions of the axis 'cloud'" : ", below the number of points"));
    });
}

int64_t ReadFile::n_cloud(const State& state) const {
    constexpr int64_t part = int64_t{1} << 18;  // points that are read at a time
    if (!parts_->form.has_clouds) return 1;
    const bool is_same = !parts_->form.has_sample_clouds;
    const auto [found, is_new] =
        parts_->n_cloud.try_emplace({is_same ? 0 : state.sample, is_same ? 0 : state.time}, 1);
    if (!is_new) return found->second;
    Box box{{}, extents(state.sample)};
    box.first.resize(box.n.size());
    const int64_t n_row = box.n[0];
    box.n[0] = 1;
    const int64_t n_at_once = std::max<int64_t>(1, part / std::max<int64_t>(1, box.count()));
    try {
        for (int64_t row = 0; row < n_row; row += n_at_once) {
            box.first[0] = row;
            box.n[0] = std::min(n_at_once, n_row - row);
            std::vector<double> clouds(static_cast<size_t>(box.count()));
            read_clouds(state, box, clouds);
            for (const double cloud : clouds)
                found->second = std::max(found->second, static_cast<int64_t>(cloud) + 1);
        }
    } catch (...) {
        parts_->n_cloud.erase(found);
        throw;
    }
    return found->second;
}

void ReadFile::read_coordinate(int32_t axis, const State& state, const Box& box,
                               std::span<double> values) const {
    const auto& form = parts_->form;
    const std::string& name = form.coordinates[static_cast<size_t>(axis)].name;
    const StoredVariable& variable = *find(parts_->variables, name);
    if (form.points != PointForm::lattice)
        return parts_->named([&] { parts_->read(variable, state, box, values); });
    const auto along = std::find(form.point_axes.begin(), form.point_axes.end(), name);
    const auto at = static_cast<size_t>(along - form.point_axes.begin());
    std::vector<double> line(static_cast<size_t>(box.n[at]));
    parts_->named([&] { parts_->read(variable, state, {{box.first[at]}, {box.n[at]}}, line); });
    size_t inner = 1;  // contiguous points with one index on this axis
    for (size_t i = at + 1; i < box.n.size(); ++i) inner *= static_cast<size_t>(box.n[i]);
    for (size_t i = 0; i < values.size(); ++i) values[i] = line[i / inner % line.size()];
}

}  // namespace surrogate::dataset
