// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_segformer.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>

#include "libsurrogate/src/model/sphere/upsampled_stencil.hpp"

namespace surrogate::impl::sphere {

using kernels::DeviceActivation;
using kernels::LinearArgs;
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

/// Every point takes itself.
Stencil identity(const Grid& grid) {
    Stencil stencil;
    stencil.n_column = grid.n_lon;
    stencil.end_row = grid.n_lat;
    stencil.begin = stencil.value_begin = {0};
    for (int64_t row = 0; row < grid.n_lat; ++row) {
        stencil.strips.push_back({static_cast<int32_t>(row), 0, 1});
        stencil.values.push_back(1);
        stencil.begin.push_back(row + 1);
        stencil.value_begin.push_back(row + 1);
    }
    return stencil;
}

/// From a level to the image: what is left of upsampling when its weights were applied before.
Stencil upsampling(const Segformer& config, const SegformerLevel& level) {
    const Convolution& c = level.upsample;
    if (config.upsamples_by_convolution)
        return kernels::sphere::transposed_convolution(c.out, c.in, c.filter, 0, c.out.n_lat);
    return upsampled(identity(config.image),
                     kernels::sphere::resampling(config.image, level.grid(),
                                                 kernels::sphere::Interpolation::bilinear));
}

Stencil stencil_of(const Convolution& c) {
    return kernels::sphere::convolution(c.out, c.in, c.filter, 0, c.out.n_lat);
}

/// Tables of a level; those of its repetitions only if it has some.
struct LevelTables {
    DeviceGrid grid;
    DeviceTable merge, upsample;
    std::optional<AttentionStage> attention;
    std::optional<DeviceTable> mix;

    LevelTables(const Segformer& config, const SegformerLevel& level, kernels::Operand operand)
        : grid(device_grid(level.grid())),
          merge(stencil_of(level.merge)),
          upsample(upsampling(config, level)) {
        if (level.depth == 0) return;
        attention.emplace(level.attention, operand);
        mix.emplace(stencil_of(level.mix));
    }

    void add_to(DeviceArena& arena) {
        merge.add_to(arena);
        upsample.add_to(arena);
        if (attention) attention->add_to(arena);
        if (mix) mix->add_to(arena);
    }
    void move_to(ArenaWriter& put) {
        merge.move_to(put);
        upsample.move_to(put);
        if (attention) attention->move_to(put);
        if (mix) mix->move_to(put);
    }
};

/// A SegFormer on one rank: level after level, each of which adds its part to the image at once, so
/// that all share the memory of the first.
class Passes final : public DeviceProgram {
public:
    Passes(const Segformer& config, std::shared_ptr<const SegformerWeights> weights,
           const SphereDomain& input, const SphereDomain& output, const PlanRequest& request)
        : config_(config),
          input_(input),
          output_(output),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("sphere")),
          weights_(std::move(weights)) {}

    void connect(const DeviceColumns& columns) override;

    /// The stream, which is made when the columns were read and done with when they are written.
    float* staging() const override { return arena_.at<float>(x_); }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return output_.own().size(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;

private:
    void add_memory();
    void fill_memory();
    int64_t work_bytes(size_t i) const;
    int64_t plane_bytes(size_t i) const;

    void read(Stream stream) const;
    void merge(size_t i, Stream stream) const;
    void attend(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void feed_forward(size_t i, const DeviceRepetition& repetition, Stream stream) const;
    void upsample(size_t i, Stream stream) const;

    LinearArgs layer_args(size_t i, const kernels::DeviceLinear& layer) const;
    void run(const LinearArgs& args, Stream stream) const {
        kernels_.linear(device_.properties(), args, stream);
    }
    void normalise(size_t i, const kernels::DeviceNorm& norm, Stream stream) const;
    void to_planes(size_t i, const float* from, int64_t n_channel, Stream stream) const;
    int64_t n_channel(size_t i) const { return config_.levels[i].n_channel(); }
    int64_t width(size_t i) const { return plain_channels(n_channel(i)).width; }
    int64_t operand_bytes() const { return kernels::operand_bytes(weights_->operand()); }
    int64_t n_image_point() const { return config_.image.n_lat * config_.image.n_lon; }
    float* x() const { return arena_.at<float>(x_); }

    const Segformer& config_;
    const SphereDomain &input_, &output_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const SegformerWeights> weights_;
    std::deque<LevelTables> tables_;
    DeviceColumns columns_;
    DeviceArena arena_;
    // In arena_. work_: a stream of gathered, hidden or expanded channels, or operands. planes_:
    // what geometry reads: the image, then channels of a level.
    int64_t x_ = 0, work_ = 0, planes_ = 0, sums_ = 0;
    int64_t points_in_ = 0, points_out_ = 0;
};

void Passes::connect(const DeviceColumns& columns) {
    columns_ = columns;
    input_.context().comm().agree([&] {
        kernels_.load(device_.properties(), weights_->operand());
        for (const SegformerLevel& level : config_.levels)
            tables_.emplace_back(config_, level, weights_->operand());
        add_memory();
        fill_memory();
    });
}

int64_t Passes::work_bytes(size_t i) const {
    const Convolution& merge = config_.levels[i].merge;
    const int64_t gathered = plain_channels(merge.n_in * merge.n_basis()).width;
    const int64_t expanded = plain_channels(SegformerWeights::n_expanded(config_, i)).width;
    const int64_t n = device_rows(tables_[i].grid);
    // Behind the operands that the head reads lies what it makes.
    return std::max({4 * n * gathered, 4 * n * width(i),
                     tables_[i].attention ? tables_[i].attention->qkv_bytes() : 0,
                     n * (operand_bytes() * width(i) + 4 * expanded)});
}

int64_t Passes::plane_bytes(size_t i) const {
    return 4 * tables_[i].grid.n_point() *
           std::max(n_channel(i), SegformerWeights::n_expanded(config_, i));
}

void Passes::add_memory() {
    int64_t x = 4 * n_image_point() * std::max(columns_.n_input, columns_.n_output), work = 0;
    int64_t planes = 4 * n_image_point() * columns_.n_input;
    for (size_t i = 0; i < tables_.size(); ++i) {
        x = std::max(x, 4 * device_rows(tables_[i].grid) * width(i));
        work = std::max(work, work_bytes(i));
        planes = std::max(planes, plane_bytes(i));
    }
    x_ = arena_.add(x);
    work_ = arena_.add(work);
    planes_ = arena_.add(planes);
    sums_ = arena_.add(4 * n_image_point() * columns_.n_output);
    points_in_ = arena_.add(8 * n_image_point());
    points_out_ = arena_.add(8 * n_image_point());
    for (LevelTables& level : tables_) level.add_to(arena_);
    arena_.take(device_);
}

void Passes::fill_memory() {
    ArenaWriter put(device_, arena_);
    put(points_in_, points_of(input_));
    put(points_out_, points_of(output_));
    for (LevelTables& level : tables_) level.move_to(put);
    put.finish();
}

// ---- what an evaluation enqueues ---------------------------------------------------------------

LinearArgs Passes::layer_args(size_t i, const kernels::DeviceLinear& layer) const {
    return pass_of(layer, weights_->operand(), tables_[i].grid.n_tile());
}

void Passes::normalise(size_t i, const kernels::DeviceNorm& norm, Stream stream) const {
    kernels_.norm(device_.properties(), {tables_[i].grid, norm, n_channel(i), x(), width(i)},
                  stream);
}

/// The first n_channel channels of a stream, to the planes that geometry reads.
void Passes::to_planes(size_t i, const float* from, int64_t n_channel, Stream stream) const {
    kernels_.planes(device_.properties(),
                    {tables_[i].grid, from, plain_channels(n_channel).width, n_channel,
                     arena_.at<float>(planes_)},
                    stream);
}

void Passes::read(Stream stream) const {
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
void Passes::merge(size_t i, Stream stream) const {
    const Convolution& merge = config_.levels[i].merge;
    kernels::sphere::GatherArgs gather;
    gather.stencil = tables_[i].merge.in(arena_);
    gather.grid = tables_[i].grid;
    gather.x = arena_.at<float>(planes_);
    gather.n_channel = merge.n_in;
    gather.n_in_point = merge.in.n_lat * merge.in.n_lon;
    gather.to = arena_.at<float>(work_);
    gather.width = plain_channels(merge.n_in * merge.n_basis()).width;
    kernels_.gather(device_.properties(), gather, stream);

    LinearArgs layer = layer_args(i, weights_->level(i).merge);
    layer.stream = gather.to;
    layer.to_stream = x();
    run(layer, stream);
    normalise(i, weights_->level(i).merge_norm, stream);
}

void Passes::attend(size_t i, const DeviceRepetition& repetition, Stream stream) const {
    const AttentionStage& stage = *tables_[i].attention;
    LinearArgs project = layer_args(i, repetition.attention.qkv);
    project.stream = x();
    project.norm = repetition.attention_norm;
    project.n_norm = static_cast<int32_t>(n_channel(i));
    project.to_pieces = arena_.at<void>(work_);
    project.out_groups = stage.qkv_width() / 8;
    run(project, stream);

    const kernels::sphere::AttendArgs attend = stage.args(arena_, project.to_pieces);
    kernels_.attend(device_.properties(), attend, stream);

    LinearArgs out = layer_args(i, repetition.attention.proj);
    out.pieces = attend.to;
    out.in_groups = stage.width() / 8;
    out.to_stream = x();
    out.adds = true;
    run(out, stream);
}

void Passes::feed_forward(size_t i, const DeviceRepetition& repetition, Stream stream) const {
    auto* const hidden = arena_.at<float>(work_);
    LinearArgs in = layer_args(i, repetition.mlp_in);
    in.stream = x();
    in.norm = repetition.mix_norm;
    in.n_norm = static_cast<int32_t>(n_channel(i));
    in.to_stream = hidden;
    run(in, stream);
    to_planes(i, hidden, n_channel(i), stream);

    kernels::sphere::MixArgs mix;
    mix.stencil = tables_[i].mix->in(arena_);
    mix.grid = tables_[i].grid;
    mix.x = arena_.at<float>(planes_);
    mix.n_channel = n_channel(i);
    mix.weight = repetition.mix;
    mix.activation = activation_of(config_);
    mix.to = hidden;
    mix.width = width(i);
    kernels_.mix(device_.properties(), mix, stream);

    LinearArgs out = layer_args(i, repetition.mlp_out);
    out.stream = hidden;
    out.to_stream = x();
    out.adds = true;
    run(out, stream);
}

/// The level's part of the image is added to that of those before; the last goes to the columns. x
/// stays.
void Passes::upsample(size_t i, Stream stream) const {
    const int64_t n_expanded = SegformerWeights::n_expanded(config_, i);
    LinearArgs mlp = layer_args(i, weights_->level(i).mlp);
    mlp.stream = x();
    mlp.to_pieces = arena_.at<void>(work_);
    mlp.out_groups = width(i) / 8;
    run(mlp, stream);
    LinearArgs head = layer_args(i, weights_->level(i).head);
    head.pieces = mlp.to_pieces;
    head.in_groups = mlp.out_groups;
    head.to_stream = reinterpret_cast<float*>(
        arena_.at<char>(work_) + operand_bytes() * device_rows(tables_[i].grid) * width(i));
    run(head, stream);
    to_planes(i, head.to_stream, n_expanded, stream);

    const bool is_last = i + 1 == tables_.size();
    kernels::sphere::WriteArgs write;
    write.stencil = tables_[i].upsample.in(arena_);
    write.n_row = static_cast<int32_t>(config_.image.n_lat);
    write.t = arena_.at<float>(planes_);
    write.n_in_point = tables_[i].grid.n_point();
    write.added = i > 0 ? arena_.at<float>(sums_) : nullptr;
    write.bias = i == 0 ? weights_->bias() : nullptr;
    write.to = is_last ? nullptr : arena_.at<float>(sums_);
    write.points = arena_.at<int64_t>(points_out_);
    write.columns = columns_.outputs;
    write.n_column = columns_.n_output;
    write.findings = columns_.findings;
    kernels_.write(device_.properties(), write, stream);
}

void Passes::enqueue(DeviceSteps& steps) const {
    steps.compute([&] { read(steps.stream()); });
    for (size_t i = 0; i < tables_.size(); ++i) {
        steps.compute([&] { merge(i, steps.stream()); });
        for (const DeviceRepetition& repetition : weights_->level(i).repetitions) {
            steps.compute([&] { attend(i, repetition, steps.stream()); });
            steps.compute([&] { feed_forward(i, repetition, steps.stream()); });
        }
        steps.compute([&] {
            normalise(i, weights_->level(i).norm, steps.stream());
            upsample(i, steps.stream());
            if (i + 1 < tables_.size()) to_planes(i, x(), n_channel(i), steps.stream());
        });
    }
}

// ---- the table of the plan ---------------------------------------------------------------------

std::vector<LayerCost> Passes::costs() const {
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    std::vector<LayerCost> list;
    for (size_t i = 0; i < tables_.size(); ++i) {
        const LevelTables& tables = tables_[i];
        const Convolution& merge = config_.levels[i].merge;
        const double n = count(tables.grid.n_point()), c = count(n_channel(i));
        const std::string name = "blocks." + std::to_string(i);
        list.push_back({.name = name + " merge",
                        .flops = 2 * tables.merge.n_pair() * count(merge.n_in) +
                                 2 * n * c * count(merge.n_in * merge.n_basis())});
        for (int64_t j = 0; j < config_.levels[i].depth; ++j) {
            const std::string repetition = name + "." + std::to_string(j);
            list.push_back(tables.attention->cost(repetition + " attention"));
            list.push_back({.name = repetition + " feed-forward",
                            .flops = 4 * n * c * c + 2 * tables.mix->n_pair() * c});
        }
        list.push_back({.name = "upsamplers." + std::to_string(i),
                        .flops = 2 * n * c * (c + count(SegformerWeights::n_expanded(config_, i))) +
                                 2 * tables.upsample.n_pair() * count(config_.n_out)});
    }
    return list;
}

std::vector<std::string> Passes::notes() const {
    return {"levels share their memory: each adds its part to the image before the next one"};
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Segformer& config,
                                                   std::shared_ptr<const SegformerWeights> weights,
                                                   const SphereDomain& input,
                                                   const SphereDomain& output,
                                                   const PlanRequest& request) {
    return std::make_unique<Passes>(config, std::move(weights), input, output, request);
}

}  // namespace surrogate::impl::sphere
