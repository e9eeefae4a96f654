// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/layers/linear_pass.hpp"
#include "libsurrogate/src/model/family/device_program.hpp"
#include "libsurrogate/src/model/sphere/device_attention.hpp"
#include "libsurrogate/src/model/sphere/device_image_rows.hpp"
#include "libsurrogate/src/model/sphere/device_stencil.hpp"

namespace surrogate::impl::sphere {

/// Common part of the device programs on the sphere. Ranks compute bands of rows, as on the host.
/// Rows of other ranks that a stencil or a query reads are exchanged before the pass that reads
/// them. A network adds its stencils, its memory and the order of its passes.
class DeviceGridProgram : public DeviceProgram {
public:
    void connect(const DeviceColumns& columns) final;

    RowExchange<float>* rows() final { return image_rows_->rows(); }
    std::span<const DeviceExchange> exchanges() const final { return exchanges_; }
    /// Returns the stream, which is computed after the columns have been read, and is no longer
    /// used when they are written.
    float* staging() const final { return x(); }

    int64_t bytes() const final { return arena_.bytes(); }
    int64_t n_point() const final { return own_image().size() * image_bands().grid().n_lon; }
    std::vector<LayerCost> costs() const final;
    std::vector<std::string> notes() const final;

protected:
    /// Keeps references to the domains, which must outlive this object. Local.
    DeviceGridProgram(const SphereDomain& input, const SphereDomain& output,
                      const PlanRequest& request, kernels::Operand operand);

    /// Returns the rows of the image that each rank computes.
    virtual const Bands& image_bands() const = 0;

    // Parts of connect(), local, in the order of their calls.
    virtual void make_tables() = 0;
    /// Returns the rows that this rank reads; several ranks only.
    virtual std::vector<Range> held_rows() const = 0;
    /// Plans the exchanges. wanted: held_rows() of all ranks; several ranks only.
    virtual void make_exchanges(std::span<const Wanted> wanted) = 0;
    /// Reserves memory in the arena.
    virtual void add_memory() = 0;
    virtual void fill_memory(ArenaWriter& put) = 0;
    virtual void make_gathers() {}

    /// Returns each kind of exchange once; empty on one rank.
    virtual std::vector<RingExchange*> ring_exchanges() = 0;
    virtual std::vector<LayerCost> layer_costs() const = 0;
    /// Returns a line of the plan's table about memory.
    virtual std::string memory_note() const = 0;

    // Memory. Functions that add to the arena are called by add_memory().
    int64_t staging_bytes() const {
        return 4 * n_point() * std::max(columns_.n_input, columns_.n_output);
    }
    void add_image_points();
    void add_ring_staging();
    float* x() const { return arena_.at<float>(x_); }

    // Passes. Planes are offsets in arena_.
    /// Copies the columns to planes of own rows.
    void read(int64_t planes, kernels::Stream stream) const;
    /// Fills the held planes with own rows and other ranks' rows. Does nothing on one rank.
    void exchange_planes(const StencilStage& stage, int64_t own, int64_t held,
                         DeviceSteps& steps) const;
    /// Fills the keys and values of held rows in work_. Does nothing without an exchange.
    void exchange_keys(const AttentionStage& stage, const std::optional<RingExchange>& exchange,
                       DeviceSteps& steps) const;
    /// Applies a stencil to held planes. Returns the stream of this width, in work_.
    const float* gather(const StencilStage& stage, const kernels::sphere::DeviceGrid& grid,
                        int64_t held, int64_t width, kernels::Stream stream) const;
    /// Computes x += layer(attention of queries, keys and values in work_).
    void attend(const AttentionStage& stage, const kernels::DeviceLinear& layer,
                kernels::Stream stream) const;
    /// Returns the arguments of a stencil that writes held planes to the columns.
    kernels::sphere::WriteArgs write_args(const StencilStage& stage, int64_t held) const;

    /// Returns the pass of a layer on the own rows of a grid.
    LinearPass linear(const kernels::DeviceLinear& layer,
                      const kernels::sphere::DeviceGrid& grid) const {
        return linear_pass(layer, operand_, grid.n_tile());
    }
    void run(const LinearPass& pass, kernels::Stream stream) const {
        kernels_.linear(device_.properties(), pass.args, stream);
    }

    static kernels::DeviceActivation device_activation(kernels::Activation activation);
    /// Adds an exchange to the cost of the layer that reads its rows.
    static LayerCost exchanged(LayerCost cost, const std::optional<RingExchange>& exchange);

    Range own_image() const { return image_bands().of(comm_.rank()); }
    bool is_alone() const { return comm_.size() == 1; }
    int64_t operand_bytes() const { return kernels::operand_bytes(operand_); }

    kernels::Device& device_;
    const kernels::sphere::DeviceKernels& kernels_;
    const kernels::Operand operand_;
    Communicator& comm_;
    std::vector<std::string> notes_;  ///< about bands
    DeviceColumns columns_;
    DeviceArena arena_;
    // Offsets in arena_. x_: stream. work_: memory of one pass or of consecutive passes.
    int64_t x_ = 0, work_ = 0;

private:
    RingStaging ring_staging() const {
        return {arena_.at<uint32_t>(given_), arena_.at<uint32_t>(taken_)};
    }

    const SphereDomain &input_, &output_;
    std::optional<DeviceImageRows> image_rows_;
    std::vector<DeviceExchange> exchanges_;
    // Offsets in arena_
    int64_t points_in_ = 0, points_out_ = 0, given_ = 0, taken_ = 0;
};

}  // namespace surrogate::impl::sphere
