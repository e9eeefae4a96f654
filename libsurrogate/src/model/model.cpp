// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/model.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/attached_file.hpp"
#include "libsurrogate/src/file/counters.hpp"
#include "libsurrogate/src/file/json.hpp"
#include "libsurrogate/src/file/model_writer.hpp"
#include "libsurrogate/src/file/stored_floats.hpp"
#include "libsurrogate/src/model/check_truth.hpp"
#include "libsurrogate/src/model/families.hpp"

namespace surrogate::impl {

namespace {

/// A null path becomes an error on every rank, not only on rank 0.
std::string agreed_path(Context& context, const char* path) {
    std::string text;
    context.comm().agree([&] {
        if (!path) throw Error(Status::invalid_argument, "path of the model file is NULL");
        text = path;
    });
    return text;
}

void match_counts(const std::vector<FieldCard>& fields, const std::vector<Port>& ports,
                  const char* which) {
    const int64_t n_channel = n_channel_of(ports);
    if (fields.empty() || std::ssize(fields) == n_channel) return;
    throw Error(Status::bad_file, "card: " + std::to_string(fields.size()) + " " + which +
                                      ", but the network has " + std::to_string(n_channel) +
                                      " channels");
}

std::string role_of(const FieldCard& field) {
    return "'" + printable(field.name) + "' is " +
           (field.is_coordinate ? "coordinate " + std::to_string(field.axis)
            : field.is_cloud    ? "a number per cloud"
                                : "a field");
}

/// Positions come from the domain: the inputs of that port must say so, axis by axis.
void match_coordinates(const std::vector<FieldCard>& inputs, const std::vector<Port>& ports) {
    for (int axis = 0; axis < n_coordinate_of(ports); ++axis) {
        const FieldCard& input = inputs[static_cast<size_t>(axis)];
        if (input.is_coordinate && input.axis == axis) continue;
        throw Error(Status::bad_file,
                    "card: input " + std::to_string(axis) + " " + role_of(input) +
                        ", expected the coordinate of axis " + std::to_string(axis) +
                        "; the network's '" + ports.front().name +
                        "' are positions, so the first " + std::to_string(ports.front().n_channel) +
                        " inputs are the coordinates of axes 0, 1, .. in this order");
    }
}

/// A number per cloud is read at the points of the cloud.
void match_clouds(const std::vector<FieldCard>& inputs, const std::vector<Port>& ports) {
    const FieldCard* input = inputs.data();
    for (const Port& port : ports) {
        for (int64_t c = 0; c < port.n_channel; ++c, ++input) {
            const bool is_at_points = port.place == PortPlace::input_points;
            if (!input->is_cloud || (is_at_points && port.kind == NumberKind::real)) continue;
            throw Error(Status::bad_file,
                        "card: input '" + printable(input->name) +
                            "' has the role \"cloud\", and the network's '" + port.name +
                            "' are not real numbers at the points of the input domain");
        }
    }
}

/// Matches the integer inputs of card and network. Integers are identifiers, of tokens for example,
/// so they are not normalized and are not coordinates.
void match_integers(const std::vector<FieldCard>& inputs, const std::vector<Port>& ports) {
    const FieldCard* input = inputs.data();
    for (const Port& port : ports) {
        for (int64_t c = 0; c < port.n_channel; ++c, ++input) {
            const bool is_plain = !input->is_coordinate && input->mean == 0 && input->std == 1;
            if (port.kind == NumberKind::real || is_plain) continue;
            throw Error(Status::bad_file, "card: input '" + printable(input->name) +
                                              "' is an integer to the network ('" + port.name +
                                              "'), expected role field, mean 0 and std 1");
        }
    }
}

/// The card's fields must be those the network was built for.
void match_fields(const Card& card, const Network& network) {
    const std::vector<Port> inputs = network.inputs();
    match_counts(card.inputs, inputs, "inputs");
    match_counts(card.outputs, network.outputs(), "outputs");
    if (card.inputs.empty()) return;
    match_coordinates(card.inputs, inputs);
    match_clouds(card.inputs, inputs);
    match_integers(card.inputs, inputs);
}

// Parts of the description are made in their place: trees that go on the way would be destroyed by
// nlohmann's destructor, which ends the program if there is no memory (see clear_tree).

/// Describes the stored types of the weights and their conversion.
void describe_weights(std::span<const TensorEntry> entries, nlohmann::json& types) {
    types = nlohmann::json::object();
    for (const TensorEntry& entry : entries) {
        if (entry.name.starts_with(check_prefix)) continue;
        nlohmann::json& type = types[name(entry.dtype)];
        if (type.is_null()) {
            type = nlohmann::json::object();  // [] on a null value is not safe without memory
            type["tensors"] = 0;
            type["read"] = how_read(entry.dtype);
        }
        type["tensors"] = type["tensors"].get<int64_t>() + 1;
    }
}

/// Description of a file besides its card, once its network is known.
std::string describe(const ModelFile& file, int64_t n_parameter, CheckTruth truth) {
    JsonTree tree(nlohmann::json::object());
    nlohmann::json& text = tree.root();
    text["family"] = file.card.family;
    text["parameters"] = n_parameter;
    describe_weights(file.entries, text["weights"]);
    nlohmann::json& check = text["check"] = nlohmann::json::object();
    for (const TensorEntry& entry : file.entries) {
        if (!is_check_tensor(entry.name)) continue;
        nlohmann::json& shape = check[entry.name.substr(check_prefix.size())];
        shape = nlohmann::json::array();
        for (const int64_t extent : entry.shape) shape.push_back(extent);
    }
    text["check_truth"] = name(truth);
    if (truth != CheckTruth::double_precision) text["check_note"] = check_note(truth);
    return dump_json(text);
}

/// The file's tensors, in the order of the state_dict.
std::shared_ptr<MasterWeights> make_weights(ModelFile& file) {
    std::map<std::string, size_t> place;
    for (const TensorSpec& spec : required_tensors(file.card, std::ssize(file.entries)))
        place.emplace(spec.name, place.size());
    std::ranges::sort(file.tensors, {}, [&](const Tensor& t) { return place.at(t.entry.name); });
    auto weights = std::make_shared<MasterWeights>(file.tensors);
    file.tensors.clear();
    return weights;
}

/// Writes to the host's log that a file is not fully checked.
void log_check_case(const Context& context, const ModelSource& source, CheckTruth truth) {
    if (truth == CheckTruth::double_precision) return;
    if (context.comm().rank() != 0 || !context.has_log()) return;
    context.log(source.name() + ": " + check_note(truth));
}

}  // namespace

Model::Model(std::shared_ptr<Context> context, const char* path) : context_(std::move(context)) {
    const std::string name = agreed_path(*context_, path);
    load(PathSource(context_->files(), name));
}

Model::Model(std::shared_ptr<Context> context, const ModelSource& source)
    : context_(std::move(context)) {
    load(source);
}

void Model::load(const ModelSource& source) {
    const auto is_weight = [](std::string_view tensor) {
        return !tensor.starts_with(check_prefix) && !is_counter(tensor);
    };
    const auto accept = [](const Card& card, std::span<const TensorEntry> entries) {
        match_tensors(required_tensors(card, std::ssize(entries)), entries);
    };
    const auto rename = [](const Card& card, std::vector<TensorEntry>& entries) {
        adopt_names(required_tensors(card, std::ssize(entries)), entries);
    };
    ModelFile file = load_model(context_->comm(), source, is_weight, accept, rename);
    std::optional<AttachedFile> attached;
    context_->comm().agree([&] { attached = attached_file(file.card); });
    if (attached) file.attached = load_attached(context_->comm(), source, *attached);
    context_->comm().agree([&] {
        weights_ = make_weights(file);
        card_ = std::make_shared<ModelCard>(file.card, file.card_text);
        network_ = make_network(file, weights_);
        set_ports();
        const CheckTruth truth = check_truth(file.entries, network_->inputs(), network_->outputs());
        card_->set_description(describe(file, weights_->n_parameter(), truth));
        log_check_case(*context_, source, truth);
    });
}

Model::Model(std::shared_ptr<Context> context, const Card& card, std::unique_ptr<Network> network)
    : context_(std::move(context)),
      card_(std::make_shared<ModelCard>(card, "{}")),
      weights_(std::make_shared<MasterWeights>(std::span<const Tensor>())),
      network_(std::move(network)) {
    set_ports();
}

void Model::set_ports() {
    match_fields(card(), *network_);
    for (const Port& port : network_->inputs()) ports_.push_back({port, false});
    for (const Port& port : network_->outputs()) ports_.push_back({port, true});
}

uint64_t Model::hash() const {
    if (!hash_) {
        auto hash = std::make_shared<KnownHash>();
        forget_hash_ = weights_->on_refresh([hash] { hash->is_known = false; });
        hash_ = std::move(hash);
    }
    if (!hash_->is_known || hash_->card_revision != card_->revision())
        *hash_ = {true, model_hash(card_text(), *weights_), card_->revision()};
    return hash_->value;
}

void Model::save(const char* path) const {
    const std::string name = agreed_path(*context_, path);
    context_->comm().agree([&] {
        if (const auto attached = attached_file(card())) {
            throw Error(Status::not_supported,
                        "the network is in the file '" + printable(attached->name) +
                            "', which is not copied; copy the model file and this file");
        }
        if (context_->comm().rank() != 0) return;
        const auto values = std::as_const(*weights_).values();
        std::vector<WrittenTensor> tensors;
        for (const MasterWeights::Entry& entry : weights_->entries()) {
            const auto own =
                values.subspan(static_cast<size_t>(entry.first), static_cast<size_t>(entry.size));
            tensors.push_back({{entry.name, DType::float32, entry.shape}, std::as_bytes(own)});
        }
        save_model_file(context_->files(), name, card_text(), tensors);
    });
}

CheckCase::CheckCase(std::shared_ptr<Context> context, const char* path)
    : context_(std::move(context)) {
    const std::string name = agreed_path(*context_, path);
    const auto accept = [](const Card&, std::span<const TensorEntry> entries) {
        for (const TensorEntry& entry : entries) {
            if (entry.name.starts_with("check/output64/")) return;
            if (entry.name.starts_with("check/output/")) return;
        }
        throw Error(Status::not_supported,
                    "the file has no check case (tensors check/input/.., check/output/.., "
                    "check/output64/..)");
    };
    ModelFile file =
        load_model_file(context_->comm(), context_->files(), name, is_check_tensor, accept);
    tensors_ = std::move(file.tensors);
    for (Tensor& tensor : tensors_) tensor.entry.name.erase(0, check_prefix.size());
}

}  // namespace surrogate::impl
