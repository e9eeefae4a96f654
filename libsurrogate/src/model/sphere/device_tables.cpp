// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_tables.hpp"

#include <string>

#include "libsurrogate/src/model/family/device_limits.hpp"

namespace surrogate::impl::sphere {

using kernels::sphere::DeviceStencil;
using kernels::sphere::DeviceStrip;
using kernels::sphere::Stencil;

namespace {

constexpr const char* family = "a network of the sphere";

void require_heads(const Attention& attention) {
    require_at_most_on_device(family, "num_heads", attention.n_head, kernels::sphere::most_heads);
}

int64_t bytes_of(const auto& values) {
    return std::ssize(values) * static_cast<int64_t>(sizeof(values[0]));
}

}  // namespace

void require_device_sizes(const Transformer& config) {
    if (config.upsample_sht) refuse_on_device(family, "upsample_sht");
    require_heads(config.attention);
}

void require_device_sizes(const Segformer& config) {
    for (const SegformerLevel& level : config.levels) require_heads(level.attention);
}

void require_device_grid(const SphereDomain& domain) {
    const surrogate_sphere block = domain.description();
    if (block.lon_stride == 1 && block.lat_stride == block.n_lon_local) return;
    refuse_on_device(family, "steps in memory between points of a block (lat_stride " +
                                 std::to_string(block.lat_stride) + ", lon_stride " +
                                 std::to_string(block.lon_stride) + "; taken are " +
                                 std::to_string(block.n_lon_local) + " and 1)");
}

DeviceTable::DeviceTable(const Stencil& stencil, int64_t first_row) : begin_(stencil.begin) {
    shape_.n_column = static_cast<int32_t>(stencil.n_column);
    shape_.n_phase_in = static_cast<int32_t>(stencil.n_phase_in);
    shape_.n_phase_out = static_cast<int32_t>(stencil.n_phase_out);
    shape_.n_basis = static_cast<int32_t>(stencil.n_basis);
    const int32_t n = shape_.n_column;
    const auto skipped = static_cast<int32_t>(first_row) * shape_.n_phase_in;
    int64_t value = 0;
    for (const kernels::sphere::Strip& strip : stencil.strips) {
        strips_.push_back({strip.row - skipped, (strip.first % n + n) % n, strip.count, value});
        value += strip.count;
    }
    n_strip_ = std::ssize(strips_);
    n_pair_ = static_cast<double>(value) * static_cast<double>(n);
    values_.assign(stencil.values.begin(), stencil.values.end());
}

void DeviceTable::add_to(DeviceArena& arena) {
    begin_at_ = arena.add(bytes_of(begin_));
    strips_at_ = arena.add(bytes_of(strips_));
    values_at_ = arena.add(bytes_of(values_));
}

DeviceStencil DeviceTable::in(const DeviceArena& arena) const {
    DeviceStencil stencil = shape_;
    stencil.begin = arena.at<int64_t>(begin_at_);
    stencil.strips = arena.at<DeviceStrip>(strips_at_);
    stencil.values = arena.at<float>(values_at_);
    return stencil;
}

}  // namespace surrogate::impl::sphere
