// SPDX-License-Identifier: Apache-2.0
#include "coupling/spectrum/flare_cut.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

#include "coupling/job/output.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

/// Returns the value of a key; null is the default, as in the official constructors.
template <class T>
T value_of(const json& network, const char* key, T fallback) {
    const auto found = network.find(key);
    return found == network.end() || found->is_null() ? fallback : found->get<T>();
}

FlareShape shape_of(const json& network) {
    const auto name = value_of<std::string>(network, "model", "FLAREModel");
    if (name == "ModelWrapper" || name == "FLARE")
        fail(std::string("spectrum: the model is a ") +
             (name == "FLARE" ? "FLARE of PhysicsNeMo" : "sequence classifier (ModelWrapper)") +
             ", expected FLAREModel or BigFLAREModel");
    FlareShape s;
    s.is_ablation = name == "BigFLAREModel";
    s.channel_dim = value_of<int64_t>(network, "channel_dim", 64);
    s.num_blocks = value_of<int64_t>(network, "num_blocks", 8);
    s.num_heads = value_of<int64_t>(network, "num_heads", s.channel_dim / 8);
    s.num_latents = network.at("num_latents").get<int64_t>();
    s.in_dim = network.at("in_dim").get<int64_t>();
    s.n_io_inner = value_of<int64_t>(network, "num_layers_in_out_proj", 2);
    s.rmsnorm = value_of(network, "rmsnorm", false);
    s.qk_norm = value_of(network, "qk_norm", false);
    s.is_silu = value_of<std::string>(network, "act", "gelu") == "silu";
    s.attn_scale = value_of(network, "attn_scale", 1.0);
    s.shared_latents = value_of(network, "shared_latents", false);
    if (value_of(network, "point_weights", false))
        fail(
            "spectrum: the network weights the points (point_weights), which the spectrum is not "
            "built for");
    if (value_of<int64_t>(network, "num_latent_blocks", 0) > 0)
        fail(
            "spectrum: with latent blocks (num_latent_blocks) mixing is not linear: it has no "
            "eigenvalues");
    if (s.n_io_inner >= 0 && value_of(network, "in_out_proj_ratio", 1.0) != 1.0)
        fail("spectrum: models whose in_out_proj_ratio is not 1 cannot be cut between blocks");
    return s;
}

/// Returns the name that the library uses, without prefixes of wrapped modules.
std::string plain_name(std::string name) {
    for (bool is_wrapped = true; is_wrapped;) {
        is_wrapped = false;
        for (const char* prefix : {"module.", "_orig_mod."})
            if (name.starts_with(prefix)) {
                name.erase(0, std::string(prefix).size());
                is_wrapped = true;
            }
    }
    return name;
}

/// Adds last layers that change nothing.
void add_identity(ModelBytes& model, const FlareShape& shape) {
    const int64_t n = shape.channel_dim;
    const auto size = static_cast<size_t>(n);
    const std::vector<float> zeros(size * size, 0.0f);
    std::vector<float> identity = zeros;
    for (size_t i = 0; i < size; ++i) identity[i * size + i] = 1;
    const std::string name = shape.is_ablation ? "out_proj.mlp." : "out_proj.1.";
    const auto add = [&](const std::string& layer, const std::vector<float>& weight) {
        model.add(name + layer + ".weight", "F32", {n, n}, weight.data(),
                  size * size * sizeof(float));
        model.add(name + layer + ".bias", "F32", {n}, zeros.data(), size * sizeof(float));
    };
    if (shape.n_io_inner < 0) return add("fc", identity);
    add("fc1", zeros);
    for (int64_t j = 0; j < shape.n_io_inner; ++j) add("fcs." + std::to_string(j), zeros);
    add("fc2", identity);
}

/// Returns 12 for "blocks.12.norm1.weight"; -1 for a name that belongs to no block.
int64_t block_of(const std::string& name) {
    const std::string begin = "blocks.";
    return name.starts_with(begin) ? std::stoll(name.substr(begin.size())) : -1;
}

}  // namespace

FlareCut::FlareCut(const Job& job, const Model& model, const std::string& file) : job_(job) {
    if (model.family() != "flare")
        fail("spectrum: FLARE's mixing has a spectrum; '" + one_line(file) + "' is of the family " +
             one_line(model.family()));
    card_ = json::parse(model.describe()).at("card").dump();
    shape_ = shape_of(json::parse(card_).at("network"));
    job.agree([&] {
        if (!job.is_root()) return;
        bytes_ = ModelBytes::read(file);
        bytes_.remove_check_case();
        bytes_.rename([](const std::string& name) { return plain_name(name); });
    });
}

std::string FlareCut::cut_bytes(int64_t block) const {
    const json whole = json::parse(card_);
    json network = whole.at("network");
    network["num_blocks"] = block;
    network["num_heads"] = shape_.num_heads;
    network["out_dim"] = shape_.channel_dim;
    network[shape_.is_ablation ? "out_proj_ln" : "out_proj_norm"] = false;
    ModelBytes cut = bytes_;
    cut.rename([&](const std::string& name) {
        const bool is_behind = block_of(name) >= block || name.starts_with("out_proj.");
        return is_behind ? std::string() : name;
    });
    add_identity(cut, shape_);
    cut.set_card(json{{"format", 1}, {"family", "flare"}, {"network", network}}.dump());
    return cut.bytes();
}

Model FlareCut::stream_before(const Context& context, int64_t block) const {
    std::string bytes;
    job_.agree([&] {
        if (job_.is_root()) bytes = cut_bytes(block);
    });
    return Model(context, bytes.data(), static_cast<int64_t>(bytes.size()));
}

std::vector<double> FlareCut::weight(const std::string& name) const {
    std::string numbers;
    job_.agree([&] {
        if (!job_.is_root()) return;
        const std::vector<double> values = bytes_.values(name);
        numbers.assign(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(double));
    });
    numbers = job_.broadcast(numbers);
    std::vector<double> values(numbers.size() / sizeof(double));
    std::memcpy(values.data(), numbers.data(), numbers.size());
    return values;
}

bool FlareCut::has_weight(const std::string& name) const {
    return job_.max(static_cast<int64_t>(job_.is_root() && bytes_.has(name))) != 0;
}

}  // namespace surrogate::tool
