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
/// Throws not_supported for grids whose points do not lie one behind the other in the caller's
/// memory.
void require_device_grid(const SphereDomain& domain);

/// Some rows of a grid.
inline kernels::sphere::DeviceGrid device_grid(const Grid& grid, Range rows) {
    return {static_cast<int32_t>(rows.size()), static_cast<int32_t>(grid.n_lon)};
}
constexpr int64_t device_rows(const kernels::sphere::DeviceGrid& grid) {
    return grid.n_tile() * kernels::tile_rows;
}

/// A stencil as a device holds it, made on the host and copied.
class DeviceTable {
public:
    /// Rows of the input are counted from `first_row`, the first row of the memory that the table
    /// reads.
    explicit DeviceTable(const kernels::sphere::Stencil& stencil, int64_t first_row = 0);

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
