// SPDX-License-Identifier: Apache-2.0
// Resolves names of a caller to fields of the card, and arrays and blocks to their columns.
#include <algorithm>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/array_axes.hpp"
#include "libsurrogate/src/domain/blocks.hpp"
#include "libsurrogate/src/plan/device/array_memory.hpp"
#include "libsurrogate/src/plan/plan.hpp"

namespace surrogate::impl {

namespace {

/// "velocity" of "velocity.x", "stress" of "stress.xy"; empty if the field is no component.
std::string_view vector_of(std::string_view field) {
    const size_t dot = field.rfind('.');
    if (dot == field.npos || dot == 0 || dot + 1 == field.size()) return {};
    const bool is_component = field.find_first_not_of("xyz", dot + 1) == field.npos;
    return is_component ? field.substr(0, dot) : std::string_view{};
}

const char* side_of(bool is_input) {
    return is_input ? "input" : "output";
}

}  // namespace

void Plan::refuse_name(const char* name, bool is_input, bool takes_coordinates) const {
    std::vector<std::string> names;
    std::string list;
    for (const Slot& slot : slots(is_input)) {
        if (slot.from_domain && !takes_coordinates) continue;
        names.push_back(slot.name);
        list += (list.empty() ? "" : ", ") + slot.name;
    }
    for (const Slot& slot : slots(is_input)) {
        if (takes_coordinates || !slot.from_domain ||
            (slot.name != name && vector_of(slot.name) != name))
            continue;
        throw Error(Status::invalid_argument,
                    "input '" + slot.name +
                        "' is a coordinate and comes from the domain; bind only: " + list);
    }
    for (const Slot& slot : slots(is_input)) {
        const std::string vector(vector_of(slot.name));
        if (!vector.empty() && (names.empty() || names.back() != vector)) names.push_back(vector);
    }
    const std::string side = side_of(is_input);
    throw Error(Status::unknown_name, "the model has no " + side + " '" + printable(name) + "' (" +
                                          side + "s: " + (list.empty() ? "none" : list) + ")" +
                                          did_you_mean(name, names));
}

/// The field of this name, or the components of the vector, in alphabetical order.
std::vector<size_t> Plan::find_slots(const char* name, bool is_input,
                                     bool takes_coordinates) const {
    if (!name) throw Error(Status::invalid_argument, "name of the field is NULL");
    const std::vector<Slot>& all = slots(is_input);
    const auto field = std::ranges::find(all, std::string_view(name), &Slot::name);
    std::vector<size_t> found;
    if (field != all.end()) {
        found.push_back(static_cast<size_t>(field - all.begin()));
    } else {
        for (size_t i = 0; i < all.size() && *name; ++i) {
            if (vector_of(all[i].name) == name) found.push_back(i);
        }
        std::ranges::sort(found, {}, [&](size_t i) { return std::string_view(all[i].name); });
    }
    const auto is_refused = [&](size_t i) { return all[i].from_domain && !takes_coordinates; };
    if (found.empty() || std::ranges::any_of(found, is_refused))
        refuse_name(name, is_input, takes_coordinates);
    return found;
}

/// "input 'mobility'", "input 'velocity' (velocity.x, velocity.y)"
std::string Plan::field_text(const char* name, std::span<const size_t> found, bool is_input) const {
    std::string text = std::string(side_of(is_input)) + " '" + name + "'";
    if (slots(is_input)[found.front()].name == name) return text;
    for (const size_t i : found)
        text += (i == found.front() ? " (" : ", ") + slots(is_input)[i].name;
    return text + ")";
}

void Plan::require_unit(std::span<const size_t> found, const char* unit, bool is_input) const {
    for (const size_t i : found) {
        const Slot& slot = slots(is_input)[i];
        if (!unit || slot.unit == unit) continue;
        throw Error(Status::invalid_argument,
                    std::string(side_of(is_input)) + " '" + slot.name + "' is in '" + slot.unit +
                        "' in the model's card, the array in '" + printable(unit) + "'");
    }
}

void Plan::set_column(size_t slot, const Column& memory, int64_t n_row, bool is_input) {
    Column& column = (is_input ? inputs_ : outputs_)[slot];
    column.data = memory.data;
    column.stride = memory.stride;
    column.is_double = memory.is_double;
    column.is_on_device = memory.is_on_device;
    column.lattice = memory.lattice;
    Slot& bound = (is_input ? input_slots_ : output_slots_)[slot];
    bound.is_bound = true;
    bound.n_row = n_row;
    if (is_input && is_per_cloud(slot)) set_rows(slot);
}

namespace {

/// Returns whether an array of one number is bound to all clouds.
bool is_for_all(const surrogate_array& array, PortPlace place, bool is_input) {
    return is_input && place == PortPlace::clouds && array.shape[0] == 1;
}

}  // namespace

/// The array must have a row for each of what the fields stand for: points, clouds or nodes.
void Plan::require_rows(const std::string& what, std::span<const size_t> found,
                        const surrogate_array& array, bool is_input) const {
    for (const size_t i : found) {
        const PortPlace place = slots(is_input)[i].place;
        const bool is_one = is_for_all(array, place, is_input);
        const int64_t expected[] = {is_one ? 1 : n_row(place), std::ssize(found)};
        if (std::ranges::equal(array.shape, expected)) continue;
        const bool is_turned = array.shape[0] == expected[1] && array.shape[1] == expected[0];
        const char* who = place == PortPlace::clouds  ? "the domain's clouds ask for "
                          : place == PortPlace::nodes ? "the plan's nodes ask for "
                                                      : "the domain asks for ";
        throw Error(Status::shape, what + ": array has shape " + shape_text(array.shape) + ", " +
                                       who + shape_text(expected) +
                                       (is_input && place == PortPlace::clouds && n_row(place) > 1
                                            ? ", or one number for all clouds"
                                            : "") +
                                       (is_turned ? "; it looks transposed" : ""));
    }
}

/// The slots that an array is for, once it passed all checks.
std::vector<size_t> Plan::checked_slots(const char* name, const char* unit,
                                        const surrogate_array* array, bool is_input,
                                        bool takes_coordinates) const {
    if (name && !array) {
        throw Error(Status::invalid_argument,
                    std::string("array for field '") + name + "' is NULL");
    }
    const std::vector<size_t> found = find_slots(name, is_input, takes_coordinates);
    const std::string what = field_text(name, found, is_input);
    require_unit(found, unit, is_input);
    for (const size_t i : found) {
        const bool is_scalar = is_input && is_per_cloud(i);
        check_array(*array, what, device_ && options_.get("gradients") == "false" && !is_scalar,
                    slots(is_input)[i].kind);
    }
    require_rows(what, found, *array, is_input);
    require_addressable(axes_at(slots(is_input)[found.front()].place, *array), what);
    if (device_) check_memory(device_->device(), *array, what);
    return found;
}

void Plan::bind(const char* name, const char* unit, const surrogate_array* array, bool is_input) {
    const std::vector<size_t> found = checked_slots(name, unit, array, is_input);
    if (!is_input)
        require_distinct(axes_at(slots(is_input)[found.front()].place, *array),
                         field_text(name, found, is_input));
    for (size_t c = 0; c < found.size(); ++c)
        set_column(found[c], column_of(*array, static_cast<int64_t>(c)), array->shape[0], is_input);
}

std::vector<Plan::Target> Plan::targets_of(const char* name, const char* unit,
                                           const surrogate_array* array) const {
    std::vector<Target> targets;
    for (const size_t slot : checked_slots(name, unit, array, false))
        targets.push_back({slot, column_of(*array, std::ssize(targets))});
    return targets;
}

namespace {

/// Throws not_supported unless blocks serve the domain, what stands there, and the backend.
void require_blocks(const std::string& what, const Domain& domain, PortPlace place, NumberKind kind,
                    bool is_on_device) {
    const char* reason = nullptr;
    if (place == PortPlace::clouds || place == PortPlace::nodes) {
        reason = ": a block holds points, and this field has none; bind an array";
    } else if (kind == NumberKind::integer) {
        reason = ": a block holds real numbers, and the network takes integers; bind an array";
    } else if (!dynamic_cast<const PointDomain*>(&domain)) {
        reason =
            ": a block is for scattered points, and the domain is a grid on the sphere; give the "
            "domain lat_stride and lon_stride, and bind an array from its first inner point";
    } else if (is_on_device) {
        reason =
            ": a block is read and written on the host, and the plan has backend=cuda; bind an "
            "array without ghost points, or plan with backend=simd";
    }
    if (reason) throw Error(Status::not_supported, what + reason);
}

}  // namespace

/// The slot that a block is for, once it passed all checks.
size_t Plan::checked_slot(const char* name, const char* unit, const surrogate_block* block,
                          bool is_input, bool takes_coordinates) const {
    if (name && !block) {
        throw Error(Status::invalid_argument,
                    std::string("block for field '") + name + "' is NULL");
    }
    const std::vector<size_t> found = find_slots(name, is_input, takes_coordinates);
    const std::string what = field_text(name, found, is_input);
    const Slot& slot = slots(is_input)[found.front()];
    const Domain& domain = domain_of(slot.place);
    require_blocks(what, domain, slot.place, slot.kind, device_ != nullptr);
    if (found.size() > 1)
        throw Error(Status::shape, what + ": a block holds one field; bind each component");
    require_unit(found, unit, is_input);
    const int64_t n = check_block(*block, what);
    if (n != domain.n_local()) {
        throw Error(Status::shape, what + ": block has " + block_text(*block, n) +
                                       " points, the domain asks for " +
                                       std::to_string(domain.n_local()));
    }
    return found.front();
}

void Plan::bind(const char* name, const char* unit, const surrogate_block* block, bool is_input) {
    const size_t slot = checked_slot(name, unit, block, is_input);
    if (!is_input)
        require_distinct(axes_of(*block), field_text(name, std::span(&slot, 1), is_input));
    set_column(slot, column_of(*block), n_row(slots(is_input)[slot].place), is_input);
}

Plan::Target Plan::target_of(const char* name, const char* unit,
                             const surrogate_block* block) const {
    const size_t slot = checked_slot(name, unit, block, false);
    return {slot, column_of(*block)};
}

void Plan::bind_input(const char* name, const char* unit, const surrogate_array* array) {
    bind(name, unit, array, true);
}

void Plan::bind_output(const char* name, const char* unit, const surrogate_array* array) {
    bind(name, unit, array, false);
}

void Plan::bind_input(const char* name, const char* unit, const surrogate_block* block) {
    bind(name, unit, block, true);
}

void Plan::bind_output(const char* name, const char* unit, const surrogate_block* block) {
    bind(name, unit, block, false);
}

}  // namespace surrogate::impl
