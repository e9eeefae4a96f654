// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/families.hpp"

#include <algorithm>
#include <map>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/counters.hpp"
#include "libsurrogate/src/file/stored_floats.hpp"
#include "libsurrogate/src/model/affine/network.hpp"
#include "libsurrogate/src/model/bsa/network.hpp"
#include "libsurrogate/src/model/exported/network.hpp"
#include "libsurrogate/src/model/flare/network.hpp"
#include "libsurrogate/src/model/hept/network.hpp"
#include "libsurrogate/src/model/sequoia/network.hpp"
#include "libsurrogate/src/model/sphere/network.hpp"

namespace surrogate::impl {

namespace {

struct Family {
    std::string name;
    std::vector<TensorSpec> (*required)(const Card& card, int64_t n_found);
    std::unique_ptr<Network> (*make)(const ModelFile& file,
                                     const std::shared_ptr<const MasterWeights>& weights);
    // Called for tensors only, so a family without tensors has neither.
    InitialValues (*initial)(const Card& card, const Layout& layout, size_t i, uint64_t seed);
    bool (*is_of_output)(const Card& card, const TensorSpec& tensor);
    std::optional<AttachedFile> (*attached)(const Card& card) = nullptr;
};

std::span<const Family> families() {
    static const Family table[] = {
        {"affine", affine::required_tensors, affine::make_network, nullptr, nullptr},
        {"bsa", bsa::required_tensors, bsa::make_network, bsa::initial_values, bsa::is_of_output},
        {"erwin", bsa::erwin::required_tensors, bsa::erwin::make_network,
         bsa::erwin::initial_values, bsa::erwin::is_of_output},
        {"flare", flare::required_tensors, flare::make_network, flare::initial_values,
         flare::is_of_output},
        {"hept", hept::required_tensors, hept::make_network, hept::initial_values,
         hept::is_of_output},
        {"sequoia", sequoia::required_tensors, sequoia::make_network, sequoia::initial_values,
         sequoia::is_of_output},
        {"sphere", sphere::required_tensors, sphere::make_network, sphere::initial_values,
         sphere::is_of_output},
        {"torch", exported::required_tensors, exported::make_network, nullptr, nullptr,
         exported::attached_file},
    };
    return table;
}

/// Returns the names of all families, in the order of the table.
std::string list_families() {
    std::string list;
    for (const Family& family : families()) list += (list.empty() ? "" : ", ") + family.name;
    return list;
}

const Family& find_family(const std::string& name) {
    for (const Family& family : families())
        if (family.name == name) return family;
    throw Error(Status::not_supported, "unknown model family '" + printable(name) +
                                           "', expected one of: " + list_families());
}

}  // namespace

std::vector<TensorSpec> required_tensors(const Card& card, int64_t n_found) {
    return find_family(card.family).required(card, n_found);
}

InitialValues initial_values(const Card& card, const Layout& layout, size_t i, uint64_t seed) {
    return find_family(card.family).initial(card, layout, i, seed);
}

bool is_of_output(const Card& card, const TensorSpec& tensor) {
    return find_family(card.family).is_of_output(card, tensor);
}

std::optional<AttachedFile> attached_file(const Card& card) {
    const Family& family = find_family(card.family);
    return family.attached ? family.attached(card) : std::nullopt;
}

void adopt_names(std::span<const TensorSpec> required, std::vector<TensorEntry>& found) {
    std::map<std::string, TensorEntry*> by_name;
    for (TensorEntry& entry : found) by_name[entry.name] = &entry;
    for (const TensorSpec& spec : required) {
        const auto entry = by_name.find(spec.other_name);
        if (entry == by_name.end() || by_name.contains(spec.name)) continue;
        entry->second->name = spec.name;
    }
}

void match_tensors(std::span<const TensorSpec> required, std::span<const TensorEntry> found) {
    std::map<std::string, const TensorEntry*> by_name;
    std::vector<std::string> names;
    for (const TensorEntry& entry : found) {
        if (entry.name.starts_with(check_prefix)) continue;
        by_name[entry.name] = &entry;
        names.push_back(entry.name);
    }
    for (const TensorSpec& spec : required) {
        const auto entry = by_name.find(spec.name);
        if (entry == by_name.end()) {
            if (spec.is_optional) continue;
            throw Error(Status::bad_file, "tensor '" + spec.name + "' " + shape_text(spec.shape) +
                                              " is missing" + did_you_mean(spec.name, names));
        }
        // Scalars of PyTorch have no axis; some writers make one number of one axis of them.
        const bool is_scalar =
            spec.shape == std::vector<int64_t>{1} && entry->second->shape.empty();
        if (entry->second->shape != spec.shape && !is_scalar) {
            throw Error(Status::bad_file, "tensor '" + spec.name + "' has shape " +
                                              shape_text(entry->second->shape) + ", expected " +
                                              shape_text(spec.shape) + " by the card's network");
        }
        if (!is_float(entry->second->dtype) && !is_counter(spec.name)) {
            throw Error(Status::bad_file, "tensor '" + spec.name + "' is stored as " +
                                              name(entry->second->dtype) +
                                              ", expected F32, F16, BF16 or F64");
        }
        by_name.erase(entry);
    }
    if (by_name.empty()) return;
    std::vector<std::string> wanted;
    for (const TensorSpec& spec : required) wanted.push_back(spec.name);
    const std::string& extra = by_name.begin()->first;
    throw Error(Status::bad_file, "tensor '" + printable(extra) +
                                      "' does not belong to the network of the card" +
                                      did_you_mean(extra, wanted));
}

std::unique_ptr<Network> make_network(const ModelFile& file,
                                      const std::shared_ptr<const MasterWeights>& weights) {
    return find_family(file.card.family).make(file, weights);
}

}  // namespace surrogate::impl
