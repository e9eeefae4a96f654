// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_program.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "libsurrogate/src/model/sphere/device_tables.hpp"
#include "libsurrogate/src/model/sphere/upsampled_stencil.hpp"

namespace surrogate::impl::sphere {

using kernels::DeviceActivation;
using kernels::LinearArgs;
using kernels::Stream;
using kernels::sphere::DeviceGrid;
using kernels::sphere::DeviceKernels;

namespace {

DeviceActivation activation_of(const Transformer& config) {
    if (!config.use_mlp) return DeviceActivation::none;
    switch (config.activation) {
        case kernels::Activation::gelu: return DeviceActivation::gelu;
        case kernels::Activation::relu: return DeviceActivation::relu;
        default: return DeviceActivation::none;
    }
}

/// The Transformer on one rank. Both convolutions are a pass over a stencil beside a layer on the
/// internal grid, which has the fewer points: geometry, then weights in the encoder, the other way
/// round in the decoder. The decoder's stencil holds the upsampling, too.
class Passes final : public DeviceProgram {
public:
    Passes(const Transformer& config, std::shared_ptr<const DeviceWeights> weights,
           const SphereDomain& input, const SphereDomain& output, const PlanRequest& request)
        : config_(config),
          input_(input),
          output_(output),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("sphere")),
          weights_(std::move(weights)),
          grid_(device_grid(config.inner)) {}

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
    void make_tables();
    void add_memory();
    void fill_memory();

    void encode(Stream stream) const;
    void attend(const DeviceBlock& block, Stream stream) const;
    void feed_forward(const DeviceBlock& block, Stream stream) const;
    void decode(Stream stream) const;

    LinearArgs layer_args(const kernels::DeviceLinear& layer) const;
    void take_normalised(LinearArgs& args, const kernels::DeviceNorm& norm, Stream stream) const;
    void add_pieces(const kernels::DeviceLinear& layer, const void* pieces, int64_t width,
                    Stream stream) const;
    void run(const LinearArgs& args, Stream stream) const {
        kernels_.linear(device_.properties(), args, stream);
    }
    int64_t operand_bytes() const { return kernels::operand_bytes(weights_->operand()); }
    int64_t n_row() const { return device_rows(grid_); }
    int64_t n_image_point() const { return config_.image.n_lat * config_.image.n_lon; }
    const DeviceWidths& widths() const { return weights_->widths(); }

    const Transformer& config_;
    const SphereDomain &input_, &output_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    DeviceGrid grid_;
    std::optional<DeviceTable> encoder_, decoder_;
    std::optional<AttentionStage> attention_;
    DeviceColumns columns_;
    DeviceArena arena_;
    // In arena_. work_: gathered, then qkv, then hidden channels, then those of the decoder.
    int64_t x_ = 0, work_ = 0, normed_ = 0, image_ = 0, expanded_ = 0, parts_ = 0;
    int64_t points_in_ = 0, points_out_ = 0;
};

void Passes::connect(const DeviceColumns& columns) {
    columns_ = columns;
    input_.context().comm().agree([&] {
        kernels_.load(device_.properties(), weights_->operand());
        make_tables();
        add_memory();
        fill_memory();
    });
}

void Passes::make_tables() {
    const Convolution &encoder = config_.encoder, &decoder = config_.decoder;
    encoder_.emplace(kernels::sphere::convolution(encoder.out, encoder.in, encoder.filter, 0,
                                                  encoder.out.n_lat));
    decoder_.emplace(upsampled(
        kernels::sphere::convolution(decoder.out, decoder.in, decoder.filter, 0, decoder.out.n_lat),
        kernels::sphere::resampling(config_.image, config_.inner,
                                    kernels::sphere::Interpolation::bilinear)));
    if (config_.n_layer > 0) attention_.emplace(config_.attention, weights_->operand());
}

void Passes::add_memory() {
    const DeviceWidths& w = widths();
    const int64_t n = n_row();
    const int64_t staging = 4 * n_image_point() * std::max(columns_.n_input, columns_.n_output);
    x_ = arena_.add(std::max(4 * n * w.points.width, staging));
    work_ = arena_.add(
        std::max({4 * n * w.gathered.width, 4 * n * w.expanded.width,
                  attention_ ? attention_->qkv_bytes() : 0, operand_bytes() * n * w.hidden.width}));
    if (config_.norm == BlockNorm::instance) {
        normed_ = arena_.add(operand_bytes() * n * w.points.width);
        parts_ = arena_.add(kernels::sphere::moment_parts(grid_.n_tile()) * 2 * w.points.width *
                            int64_t{sizeof(double)});
    }
    image_ = arena_.add(4 * n_image_point() * config_.encoder.n_in);
    expanded_ = arena_.add(4 * grid_.n_point() * w.expanded.n_channel);
    points_in_ = arena_.add(8 * n_image_point());
    points_out_ = arena_.add(8 * n_image_point());
    for (auto* table : {&encoder_, &decoder_}) (*table)->add_to(arena_);
    if (attention_) attention_->add_to(arena_);
    arena_.take(device_);
}

void Passes::fill_memory() {
    ArenaWriter put(device_, arena_);
    put(points_in_, points_of(input_));
    put(points_out_, points_of(output_));
    for (auto* table : {&encoder_, &decoder_}) (*table)->move_to(put);
    if (attention_) attention_->move_to(put);
    put.finish();
}

// ---- what an evaluation enqueues ---------------------------------------------------------------

LinearArgs Passes::layer_args(const kernels::DeviceLinear& layer) const {
    return pass_of(layer, weights_->operand(), grid_.n_tile());
}

/// The columns to x.
void Passes::encode(Stream stream) const {
    kernels::sphere::ReadArgs read;
    read.n_point = n_image_point();
    read.points = arena_.at<int64_t>(points_in_);
    read.columns = columns_.inputs;
    read.n_column = columns_.n_input;
    read.to = arena_.at<float>(image_);
    read.findings = columns_.findings;
    read.outside = columns_.outside;
    kernels_.read(device_.properties(), read, stream);

    kernels::sphere::GatherArgs gather;
    gather.stencil = encoder_->in(arena_);
    gather.grid = grid_;
    gather.x = read.to;
    gather.n_channel = config_.encoder.n_in;
    gather.n_in_point = n_image_point();
    gather.to = arena_.at<float>(work_);
    gather.width = widths().gathered.width;
    kernels_.gather(device_.properties(), gather, stream);

    const DeviceLayers& layers = weights_->layers();
    float* const x = arena_.at<float>(x_);
    if (layers.embedding)
        kernels_.copy(device_.properties(), {layers.embedding, x, n_row() * widths().points.width},
                      stream);
    LinearArgs encoder = layer_args(layers.encoder);
    encoder.stream = gather.to;
    encoder.to_stream = x;
    encoder.adds = layers.embedding != nullptr;
    run(encoder, stream);
}

/// The normalised stream as the layer's input.
void Passes::take_normalised(LinearArgs& args, const kernels::DeviceNorm& norm,
                             Stream stream) const {
    const int64_t width = widths().points.width;
    const float* const x = arena_.at<float>(x_);
    if (config_.norm != BlockNorm::instance) {
        args.stream = x;
        args.norm = norm;
        args.n_norm = static_cast<int32_t>(config_.n_channel());
        return;
    }
    auto* const parts = arena_.at<double>(parts_);
    kernels_.moments(device_.properties(), {grid_, x, width, parts}, stream);
    kernels::sphere::InstanceNormArgs normalise;
    normalise.operand = weights_->operand();
    normalise.grid = grid_;
    normalise.x = x;
    normalise.width = width;
    normalise.parts = parts;
    normalise.weight = norm.weight;
    normalise.bias = norm.bias;
    normalise.eps = norm.eps;
    normalise.to = arena_.at<void>(normed_);
    normalise.findings = columns_.findings;
    kernels_.instance_norm(device_.properties(), normalise, stream);
    args.pieces = normalise.to;
    args.in_groups = width / 8;
}

/// x += layer(pieces)
void Passes::add_pieces(const kernels::DeviceLinear& layer, const void* pieces, int64_t width,
                        Stream stream) const {
    LinearArgs args = layer_args(layer);
    args.pieces = pieces;
    args.in_groups = width / 8;
    args.to_stream = arena_.at<float>(x_);
    args.adds = true;
    run(args, stream);
}

void Passes::attend(const DeviceBlock& block, Stream stream) const {
    LinearArgs project = layer_args(block.attention.qkv);
    take_normalised(project, block.norm0, stream);
    project.to_pieces = arena_.at<void>(work_);
    project.out_groups = attention_->qkv_width() / 8;
    run(project, stream);
    const kernels::sphere::AttendArgs attend = attention_->args(arena_, project.to_pieces);
    kernels_.attend(device_.properties(), attend, stream);
    add_pieces(block.attention.proj, attend.to, attention_->width(), stream);
}

void Passes::feed_forward(const DeviceBlock& block, Stream stream) const {
    LinearArgs in = layer_args(block.mlp_in);
    take_normalised(in, block.norm1, stream);
    in.activation = activation_of(config_);
    in.to_pieces = arena_.at<void>(work_);
    in.out_groups = widths().hidden.width / 8;
    run(in, stream);
    add_pieces(block.mlp_out, in.to_pieces, widths().hidden.width, stream);
}

/// x to the columns.
void Passes::decode(Stream stream) const {
    LinearArgs expand = layer_args(weights_->layers().decoder);
    expand.stream = arena_.at<float>(x_);
    expand.to_stream = arena_.at<float>(work_);
    run(expand, stream);

    kernels::sphere::PlanesArgs planes;
    planes.grid = grid_;
    planes.x = expand.to_stream;
    planes.width = widths().expanded.width;
    planes.n_channel = widths().expanded.n_channel;
    planes.to = arena_.at<float>(expanded_);
    kernels_.planes(device_.properties(), planes, stream);

    kernels::sphere::WriteArgs write;
    write.stencil = decoder_->in(arena_);
    write.n_row = static_cast<int32_t>(config_.image.n_lat);
    write.t = planes.to;
    write.n_in_point = grid_.n_point();
    write.added = config_.residual ? arena_.at<float>(image_) : nullptr;
    write.points = arena_.at<int64_t>(points_out_);
    write.columns = columns_.outputs;
    write.n_column = columns_.n_output;
    write.findings = columns_.findings;
    kernels_.write(device_.properties(), write, stream);
}

void Passes::enqueue(DeviceSteps& steps) const {
    steps.compute([&] { encode(steps.stream()); });
    for (const DeviceBlock& block : weights_->layers().blocks) {
        steps.compute([&] { attend(block, steps.stream()); });
        steps.compute([&] { feed_forward(block, steps.stream()); });
    }
    steps.compute([&] { decode(steps.stream()); });
}

// ---- the table of the plan ---------------------------------------------------------------------

std::vector<LayerCost> Passes::costs() const {
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    const double n = count(grid_.n_point());
    const int64_t c = config_.n_channel();
    const DeviceWidths& w = widths();
    std::vector<LayerCost> list;
    list.push_back({.name = "encoder",
                    .flops = 2 * encoder_->n_pair() * count(config_.encoder.n_in) +
                             2 * n * count(w.gathered.n_channel * c)});
    for (int64_t i = 0; i < config_.n_layer; ++i) {
        const std::string name = "blocks." + std::to_string(i);
        list.push_back(attention_->cost(name + " attention"));
        list.push_back({.name = name + " mlp", .flops = 4 * n * count(c * config_.n_hidden)});
    }
    list.push_back({.name = "decoder",
                    .flops = 2 * n * count(c * w.expanded.n_channel) +
                             2 * decoder_->n_pair() * count(config_.decoder.n_out)});
    return list;
}

std::vector<std::string> Passes::notes() const {
    return {"upsampling and the decoder's geometry are one stencil from the internal grid, of " +
            std::to_string(decoder_->n_strip()) + " strips"};
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Transformer& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const SphereDomain& input,
                                                   const SphereDomain& output,
                                                   const PlanRequest& request) {
    return std::make_unique<Passes>(config, std::move(weights), input, output, request);
}

}  // namespace surrogate::impl::sphere
