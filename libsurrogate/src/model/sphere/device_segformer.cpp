// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_segformer.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>

#include "libsurrogate/src/model/sphere/device_grid_program.hpp"
#include "libsurrogate/src/model/sphere/device_levels.hpp"

namespace surrogate::impl::sphere {

using kernels::plain_channels;
using kernels::Stream;

namespace {

/// Evaluates a SegFormer on a device, level after level. Each level adds its part to the image at
/// once, so that all levels share their memory.
class SegformerDeviceProgram final : public DeviceGridProgram {
public:
    SegformerDeviceProgram(const Segformer& config, std::shared_ptr<const SegformerWeights> weights,
                           const SphereDomain& input, const SphereDomain& output,
                           const PlanRequest& request)
        : DeviceGridProgram(input, output, request, weights->operand()),
          config_(config),
          weights_(std::move(weights)),
          bands_(bands_of({comm_, request.queue, true}, config, input, output, notes_)) {}

    void enqueue(DeviceSteps& steps) const override;
    int64_t weight_bytes() const override { return weights_->bytes(); }

private:
    const Bands& image_bands() const override { return bands_.fine; }
    void make_tables() override;
    std::vector<Range> held_rows() const override;
    void make_exchanges(std::span<const Wanted> wanted) override;
    void add_memory() override;
    void fill_memory(ArenaWriter& put) override;
    std::vector<RingExchange*> ring_exchanges() override;
    std::vector<LayerCost> layer_costs() const override;
    std::string memory_note() const override {
        return "levels share their memory: each adds its part to the image before the next one";
    }
    int64_t work_bytes(size_t i) const;
    int64_t plane_bytes(size_t i) const;

    void merge(size_t i, Stream stream) const;
    void project(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void begin_feed_forward(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void end_feed_forward(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void expand(size_t i, Stream stream) const;
    void upsample(size_t i, Stream stream) const;
    void normalise(size_t i, const kernels::DeviceNorm& norm, Stream stream) const;
    void to_planes(size_t i, const float* from, int64_t n_channel, Stream stream) const;

    /// Returns the pass of a layer of level i.
    LinearPass layer(size_t i, const kernels::DeviceLinear& weights) const {
        return linear(weights, tables_[i].grid);
    }
    int64_t n_channel(size_t i) const { return config_.levels[i].n_channel(); }
    int64_t width(size_t i) const { return plain_channels(n_channel(i)).width; }

    const Segformer& config_;
    std::shared_ptr<const SegformerWeights> weights_;
    SegformerBands bands_;
    std::deque<DeviceLevelTables> tables_;
    // Offsets in arena_. work_: a stream of gathered, hidden or expanded channels, or operands.
    // planes_: own rows of what stencils read: the image, then channels of a level; read_: held
    // rows.
    int64_t planes_ = 0, read_ = 0, sums_ = 0;
};

void SegformerDeviceProgram::make_tables() {
    for (size_t i = 0; i < config_.levels.size(); ++i)
        tables_.emplace_back(config_, i, bands_, comm_.rank(), operand_);
}

std::vector<Range> SegformerDeviceProgram::held_rows() const {
    std::vector<Range> rows;
    for (const DeviceLevelTables& level : tables_)
        for (const Range held : level.held()) rows.push_back(held);
    return rows;
}

void SegformerDeviceProgram::make_exchanges(std::span<const Wanted> wanted) {
    constexpr size_t n = DeviceLevelTables::n_held;
    for (size_t i = 0; i < tables_.size(); ++i) tables_[i].connect(wanted.subspan(n * i, n));
}

std::vector<RingExchange*> SegformerDeviceProgram::ring_exchanges() {
    std::vector<RingExchange*> list;
    for (DeviceLevelTables& level : tables_)
        for (RingExchange* exchange : level.exchanges()) list.push_back(exchange);
    return list;
}

int64_t SegformerDeviceProgram::work_bytes(size_t i) const {
    const Convolution& merge = config_.levels[i].merge;
    const int64_t gathered = plain_channels(merge.n_in * merge.n_basis()).width;
    const int64_t expanded = plain_channels(tables_[i].upsample.n_channel).width;
    const int64_t n = device_rows(tables_[i].grid);
    // The operands that the head reads are followed by its output.
    return std::max({4 * n * gathered, 4 * n * width(i),
                     tables_[i].attention ? tables_[i].attention->qkv_bytes() : 0,
                     n * (operand_bytes() * width(i) + 4 * expanded)});
}

int64_t SegformerDeviceProgram::plane_bytes(size_t i) const {
    return 4 * tables_[i].grid.n_point() * std::max(n_channel(i), tables_[i].upsample.n_channel);
}

void SegformerDeviceProgram::add_memory() {
    int64_t x = staging_bytes(), work = 0, read = 0;
    int64_t planes = 4 * n_point() * columns_.n_input;
    for (size_t i = 0; i < tables_.size(); ++i) {
        x = std::max(x, 4 * device_rows(tables_[i].grid) * width(i));
        work = std::max(work, work_bytes(i));
        planes = std::max(planes, plane_bytes(i));
        read = std::max(read, tables_[i].held_bytes());
    }
    x_ = arena_.add(x);
    work_ = arena_.add(work);
    planes_ = read_ = arena_.add(planes);
    if (!is_alone()) {
        read_ = arena_.add(read);
        add_ring_staging();
    }
    sums_ = arena_.add(4 * n_point() * columns_.n_output);
    add_image_points();
    for (DeviceLevelTables& level : tables_) level.add_to(arena_);
}

void SegformerDeviceProgram::fill_memory(ArenaWriter& put) {
    for (DeviceLevelTables& level : tables_) level.move_to(put);
}

// ---- passes of an evaluation -------------------------------------------------------------------

void SegformerDeviceProgram::normalise(size_t i, const kernels::DeviceNorm& norm,
                                       Stream stream) const {
    kernels_.norm(device_.properties(), {tables_[i].grid, norm, n_channel(i), x(), width(i)},
                  stream);
}

/// Copies the first n_channel channels of a stream to the planes that stencils read.
void SegformerDeviceProgram::to_planes(size_t i, const float* from, int64_t n_channel,
                                       Stream stream) const {
    kernels_.planes(device_.properties(),
                    {tables_[i].grid, from, plain_channels(n_channel).width, n_channel,
                     arena_.at<float>(planes_)},
                    stream);
}

/// Computes x from the planes of the level above, or of the image.
void SegformerDeviceProgram::merge(size_t i, Stream stream) const {
    const Convolution& merge = config_.levels[i].merge;
    const float* const gathered =
        gather(tables_[i].merge, tables_[i].grid, read_,
               plain_channels(merge.n_in * merge.n_basis()).width, stream);
    run(layer(i, weights_->level(i).merge).of(gathered).to(x()), stream);
    normalise(i, weights_->level(i).merge_norm, stream);
}

void SegformerDeviceProgram::project(size_t i, const DeviceRepetition& repetition,
                                     Stream stream) const {
    const AttentionStage& stage = *tables_[i].attention;
    run(layer(i, repetition.attention.qkv)
            .of(x(), repetition.attention_norm, n_channel(i))
            .to_pieces(stage.own(arena_.at<void>(work_)), stage.qkv_width() / 8),
        stream);
}

void SegformerDeviceProgram::begin_feed_forward(size_t i, const DeviceRepetition& repetition,
                                                Stream stream) const {
    auto* const hidden = arena_.at<float>(work_);
    run(layer(i, repetition.mlp_in).of(x(), repetition.mix_norm, n_channel(i)).to(hidden), stream);
    to_planes(i, hidden, n_channel(i), stream);
}

void SegformerDeviceProgram::end_feed_forward(size_t i, const DeviceRepetition& repetition,
                                              Stream stream) const {
    kernels::sphere::MixArgs mix;
    mix.stencil = tables_[i].mix->table.in(arena_);
    mix.grid = tables_[i].grid;
    mix.x = arena_.at<float>(read_);
    mix.n_channel = n_channel(i);
    mix.n_in_point = tables_[i].mix->n_held_point();
    mix.weight = repetition.mix;
    mix.activation = device_activation(config_.activation);
    mix.to = arena_.at<float>(work_);
    mix.width = width(i);
    kernels_.mix(device_.properties(), mix, stream);
    run(layer(i, repetition.mlp_out).of(mix.to).adds_to(x()), stream);
}

/// Applies the level's layers to x and writes the result to planes. Keeps x.
void SegformerDeviceProgram::expand(size_t i, Stream stream) const {
    void* const hidden = arena_.at<void>(work_);
    const int64_t hidden_bytes = operand_bytes() * device_rows(tables_[i].grid) * width(i);
    auto* const expanded = arena_.at<float>(work_ + hidden_bytes);
    run(layer(i, weights_->level(i).mlp).of(x()).to_pieces(hidden, width(i) / 8), stream);
    run(layer(i, weights_->level(i).head).of_pieces(hidden, width(i) / 8).to(expanded), stream);
    to_planes(i, expanded, tables_[i].upsample.n_channel, stream);
}

/// Adds the level's part of the image to the sum of the previous levels. The last level writes the
/// sum to the columns.
void SegformerDeviceProgram::upsample(size_t i, Stream stream) const {
    kernels::sphere::WriteArgs write = write_args(tables_[i].upsample, read_);
    if (i == 0) write.bias = weights_->bias();
    if (i > 0) write.added = arena_.at<float>(sums_);
    if (i + 1 < tables_.size()) write.to = arena_.at<float>(sums_);
    kernels_.write(device_.properties(), write, stream);
}

void SegformerDeviceProgram::enqueue(DeviceSteps& steps) const {
    steps.compute([&] { read(planes_, steps.stream()); });
    for (size_t i = 0; i < tables_.size(); ++i) {
        const DeviceLevelTables& tables = tables_[i];
        exchange_planes(tables.merge, planes_, read_, steps);
        steps.compute([&] { merge(i, steps.stream()); });
        for (const DeviceRepetition& repetition : weights_->level(i).repetitions) {
            steps.compute([&] { project(i, repetition, steps.stream()); });
            exchange_keys(*tables.attention, tables.keys, steps);
            steps.compute([&] {
                attend(*tables.attention, repetition.attention.proj, steps.stream());
                begin_feed_forward(i, repetition, steps.stream());
            });
            exchange_planes(*tables.mix, planes_, read_, steps);
            steps.compute([&] { end_feed_forward(i, repetition, steps.stream()); });
        }
        steps.compute([&] {
            normalise(i, weights_->level(i).norm, steps.stream());
            expand(i, steps.stream());
        });
        exchange_planes(tables.upsample, planes_, read_, steps);
        steps.compute([&] {
            upsample(i, steps.stream());
            if (i + 1 < tables_.size()) to_planes(i, x(), n_channel(i), steps.stream());
        });
    }
}

// ---- table of the plan -------------------------------------------------------------------------

std::vector<LayerCost> SegformerDeviceProgram::layer_costs() const {
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    std::vector<LayerCost> list;
    for (size_t i = 0; i < tables_.size(); ++i) {
        const DeviceLevelTables& tables = tables_[i];
        const Convolution& merge = config_.levels[i].merge;
        const double n = count(tables.grid.n_point()), c = count(n_channel(i));
        const std::string name = "blocks." + std::to_string(i);
        list.push_back(exchanged({.name = name + " merge",
                                  .flops = 2 * tables.merge.table.n_pair() * count(merge.n_in) +
                                           2 * n * c * count(merge.n_in * merge.n_basis())},
                                 tables.merge.exchange));
        for (int64_t j = 0; j < config_.levels[i].depth; ++j) {
            const std::string repetition = name + "." + std::to_string(j);
            list.push_back(
                exchanged(tables.attention->cost(repetition + " attention"), tables.keys));
            list.push_back(exchanged({.name = repetition + " feed-forward",
                                      .flops = 4 * n * c * c + 2 * tables.mix->table.n_pair() * c},
                                     tables.mix->exchange));
        }
        list.push_back(
            exchanged({.name = "upsamplers." + std::to_string(i),
                       .flops = 2 * n * c * (c + count(tables.upsample.n_channel)) +
                                2 * tables.upsample.table.n_pair() * count(config_.n_out)},
                      tables.upsample.exchange));
    }
    return list;
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Segformer& config,
                                                   std::shared_ptr<const SegformerWeights> weights,
                                                   const SphereDomain& input,
                                                   const SphereDomain& output,
                                                   const PlanRequest& request) {
    return std::make_unique<SegformerDeviceProgram>(config, std::move(weights), input, output,
                                                    request);
}

}  // namespace surrogate::impl::sphere
