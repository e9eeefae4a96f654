// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/file/hyperparameters.hpp"

namespace surrogate::impl::flare {

using kernels::Activation;

namespace {

constexpr int64_t max_width = 1 << 20;  // bounds every product of two widths below 2^41

/// One of the classes by its name.
Variant variant_of(const std::string& model) {
    if (model == "FLAREModel" || model == "FLAREExperimentalModel") return Variant::model;
    if (model == "BigFLAREModel") return Variant::ablation;
    if (model == "ModelWrapper") return Variant::sequence;
    if (model == "FLARE") return Variant::physicsnemo;
    throw Error(Status::bad_file,
                "card: network.model '" + printable(model) +
                    "' is not a class of FLARE; built: FLAREModel, FLAREExperimentalModel, "
                    "BigFLAREModel, ModelWrapper, FLARE (of PhysicsNeMo)");
}

void require(bool holds, const std::string& text) {
    if (!holds) throw Error(Status::bad_file, "card: network." + text);
}

/// Reads the keys of a class, and makes shapes of them.
class Reader {
public:
    Reader(const nlohmann::json& network, const std::string& model)
        : network_(network), read_(network, model) {
        c_.variant = variant_of(read_.text("model", "FLAREModel"));
    }

    Config config() {
        switch (c_.variant) {
            case Variant::model: read_model(); break;
            case Variant::ablation: read_ablation(); break;
            case Variant::sequence: read_sequence(); break;
            case Variant::physicsnemo: read_physicsnemo(); break;
        }
        read_.refuse_unknown();
        require(c_.is_sequence() || c_.in_dim > 0, "in_dim is missing");
        require(c_.out_dim > 0, c_.is_sequence() ? "num_labels is missing" : "out_dim is missing");
        require(!c_.is_sequence() || c_.sequence.n_word > 0, "vocab_size is missing");
        require(c_.num_latents > 0, "num_latents is missing");
        require_heads(c_.is_physicsnemo() ? "n_head" : "num_heads",
                      c_.is_physicsnemo() ? "n_hidden" : "channel_dim");
        if (c_.is_sequence()) require_pairs();
        return c_;
    }

private:
    int depth(const char* key, int fallback) {
        return static_cast<int>(read_.integer(key, -1, 1000, fallback));
    }

    /// int(C * ratio): product in double, truncated.
    int64_t width(const char* key) {
        const double width = static_cast<double>(c_.channel_dim) * read_.positive(key, 1.0);
        if (!(width >= 1 && width <= static_cast<double>(max_width))) {
            throw Error(Status::bad_file, std::string("card: network.") + key +
                                              " gives a hidden width of " + std::to_string(width) +
                                              ", outside 1 .. " + std::to_string(max_width));
        }
        return static_cast<int64_t>(width);
    }

    void read_widths(int64_t channel_dim, int64_t num_blocks, int64_t num_heads) {
        c_.channel_dim = read_.integer("channel_dim", 1, max_width, channel_dim);
        c_.num_blocks = read_.integer("num_blocks", 0, 10000, num_blocks);
        c_.num_heads = read_.integer("num_heads", 1, c_.channel_dim,
                                     num_heads > 0 ? num_heads : c_.channel_dim / 8);
        c_.num_latents = read_.integer("num_latents", 1, max_width, 0);
        const std::string act = read_.text("act", "gelu");
        if (act != "gelu" && act != "silu") {
            throw Error(Status::bad_file, "card: network.act is '" + printable(act) +
                                              "', expected gelu, silu or null");
        }
        c_.activation = act == "gelu" ? Activation::gelu_tanh : Activation::silu;
    }

    void read_ends(const char* width_key) {
        c_.in_dim = read_.integer("in_dim", 1, max_width, 0);
        c_.out_dim = read_.integer("out_dim", 1, max_width, 0);
        const int io = depth("num_layers_in_out_proj", 2);
        const int64_t channels = c_.channel_dim;
        const int64_t hidden = width_key ? width(width_key) : channels;
        c_.in_proj = {c_.in_dim, hidden, channels, io, false, true};
        c_.out_proj = {channels, hidden, c_.out_dim, io, true, false};
        c_.point_weights = read_.boolean("point_weights", false);
    }

    MlpShape chain(int n_inner, int64_t n_hidden) const {
        return {c_.channel_dim, n_hidden, c_.channel_dim, n_inner, true, true};
    }

    void read_model() {
        read_widths(64, 8, 0);
        read_ends(nullptr);
        c_.rmsnorm = read_.boolean("rmsnorm", false);
        c_.out_proj_norm = read_.boolean("out_proj_norm", true);
        c_.qk_norm = read_.boolean("qk_norm", false);
        c_.attn_scale = read_.positive("attn_scale", 1.0);
        c_.k_proj = chain(depth("num_layers_k_proj", 3), width("k_proj_mlp_ratio"));
        c_.v_proj = chain(depth("num_layers_v_proj", 3), width("v_proj_mlp_ratio"));
        c_.ffn = chain(depth("num_layers_ffn", 3), width("ffn_mlp_ratio"));
    }

    void read_ablation() {
        read_widths(64, 8, 0);
        read_ends("in_out_proj_ratio");
        c_.out_proj_norm = read_.boolean("out_proj_ln", true);
        c_.k_proj = c_.v_proj = chain(depth("num_layers_kv_proj", 3), width("kv_proj_ratio"));
        c_.ffn = chain(depth("num_layers_mlp", 3), width("mlp_ratio"));
        c_.shared_latents = read_.boolean("shared_latents", false);
        c_.num_latent_blocks = read_.integer("num_latent_blocks", 0, 1000, 0);
        require(!c_.shared_latents || c_.num_latent_blocks == 0,
                "num_latent_blocks is " + std::to_string(c_.num_latent_blocks) +
                    ", but latents that all heads share (shared_latents) pass through no blocks; "
                    "remove one of the two");
    }

    void require_heads(const std::string& heads, const std::string& channels) const {
        require(c_.num_heads > 0 && c_.channel_dim % c_.num_heads == 0,
                heads + " is " + std::to_string(c_.num_heads) + ", expected a divisor of " +
                    channels + " = " + std::to_string(c_.channel_dim));
    }

    void refuse_unbuilt();
    void read_physicsnemo();
    void read_sequence();
    void read_positions();
    void require_pairs() const;

    const nlohmann::json& network_;
    Hyperparameters read_;
    Config c_;
};

void Reader::read_positions() {
    SequenceConfig& s = c_.sequence;
    const int64_t length = read_.integer("max_length", 1, int64_t{1} << 32, 256);
    s.max_length = length + (s.has_class_token() ? 1 : 0);
    s.position = static_cast<PositionCode>(read_.choice("pos_embed", {"sin", "abs", "rope"}, 0));
}

/// Sines and cosines take turns.
void Reader::require_pairs() const {
    const PositionCode position = c_.sequence.position;
    const bool turns = position == PositionCode::rotary;
    const int64_t n = turns ? c_.head_dim() : c_.channel_dim;
    require(position == PositionCode::learned || n % 2 == 0,
            std::string("pos_embed takes channels in pairs: ") +
                (turns ? "channel_dim / num_heads" : "channel_dim") + " is " + std::to_string(n) +
                ", expected an even number");
}

void Reader::read_sequence() {
    SequenceConfig& s = c_.sequence;
    const std::string task = read_.text("task", "");
    if (task == "retrieval") {
        throw Error(Status::not_supported,
                    "FLARE ModelWrapper of task 'retrieval' compares two sequences, which is not "
                    "built; built: tasks of one sequence");
    }
    const std::string backend = read_.text("backend", "flare");
    require(backend == "flare", "backend is '" + printable(backend) + "', expected flare");
    read_widths(128, 4, 4);
    // null means no pooling here, and not the default.
    s.pool = static_cast<Pool>(read_.choice("pool", {"none", "mean", "max", "cls"}, 1));
    if (network_.contains("pool") && network_["pool"].is_null()) s.pool = Pool::none;
    s.n_word = read_.integer("vocab_size", 1, int64_t{1} << 32, 0);
    if (read_.has("pad_id") && s.n_word > 0) {
        s.padding = read_.integer("pad_id", 0, s.n_word, 0);
        ++s.n_word;
    }
    read_positions();
    s.emb_drop = read_.rate("emb_drop", 0);
    s.cls_drop = read_.rate("cls_drop", 0);
    s.attn_drop = read_.rate("attn_drop", 0);
    s.proj_drop = read_.rate("proj_drop", 0);
    c_.rmsnorm = read_.boolean("rmsnorm", false);
    c_.attn_scale = read_.positive("attn_scale", 1.0);
    c_.k_proj = c_.v_proj =
        chain(depth("num_layers_kv_proj", 3),
              read_.integer("kv_proj_hidden_dim", 1, max_width, c_.channel_dim));
    c_.ffn = chain(depth("num_layers_ffn", 3),
                   read_.integer("ffn_hidden_dim", 1, max_width, c_.channel_dim));
    c_.out_proj_norm = s.is_normed();
    c_.out_dim = read_.integer("num_labels", 1, max_width, 0);
    const std::string deep[] = {"image", "pathfinder32", "pathfinder128", "text"};
    const int n_inner = std::ranges::find(deep, task) == std::end(deep) ? -1 : 0;
    c_.out_proj = {c_.channel_dim, c_.channel_dim, c_.out_dim, n_inner, false, false};
}

void Reader::refuse_unbuilt() {
    const auto refuse = [](const std::string& key, const char* what) {
        throw Error(Status::not_supported, "card: network." + key + " is true: " + what +
                                               " of PhysicsNeMo's FLARE is not built; expected "
                                               "false");
    };
    if (read_.boolean("unified_pos", false))
        refuse("unified_pos", "the distance to a reference grid in place of coordinates");
    if (read_.boolean("use_te", false))
        refuse("use_te", "the variant with layers of Transformer Engine");
}

/// structured_shape and ref do not change what is computed without unified_pos.
void Reader::read_physicsnemo() {
    refuse_unbuilt();
    read_.integer("ref", 1, max_width, 8);
    read_.integers("structured_shape", 1, max_width, 3, {});
    PhysicsNemoConfig& p = c_.physicsnemo;
    require(read_.has("functional_dim"), "functional_dim is missing");
    p.functional_dim = read_.integer("functional_dim", 0, max_width, 0);
    p.embedding_dim = read_.integer("embedding_dim", 1, max_width, 0);
    require(p.embedding_dim > 0, "embedding_dim is missing");
    c_.out_dim = read_.integer("out_dim", 1, max_width, 0);
    c_.num_blocks = read_.integer("n_layers", 1, 10000, 4);
    c_.channel_dim = read_.integer("n_hidden", 1, max_width / 2, 256);
    c_.num_heads = read_.integer("n_head", 1, c_.channel_dim, 8);
    c_.num_latents = read_.integer("slice_num", 1, max_width, 32);
    p.dropout = read_.rate("dropout", 0);
    p.time_input = read_.boolean("time_input", false);
    c_.point_weights = read_.boolean("point_weights", false);
    constexpr Activation built[] = {Activation::gelu, Activation::silu, Activation::relu,
                                    Activation::tanh, Activation::identity};
    c_.activation = built[read_.choice("act", {"gelu", "silu", "relu", "tanh", "identity"}, 0)];

    const int64_t channels = c_.channel_dim, head = channels / c_.num_heads;
    const int64_t hidden = channels * read_.integer("mlp_ratio", 1, max_width / channels, 4);
    const auto chain = [](int64_t n_in, int64_t n_hidden, int64_t n_out, int n_inner) {
        return MlpShape{n_in, n_hidden, n_out, n_inner, false, false, true};
    };
    const int64_t n_point_input = p.embedding_dim + p.functional_dim;
    c_.in_dim = n_point_input + (p.time_input ? 1 : 0);
    c_.in_proj = chain(n_point_input, 2 * channels, channels, 0);
    c_.k_proj = c_.v_proj = chain(head, 0, head, -1);
    c_.ffn = chain(channels, hidden, channels, 0);
    c_.out_proj = chain(channels, 0, c_.out_dim, -1);
    p.time_fc = p.time_input ? chain(channels, channels, channels, 0) : MlpShape{};
    require(!p.time_input || channels % 2 == 0, "time_input takes channels in pairs: n_hidden is " +
                                                    std::to_string(channels) +
                                                    ", expected an even number");
}

}  // namespace

double Config::flops_of_keys_and_values() const {
    const auto n_channel = static_cast<double>(channel_dim);
    const double per_module = k_proj.flops() + v_proj.flops();
    if (!is_physicsnemo()) return per_module;
    return 2 * n_channel * n_channel + static_cast<double>(num_heads) * per_module;
}

double MlpShape::flops() const {
    const auto product = [](int64_t a, int64_t b) {
        return 2.0 * static_cast<double>(a) * static_cast<double>(b);
    };
    if (n_inner < 0) return product(n_in, n_out);
    return product(n_in, n_hidden) + n_inner * product(n_hidden, n_hidden) +
           product(n_hidden, n_out);
}

Config parse_config(const nlohmann::json& network) {
    std::string model = "FLAREModel";
    if (network.is_object() && network.contains("model") && network["model"].is_string())
        model = network["model"].get<std::string>();
    variant_of(model);
    return Reader(network, model).config();
}

}  // namespace surrogate::impl::flare
