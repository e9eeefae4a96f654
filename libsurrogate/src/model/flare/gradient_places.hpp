// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/model/flare/config.hpp"

namespace surrogate::impl::flare {

// Offsets of the gradients of layers in an arena of the shape of MasterWeights::values(): elements,
// known when a plan is made. in(arena) makes pointers of them, null without an arena; a bias < 0 is
// none.

struct LinearPlace {
    int64_t weight = 0, bias = -1;
    kernels::LinearGradient in(double* arena) const {
        if (!arena) return {};
        return {arena + weight, bias < 0 ? nullptr : arena + bias};
    }
};

struct NormPlace {
    int64_t weight = 0, bias = -1;
    kernels::NormGradient in(double* arena) const {
        if (!arena) return {};
        return {arena + weight, bias < 0 ? nullptr : arena + bias};
    }
};

/// The layers of a ResidualMLP, in order.
struct MlpPlace {
    std::vector<LinearPlace> layers;

    /// Fills the first of `room`.
    std::span<const kernels::LinearGradient> in(double* arena,
                                                std::span<kernels::LinearGradient> room) const {
        for (size_t j = 0; j < layers.size(); ++j) room[j] = layers[j].in(arena);
        return room.first(layers.size());
    }
};

/// Elements [begin, end): whole tensors, one after the other.
struct PlaceRange {
    int64_t begin = 0, end = 0;
};

struct LatentBlockPlaces {
    NormPlace norm1, norm2;
    LinearPlace qkv_proj, out_proj;
    MlpPlace mlp;
    std::vector<PlaceRange> written;  ///< all of it
};

struct BlockPlaces {
    NormPlace norm1, norm2, q_norm, k_norm;
    MlpPlace k_proj, v_proj, ffn;
    LinearPlace in_project, out_proj;
    int64_t latent_q = 0;
    std::vector<LatentBlockPlaces> latent_blocks;
};

/// Offsets of the parts of a sequence; < 0: it has no such part.
struct SequencePlaces {
    int64_t words = -1, class_token = -1, position_scale = -1, positions = -1;
    NormPlace head_norm;
    std::vector<PlaceRange> head;  ///< of one prediction for all tokens: written before the sweeps
};

/// All places of a model, and which part of the arena a sweep of backward writes.
class Places {
public:
    /// Finds the gradients of layout(config) in `master` by name.
    Places(const Config& config, const MasterWeights& master);

    MlpPlace in_proj, time_fc, out_proj;
    NormPlace out_norm;
    std::vector<BlockPlaces> blocks;
    SequencePlaces sequence;

    /// Returns the ranges of sweep s of GradientSweep, num_blocks >= s >= 0; gaps between tensors
    /// included.
    std::span<const PlaceRange> written(int64_t s) const {
        return written_[static_cast<size_t>(s)];
    }
    /// Returns, for each entry of the master, the last sweep that writes it, counted from the first
    /// one, num_blocks. Latent blocks of block s are written just before sweep s.
    std::vector<int> stages(const MasterWeights& master) const;

private:
    std::vector<std::vector<PlaceRange>> written_;  // (num_blocks + 1)
};

}  // namespace surrogate::impl::flare
