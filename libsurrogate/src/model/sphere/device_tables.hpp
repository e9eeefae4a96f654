// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/sphere/sphere_device.hpp"
#include "kernels/sphere/stencil.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"

namespace surrogate::impl::sphere {

/// Throws not_supported, with the limit, for models that kernels/sphere does not take.
void require_device_sizes(const Transformer& config);
void require_device_sizes(const Segformer& config);
/// Throws not_supported for grids that a device does not take: of more than one rank, or whose
/// points do not lie one behind the other in the caller's memory.
void require_device_grid(const SphereDomain& domain);

inline kernels::sphere::DeviceGrid device_grid(const Grid& grid) {
    return {static_cast<int32_t>(grid.n_lat), static_cast<int32_t>(grid.n_lon)};
}
constexpr int64_t device_rows(const kernels::sphere::DeviceGrid& grid) {
    return grid.n_tile() * kernels::tile_rows;
}

/// The points of a rank's grid: of each position, row by row from north to south, each from
/// longitude 0, its number in the caller's block.
std::vector<int64_t> points_of(const SphereDomain& domain);

/// Copies vectors to places of an arena that was taken; call finish() behind the last one.
class ArenaWriter {
public:
    /// Clears the arena first: rows and channels that nobody owns are operands whose weights are 0,
    /// and must be finite.
    ArenaWriter(kernels::Device& device, const DeviceArena& arena)
        : arena_(arena), upload_(device) {
        upload_.clear(arena.at<void>(0), arena.bytes());
    }
    template <class T>
    void operator()(int64_t place, const std::vector<T>& values) {
        upload_.put(arena_.at<void>(place), values);
    }
    /// Waits until all is there.
    void finish() { upload_.finish(); }

private:
    const DeviceArena& arena_;
    DeviceUpload upload_;
};

/// A stencil as a device holds it, made on the host and copied.
class DeviceTable {
public:
    explicit DeviceTable(const kernels::sphere::Stencil& stencil);

    /// Adds room; before the arena is taken.
    void add_to(DeviceArena& arena);
    /// put(place, vector) copies to the arena; once, after that. Then the tables here are gone.
    template <class Put>
    void move_to(Put& put) {
        put(begin_at_, begin_);
        put(strips_at_, strips_);
        put(values_at_, values_);
        begin_ = {};
        strips_ = {};
        values_ = {};
    }
    kernels::sphere::DeviceStencil in(const DeviceArena& arena) const;

    int64_t n_strip() const { return n_strip_; }
    double n_pair() const { return n_pair_; }  ///< of points and basis functions

private:
    kernels::sphere::DeviceStencil shape_;
    std::vector<int64_t> begin_;
    std::vector<kernels::sphere::DeviceStrip> strips_;
    std::vector<float> values_;
    int64_t begin_at_ = 0, strips_at_ = 0, values_at_ = 0;
    int64_t n_strip_ = 0;
    double n_pair_ = 0;
};

}  // namespace surrogate::impl::sphere
