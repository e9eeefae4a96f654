// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_levels.hpp"

#include <algorithm>

#include "libsurrogate/src/model/sphere/device_segformer_weights.hpp"
#include "libsurrogate/src/model/sphere/upsampled_stencil.hpp"

namespace surrogate::impl::sphere {

using kernels::sphere::Stencil;

namespace {

/// Returns the stencil in which every point of some rows reads itself.
Stencil identity(const Grid& grid, Range rows) {
    Stencil stencil;
    stencil.n_column = grid.n_lon;
    stencil.first_row = rows.begin;
    stencil.end_row = rows.end;
    stencil.begin = stencil.value_begin = {0};
    for (int64_t row = rows.begin; row < rows.end; ++row) {
        stencil.strips.push_back({static_cast<int32_t>(row), 0, 1});
        stencil.values.push_back(1);
        stencil.begin.push_back(row - rows.begin + 1);
        stencil.value_begin.push_back(row - rows.begin + 1);
    }
    return stencil;
}

/// Returns the stencil from a level to the image that is left of upsampling when its weights have
/// been applied before.
Stencil upsampling(const Segformer& config, const SegformerLevel& level, Range rows) {
    const Convolution& c = level.upsample;
    if (config.upsamples_by_convolution)
        return kernels::sphere::transposed_convolution(c.out, c.in, c.filter, rows.begin, rows.end);
    return upsampled(identity(config.image, rows),
                     kernels::sphere::resampling(config.image, level.grid(),
                                                 kernels::sphere::Interpolation::bilinear));
}

Stencil stencil_of(const Convolution& c, Range rows) {
    return kernels::sphere::convolution(c.out, c.in, c.filter, rows.begin, rows.end);
}

}  // namespace

DeviceLevelTables::DeviceLevelTables(const Segformer& config, size_t i,
                                     const SegformerBands& bands_, int rank,
                                     kernels::Operand operand)
    : bands(bands_.levels[i]),
      own(bands.of(rank)),
      grid(device_grid(config.levels[i].grid(), own)),
      merge(stencil_of(config.levels[i].merge, own), i == 0 ? bands_.fine : bands_.levels[i - 1],
            rank, config.levels[i].merge.n_in),
      upsample(upsampling(config, config.levels[i], bands_.fine.of(rank)), bands, rank,
               SegformerWeights::n_expanded(config, i)) {
    const SegformerLevel& level = config.levels[i];
    if (level.depth == 0) return;
    attention.emplace(level.attention, operand, own);
    mix.emplace(stencil_of(level.mix, own), bands, rank, level.n_channel());
}

std::array<Range, DeviceLevelTables::n_held> DeviceLevelTables::held() const {
    return {merge.held, attention ? attention->held() : own, mix ? mix->held : own, upsample.held};
}

void DeviceLevelTables::connect(std::span<const Wanted> wanted) {
    merge.connect(wanted[0]);
    if (attention) keys = attention->exchange(bands, wanted[1], merge.rank);
    if (mix) mix->connect(wanted[2]);
    upsample.connect(wanted[3]);
}

void DeviceLevelTables::add_to(DeviceArena& arena) {
    merge.add_to(arena);
    upsample.add_to(arena);
    if (attention) attention->add_to(arena);
    if (keys) keys->add_to(arena);
    if (mix) mix->add_to(arena);
}

void DeviceLevelTables::move_to(ArenaWriter& put) {
    merge.move_to(put);
    upsample.move_to(put);
    if (attention) attention->move_to(put);
    if (keys) keys->move_to(put);
    if (mix) mix->move_to(put);
}

std::vector<RingExchange*> DeviceLevelTables::exchanges() {
    std::vector<RingExchange*> list;
    for (auto* exchange : {&merge.exchange, &keys, &upsample.exchange})
        if (*exchange) list.push_back(&**exchange);
    if (mix && mix->exchange) list.push_back(&*mix->exchange);
    return list;
}

int64_t DeviceLevelTables::held_bytes() const {
    return std::max({merge.held_bytes(), upsample.held_bytes(), mix ? mix->held_bytes() : 0});
}

}  // namespace surrogate::impl::sphere
