// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>
#include <vector>

#include "coupling/petsc/context_options.hpp"

namespace surrogate::petsc {

namespace {

/// Parses "rhs" or "velocity:1".
bool parse_source(std::string_view text, Source* source) {
    const std::size_t colon = text.rfind(':');
    source->name = text.substr(0, colon);
    if (colon == std::string_view::npos) return !source->name.empty();
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, source->component);
    return error == std::errc() && stop == end && source->component >= 0 && !source->name.empty();
}

/// Adds "name=source" to the table.
PetscErrorCode add_source(const Settings& settings, std::string_view item,
                          std::map<std::string, Source, std::less<>>* table) {
    PetscFunctionBegin;
    const std::size_t equal = item.find('=');
    Source source;
    const bool is_right = equal != std::string_view::npos && equal > 0 &&
                          parse_source(item.substr(equal + 1), &source);
    PetscCheck(is_right, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "%s: '%.*s' is not name=source or name=source:component; name is a field of the "
               "card, source is rhs, diagonal, solution, the name of a Vec, or a field of the DM",
               settings.flag("fields").c_str(), int(item.size()), item.data());
    const bool is_new = table->emplace(item.substr(0, equal), source).second;
    PetscCheck(is_new, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s: '%.*s' is given twice",
               settings.flag("fields").c_str(), int(equal), item.data());
    PetscFunctionReturn(0);
}

/// Adds "name=value" to the table.
PetscErrorCode add_number(const Settings& settings, std::string_view item,
                          std::map<std::string, double, std::less<>>* table) {
    PetscFunctionBegin;
    const std::size_t equal = item.find('=');
    double value = 0;
    bool is_right = equal != std::string_view::npos && equal > 0;
    if (is_right) {
        const char* const end = item.data() + item.size();
        const auto [stop, error] = std::from_chars(item.data() + equal + 1, end, value);
        is_right = error == std::errc() && stop == end && std::isfinite(value);
    }
    PetscCheck(is_right, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "%s: '%.*s' is not name=value; name is an input with the role cloud of the card, "
               "value a finite number",
               settings.flag("set").c_str(), int(item.size()), item.data());
    const bool is_new = table->emplace(item.substr(0, equal), value).second;
    PetscCheck(is_new, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s: '%.*s' is given twice",
               settings.flag("set").c_str(), int(equal), item.data());
    PetscFunctionReturn(0);
}

/// Parses "name=..,name=.." to a table.
template <class Table, class Add>
PetscErrorCode parse_list(const Settings& settings, std::string_view text, Table* table,
                          const Add& add) {
    PetscFunctionBegin;
    table->clear();
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        PetscCall(add(settings, text.substr(0, comma), table));
        text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    }
    PetscFunctionReturn(0);
}

PetscErrorCode check_box(const Settings& settings) {
    PetscFunctionBegin;
    const bool is_pairs = settings.n_box % 2 == 0;
    PetscCheck(is_pairs, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "%s: %" PetscInt_FMT " numbers; it takes x0,x1 or x0,x1,y0,y1 or x0,x1,y0,y1,z0,z1",
               settings.flag("box").c_str(), settings.n_box);
    for (PetscInt axis = 0; 2 * axis < settings.n_box; ++axis) {
        const PetscReal low = settings.box[std::size_t(2 * axis)];
        const PetscReal high = settings.box[std::size_t(2 * axis + 1)];
        PetscCheck(low < high, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                   "%s: axis %" PetscInt_FMT " goes from %g to %g, expected the smaller first",
                   settings.flag("box").c_str(), axis, double(low), double(high));
    }
    PetscFunctionReturn(0);
}

constexpr std::array own_keys = {"model",        "fields", "set",      "box", "coordinates_file",
                                 "cell_centers", "factor", "optional", "view"};

/// Owns the names of the options in the database that no call has read so far.
class UnreadOptions {
public:
    UnreadOptions() = default;
    ~UnreadOptions() { PetscOptionsLeftRestore(nullptr, &n_name_, &names_, &values_); }
    UnreadOptions(const UnreadOptions&) = delete;
    UnreadOptions& operator=(const UnreadOptions&) = delete;

    PetscErrorCode find() { return PetscOptionsLeftGet(nullptr, &n_name_, &names_, &values_); }
    PetscInt size() const { return n_name_; }
    std::string_view operator[](PetscInt k) const { return names_[k]; }

private:
    PetscInt n_name_ = 0;
    char **names_ = nullptr, **values_ = nullptr;
};

/// Checks that every option under the solver's prefix that begins with surrogate_ exists. Must be
/// called after the known options were read.
PetscErrorCode check_names(const Settings& settings) {
    PetscFunctionBegin;
    UnreadOptions unread;
    PetscCall(unread.find());
    const std::vector<std::string> later = context_option_keys();
    const std::string stem = settings.prefix + "surrogate_";
    for (PetscInt k = 0; k < unread.size(); ++k) {
        if (!unread[k].starts_with(stem)) continue;
        const std::string_view key = unread[k].substr(stem.size());
        const bool is_known = std::ranges::find(own_keys, key) != own_keys.end() ||
                              std::ranges::count(later, key) > 0;
        if (is_known) continue;
        std::string all;
        for (const char* const name : own_keys)
            all += (all.empty() ? "" : ", ") + std::string(name);
        for (const std::string& name : later) all += ", " + name;
        SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                "unknown option %s; the options after -%s are %s",
                settings.flag(std::string(key).c_str()).c_str(), stem.c_str(), all.c_str());
    }
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Settings::read(MPI_Comm comm, const char* solver_prefix) {
    PetscFunctionBegin;
    prefix = solver_prefix ? solver_prefix : "";
    std::array<char, PETSC_MAX_PATH_LEN> path{}, coordinates{};
    std::array<char, 4096> fields{}, set{};
    PetscBool centers = PETSC_FALSE, optional = PETSC_FALSE, viewed = PETSC_FALSE;
    PetscBool has_box = PETSC_FALSE;
    n_box = PetscInt(box.size());
    PetscOptionsBegin(comm, solver_prefix, "surrogate as initial guess", nullptr);
    PetscCall(PetscOptionsString("-surrogate_model", "model file", nullptr, "", path.data(),
                                 path.size(), nullptr));
    PetscCall(PetscOptionsString("-surrogate_fields",
                                 "where fields of the card are: name=source,.. with rhs, diagonal, "
                                 "solution, a Vec's name or a field of the DM, and :component",
                                 nullptr, "", fields.data(), fields.size(), nullptr));
    PetscCall(PetscOptionsString("-surrogate_set",
                                 "inputs with the role cloud: name=value,name=value", nullptr, "",
                                 set.data(), set.size(), nullptr));
    PetscCall(PetscOptionsRealArray("-surrogate_box",
                                    "x0,x1,y0,y1,z0,z1 of a DMDA; replaces its coordinates",
                                    nullptr, box.data(), &n_box, &has_box));
    PetscCall(PetscOptionsString("-surrogate_coordinates_file",
                                 "PETSc binary Vec of the points' coordinates, in global order",
                                 nullptr, "", coordinates.data(), coordinates.size(), nullptr));
    PetscCall(PetscOptionsBool("-surrogate_cell_centers",
                               "unknowns are at the centers of the box's cells", nullptr, centers,
                               &centers, nullptr));
    PetscCall(PetscOptionsReal("-surrogate_factor",
                               "use predictions with a norm below this times the start's norm",
                               nullptr, factor, &factor, nullptr));
    PetscCall(PetscOptionsBool("-surrogate_optional",
                               "continue without the surrogate if it cannot be used", nullptr,
                               optional, &optional, nullptr));
    PetscCall(PetscOptionsBool("-surrogate_view", "print the counters of predictions at the end",
                               nullptr, viewed, &viewed, nullptr));
    PetscOptionsEnd();
    if (!has_box) n_box = 0;
    model = path.data();
    coordinates_file = coordinates.data();
    at_cell_centers = centers;
    is_optional = optional;
    is_viewed = viewed;
    PetscCheck(factor > 0 && factor <= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "%s is %g; it is above 0 and at most 1, so that no prediction makes a start worse",
               flag("factor").c_str(), double(factor));
    PetscCheck(n_box == 0 || coordinates_file.empty(), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "%s and %s are both set; leave one of them out", flag("box").c_str(),
               flag("coordinates_file").c_str());
    PetscCall(check_names(*this));
    PetscCall(check_box(*this));
    PetscCall(parse_list(*this, fields.data(), &sources, add_source));
    PetscCall(parse_list(*this, set.data(), &numbers, add_number));
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
