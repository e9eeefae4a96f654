// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sequoia/sequoia_device.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/pass_list.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/model/sequoia/device_tree.hpp"
#include "libsurrogate/src/model/sequoia/device_weights.hpp"
#include "libsurrogate/src/model/sequoia/readout.hpp"

namespace surrogate::impl::sequoia {

/// Device memory that the layers leave to the read-out.
struct ReadoutMemory {
    float* x = nullptr;               ///< stream of all levels
    char* work = nullptr;             ///< DeviceReadout::work_bytes(), free
    const int64_t* points = nullptr;  ///< (own leaves) point of each; null: in order
    char* parts = nullptr;            ///< (ranks, part_bytes())
    const int64_t* begins = nullptr;  ///< (cut + 1, ranks + 1): of each level up to the shared one
};

/// Predictions of the probed nodes on a device; readout.hpp defines them. They are bitwise
/// identical on any number of ranks.
class DeviceReadout {
public:
    /// All must outlive it.
    DeviceReadout(const Config& config, const kernels::sequoia::DeviceKernels& kernels,
                  const DeviceWeights& weights, Communicator& comm)
        : config_(config), kernels_(kernels), weights_(weights), comm_(comm) {}

    /// Prepares for a tree, which must outlive it together with its levels. Local.
    void resize(const Tree& tree, const DeviceTree& levels, const DeviceColumns& columns);

    int64_t work_bytes() const;
    /// Returns the bytes of a rank in the gather of list(); 0: there is none.
    int64_t part_bytes() const;
    /// Returns the rows of outputs that all ranks write; -1: outputs are at the leaves.
    int64_t n_row() const;

    void list_memory(PassList& passes);
    void list(PassList& passes, const ReadoutMemory& memory) const;

private:
    bool is_mean() const { return place_ == Place::cloud && config_.probe != Probe::root; }
    bool reads(int l) const;
    int first_level() const { return config_.probe == Probe::virtual_nodes ? 1 : 0; }
    int top() const { return tree_->n_level() - 1; }
    int64_t n_read() const;
    int64_t first_tile() const;
    int64_t n_tile() const;
    int64_t hidden_bytes() const;
    const DeviceWidths& widths() const { return weights_.widths(); }
    float* y(const ReadoutMemory& memory) const {
        return reinterpret_cast<float*>(memory.work + hidden_bytes());
    }

    void list_head(PassList& passes, const float* stream, const kernels::DeviceNorm& norm,
                   const ReadoutMemory& memory) const;
    void list_end(PassList& passes, int l, int64_t first_row, const ReadoutMemory& memory) const;
    void list_cloud_end(PassList& passes, const float* y) const;
    void list_sums(PassList& passes, const ReadoutMemory& memory) const;
    void list_mean(PassList& passes, const ReadoutMemory& memory) const;
    void list_nodes(PassList& passes, const ReadoutMemory& memory) const;
    kernels::sequoia::CutArgs cut_args(int l, const ReadoutMemory& memory) const;
    DeviceGather gather(const ReadoutMemory& memory) const {
        return {memory.parts, part_bytes(), memory.parts + comm_.rank() * part_bytes()};
    }

    const Config& config_;
    const kernels::sequoia::DeviceKernels& kernels_;
    const DeviceWeights& weights_;
    Communicator& comm_;
    Place place_ = Place::leaves;
    const Tree* tree_ = nullptr;
    const DeviceTree* levels_ = nullptr;
    DeviceColumns columns_;
    std::vector<int64_t> first_sums_;     // (levels): count of numbers before a level
    std::vector<int64_t> first_numbers_;  // (levels below the cut): of a part, before the level's
    double* sums_ = nullptr;              // device memory
    float* cloud_ = nullptr;              // device memory
};

}  // namespace surrogate::impl::sequoia
