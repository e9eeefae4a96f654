// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/device_erwin_program.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "kernels/bsa/bsa_device.hpp"
#include "libsurrogate/src/domain/tree_points.hpp"
#include "libsurrogate/src/model/bsa/costs.hpp"
#include "libsurrogate/src/model/bsa/device_blocks.hpp"
#include "libsurrogate/src/model/bsa/device_rows.hpp"
#include "libsurrogate/src/model/bsa/erwin_costs.hpp"
#include "libsurrogate/src/model/bsa/erwin_messages.hpp"
#include "libsurrogate/src/model/bsa/tree_plan.hpp"

namespace surrogate::impl::bsa::erwin {

using kernels::DeviceActivation;
using kernels::DeviceLinear;
using kernels::Stream;
using kernels::bsa::BeginArgs;
using kernels::bsa::DeviceKernels;
using kernels::bsa::EndArgs;
using kernels::bsa::JoinArgs;
using kernels::bsa::MessageArgs;
using kernels::bsa::SpreadArgs;
using kernels::bsa::UpdateArgs;

namespace {

/// Evaluates Erwin's U-net on a device: messages on the rows of the solver's points, then the
/// levels, whose streams are kept from the encoders for the decoders. The tree is built on the
/// host.
class ErwinDevicePasses final : public DeviceProgram {
public:
    ErwinDevicePasses(const Config& config, std::shared_ptr<const DeviceWeights> weights,
                      const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          request_(request),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("bsa")),
          weights_(std::move(weights)) {
        for (const bsa::Config& stage : config.encoders)
            levels_.push_back(std::make_unique<Level>(stage, domain, request.queue));
        for (size_t l = 0; l < config.encoders.size(); ++l)
            encoders_.push_back(stage_of(config.encoders[l], weights_->encoder(l)));
        for (size_t l = 0; l < config.decoders.size(); ++l)
            decoders_.push_back(stage_of(config.decoders[l], weights_->decoder(l)));
    }

    void connect(const DeviceColumns& columns) override;

    /// Returns the pairs, which are computed from the features after the columns have been read.
    float* staging() const override { return at<float>(pair_); }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return domain_.n_local(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override {
        return notes_of(config_, finest().slots().n_point(), finest().slots().n_slot(),
                        request_.reproducible);
    }

private:
    struct Level {
        Level(const bsa::Config& stage, const PointDomain& domain, const kernels::Queue& queue)
            : plan(stage, domain, queue) {}
        int64_t n_slot() const { return plan.shape().n_local(); }

        TreePlan<float> plan;
        // Offsets in arena_. parent: positions of the slots relative to their parents on the next
        // level, (S, d) per parent.
        int64_t x = 0, order = 0, relative[2] = {}, parent = 0;
    };
    /// Consecutive blocks on a level.
    struct Stage {
        const bsa::Config* config;
        const bsa::DeviceWeights* weights;  // null: no blocks
        std::unique_ptr<const DeviceBlocks> blocks;
        int64_t y = 0;  // offset in arena_
    };
    Stage stage_of(const bsa::Config& config, const bsa::DeviceWeights* weights) const {
        Stage stage{&config, weights, nullptr};
        if (weights)
            stage.blocks =
                std::make_unique<const DeviceBlocks>(config, *weights, device_, kernels_);
        return stage;
    }
    const TreePlan<float>& finest() const { return levels_.front()->plan; }

    void add_memory();
    void add_level(size_t level);
    void add_stage(size_t level, Stage& stage);
    void fill_memory(const std::vector<float>& positions, const std::vector<int64_t>& in_order);
    void fill_level(size_t level, ArenaWriter& put) const;
    void fill_edges(ArenaWriter& put) const;

    void embed(Stream stream) const;
    void pass_messages(size_t step, Stream stream) const;
    void enter_tree(Stream stream) const;
    void run_blocks(size_t level, const Stage& stage, Stream stream) const;
    void pool(size_t level, Stream stream) const;
    void unpool(size_t level, Stream stream) const;
    void predict(Stream stream) const;
    void read_out(Stream stream) const;
    LinearPass linear(const DeviceLinear& layer, int64_t n_row) const {
        return linear_pass(layer, weights_->operand(), kernels::row_tiles(n_row));
    }
    void run(const LinearPass& pass, Stream stream) const {
        kernels_.linear(device_.properties(), pass.args, stream);
    }

    int64_t n_edge() const { return edges_ ? std::ssize(edges_->source_row) : 0; }
    template <class T>
    T* at(int64_t place) const {
        return arena_.at<T>(place);
    }

    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    const PlanRequest request_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    std::vector<std::unique_ptr<Level>> levels_;  // (L + 1)
    std::vector<Stage> encoders_, decoders_;      // (L + 1), (L)
    Edges nearest_;                               // if the domain has no edges
    const Edges* edges_ = nullptr;
    DeviceColumns columns_;
    DeviceArena arena_;
    // Offsets in arena_. pair_: rows of points and means of their messages, later the contributions
    // of parents to their children. work_: features, products of messages, joined rows, and the
    // working memory of layers.
    int64_t pair_ = 0, work_ = 0, work_bytes_ = 0, u_ = 0, u_bytes_ = 0;
    int64_t rows_ = 0, points_ = 0, positions_ = 0, first_ = 0, source_ = 0;
};

// ---- planning ----------------------------------------------------------------------------------

void ErwinDevicePasses::connect(const DeviceColumns& columns) {
    columns_ = columns;
    std::vector<float> positions;
    const RowRoute route =
        levels_.front()->plan.build(request_.coordinates, request_.reproducible, {});
    {
        const TreePoints points = tree_points(domain_, request_.coordinates, request_.reproducible);
        edges_ = edges_of(config_, domain_, request_.queue, points, route, nearest_);
        comm_.agree([&] {
            const int64_t n = n_point(), d = config_.n_axis;
            positions.resize(static_cast<size_t>(n * d));
            for (int64_t i = 0; i < n; ++i)
                for (int64_t k = 0; k < d; ++k)
                    positions[static_cast<size_t>(i * d + k)] = points.x[k * n + i];
        });
    }
    for (size_t l = 1; l < levels_.size(); ++l)
        levels_[l]->plan.build_coarser(levels_[l - 1]->plan, config_.strides[l - 1]);
    comm_.agree([&] {
        std::vector<int64_t> points(static_cast<size_t>(n_point()));
        std::iota(points.begin(), points.end(), 0);
        std::vector<int64_t> in_order(points);
        route.to_target_alone(points.data(), in_order.data(), sizeof(int64_t));
        kernels_.load(device_.properties(), weights_->operand());
        add_memory();
        fill_memory(positions, in_order);
    });
}

void ErwinDevicePasses::add_memory() {
    const int64_t n = kernels::padded_rows(n_point()), d = config_.n_axis;
    int64_t pair_bytes = std::max(4 * n * weights_->pair().width,
                                  4 * n_point() * std::max(columns_.n_input, columns_.n_output));
    work_bytes_ = 4 * n * std::max(weights_->features().width, weights_->pair().width);
    for (size_t l = 0; l < levels_.size(); ++l) add_level(l);
    for (size_t l = 0; l < encoders_.size(); ++l) add_stage(l, encoders_[l]);
    for (size_t l = 0; l < decoders_.size(); ++l) {
        add_stage(l, decoders_[l]);
        const int64_t n_parent = kernels::padded_rows(levels_[l + 1]->n_slot());
        const int64_t widest = std::max(weights_->pooled(l).width, weights_->unpooled(l).width);
        work_bytes_ = std::max(work_bytes_, 4 * n_parent * widest);
        pair_bytes = std::max(pair_bytes, 4 * n_parent * weights_->children(l).width);
    }
    if (config_.has_head()) {
        const int64_t n_row = kernels::padded_rows(levels_.front()->n_slot());
        work_bytes_ = std::max(work_bytes_, 4 * n_row * weights_->outputs().width);
        u_bytes_ = std::max(u_bytes_, kernels::operand_bytes(weights_->operand()) * n_row *
                                          weights_->nodes(0).width);
    }
    pair_ = arena_.add(pair_bytes);
    work_ = arena_.add(work_bytes_);
    u_ = arena_.add(u_bytes_);
    rows_ = arena_.add(8 * n_point());
    points_ = arena_.add(8 * levels_.front()->n_slot());
    positions_ = arena_.add(4 * n_point() * d);
    first_ = arena_.add(8 * (n_point() + 1));
    source_ = arena_.add(4 * n_edge());
    arena_.take(device_);
}

void ErwinDevicePasses::add_level(size_t level) {
    Level& to = *levels_[level];
    const int64_t n = to.n_slot(), d = config_.n_axis;
    to.x = arena_.add(4 * kernels::padded_rows(n) * weights_->nodes(level).width);
    to.relative[0] = arena_.add(4 * n * d);
    if (to.plan.is_rotated()) {
        to.relative[1] = arena_.add(4 * n * d);
        to.order = arena_.add(4 * n);
    }
    if (level + 1 < levels_.size()) to.parent = arena_.add(4 * n * d);
}

/// Adds the memory of a stage. Rows of y that attention does not write stay zero: no other stage
/// uses this memory.
void ErwinDevicePasses::add_stage(size_t level, Stage& stage) {
    if (!stage.weights) return;
    const DeviceWidths& w = stage.weights->widths();
    const int64_t n = kernels::padded_rows(levels_[level]->n_slot());
    const int64_t piece = kernels::operand_bytes(weights_->operand());
    stage.y = arena_.add(4 * n * w.heads.width);
    work_bytes_ = std::max({work_bytes_, 4 * n * w.qkv.width, piece * n * w.hidden.width});
    u_bytes_ = std::max(u_bytes_, piece * n * w.nodes.width);
}

void ErwinDevicePasses::fill_memory(const std::vector<float>& positions,
                                    const std::vector<int64_t>& in_order) {
    if (n_point() == 0) return;
    ArenaWriter put(device_, arena_);
    std::vector<int64_t> rows(in_order.size());
    std::iota(rows.begin(), rows.end(), 0);
    put(rows_, rows);
    put(points_, points_of_slots(finest().slots(), finest().shape().own, in_order));
    put(positions_, positions);
    for (size_t l = 0; l < levels_.size(); ++l) fill_level(l, put);
    if (edges_) fill_edges(put);
    put.finish();
}

void ErwinDevicePasses::fill_level(size_t level, ArenaWriter& put) const {
    const Level& from = *levels_[level];
    for (const bool rotated : {false, true})
        if (!rotated || from.plan.is_rotated())
            put(from.relative[rotated], point_rows(from.plan.relative(rotated)));
    if (from.plan.is_rotated()) put(from.order, from.plan.slots_of_rotated());
    if (level + 1 == levels_.size()) return;
    const int64_t n = from.n_slot(), d = config_.n_axis;
    std::vector<float> in_parent(static_cast<size_t>(n * d));
    const double* const fine = from.plan.positions();
    const double* const coarse = levels_[level + 1]->plan.positions();
    for (int64_t s = 0; s < n; ++s)
        for (int64_t k = 0; k < d; ++k)
            in_parent[static_cast<size_t>(s * d + k)] =
                static_cast<float>(fine[s * d + k] - coarse[s / config_.strides[level] * d + k]);
    put(from.parent, in_parent);
}

void ErwinDevicePasses::fill_edges(ArenaWriter& put) const {
    put(first_, edges_->first);
    std::vector<int32_t> source;
    for (const int64_t row : edges_->source_row) source.push_back(static_cast<int32_t>(row));
    put(source_, source);
}

// ---- passes of an evaluation -------------------------------------------------------------------

void ErwinDevicePasses::embed(Stream stream) const {
    BeginArgs begin = begin_args(config_.features, columns_);
    begin.positions = at<float>(positions_);
    begin.weight = weights_->encoding();
    begin.bias = weights_->encoding_bias();
    begin.n_slot = n_point();
    begin.n_axis = config_.n_axis;
    begin.points = at<int64_t>(rows_);
    begin.n_feature = config_.n_feature;
    begin.width = weights_->features().width;
    begin.to = at<float>(work_);
    kernels_.begin(device_.properties(), begin, stream);
    run(linear(weights_->embedding(), n_point()).of(at<float>(work_)).to(at<float>(pair_)), stream);
}

void ErwinDevicePasses::pass_messages(size_t step, Stream stream) const {
    const DeviceStep& weights = weights_->steps()[step];
    run(linear(weights.parts, n_point()).of(at<float>(pair_)).to(at<float>(work_)), stream);

    MessageArgs message;
    message.n_target = n_point();
    message.n_axis = config_.n_axis;
    message.n_channel = static_cast<int32_t>(config_.width.front());
    message.width = weights_->nodes(0).width;
    message.first = at<int64_t>(first_);
    message.source = at<int32_t>(source_);
    message.parts = at<float>(work_);
    message.positions = at<float>(positions_);
    message.weight = weights.position;
    message.bias = weights.position_bias;
    message.norm = weights.message_norm;
    message.to = at<float>(pair_);
    kernels_.message(device_.properties(), message, stream);

    run(linear(weights.update, n_point()).of(at<float>(pair_)).to(at<float>(work_)), stream);
    UpdateArgs update;
    update.n_row = n_point();
    update.width = message.width;
    update.n_channel = message.n_channel;
    update.y = at<float>(work_);
    update.norm = weights.update_norm;
    update.to = at<float>(pair_);
    kernels_.update(device_.properties(), update, stream);
}

/// Copies rows of points to their slots.
void ErwinDevicePasses::enter_tree(Stream stream) const {
    JoinArgs join;
    join.n_row = levels_.front()->n_slot();
    join.n_channel = config_.width.front();
    join.from = at<float>(pair_);
    join.from_width = weights_->pair().width;
    join.rows = at<int64_t>(points_);
    join.to = at<float>(levels_.front()->x);
    join.width = weights_->nodes(0).width;
    kernels_.join(device_.properties(), join, stream);
}

void ErwinDevicePasses::run_blocks(size_t level, const Stage& stage, Stream stream) const {
    const Level& from = *levels_[level];
    for (int64_t block = 0; block < stage.config->depth; ++block) {
        const bool rotated = stage.config->is_layer_rotated(block);
        LayerRows rows;
        rows.n_slot = from.n_slot();
        rows.ball = from.plan.shape().ball;
        if (rotated) rows.order = at<int32_t>(from.order);
        rows.relative = at<float>(from.relative[rotated]);
        rows.x = at<float>(from.x);
        rows.u = at<void>(u_);
        rows.work = at<float>(work_);
        rows.y = at<float>(stage.y);
        stage.blocks->run_ball(stage.weights->layers().layers[static_cast<size_t>(block)], rows,
                               stream);
    }
}

/// Pools a level into the next one. If the stride is 1, rows are only copied.
void ErwinDevicePasses::pool(size_t level, Stream stream) const {
    const Level& coarse = *levels_[level + 1];
    const int64_t stride = config_.strides[level];
    const bool is_pooled = stride > 1;
    JoinArgs join;
    join.n_row = coarse.n_slot();
    join.n_each = stride;
    join.n_channel = config_.width[level];
    join.from = at<float>(levels_[level]->x);
    join.from_width = weights_->nodes(level).width;
    if (is_pooled) {
        join.n_relative = stride * config_.n_axis;
        join.relative = at<float>(levels_[level]->parent);
    }
    join.to = at<float>(is_pooled ? work_ : coarse.x);
    join.width = is_pooled ? weights_->pooled(level).width : weights_->nodes(level + 1).width;
    kernels_.join(device_.properties(), join, stream);
    if (is_pooled)
        run(linear(weights_->ways()[level].pool, join.n_row).of(join.to).to(at<float>(coarse.x)),
            stream);
}

void ErwinDevicePasses::unpool(size_t level, Stream stream) const {
    const Level &fine = *levels_[level], &coarse = *levels_[level + 1];
    JoinArgs join;
    join.n_row = coarse.n_slot();
    join.n_channel = config_.width[level + 1];
    join.n_relative = config_.strides[level] * config_.n_axis;
    join.from = at<float>(coarse.x);
    join.from_width = weights_->nodes(level + 1).width;
    join.relative = at<float>(fine.parent);
    join.to = at<float>(work_);
    join.width = weights_->unpooled(level).width;
    kernels_.join(device_.properties(), join, stream);
    run(linear(weights_->ways()[level].unpool, join.n_row).of(join.to).to(at<float>(pair_)),
        stream);

    SpreadArgs spread;
    spread.n_row = fine.n_slot();
    spread.n_each = config_.strides[level];
    spread.n_channel = config_.width[level];
    spread.scale = weights_->ways()[level].scale;
    spread.z = at<float>(pair_);
    spread.z_width = weights_->children(level).width;
    spread.x = at<float>(fine.x);
    spread.width = weights_->nodes(level).width;
    kernels_.spread(device_.properties(), spread, stream);
}

/// Computes the outputs of the slots, in the working memory.
void ErwinDevicePasses::predict(Stream stream) const {
    const int64_t n_slot = levels_.front()->n_slot(), n_group = weights_->nodes(0).width / 8;
    run(linear(weights_->head_in(), n_slot)
            .of(at<float>(levels_.front()->x))
            .then(DeviceActivation::gelu)
            .to_pieces(at<void>(u_), n_group),
        stream);
    run(linear(weights_->head_out(), n_slot).of_pieces(at<void>(u_), n_group).to(at<float>(work_)),
        stream);
}

void ErwinDevicePasses::read_out(Stream stream) const {
    if (config_.has_head()) predict(stream);
    EndArgs end = end_args(columns_);
    end.n_slot = levels_.front()->n_slot();
    end.points = at<int64_t>(points_);
    end.y = at<float>(config_.has_head() ? work_ : levels_.front()->x);
    end.width = config_.has_head() ? weights_->outputs().width : weights_->nodes(0).width;
    kernels_.end(device_.properties(), end, stream);
}

void ErwinDevicePasses::enqueue(DeviceSteps& steps) const {
    if (n_point() == 0) return;
    steps.compute([&] {
        const Stream stream = steps.stream();
        embed(stream);
        for (size_t t = 0; t < weights_->steps().size(); ++t) pass_messages(t, stream);
        enter_tree(stream);
        for (size_t l = 0; l < encoders_.size(); ++l) {
            run_blocks(l, encoders_[l], stream);
            if (l + 1 < encoders_.size()) pool(l, stream);
        }
        for (size_t l = decoders_.size(); l-- > 0;) {
            unpool(l, stream);
            run_blocks(l, decoders_[l], stream);
        }
        read_out(stream);
    });
}

// ---- table of the plan -------------------------------------------------------------------------

std::vector<LayerCost> ErwinDevicePasses::costs() const {
    Work work;
    work.n_point = work.n_message_point = work.n_solver = n_point();
    work.n_sent_channel = config_.width.front();
    work.n_edge = n_edge();
    work.splits_messages = true;
    for (const auto& level : levels_)
        work.levels.push_back({level->n_slot(), level->plan.shape().ball, 0});
    std::vector<LayerCost> list = costs_of(config_, work);
    keep_work_of_one_rank(list);
    return list;
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request) {
    return std::make_unique<ErwinDevicePasses>(config, std::move(weights), domain, request);
}

}  // namespace surrogate::impl::bsa::erwin
