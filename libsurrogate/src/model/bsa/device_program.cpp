// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_program.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "libsurrogate/src/model/bsa/costs.hpp"
#include "libsurrogate/src/model/bsa/device_sparse.hpp"

namespace surrogate::impl::bsa {

using kernels::DeviceActivation;
using kernels::Stream;
using kernels::tile_rows;
using kernels::bsa::AttendArgs;
using kernels::bsa::BeginArgs;
using kernels::bsa::DeviceKernels;
using kernels::bsa::EndArgs;
using kernels::bsa::HeadRows;
using kernels::bsa::ResidualArgs;

namespace {

/// The first slot of each rank is a multiple of a warp's queries (two tiles): sums do not depend on
/// the rank that computes them.
constexpr int64_t least_slots = 2 * tile_rows;

/// Evaluates the network on a device, on all slots of the tree, which is built on the host. On one
/// rank the kernels read and write the caller's points in place. On several ranks rows are sent to
/// the ranks of their slots through host memory.
///
/// Ranks own whole balls. DeviceSharing supplies the keys and values that a layer needs beyond
/// them; it also moves x to the order of rotated layers and y back.
class DevicePasses final : public DeviceProgram {
public:
    DevicePasses(const Config& config, std::shared_ptr<const DeviceWeights> weights,
                 const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          request_(request),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("bsa")),
          weights_(std::move(weights)),
          blocks_(config, *weights_, device_, kernels_),
          plan_(config, domain, request.queue, least_slots),
          sharing_(config, weights_->widths(), plan_, comm_, device_, kernels_, arena_),
          sparse_(config, weights_->widths(), plan_, blocks_, sharing_, device_, kernels_, arena_) {
    }

    void connect(const DeviceColumns& columns) override;

    RowExchange<float>* rows() override { return rows_ ? &*rows_ : nullptr; }
    std::span<const DeviceGather> gathers() const override { return sharing_.gathers(); }
    std::span<const DeviceExchange> exchanges() const override { return sharing_.exchanges(); }

    float* staging() const override { return arena_.at<float>(staging_); }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return plan_.n_point(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;

private:
    void add_memory();
    void fill_memory(const std::vector<int64_t>& points);

    void embed(Stream stream) const;
    void run_layer(int64_t index, DeviceSteps& steps) const;
    void attend(const DeviceLayer& layer, bool rotated, Stream stream) const;
    /// Enqueues passes on this rank's slots, if there are any.
    template <class Work>
    void compute(DeviceSteps& steps, const Work& work) const {
        if (n_slot() > 0) steps.compute([&] { work(steps.stream()); });
    }
    AttendArgs to_slots(const LayerRows& rows) const;
    void add_residual(bool adds, Stream stream) const;
    void predict(Stream stream) const;
    void read_out(Stream stream) const;

    LayerRows rows_of(bool rotated) const;
    HeadRows gathered_rows(int64_t part) const;

    bool is_alone() const { return sharing_.is_alone(); }
    int64_t n_slot() const { return plan_.shape().n_local(); }
    int64_t n_slot_global() const { return plan_.shape().n_slot; }
    /// Returns the number of channels of queries, keys or values of all heads.
    int64_t n_head_channel() const { return config_.n_head * widths().heads.n_dim_padded; }
    int64_t operand_bytes() const { return kernels::operand_bytes(weights_->operand()); }
    const DeviceWidths& widths() const { return weights_->widths(); }
    template <class T>
    T* at(int64_t place) const {
        return arena_.at<T>(place);
    }
    /// Returns the order of the layer's rows; null: the rows are stored in the layer's order.
    const int32_t* order(bool rotated) const {
        return rotated && is_alone() ? at<int32_t>(slots_) : nullptr;
    }

    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    const PlanRequest request_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    DeviceBlocks blocks_;
    TreePlan<float> plan_;
    std::optional<RowExchange<float>> rows_;  // only with more than one rank
    DeviceColumns columns_;
    DeviceArena arena_;
    DeviceSharing sharing_;
    DeviceSparse sparse_;
    // Offsets in arena_. work_: features, then q, k and v, then hidden channels, then predictions.
    // staging_: x_, which is computed from the features after the columns have been read; for a
    // single layer a separate buffer.
    int64_t staging_ = 0, x_ = 0, residual_ = 0, u_ = 0, work_ = 0, y_ = 0;
    int64_t points_ = 0, positions_ = 0, relative_[2] = {}, slots_ = 0;
};

void DevicePasses::connect(const DeviceColumns& columns) {
    columns_ = columns;
    RowRoute route = plan_.build(request_.coordinates, request_.reproducible, {});
    std::vector<int64_t> points;
    comm_.agree([&] {
        points.resize(static_cast<size_t>(n_point()));
        std::iota(points.begin(), points.end(), 0);
        if (!is_alone()) return;
        std::vector<int64_t> in_order(points);
        route.to_target_alone(points.data(), in_order.data(), sizeof(int64_t));
        points.swap(in_order);
    });
    if (!is_alone())
        rows_.emplace(comm_, std::move(route), std::max(columns.n_input, columns.n_output));
    sharing_.plan_moves();
    comm_.agree([&] {
        kernels_.load(device_.properties(), weights_->operand());
        add_memory();
        fill_memory(points);
        sharing_.connect(columns_.findings);
    });
}

void DevicePasses::add_memory() {
    const DeviceWidths& w = widths();
    const int64_t n = kernels::padded_rows(n_slot()), d = config_.n_axis;
    const auto numbers = [&](int64_t n_row, const kernels::DeviceChannels& channels) {
        return 4 * n_row * channels.width;
    };
    const int64_t staged = 4 * n_point() * std::max(columns_.n_input, columns_.n_output);
    x_ = arena_.add(std::max(numbers(n, w.nodes), config_.has_ends() ? staged : 0));
    staging_ = config_.has_ends() ? x_ : arena_.add(staged);
    if (config_.residual_every > 0) residual_ = arena_.add(numbers(n, w.nodes));
    u_ = arena_.add(operand_bytes() * n * w.nodes.width);
    work_ = arena_.add(std::max({numbers(n, w.features), numbers(n, w.qkv),
                                 operand_bytes() * n * w.hidden.width, numbers(n, w.outputs)}));
    // x uses the memory of y while it is sent to the rotated order.
    y_ = arena_.add(std::max(numbers(n, w.heads), sharing_.turns() ? numbers(n, w.nodes) : 0));
    if (config_.is_sparse()) sparse_.add(weights_->operand());
    points_ = arena_.add(8 * n_slot());
    positions_ = arena_.add(4 * n_slot() * d);
    for (const bool rotated : {false, true})
        if (config_.has_balls() && (!rotated || plan_.is_rotated()))
            relative_[rotated] = arena_.add(4 * n_slot() * d);
    if (plan_.is_rotated() && is_alone()) slots_ = arena_.add(4 * n_slot());
    sharing_.add();
    arena_.take(device_);
}

/// Fills the tables. points: column of each point, in the order of the tree.
void DevicePasses::fill_memory(const std::vector<int64_t>& points) {
    if (n_slot_global() == 0) return;
    const auto n = static_cast<size_t>(n_slot());
    const auto d = static_cast<size_t>(config_.n_axis);
    ArenaWriter put(device_, arena_);
    sharing_.fill(put);
    if (n == 0) {
        put.finish();
        return;
    }
    std::vector<float> positions(n * d);
    for (size_t i = 0; i < n * d; ++i) positions[i] = static_cast<float>(plan_.positions()[i]);
    put(points_, points_of_slots(plan_.slots(), plan_.shape().own, points));
    put(positions_, positions);
    for (const bool rotated : {false, true}) {
        if (!config_.has_balls() || (rotated && !plan_.is_rotated())) continue;
        put(relative_[rotated], point_rows(plan_.relative(rotated)));
    }
    if (plan_.is_rotated() && is_alone()) put(slots_, plan_.slots_of_rotated());
    put.finish();
}

// ---- passes of an evaluation -------------------------------------------------------------------

void DevicePasses::embed(Stream stream) const {
    const DeviceLayers& layers = weights_->layers();
    BeginArgs begin = begin_args(config_.features, columns_);
    begin.n_slot = n_slot();
    begin.n_axis = config_.n_axis;
    begin.points = at<int64_t>(points_);
    begin.positions = at<float>(positions_);
    begin.weight = layers.encoding;
    begin.bias = layers.encoding_bias;
    begin.n_feature = config_.n_feature;
    begin.width = widths().features.width;
    begin.to = at<float>(config_.has_ends() ? work_ : x_);
    kernels_.begin(device_.properties(), begin, stream);

    if (!config_.has_ends()) return;
    blocks_.run(blocks_.linear(layers.embedding, n_slot()).of(at<float>(work_)).to(at<float>(x_)),
                stream);
    if (config_.residual_every > 0) add_residual(false, stream);
}

void DevicePasses::add_residual(bool adds, Stream stream) const {
    ResidualArgs args;
    args.n = kernels::padded_rows(n_slot()) * widths().nodes.width;
    args.x = at<float>(x_);
    args.residual = at<float>(residual_);
    args.adds = adds;
    kernels_.residual(device_.properties(), args, stream);
}

/// Returns keys (1) or values (2) of all ranks' slots; several ranks only.
HeadRows DevicePasses::gathered_rows(int64_t part) const {
    return {sharing_.slots(),
            sharing_.slot_channels(),
            1,
            0,
            static_cast<int32_t>((part - 1) * n_head_channel()),
            static_cast<int32_t>(widths().heads.n_dim_padded)};
}

LayerRows DevicePasses::rows_of(bool rotated) const {
    LayerRows rows;
    rows.n_slot = n_slot();
    rows.ball = plan_.shape().ball;
    rows.order = order(rotated);
    if (config_.has_balls()) rows.relative = at<float>(relative_[rotated]);
    rows.x = at<float>(x_);
    rows.u = at<void>(u_);
    rows.work = at<float>(work_);
    rows.gates = sparse_.gates();
    rows.y = at<float>(y_);
    return rows;
}

/// Returns the arguments for attention of the rows to all slots.
AttendArgs DevicePasses::to_slots(const LayerRows& rows) const {
    AttendArgs args = blocks_.to_slots(rows);
    if (is_alone()) return args;
    args.n_key = n_slot_global();
    args.keys = gathered_rows(1);
    args.values = gathered_rows(2);
    return args;
}

void DevicePasses::attend(const DeviceLayer& layer, bool rotated, Stream stream) const {
    const LayerRows rows = rows_of(rotated);
    if (config_.is_sparse()) {
        sparse_.attend(layer, rows, to_slots(rows), columns_.findings, stream);
    } else {
        kernels_.attend(device_.properties(),
                        config_.has_balls() ? blocks_.to_ball(layer, rows) : to_slots(rows),
                        stream);
    }
}

void DevicePasses::run_layer(int64_t index, DeviceSteps& steps) const {
    const DeviceLayer& layer = weights_->layers().layers[static_cast<size_t>(index)];
    const bool rotated = config_.is_layer_rotated(index);
    const bool turns = rotated && sharing_.turns();
    if (turns) sharing_.turn(true, at<float>(x_), at<float>(y_), steps);
    compute(steps, [&](Stream stream) {
        const LayerRows rows = rows_of(rotated);
        blocks_.project(layer, rows, at<float>(turns ? y_ : x_), stream);
        if (config_.is_sparse()) sparse_.compress(layer, rows, stream);
    });
    if (sharing_.has_slots())
        sharing_.share_slots(at<float>(work_), widths().qkv.width, n_head_channel(), steps);
    if (sharing_.has_blocks()) sparse_.share(steps);
    compute(steps, [&](Stream stream) { attend(layer, rotated, stream); });
    if (turns) sharing_.turn(false, at<float>(y_), at<float>(y_), steps);
    compute(steps, [&](Stream stream) {
        blocks_.finish(layer, rows_of(rotated), stream);
        if (config_.adds_residual(index)) add_residual(true, stream);
    });
}

/// Computes the outputs of the slots, in the memory of queries, keys and values.
void DevicePasses::predict(Stream stream) const {
    const DeviceLayers& layers = weights_->layers();
    const int64_t n_group = widths().nodes.width / 8;
    blocks_.run(blocks_.linear(layers.head_in, n_slot())
                    .of(at<float>(x_))
                    .then(DeviceActivation::gelu)
                    .to_pieces(at<void>(u_), n_group),
                stream);
    blocks_.run(blocks_.linear(layers.head_out, n_slot())
                    .of_pieces(at<void>(u_), n_group)
                    .to(at<float>(work_)),
                stream);
}

void DevicePasses::read_out(Stream stream) const {
    if (config_.has_ends()) predict(stream);
    EndArgs end = end_args(columns_);
    end.n_slot = n_slot();
    end.points = at<int64_t>(points_);
    end.y = at<float>(work_);
    end.width = widths().outputs.width;
    kernels_.end(device_.properties(), end, stream);
}

void DevicePasses::enqueue(DeviceSteps& steps) const {
    if (n_slot_global() == 0) return;
    compute(steps, [&](Stream stream) { embed(stream); });
    for (int64_t i = 0; i < config_.depth; ++i) run_layer(i, steps);
    compute(steps, [&](Stream stream) { read_out(stream); });
}

// ---- table of the plan -------------------------------------------------------------------------

std::vector<LayerCost> DevicePasses::costs() const {
    Work work;
    work.n_point = n_point();
    work.n_solver = domain_.n_local();
    work.n_slot = n_slot();
    work.n_slot_global = n_slot_global();
    work.ball = plan_.shape().ball;
    work.n_choice = config_.is_sparse() ? sparse_.n_choice() : 0;
    work.fetches.resize(static_cast<size_t>(config_.depth));
    if (sharing_.has_slots()) work.ring = {sharing_.slot_bytes(), 1};
    if (sharing_.has_blocks()) {
        std::fill(work.fetches.begin(), work.fetches.end(), work.ring);
        work.coarse_bytes = sharing_.block_bytes();
    }
    if (!is_alone()) {
        work.n_given = columns_.n_input;
        work.turn_bytes = sharing_.turn_bytes();
        work.turns = 2;
    }
    std::vector<LayerCost> list = costs_of(config_, work);
    if (is_alone() || n_slot_global() == 0) {
        keep_work_of_one_rank(list);
        return list;
    }
    // Errors are sent as NaN within other messages.
    using Kind = LayerCost::Kind;
    std::erase_if(list, [](const LayerCost& cost) { return cost.kind == Kind::error_flag; });
    return list;
}

std::vector<std::string> DevicePasses::notes() const {
    std::vector<std::string> list =
        notes_of(config_, plan_.slots().n_point(), n_slot_global(), 1, false);
    if (!is_alone()) {
        list.push_back(
            "points are sent to their slots, and predictions back, through host memory, once per "
            "run");
    }
    if (sharing_.has_slots()) {
        list.push_back("keys and values of all " + std::to_string(n_slot_global()) +
                       " slots are gathered on every device once per layer: " +
                       std::to_string(4 * sharing_.slot_channels() * n_slot_global()) + " bytes");
    }
    return list;
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request) {
    return std::make_unique<DevicePasses>(config, std::move(weights), domain, request);
}

}  // namespace surrogate::impl::bsa
