// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_program.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "libsurrogate/src/model/sphere/device_grid_program.hpp"
#include "libsurrogate/src/model/sphere/transformer.hpp"
#include "libsurrogate/src/model/sphere/upsampled_stencil.hpp"

namespace surrogate::impl::sphere {

using kernels::Stream;
using kernels::sphere::DeviceGrid;

namespace {

/// Evaluates the Transformer on a device. Both convolutions are a pass over a stencil and a layer
/// on the internal grid, which has fewer points than the image: the encoder's stencil comes before
/// its layer, the decoder's after it. The decoder's stencil includes the upsampling.
///
/// Ranks exchange the image before the encoder, keys and values in every layer, and what the
/// decoder's weights made of the stream. Instance norms gather the sums of all rows.
class TransformerDeviceProgram final : public DeviceGridProgram {
public:
    TransformerDeviceProgram(const Transformer& config,
                             std::shared_ptr<const DeviceWeights> weights,
                             const SphereDomain& input, const SphereDomain& output,
                             const PlanRequest& request)
        : DeviceGridProgram(input, output, request, weights->operand()),
          config_(config),
          weights_(std::move(weights)),
          bands_(bands_of({comm_, request.queue, true}, config, input, output, notes_)),
          inner_(bands_.inner.of(comm_.rank())),
          grid_(device_grid(config.inner, inner_)) {}

    std::span<const DeviceGather> gathers() const override { return gathers_; }
    void enqueue(DeviceSteps& steps) const override;
    int64_t weight_bytes() const override { return weights_->bytes(); }

private:
    const Bands& image_bands() const override { return bands_.fine; }
    void make_tables() override;
    std::vector<Range> held_rows() const override {
        return {encoder_->held, attention_ ? attention_->held() : inner_, decoder_->held};
    }
    void make_exchanges(std::span<const Wanted> wanted) override;
    void add_memory() override;
    void fill_memory(ArenaWriter& put) override;
    std::vector<RingExchange*> ring_exchanges() override;
    void make_gathers() override;
    std::vector<LayerCost> layer_costs() const override;
    std::string memory_note() const override;

    void encode(Stream stream) const;
    void project(const DeviceBlock& block, DeviceSteps& steps) const;
    void feed_forward(const DeviceBlock& block, DeviceSteps& steps) const;
    void expand(Stream stream) const;
    void decode(Stream stream) const;
    void measure(DeviceSteps& steps) const;
    LinearPass of_normalized(const kernels::DeviceLinear& layer, const kernels::DeviceNorm& norm,
                             Stream stream) const;

    bool has_sums() const { return config_.norm == BlockNorm::instance; }
    int64_t n_row() const { return device_rows(grid_); }
    /// Returns the bytes of the sums over a ring.
    int64_t sum_bytes() const { return 2 * widths().points.width * int64_t{sizeof(double)}; }
    const DeviceWidths& widths() const { return weights_->widths(); }

    const Transformer& config_;
    std::shared_ptr<const DeviceWeights> weights_;
    TransformerBands bands_;
    Range inner_;      // own rows
    DeviceGrid grid_;  // own rows
    std::optional<StencilStage> encoder_, decoder_;
    std::optional<AttentionStage> attention_;
    std::optional<RingExchange> keys_;  // several ranks
    // Offsets in arena_. work_ holds gathered channels, then qkv, then hidden channels, then the
    // channels of the decoder.
    int64_t normed_ = 0, image_ = 0, expanded_ = 0, parts_ = 0, places_ = 0;
    // Held rows; on one rank the own rows.
    int64_t image_read_ = 0, expanded_read_ = 0;
    int64_t most_rows_ = 0;  // of a rank
    std::vector<DeviceGather> gathers_;
};

void TransformerDeviceProgram::make_tables() {
    const Convolution &encoder = config_.encoder, &decoder = config_.decoder;
    const Range fine = own_image();
    const int rank = comm_.rank();
    encoder_.emplace(kernels::sphere::convolution(encoder.out, encoder.in, encoder.filter,
                                                  inner_.begin, inner_.end),
                     bands_.fine, rank, encoder.n_in);
    decoder_.emplace(
        upsampled(kernels::sphere::convolution(decoder.out, decoder.in, decoder.filter, fine.begin,
                                               fine.end),
                  kernels::sphere::resampling(config_.image, config_.inner,
                                              kernels::sphere::Interpolation::bilinear)),
        bands_.inner, rank, widths().expanded.n_channel);
    if (config_.n_layer > 0) attention_.emplace(config_.attention, operand_, inner_);
}

void TransformerDeviceProgram::make_exchanges(std::span<const Wanted> wanted) {
    encoder_->connect(wanted[0]);
    if (attention_) keys_ = attention_->exchange(bands_.inner, wanted[1], comm_.rank());
    decoder_->connect(wanted[2]);
}

std::vector<RingExchange*> TransformerDeviceProgram::ring_exchanges() {
    std::vector<RingExchange*> list;
    for (auto* exchange : {&encoder_->exchange, &keys_, &decoder_->exchange})
        if (*exchange) list.push_back(&**exchange);
    return list;
}

void TransformerDeviceProgram::add_memory() {
    const DeviceWidths& w = widths();
    const int64_t n = n_row();
    x_ = arena_.add(std::max(4 * n * w.points.width, staging_bytes()));
    work_ = arena_.add(
        std::max({4 * n * w.gathered.width, 4 * n * w.expanded.width,
                  attention_ ? attention_->qkv_bytes() : 0, operand_bytes() * n * w.hidden.width}));
    for (int rank = 0; rank < comm_.size(); ++rank)
        most_rows_ = std::max(most_rows_, bands_.inner.of(rank).size());
    if (has_sums()) {
        normed_ = arena_.add(operand_bytes() * n * w.points.width);
        parts_ = arena_.add(comm_.size() * most_rows_ * sum_bytes());
        places_ = arena_.add(8 * config_.inner.n_lat);
    }
    image_ = image_read_ = arena_.add(4 * n_point() * encoder_->n_channel);
    expanded_ = expanded_read_ = arena_.add(4 * grid_.n_point() * decoder_->n_channel);
    add_image_points();
    if (!is_alone()) {
        image_read_ = arena_.add(encoder_->held_bytes());
        expanded_read_ = arena_.add(decoder_->held_bytes());
        for (RingExchange* exchange : ring_exchanges()) exchange->add_to(arena_);
        add_ring_staging();
    }
    for (auto* stage : {&encoder_, &decoder_}) (*stage)->table.add_to(arena_);
    if (attention_) attention_->add_to(arena_);
}

void TransformerDeviceProgram::fill_memory(ArenaWriter& put) {
    for (auto* stage : {&encoder_, &decoder_}) (*stage)->table.move_to(put);
    for (RingExchange* exchange : ring_exchanges()) exchange->move_to(put);
    if (attention_) attention_->move_to(put);
    if (has_sums()) put(places_, places_of(bands_.inner, most_rows_));
}

void TransformerDeviceProgram::make_gathers() {
    if (is_alone() || !has_sums() || config_.n_layer == 0) return;
    const int64_t n_byte = most_rows_ * sum_bytes();
    char* const parts = arena_.at<char>(parts_);
    gathers_.push_back({parts, n_byte, parts + comm_.rank() * n_byte});
}

// ---- passes of an evaluation -------------------------------------------------------------------

/// Computes x from the image.
void TransformerDeviceProgram::encode(Stream stream) const {
    const DeviceLayers& layers = weights_->layers();
    const int64_t width = widths().points.width;
    const LinearPass encoder =
        linear(layers.encoder, grid_)
            .of(gather(*encoder_, grid_, image_read_, widths().gathered.width, stream));
    if (!layers.embedding) {
        run(encoder.to(x()), stream);
        return;
    }
    kernels_.copy(device_.properties(),
                  {layers.embedding + grid_.row(inner_.begin, 0) * width, x(), n_row() * width},
                  stream);
    run(encoder.adds_to(x()), stream);
}

/// Gathers the sums over the rows of all ranks, if the norm reads them.
void TransformerDeviceProgram::measure(DeviceSteps& steps) const {
    if (!has_sums()) return;
    auto* const own = reinterpret_cast<double*>(arena_.at<char>(parts_) +
                                                comm_.rank() * most_rows_ * sum_bytes());
    steps.compute([&] {
        kernels_.moments(device_.properties(),
                         {grid_, x(), widths().points.width, own, columns_.findings},
                         steps.stream());
    });
    for (const DeviceGather& gather : gathers_) steps.gather(gather);
}

/// Returns the pass of a layer that reads norm(x); an instance norm is a pass before it. Call after
/// measure().
LinearPass TransformerDeviceProgram::of_normalized(const kernels::DeviceLinear& layer,
                                                   const kernels::DeviceNorm& norm,
                                                   Stream stream) const {
    if (!has_sums()) return linear(layer, grid_).of(x(), norm, config_.n_channel());
    kernels::sphere::InstanceNormArgs normalise;
    normalise.operand = operand_;
    normalise.grid = grid_;
    normalise.x = x();
    normalise.width = widths().points.width;
    normalise.parts = arena_.at<double>(parts_);
    normalise.places = arena_.at<int64_t>(places_);
    normalise.n_part = config_.inner.n_lat;
    normalise.weight = norm.weight;
    normalise.bias = norm.bias;
    normalise.eps = norm.eps;
    normalise.to = arena_.at<void>(normed_);
    normalise.findings = columns_.findings;
    kernels_.instance_norm(device_.properties(), normalise, stream);
    return linear(layer, grid_).of_pieces(normalise.to, normalise.width / 8);
}

void TransformerDeviceProgram::project(const DeviceBlock& block, DeviceSteps& steps) const {
    measure(steps);
    steps.compute([&] {
        run(of_normalized(block.attention.qkv, block.norm0, steps.stream())
                .to_pieces(attention_->own(arena_.at<void>(work_)), attention_->qkv_width() / 8),
            steps.stream());
    });
    exchange_keys(*attention_, keys_, steps);
}

void TransformerDeviceProgram::feed_forward(const DeviceBlock& block, DeviceSteps& steps) const {
    measure(steps);
    steps.compute([&] {
        const int64_t hidden_groups = widths().hidden.width / 8;
        void* const hidden = arena_.at<void>(work_);
        run(of_normalized(block.mlp_in, block.norm1, steps.stream())
                .then(config_.use_mlp ? device_activation(config_.activation)
                                      : kernels::DeviceActivation::none)
                .to_pieces(hidden, hidden_groups),
            steps.stream());
        run(linear(block.mlp_out, grid_).of_pieces(hidden, hidden_groups).adds_to(x()),
            steps.stream());
    });
}

/// Applies the decoder's layer to x and writes the result to planes.
void TransformerDeviceProgram::expand(Stream stream) const {
    auto* const expanded = arena_.at<float>(work_);
    run(linear(weights_->layers().decoder, grid_).of(x()).to(expanded), stream);
    kernels_.planes(device_.properties(),
                    {grid_, expanded, widths().expanded.width, decoder_->n_channel,
                     arena_.at<float>(expanded_)},
                    stream);
}

/// Applies the decoder's stencil to those planes and writes the result to the columns.
void TransformerDeviceProgram::decode(Stream stream) const {
    kernels::sphere::WriteArgs write = write_args(*decoder_, expanded_read_);
    if (config_.residual) write.added = arena_.at<float>(image_);
    kernels_.write(device_.properties(), write, stream);
}

void TransformerDeviceProgram::enqueue(DeviceSteps& steps) const {
    steps.compute([&] { read(image_, steps.stream()); });
    exchange_planes(*encoder_, image_, image_read_, steps);
    steps.compute([&] { encode(steps.stream()); });
    for (const DeviceBlock& block : weights_->layers().blocks) {
        project(block, steps);
        steps.compute([&] { attend(*attention_, block.attention.proj, steps.stream()); });
        feed_forward(block, steps);
    }
    steps.compute([&] { expand(steps.stream()); });
    exchange_planes(*decoder_, expanded_, expanded_read_, steps);
    steps.compute([&] { decode(steps.stream()); });
}

// ---- table of the plan -------------------------------------------------------------------------

std::vector<LayerCost> TransformerDeviceProgram::layer_costs() const {
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    const double n = count(grid_.n_point());
    const int64_t c = config_.n_channel();
    const int64_t sums = gathers_.empty() ? 0 : gathers_.front().n_byte;
    const int64_t n_gather = std::ssize(gathers_);
    std::vector<LayerCost> list;
    list.push_back(exchanged({.name = "encoder",
                              .flops = 2 * encoder_->table.n_pair() * count(config_.encoder.n_in) +
                                       2 * n * count(widths().gathered.n_channel * c)},
                             encoder_->exchange));
    for (int64_t i = 0; i < config_.n_layer; ++i) {
        const std::string name = "blocks." + std::to_string(i);
        list.push_back(exchanged(attention_->cost(name + " attention"), keys_));
        list.back().bytes_sent += sums;
        list.back().collectives += n_gather;
        list.push_back({.name = name + " mlp",
                        .flops = 4 * n * count(c * config_.n_hidden),
                        .bytes_sent = sums,
                        .collectives = n_gather});
    }
    list.push_back(exchanged({.name = "decoder",
                              .flops = 2 * n * count(c * decoder_->n_channel) +
                                       2 * decoder_->table.n_pair() * count(config_.decoder.n_out)},
                             decoder_->exchange));
    return list;
}

std::string TransformerDeviceProgram::memory_note() const {
    return "upsampling and the decoder's geometry are one stencil from the internal grid, of " +
           std::to_string(decoder_->table.n_strip()) + " strips";
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Transformer& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const SphereDomain& input,
                                                   const SphereDomain& output,
                                                   const PlanRequest& request) {
    return std::make_unique<TransformerDeviceProgram>(config, std::move(weights), input, output,
                                                      request);
}

}  // namespace surrogate::impl::sphere
