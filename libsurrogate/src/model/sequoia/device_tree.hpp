// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/sequoia/sequoia_device.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/tree.hpp"

namespace surrogate::impl::sequoia {

/// Throws not_supported, with the limit, for networks that kernels/sequoia does not support on a
/// device.
void require_device_sizes(const Config& config);

/// Levels of a rank's tree as rows in device memory, and the arguments of passes over them.
/// `config` must outlive this object.
class DeviceTree {
public:
    /// Keeps a reference to `config`. Local.
    explicit DeviceTree(const Config& config) : config_(config) {}
    /// Sets the nodes of `tree`, which must outlive this object. Throws not_supported for more
    /// levels than a device supports. Local.
    void resize(const Tree& tree);

    const kernels::sequoia::DeviceLevel& level(int l) const {
        return levels_[static_cast<size_t>(l)];
    }
    int64_t n_tile() const { return levels_.back().first_tile + levels_.back().n_tile; }
    int64_t n_leaf_tile() const { return levels_.front().n_tile; }
    int64_t n_upper_tile() const { return n_tile() - n_leaf_tile(); }
    /// Returns the row of node i of level l among the rows of all levels.
    int64_t row(int l, int64_t i) const {
        const int64_t width = kernels::sequoia::groups_of_tile(config_.k) * config_.k;
        return kernels::sequoia::row_of(level(l), width, i);
    }
    kernels::sequoia::AverageArgs average(int l) const;
    kernels::sequoia::ChildrenArgs children(int l) const;
    kernels::sequoia::AttendArgs attend(int l) const;

private:
    /// Returns the multiplicity of the last node of level l.
    int64_t n_last(int l) const { return config_.repeats_last ? 1 + tree_->n_missing(l) : 1; }

    const Config& config_;
    const Tree* tree_ = nullptr;
    std::vector<kernels::sequoia::DeviceLevel> levels_;
};

}  // namespace surrogate::impl::sequoia
