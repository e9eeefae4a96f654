// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "libsurrogate/src/model/sphere/device_attention.hpp"
#include "libsurrogate/src/model/sphere/device_stencil.hpp"
#include "libsurrogate/src/model/sphere/segformer.hpp"

namespace surrogate::impl::sphere {

/// Stencils and attention of a level of a SegFormer on a device. A level without repetitions has
/// only `merge` and `upsample`.
struct DeviceLevelTables {
    const Bands& bands;
    Range own;  ///< rows of the level that this rank computes
    kernels::sphere::DeviceGrid grid;
    StencilStage merge, upsample;
    std::optional<AttentionStage> attention;
    std::optional<RingExchange> keys;  ///< several ranks
    std::optional<StencilStage> mix;

    /// Makes the tables of level i. config and bands_ must outlive this object. Local.
    DeviceLevelTables(const Segformer& config, size_t i, const SegformerBands& bands_, int rank,
                      kernels::Operand operand);

    static constexpr size_t n_held = 4;
    /// Returns the rows that this rank reads, in the order of connect().
    std::array<Range, n_held> held() const;
    /// Plans the exchanges. wanted: held() of all ranks (n_held).
    void connect(std::span<const Wanted> wanted);
    void add_to(DeviceArena& arena);
    void move_to(ArenaWriter& put);
    std::vector<RingExchange*> exchanges();
    /// Returns the bytes of the largest held planes.
    int64_t held_bytes() const;
};

}  // namespace surrogate::impl::sphere
