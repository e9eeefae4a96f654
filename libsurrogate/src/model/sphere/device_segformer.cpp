// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_segformer.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>

#include "libsurrogate/src/layers/linear_pass.hpp"
#include "libsurrogate/src/model/sphere/device_image_rows.hpp"
#include "libsurrogate/src/model/sphere/segformer.hpp"
#include "libsurrogate/src/model/sphere/upsampled_stencil.hpp"

namespace surrogate::impl::sphere {

using kernels::DeviceActivation;
using kernels::plain_channels;
using kernels::Stream;
using kernels::sphere::DeviceGrid;
using kernels::sphere::DeviceKernels;
using kernels::sphere::Stencil;

namespace {

DeviceActivation activation_of(const Segformer& config) {
    switch (config.activation) {
        case kernels::Activation::gelu: return DeviceActivation::gelu;
        case kernels::Activation::relu: return DeviceActivation::relu;
        default: return DeviceActivation::none;
    }
}

/// Every point of some rows takes itself.
Stencil identity(const Grid& grid, Range rows) {
    Stencil stencil;
    stencil.n_column = grid.n_lon;
    stencil.first_row = rows.begin;
    stencil.end_row = rows.end;
    stencil.begin = stencil.value_begin = {0};
    for (int64_t row = rows.begin; row < rows.end; ++row) {
        stencil.strips.push_back({static_cast<int32_t>(row), 0, 1});
        stencil.values.push_back(1);
        stencil.begin.push_back(row - rows.begin + 1);
        stencil.value_begin.push_back(row - rows.begin + 1);
    }
    return stencil;
}

/// From a level to the image: what is left of upsampling when its weights were applied before.
Stencil upsampling(const Segformer& config, const SegformerLevel& level, Range rows) {
    const Convolution& c = level.upsample;
    if (config.upsamples_by_convolution)
        return kernels::sphere::transposed_convolution(c.out, c.in, c.filter, rows.begin, rows.end);
    return upsampled(identity(config.image, rows),
                     kernels::sphere::resampling(config.image, level.grid(),
                                                 kernels::sphere::Interpolation::bilinear));
}

Stencil stencil_of(const Convolution& c, Range rows) {
    return kernels::sphere::convolution(c.out, c.in, c.filter, rows.begin, rows.end);
}

/// A stencil, and the rows of its input that this rank holds for it.
struct Geometry {
    Range held;
    DeviceTable table;
    std::optional<RingExchange> exchange;  // several ranks

    /// own: rows of its input that this rank computes.
    Geometry(const Stencil& stencil, Range own, bool is_alone)
        : held(is_alone ? own : rows_read(stencil)), table(stencil, held.begin) {}

    void add_to(DeviceArena& arena) {
        table.add_to(arena);
        if (exchange) exchange->add_to(arena);
    }
    void move_to(ArenaWriter& put) {
        table.move_to(put);
        if (exchange) exchange->move_to(put);
    }
};

/// Tables of a level. Tables of repetitions exist only if the level has repetitions.
struct LevelTables {
    Range own;
    DeviceGrid grid;
    Geometry merge, upsample;
    std::optional<AttentionStage> attention;
    std::optional<RingExchange> keys;
    std::optional<Geometry> mix;

    /// above: own rows of what it merges; fine: of the image.
    LevelTables(const Segformer& config, const SegformerLevel& level, kernels::Operand operand,
                Range own_, Range above, Range fine, bool is_alone)
        : own(own_),
          grid(device_grid(level.grid(), own)),
          merge(stencil_of(level.merge, own), above, is_alone),
          upsample(upsampling(config, level, fine), own, is_alone) {
        if (level.depth == 0) return;
        attention.emplace(level.attention, operand, own);
        mix.emplace(stencil_of(level.mix, own), own, is_alone);
    }

    /// Rows that this rank reads, in the order of make_exchanges().
    std::array<Range, 4> held() const {
        return {merge.held, attention ? attention->held() : own, mix ? mix->held : own,
                upsample.held};
    }
    void add_to(DeviceArena& arena) {
        merge.add_to(arena);
        upsample.add_to(arena);
        if (attention) attention->add_to(arena);
        if (keys) keys->add_to(arena);
        if (mix) mix->add_to(arena);
    }
    void move_to(ArenaWriter& put) {
        merge.move_to(put);
        upsample.move_to(put);
        if (attention) attention->move_to(put);
        if (keys) keys->move_to(put);
        if (mix) mix->move_to(put);
    }
    std::vector<const RingExchange*> exchanges() const {
        std::vector<const RingExchange*> list;
        for (const auto* exchange : {&merge.exchange, &keys, &upsample.exchange})
            if (*exchange) list.push_back(&**exchange);
        if (mix && mix->exchange) list.push_back(&*mix->exchange);
        return list;
    }
};

/// A SegFormer: level after level, each of which adds its part to the image at once, so that all
/// share the memory of the first. Ranks compute bands of rows, as on the host; what a stencil reads
/// of other ranks' rows is exchanged before it.
class SegformerDevicePasses final : public DeviceProgram {
public:
    SegformerDevicePasses(const Segformer& config, std::shared_ptr<const SegformerWeights> weights,
                          const SphereDomain& input, const SphereDomain& output,
                          const PlanRequest& request)
        : config_(config),
          input_(input),
          output_(output),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("sphere")),
          weights_(std::move(weights)),
          comm_(output.context().comm()),
          bands_(bands_of({comm_, request.queue, true}, config, input, output, notes_)),
          fine_(bands_.fine.of(comm_.rank())) {}

    void connect(const DeviceColumns& columns) override;

    /// The stream, which is made when the columns were read and done with when they are written.
    float* staging() const override { return arena_.at<float>(x_); }
    RowExchange<float>* rows() override { return image_rows_->rows(); }
    std::span<const DeviceExchange> exchanges() const override { return exchanges_; }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return n_image_point(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;

private:
    void make_tables();
    void make_exchanges(std::span<const std::array<Wanted, 4>> wanted);
    void add_memory();
    void fill_memory();
    int64_t work_bytes(size_t i) const;
    int64_t plane_bytes(size_t i) const;

    void read(Stream stream) const;
    void merge(size_t i, Stream stream) const;
    void project(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void exchange_keys(size_t i, DeviceSteps& steps) const;
    void attend(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void begin_feed_forward(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void end_feed_forward(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void expand(size_t i, Stream stream) const;
    void upsample(size_t i, Stream stream) const;
    void exchange_planes(const Geometry& geometry, Range own, int64_t n_lon,
                         DeviceSteps& steps) const;
    const Bands& above(size_t i) const { return i == 0 ? bands_.fine : bands_.levels[i - 1]; }
    LayerCost exchanged(LayerCost cost, const std::optional<RingExchange>& exchange) const;

    LinearPass linear(size_t i, const kernels::DeviceLinear& layer) const {
        return linear_pass(layer, weights_->operand(), tables_[i].grid.n_tile());
    }
    void run(const LinearPass& pass, Stream stream) const {
        kernels_.linear(device_.properties(), pass.args, stream);
    }
    void normalise(size_t i, const kernels::DeviceNorm& norm, Stream stream) const;
    void to_planes(size_t i, const float* from, int64_t n_channel, Stream stream) const;
    int64_t n_channel(size_t i) const { return config_.levels[i].n_channel(); }
    int64_t width(size_t i) const { return plain_channels(n_channel(i)).width; }
    int64_t operand_bytes() const { return kernels::operand_bytes(weights_->operand()); }
    int64_t n_image_point() const { return fine_.size() * config_.image.n_lon; }
    bool is_alone() const { return comm_.size() == 1; }
    RingStaging ring_staging() const {
        return {arena_.at<uint32_t>(given_), arena_.at<uint32_t>(taken_)};
    }
    float* x() const { return arena_.at<float>(x_); }

    const Segformer& config_;
    const SphereDomain &input_, &output_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const SegformerWeights> weights_;
    Communicator& comm_;
    std::vector<std::string> notes_;
    SegformerBands bands_;
    Range fine_;  // own rows
    std::optional<DeviceImageRows> image_rows_;
    std::vector<DeviceExchange> exchanges_;
    std::deque<LevelTables> tables_;
    DeviceColumns columns_;
    DeviceArena arena_;
    // In arena_. work_: a stream of gathered, hidden or expanded channels, or operands. planes_:
    // own rows of what geometry reads: the image, then channels of a level; read_: held rows.
    int64_t x_ = 0, work_ = 0, planes_ = 0, read_ = 0, sums_ = 0, given_ = 0, taken_ = 0;
    int64_t points_in_ = 0, points_out_ = 0;
};

void SegformerDevicePasses::connect(const DeviceColumns& columns) {
    columns_ = columns;
    comm_.agree([&] {
        kernels_.load(device_.properties(), weights_->operand());
        make_tables();
    });
    image_rows_.emplace(input_, output_, bands_.fine,
                        std::max(columns_.n_input, columns_.n_output));
    std::vector<std::array<Wanted, 4>> wanted(is_alone() ? 0 : tables_.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
        const std::array<Range, 4> held = tables_[i].held();
        for (size_t k = 0; k < held.size(); ++k) wanted[i][k] = wanted_of_all(comm_, held[k]);
    }
    comm_.agree([&] {
        make_exchanges(wanted);
        add_memory();
        fill_memory();
        for (const LevelTables& level : tables_) {
            for (const RingExchange* exchange : level.exchanges())
                exchanges_.push_back(exchange->exchange(ring_staging()));
        }
    });
}

void SegformerDevicePasses::make_tables() {
    for (size_t i = 0; i < config_.levels.size(); ++i)
        tables_.emplace_back(config_, config_.levels[i], weights_->operand(),
                             bands_.levels[i].of(comm_.rank()), above(i).of(comm_.rank()), fine_,
                             is_alone());
}

void SegformerDevicePasses::make_exchanges(std::span<const std::array<Wanted, 4>> wanted) {
    const int rank = comm_.rank();
    for (size_t i = 0; i < wanted.size(); ++i) {
        const SegformerLevel& level = config_.levels[i];
        const Bands& bands = bands_.levels[i];
        LevelTables& tables = tables_[i];
        tables.merge.exchange.emplace(above(i), wanted[i][0], rank, level.merge.n_in,
                                      level.merge.in.n_lon);
        if (tables.attention) tables.keys = tables.attention->exchange(bands, wanted[i][1], rank);
        if (tables.mix)
            tables.mix->exchange.emplace(bands, wanted[i][2], rank, n_channel(i),
                                         level.grid().n_lon);
        tables.upsample.exchange.emplace(bands, wanted[i][3], rank,
                                         SegformerWeights::n_expanded(config_, i),
                                         level.grid().n_lon);
    }
}

int64_t SegformerDevicePasses::work_bytes(size_t i) const {
    const Convolution& merge = config_.levels[i].merge;
    const int64_t gathered = plain_channels(merge.n_in * merge.n_basis()).width;
    const int64_t expanded = plain_channels(SegformerWeights::n_expanded(config_, i)).width;
    const int64_t n = device_rows(tables_[i].grid);
    // Behind the operands that the head reads lies what it makes.
    return std::max({4 * n * gathered, 4 * n * width(i),
                     tables_[i].attention ? tables_[i].attention->qkv_bytes() : 0,
                     n * (operand_bytes() * width(i) + 4 * expanded)});
}

int64_t SegformerDevicePasses::plane_bytes(size_t i) const {
    return 4 * tables_[i].grid.n_point() *
           std::max(n_channel(i), SegformerWeights::n_expanded(config_, i));
}

void SegformerDevicePasses::add_memory() {
    int64_t x = 4 * n_image_point() * std::max(columns_.n_input, columns_.n_output), work = 0;
    int64_t planes = 4 * n_image_point() * columns_.n_input;
    for (size_t i = 0; i < tables_.size(); ++i) {
        x = std::max(x, 4 * device_rows(tables_[i].grid) * width(i));
        work = std::max(work, work_bytes(i));
        planes = std::max(planes, plane_bytes(i));
    }
    x_ = arena_.add(x);
    work_ = arena_.add(work);
    planes_ = read_ = arena_.add(planes);
    if (!is_alone()) {
        int64_t read = 0, given = 0, taken = 0;
        for (size_t i = 0; i < tables_.size(); ++i) {
            const LevelTables& level = tables_[i];
            const Convolution& merge = config_.levels[i].merge;
            const int64_t n_lon = level.grid.n_lon;
            read = std::max(
                {read, 4 * level.merge.held.size() * merge.in.n_lon * merge.n_in,
                 4 * level.upsample.held.size() * n_lon * SegformerWeights::n_expanded(config_, i),
                 level.mix ? 4 * level.mix->held.size() * n_lon * n_channel(i) : 0});
            for (const RingExchange* exchange : level.exchanges()) {
                given = std::max(given, exchange->given_bytes());
                taken = std::max(taken, exchange->taken_bytes());
            }
        }
        read_ = arena_.add(read);
        given_ = arena_.add(given);
        taken_ = arena_.add(taken);
    }
    sums_ = arena_.add(4 * n_image_point() * columns_.n_output);
    points_in_ = arena_.add(8 * n_image_point());
    points_out_ = arena_.add(8 * n_image_point());
    for (LevelTables& level : tables_) level.add_to(arena_);
    arena_.take(device_);
}

void SegformerDevicePasses::fill_memory() {
    ArenaWriter put(device_, arena_);
    put(points_in_, image_rows_->points_in());
    put(points_out_, image_rows_->points_out());
    for (LevelTables& level : tables_) level.move_to(put);
    put.finish();
}

// ---- what an evaluation enqueues ---------------------------------------------------------------

void SegformerDevicePasses::normalise(size_t i, const kernels::DeviceNorm& norm,
                                      Stream stream) const {
    kernels_.norm(device_.properties(), {tables_[i].grid, norm, n_channel(i), x(), width(i)},
                  stream);
}

/// The first n_channel channels of a stream, to the planes that geometry reads.
void SegformerDevicePasses::to_planes(size_t i, const float* from, int64_t n_channel,
                                      Stream stream) const {
    kernels_.planes(device_.properties(),
                    {tables_[i].grid, from, plain_channels(n_channel).width, n_channel,
                     arena_.at<float>(planes_)},
                    stream);
}

/// Fills the held rows with the channels of own rows and of other ranks' rows. Does nothing if no
/// exchange is set.
void SegformerDevicePasses::exchange_planes(const Geometry& geometry, Range own, int64_t n_lon,
                                            DeviceSteps& steps) const {
    if (!geometry.exchange) return;
    const Range held = geometry.held;
    geometry.exchange->enqueue(kernels_, device_, arena_, ring_staging(),
                               {arena_.at<uint32_t>(planes_), own.begin, n_lon, own.size() * n_lon},
                               {arena_.at<uint32_t>(read_), held.begin, n_lon, held.size() * n_lon},
                               columns_.findings, steps);
}

void SegformerDevicePasses::read(Stream stream) const {
    kernels::sphere::ReadArgs read;
    read.n_point = n_image_point();
    read.points = arena_.at<int64_t>(points_in_);
    read.columns = columns_.inputs;
    read.n_column = columns_.n_input;
    read.to = arena_.at<float>(planes_);
    read.findings = columns_.findings;
    read.outside = columns_.outside;
    kernels_.read(device_.properties(), read, stream);
}

/// x from the planes of the level above, or of the image.
void SegformerDevicePasses::merge(size_t i, Stream stream) const {
    const Convolution& merge = config_.levels[i].merge;
    kernels::sphere::GatherArgs gather;
    gather.stencil = tables_[i].merge.table.in(arena_);
    gather.grid = tables_[i].grid;
    gather.x = arena_.at<float>(read_);
    gather.n_channel = merge.n_in;
    gather.n_in_point = tables_[i].merge.held.size() * merge.in.n_lon;
    gather.to = arena_.at<float>(work_);
    gather.width = plain_channels(merge.n_in * merge.n_basis()).width;
    kernels_.gather(device_.properties(), gather, stream);

    run(linear(i, weights_->level(i).merge).of(gather.to).to(x()), stream);
    normalise(i, weights_->level(i).merge_norm, stream);
}

void SegformerDevicePasses::project(size_t i, const DeviceRepetition& repetition,
                                    Stream stream) const {
    const AttentionStage& stage = *tables_[i].attention;
    run(linear(i, repetition.attention.qkv)
            .of(x(), repetition.attention_norm, n_channel(i))
            .to_pieces(stage.own(arena_.at<void>(work_)), stage.qkv_width() / 8),
        stream);
}

void SegformerDevicePasses::exchange_keys(size_t i, DeviceSteps& steps) const {
    const LevelTables& tables = tables_[i];
    if (!tables.keys) return;
    const RingMemory rings = tables.attention->rings(arena_.at<void>(work_));
    tables.keys->enqueue(kernels_, device_, arena_, ring_staging(), rings, rings, columns_.findings,
                         steps);
}

void SegformerDevicePasses::attend(size_t i, const DeviceRepetition& repetition,
                                   Stream stream) const {
    const AttentionStage& stage = *tables_[i].attention;
    const kernels::sphere::AttendArgs attend = stage.args(arena_, arena_.at<void>(work_));
    kernels_.attend(device_.properties(), attend, stream);

    run(linear(i, repetition.attention.proj).of_pieces(attend.to, stage.width() / 8).adds_to(x()),
        stream);
}

void SegformerDevicePasses::begin_feed_forward(size_t i, const DeviceRepetition& repetition,
                                               Stream stream) const {
    auto* const hidden = arena_.at<float>(work_);
    run(linear(i, repetition.mlp_in).of(x(), repetition.mix_norm, n_channel(i)).to(hidden), stream);
    to_planes(i, hidden, n_channel(i), stream);
}

void SegformerDevicePasses::end_feed_forward(size_t i, const DeviceRepetition& repetition,
                                             Stream stream) const {
    auto* const hidden = arena_.at<float>(work_);
    kernels::sphere::MixArgs mix;
    mix.stencil = tables_[i].mix->table.in(arena_);
    mix.grid = tables_[i].grid;
    mix.x = arena_.at<float>(read_);
    mix.n_channel = n_channel(i);
    mix.n_in_point = tables_[i].mix->held.size() * mix.grid.n_lon;
    mix.weight = repetition.mix;
    mix.activation = activation_of(config_);
    mix.to = hidden;
    mix.width = width(i);
    kernels_.mix(device_.properties(), mix, stream);

    run(linear(i, repetition.mlp_out).of(hidden).adds_to(x()), stream);
}

/// x to planes of what the level's weights make of it. x stays.
void SegformerDevicePasses::expand(size_t i, Stream stream) const {
    const int64_t n_expanded = SegformerWeights::n_expanded(config_, i);
    void* const hidden = arena_.at<void>(work_);
    const int64_t hidden_bytes = operand_bytes() * device_rows(tables_[i].grid) * width(i);
    auto* const expanded = arena_.at<float>(work_ + hidden_bytes);
    run(linear(i, weights_->level(i).mlp).of(x()).to_pieces(hidden, width(i) / 8), stream);
    run(linear(i, weights_->level(i).head).of_pieces(hidden, width(i) / 8).to(expanded), stream);
    to_planes(i, expanded, n_expanded, stream);
}

/// Adds the level's part of the image to the sum of the previous levels. The last level writes the
/// sum to the columns.
void SegformerDevicePasses::upsample(size_t i, Stream stream) const {
    const bool is_last = i + 1 == tables_.size();
    kernels::sphere::WriteArgs write;
    write.stencil = tables_[i].upsample.table.in(arena_);
    write.n_row = static_cast<int32_t>(fine_.size());
    write.t = arena_.at<float>(read_);
    write.n_in_point = tables_[i].upsample.held.size() * tables_[i].grid.n_lon;
    write.added = i > 0 ? arena_.at<float>(sums_) : nullptr;
    write.bias = i == 0 ? weights_->bias() : nullptr;
    write.to = is_last ? nullptr : arena_.at<float>(sums_);
    write.points = arena_.at<int64_t>(points_out_);
    write.columns = columns_.outputs;
    write.n_column = columns_.n_output;
    write.findings = columns_.findings;
    kernels_.write(device_.properties(), write, stream);
}

void SegformerDevicePasses::enqueue(DeviceSteps& steps) const {
    steps.compute([&] { read(steps.stream()); });
    for (size_t i = 0; i < tables_.size(); ++i) {
        const LevelTables& tables = tables_[i];
        const SegformerLevel& level = config_.levels[i];
        const int64_t n_lon = level.grid().n_lon;
        exchange_planes(tables.merge, above(i).of(comm_.rank()), level.merge.in.n_lon, steps);
        steps.compute([&] { merge(i, steps.stream()); });
        for (const DeviceRepetition& repetition : weights_->level(i).repetitions) {
            steps.compute([&] { project(i, repetition, steps.stream()); });
            exchange_keys(i, steps);
            steps.compute([&] {
                attend(i, repetition, steps.stream());
                begin_feed_forward(i, repetition, steps.stream());
            });
            exchange_planes(*tables.mix, tables.own, n_lon, steps);
            steps.compute([&] { end_feed_forward(i, repetition, steps.stream()); });
        }
        steps.compute([&] {
            normalise(i, weights_->level(i).norm, steps.stream());
            expand(i, steps.stream());
        });
        exchange_planes(tables.upsample, tables.own, n_lon, steps);
        steps.compute([&] {
            upsample(i, steps.stream());
            if (i + 1 < tables_.size()) to_planes(i, x(), n_channel(i), steps.stream());
        });
    }
}

// ---- the table of the plan ---------------------------------------------------------------------

LayerCost SegformerDevicePasses::exchanged(LayerCost cost,
                                           const std::optional<RingExchange>& exchange) const {
    if (exchange) cost.bytes_sent += exchange->given_bytes();
    if (exchange) ++cost.collectives;
    return cost;
}

std::vector<LayerCost> SegformerDevicePasses::costs() const {
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    std::vector<LayerCost> list;
    const bool travels = image_rows_->travels();
    if (travels)
        list.push_back({.name = "inputs to the bands",
                        .bytes_sent = 4 * input_.own().size() * columns_.n_input,
                        .collectives = 1});
    for (size_t i = 0; i < tables_.size(); ++i) {
        const LevelTables& tables = tables_[i];
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
                       .flops = 2 * n * c * (c + count(SegformerWeights::n_expanded(config_, i))) +
                                2 * tables.upsample.table.n_pair() * count(config_.n_out)},
                      tables.upsample.exchange));
    }
    if (travels)
        list.push_back({.name = "outputs to the solver",
                        .bytes_sent = 4 * n_image_point() * columns_.n_output,
                        .collectives = 1});
    return list;
}

std::vector<std::string> SegformerDevicePasses::notes() const {
    std::vector<std::string> list = notes_;
    if (is_alone()) list.clear();
    list.push_back(
        "levels share their memory: each adds its part to the image before the next one");
    if (image_rows_->travels())
        list.push_back(
            "points are redistributed to their bands, and predictions to the solver, over the "
            "host");
    return list;
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Segformer& config,
                                                   std::shared_ptr<const SegformerWeights> weights,
                                                   const SphereDomain& input,
                                                   const SphereDomain& output,
                                                   const PlanRequest& request) {
    return std::make_unique<SegformerDevicePasses>(config, std::move(weights), input, output,
                                                   request);
}

}  // namespace surrogate::impl::sphere
