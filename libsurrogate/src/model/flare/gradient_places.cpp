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
        const MasterWeights::Entry* const entry = master_.find(name);
        if (!entry) throw Error(Status::internal, "the master has no weight '" + name + "'");
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

    /// What was found since the last call: ranges in ascending order, of neighbors one.
    std::vector<Places::Range> take_ranges() {
        std::ranges::sort(found_);  // entries of one array
        const MasterWeights::Entry* const entries = master_.entries().data();
        const MasterWeights::Entry* const end = entries + master_.entries().size();
        std::vector<Places::Range> ranges;
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

/// What attention needs before its scores.
void find_first_half(Finder& find, const Config& config, const std::string& name,
                     BlockPlaces& block) {
    block.norm1 = find.norm(name + "." + names_of(config.variant).norm1);
    block.latent_q = find.at(name + ".att.latent_q");
    if (config.qk_norm) {
        block.q_norm = find.norm(name + ".att.q_norm");
        block.k_norm = find.norm(name + ".att.k_norm");
    }
    block.k_proj = find.mlp(name + ".att.k_proj", config.k_proj);
    block.v_proj = find.mlp(name + ".att.v_proj", config.v_proj);
}

void find_second_half(Finder& find, const Config& config, const std::string& name,
                      BlockPlaces& block) {
    block.out_proj = find.linear(name + ".att.out_proj");
    block.norm2 = find.norm(name + "." + names_of(config.variant).norm2);
    block.ffn = find.mlp(name + ".mlp", config.ffn);
}

}  // namespace

Places::Places(const Config& config, const MasterWeights& master) {
    Finder find(config, master);
    const TensorNames names = names_of(config.variant);
    blocks.resize(static_cast<size_t>(config.num_blocks));
    written_.resize(blocks.size() + 1);
    for (size_t s = 0; s <= blocks.size(); ++s) {
        if (s < blocks.size()) {
            find_first_half(find, config, "blocks." + std::to_string(s), blocks[s]);
        } else {
            if (config.out_proj_norm) out_norm = find.norm(names.out_norm);
            out_proj = find.mlp(names.out_proj, config.out_proj);
        }
        if (s > 0) {
            find_second_half(find, config, "blocks." + std::to_string(s - 1), blocks[s - 1]);
        } else {
            in_proj = find.mlp("in_proj", config.in_proj);
        }
        written_[s] = find.take_ranges();
    }
}

std::vector<int> Places::stages(const MasterWeights& master) const {
    std::vector<int> stages;
    for (const MasterWeights::Entry& entry : master.entries()) {
        const auto holds = [&](const Range& r) {
            return r.begin <= entry.first && entry.first < r.end;
        };
        const auto writes = [&](const std::vector<Range>& ranges) {
            return std::ranges::any_of(ranges, holds);
        };
        // No sweep writes what is no weight of a layer.
        const auto sweep = std::ranges::find_if(written_, writes);
        const auto n_later = sweep == written_.end() ? 0 : written_.end() - 1 - sweep;
        stages.push_back(static_cast<int>(n_later));
    }
    return stages;
}

}  // namespace surrogate::impl::flare
