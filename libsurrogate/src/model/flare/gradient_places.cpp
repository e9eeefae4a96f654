// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/gradient_places.hpp"

#include <algorithm>

namespace surrogate::impl::flare {

namespace {

/// Finds tensors by name, and notes them as written by the sweep under way.
class Finder {
public:
    Finder(const Config& config, const MasterWeights& master) : config_(config), master_(master) {}

    int64_t at(const std::string& name) {
        const int64_t place = maybe(name);
        if (place < 0) throw Error(Status::internal, "the master has no weight '" + name + "'");
        return place;
    }
    /// < 0: there is none.
    int64_t maybe(const std::string& name) {
        const MasterWeights::Entry* const entry = master_.find(name);
        if (!entry) return -1;
        found_.push_back(entry);
        return entry->first;
    }
    LinearPlace linear(const std::string& name) {
        return {at(name + ".weight"), at(name + ".bias")};
    }
    NormPlace norm(const std::string& name) {
        return {at(name + ".weight"), config_.rmsnorm ? -1 : at(name + ".bias")};
    }
    MlpPlace mlp(const std::string& name, const MlpShape& shape) {
        MlpPlace place;
        for (int64_t j = 0; j < shape.n_layer(); ++j)
            place.layers.push_back(linear(layer_name(name, shape, j)));
        return place;
    }

    /// Returns the ranges found since the last call: ranges in ascending order, of neighbors one.
    std::vector<PlaceRange> take_ranges() {
        std::ranges::sort(found_);  // entries of one array
        const MasterWeights::Entry* const entries = master_.entries().data();
        const MasterWeights::Entry* const end = entries + master_.entries().size();
        std::vector<PlaceRange> ranges;
        for (const MasterWeights::Entry* entry : found_) {
            const int64_t next = entry + 1 < end ? (entry + 1)->first : entry->first + entry->size;
            if (!ranges.empty() && ranges.back().end == entry->first) {
                ranges.back().end = next;
            } else {
                ranges.push_back({entry->first, next});
            }
        }
        found_.clear();
        return ranges;
    }

private:
    const Config& config_;
    const MasterWeights& master_;
    std::vector<const MasterWeights::Entry*> found_;
};

/// Offsets of the weights that attention uses before its scores.
void find_first_half(Finder& find, const Config& config, const std::string& name,
                     BlockPlaces& block) {
    const auto names = names_of(config).block;
    block.norm1 = find.norm(name + "." + names.norm1);
    block.latent_q = find.at(name + "." + names.latent_q);
    if (config.qk_norm) {
        block.q_norm = find.norm(name + ".att.q_norm");
        block.k_norm = find.norm(name + ".att.k_norm");
    }
    if (!names.in_project.empty()) block.in_project = find.linear(name + "." + names.in_project);
    block.k_proj = find.mlp(name + "." + names.k_proj, config.k_proj);
    block.v_proj = find.mlp(name + "." + names.v_proj, config.v_proj);
}

/// Names as in layout().
LatentBlockPlaces find_latent_block(Finder& find, const std::string& name) {
    LatentBlockPlaces block;
    block.norm1 = find.norm(name + ".norm1");
    block.norm2 = find.norm(name + ".norm2");
    block.qkv_proj = find.linear(name + ".att.qkv_proj");
    block.out_proj = find.linear(name + ".att.out_proj");
    block.mlp.layers = {find.linear(name + ".mlp.fc1"), find.linear(name + ".mlp.fc2")};
    block.written = find.take_ranges();
    return block;
}

void find_second_half(Finder& find, const Config& config, const std::string& name,
                      BlockPlaces& block) {
    const auto names = names_of(config).block;
    block.out_proj = find.linear(name + "." + names.out_proj);
    block.norm2 = find.norm(name + "." + names.norm2);
    block.ffn = find.mlp(name + "." + names.ffn, config.ffn);
}

/// Offsets of a sequence.
MlpPlace find_head(Finder& find, const Config& config, const TensorNames& names) {
    if (config.out_proj.n_inner < 0) return {{find.linear(names.out_proj)}};
    return {{find.linear(names.out_proj_layers[0]), find.linear(names.out_proj_layers[1])}};
}

void find_embeddings(Finder& find, SequencePlaces& sequence) {
    sequence.words = find.at("token_emb.token_embed.weight");
    sequence.class_token = find.maybe("cls_token");
}

/// Positions are added before every block.
void find_positions(Finder& find, SequencePlaces& sequence) {
    sequence.position_scale = find.maybe("pos_emb.pos_scale");
    sequence.positions = find.maybe("pos_emb.pe.weight");
}

}  // namespace

Places::Places(const Config& config, const MasterWeights& master) {
    Finder find(config, master);
    const TensorNames names = names_of(config);
    const bool is_pooled = config.is_sequence() && config.sequence.pool != Pool::none;
    if (is_pooled) {
        if (config.out_proj_norm) sequence.head_norm = find.norm("cls_proj.1");
        out_proj = find_head(find, config, names);
        sequence.head = find.take_ranges();
    }
    blocks.resize(static_cast<size_t>(config.num_blocks));
    written_.resize(blocks.size() + 1);
    for (size_t s = 0; s <= blocks.size(); ++s) {
        if (s < blocks.size()) {
            find_first_half(find, config, "blocks." + std::to_string(s), blocks[s]);
            if (config.is_sequence()) find_positions(find, sequence);
        } else {
            if (config.out_proj_norm) out_norm = find.norm(names.out_norm);
            if (!config.is_sequence()) out_proj = find.mlp(names.out_proj, config.out_proj);
            if (config.is_sequence() && !is_pooled) out_proj = find_head(find, config, names);
        }
        if (s > 0) {
            find_second_half(find, config, "blocks." + std::to_string(s - 1), blocks[s - 1]);
        } else if (config.is_sequence()) {
            find_embeddings(find, sequence);
        } else {
            in_proj = find.mlp(names.in_proj, config.in_proj);
            if (config.physicsnemo.time_input)
                time_fc = find.mlp("time_fc", config.physicsnemo.time_fc);
        }
        written_[s] = find.take_ranges();
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
        const std::string name = "blocks." + std::to_string(i) + ".att.latent_blocks.";
        for (int64_t j = 0; j < config.num_latent_blocks; ++j)
            blocks[i].latent_blocks.push_back(find_latent_block(find, name + std::to_string(j)));
    }
}

std::vector<int> Places::stages(const MasterWeights& master) const {
    std::vector<int> stages;
    for (const MasterWeights::Entry& entry : master.entries()) {
        const auto is_in = [&](const std::vector<PlaceRange>& ranges) {
            return std::ranges::any_of(ranges, [&](const PlaceRange& r) {
                return r.begin <= entry.first && entry.first < r.end;
            });
        };
        const auto is_written = [&](size_t s) {
            return is_in(written_[s]) ||
                   (s < blocks.size() && std::ranges::any_of(blocks[s].latent_blocks, is_in,
                                                             &LatentBlockPlaces::written));
        };
        // Entries that no sweep writes are complete from the start.
        size_t s = 0;
        while (s + 1 < written_.size() && !is_written(s)) ++s;
        stages.push_back(static_cast<int>(written_.size() - 1 - s));
    }
    return stages;
}

}  // namespace surrogate::impl::flare
