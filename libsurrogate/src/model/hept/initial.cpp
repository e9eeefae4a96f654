// SPDX-License-Identifier: Apache-2.0
// Source: spec of HEPT, section 3.
#include <cmath>

#include "libsurrogate/src/core/random.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/network.hpp"

namespace surrogate::impl::hept {

namespace {

/// Stream of random numbers for the regions. Other tensors use their index in the layout.
constexpr uint64_t regions_stream = uint64_t{1} << 32;

/// Returns the table `regions` [n_hashes, 2, num_heads]: numbers of regions along the two axes, as
/// multiples of 1/3 whose product is near G. Arithmetic in float32, as in the authors' code.
std::vector<float> draw_regions(const Config& c, uint64_t seed) {
    const Random random(seed, regions_stream);
    const int64_t default_regions = c.is_pileup ? 140 : 150;
    const auto n_region = static_cast<float>(c.num_regions > 0 ? c.num_regions : default_regions);
    const float low = 2, high = 2 * std::sqrt(n_region) - 2;
    std::vector<float> table(static_cast<size_t>(2 * c.n_row()));
    for (int64_t h = 0; h < c.num_heads; ++h) {
        for (int64_t hash = 0; hash < c.n_hashes; ++hash) {
            const int64_t row = h * c.n_hashes + hash;
            float drawn[2];
            for (int64_t axis = 0; axis < 2; ++axis)
                drawn[axis] =
                    low + (high - low) * static_cast<float>(random.uniform(2 * row + axis));
            const float factor = std::sqrt(n_region / (drawn[0] * drawn[1]));
            for (int64_t axis = 0; axis < 2; ++axis) {
                table[static_cast<size_t>((hash * 2 + axis) * c.num_heads + h)] =
                    std::nearbyint(3 * drawn[axis] * factor) / 3;  // ties to even, as torch.round
            }
        }
    }
    return table;
}

}  // namespace

InitialValues initial_values(const Card& card, const Layout& layout, size_t i, uint64_t seed) {
    using Kind = InitialValues::Kind;
    const TensorSpec& tensor = layout[i];
    if (tensor.name == "regions")
        return {Kind::table, 0, 0, draw_regions(parse_config(*card.network), seed)};
    if (tensor.name == "pids_enc.weight" || tensor.name.ends_with(".alpha"))
        return {Kind::normal, 0, 1};
    if (tensor.name.ends_with(".beta")) return {Kind::uniform, 0.5, 0.5};
    if (tensor.name.find("norm") != std::string::npos) return norm_values(tensor);
    return linear_values(layout, i);
}

bool is_of_output(const Card& card, const TensorSpec& tensor) {
    const bool has_head = parse_config(*card.network).num_classes > 0;
    return tensor.name.starts_with(has_head ? "out_proj." : "mlp_out.lins.4.");
}

}  // namespace surrogate::impl::hept
