// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/config.hpp"

#include <nlohmann/json.hpp>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/hyperparameters.hpp"
#include "libsurrogate/src/model/family/tensor_layout.hpp"

namespace surrogate::impl::sequoia {

namespace {

constexpr int64_t max_width = 1 << 20;  // bounds every product of two widths below 2^41
constexpr int64_t max_vocab = 1 << 24;  // tokens are exact in single precision

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Status::bad_file, "card: network." + text);
}

Schedule read_schedule(Hyperparameters& read) {
    if (read.text("seq_mode", "bottom-up") == "random") {
        throw Error(
            Status::not_supported,
            "card: network.seq_mode is 'random' (a random order in every run), which is not "
            "supported, expected bottom-up, top-down, complete or interleaved");
    }
    const std::vector<std::string> known = {"bottom-up", "top-down", "complete", "interleaved"};
    return static_cast<Schedule>(read.choice("seq_mode", known, 0));
}

/// Reads `drop`, the neighborhoods that attention omits.
void read_drop(Hyperparameters& read, Config& c) {
    const std::vector<std::string> known = {"ancestors", "siblings", "children"};
    const std::vector<size_t> dropped = read.choices("drop", known);
    for (const size_t which : dropped) {
        if (which == 0) c.ancestors = Ancestors::none;
        if (which == 1) c.has_siblings = false;
        if (which == 2) c.has_children = false;
    }
}

void read_inputs(Hyperparameters& read, Config& c) {
    c.features =
        static_cast<Features>(read.choice("pos_enc", {"fourier", "linear", "none", "tokens"}, 0));
    const bool is_tokens = c.features == Features::tokens;
    c.is_sequence = read.choice("tree", {"points", "sequence"}, is_tokens ? 1 : 0) == 1;
    c.c_in = read.integer("c_in", 1, max_width, c.c_in);
    c.dimensionality = read.integer("dimensionality", 1, 3, c.dimensionality);
    c.num_classes = read.integer("num_classes", 1, max_width, c.num_classes);
    c.vocab_size = read.integer("vocab_size", 1, max_vocab, 0);
    c.max_seq_len = read.integer("max_seq_len", 1, int64_t{1} << 40, 0);
    c.repeats_last = read.choice("ragged", {"exact", "repeat"}, is_tokens ? 1 : 0) == 1;
    c.has_sinusoid = read.choice("virtual_pos_encodings", {"none", "sin"}, is_tokens ? 1 : 0) == 1;
    c.has_marker = read.choice("level_marker", {"none", "zero"}, is_tokens ? 1 : 0) == 1;
    c.is_mean = read.choice("pooling_mode", {"NONE", "MEAN"}, is_tokens ? 1 : 0) == 1;
}

void read_layers(Hyperparameters& read, Config& c) {
    c.dim = read.integer("transformer_dim", 1, max_width, c.dim);
    c.num_head = read.integer("num_head", 1, max_width, c.num_head);
    c.head_dim = read.integer("head_dim", 1, max_width, c.head_dim);
    c.hidden_dim = read.integer("transformer_hidden_dim", 1, max_width, c.hidden_dim);
    c.num_layers = read.integer("num_layers", 0, 10000, c.num_layers);
    c.tied_weights = read.boolean("tied_weights", c.tied_weights);
    c.dropout = read.rate("dropout_prob", c.dropout);
    c.k = read.integer("k", 2, max_width, c.k);
    c.schedule = read_schedule(read);
    c.ancestors = static_cast<Ancestors>(read.choice("ancestors", {"all", "parent", "none"}, 0));
    read_drop(read, c);
    c.probe = static_cast<Probe>(read.choice("probe_layer", {"true", "root", "virtual", "all"}, 0));
}

/// Validates combinations of keys.
void check(const Config& c) {
    if (c.inner_dim() > max_width) {
        refuse("num_head (" + std::to_string(c.num_head) + ") times head_dim (" +
               std::to_string(c.head_dim) + ") is " + std::to_string(c.inner_dim()) +
               ", expected at most " + std::to_string(max_width));
    }
    if (c.features == Features::fourier && c.c_in % 2 != 0) {
        refuse("c_in is " + std::to_string(c.c_in) +
               ", expected an even number: Fourier features are pairs of cosines and sines");
    }
    if (c.has_sinusoid && c.dim % 2 != 0) {
        refuse("transformer_dim is " + std::to_string(c.dim) +
               ", expected an even number with virtual_pos_encodings 'sin'");
    }
    if (c.features != Features::tokens) return;
    if (!c.is_sequence) {
        refuse(
            "tree is 'points', expected 'sequence' with pos_enc 'tokens': tokens have no "
            "positions");
    }
    if (c.vocab_size == 0) refuse("vocab_size is missing, required by pos_enc 'tokens'");
    if (c.max_seq_len == 0) refuse("max_seq_len is missing, required by pos_enc 'tokens'");
}

}  // namespace

Config parse_config(const nlohmann::json& network) {
    Hyperparameters read(network, Config::family);
    Config c;
    read_inputs(read, c);
    read_layers(read, c);
    read.refuse_unknown();
    check(c);
    return c;
}

namespace {

void add_embeddings(Layout& layout, const Config& c) {
    const std::string name = "model.embeddings.";
    if (c.features == Features::fourier)
        layout.push_back({"pos_enc.linear.weight", {c.c_in / 2, c.dimensionality}});
    if (c.features == Features::linear) add_linear(layout, "pos_enc", c.dimensionality, c.c_in);
    if (c.features != Features::tokens) {
        add_linear(layout, name + "feature_embeddings", c.c_in, c.dim);
        return;
    }
    layout.push_back({name + "word_embeddings.weight", {c.vocab_size, c.dim}});
    layout.push_back({name + "position_embeddings.weight", {c.max_seq_len, c.dim}});
}

void add_layer(Layout& layout, const Config& c, const std::string& name) {
    add_norm(layout, name + "norm1", c.dim);
    for (const char* which : {"W_q", "W_k", "W_v"})
        add_linear(layout, name + "mha." + which, c.dim, c.inner_dim());
    add_linear(layout, name + "mha.ff", c.inner_dim(), c.dim);
    add_norm(layout, name + "norm2", c.dim);
    add_linear(layout, name + "mlpblock.0", c.dim, c.hidden_dim);
    add_linear(layout, name + "mlpblock.3", c.hidden_dim, c.dim);
}

}  // namespace

int64_t Config::n_tensor() const {
    const int64_t encoding = features == Features::fourier  ? 1
                             : features == Features::linear ? 2
                                                            : 0;
    return encoding + 2 + 16 * n_weight_layer() + 6;
}

std::string layer_name(const Config& config, int64_t layer) {
    if (config.tied_weights) return "model.transformer.";
    return "model.transformer_" + std::to_string(layer) + ".";
}

std::vector<TensorSpec> layout(const Config& c) {
    Layout layout;
    add_embeddings(layout, c);
    for (int64_t i = 0; i < c.n_weight_layer(); ++i) add_layer(layout, c, layer_name(c, i));
    add_norm(layout, "model.norm", c.dim);
    add_linear(layout, "seq_classifer.mlpblock.0", c.dim, c.hidden_dim);
    add_linear(layout, "seq_classifer.mlpblock.2", c.hidden_dim, c.num_classes);
    return layout;
}

}  // namespace surrogate::impl::sequoia
