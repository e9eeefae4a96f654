// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_program.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "libsurrogate/src/layers/linear_pass.hpp"
#include "libsurrogate/src/model/sphere/device_image_rows.hpp"
#include "libsurrogate/src/model/sphere/device_tables.hpp"
#include "libsurrogate/src/model/sphere/transformer.hpp"
#include "libsurrogate/src/model/sphere/upsampled_stencil.hpp"

namespace surrogate::impl::sphere {

using kernels::DeviceActivation;
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

/// The Transformer. Both convolutions are a pass over a stencil beside a layer on the
/// internal grid, which has the fewer points: geometry, then weights in the encoder, the other way
/// round in the decoder. The decoder's stencil holds the upsampling, too.
///
/// Ranks compute bands of rows, as on the host. What a stencil reads of other ranks' rows is
/// exchanged: the image before the encoder, keys and values in every layer, what the decoder's
/// weights made of the stream. Instance norms gather the sums of all rows.
class DevicePasses final : public DeviceProgram {
public:
    DevicePasses(const Transformer& config, std::shared_ptr<const DeviceWeights> weights,
                 const SphereDomain& input, const SphereDomain& output, const PlanRequest& request)
        : config_(config),
          input_(input),
          output_(output),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("sphere")),
          weights_(std::move(weights)),
          comm_(output.context().comm()),
          bands_(bands_of({comm_, request.queue, true}, config, input, output, notes_)),
          inner_(bands_.inner.of(comm_.rank())),
          fine_(bands_.fine.of(comm_.rank())),
          grid_(device_grid(config.inner, inner_)) {}

    void connect(const DeviceColumns& columns) override;

    /// The stream, which is made when the columns were read and done with when they are written.
    float* staging() const override { return x(); }
    RowExchange<float>* rows() override { return image_rows_->rows(); }
    std::span<const DeviceGather> gathers() const override { return gathers_; }
    std::span<const DeviceExchange> exchanges() const override { return exchanges_; }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return n_image_point(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;

private:
    void make_tables();
    void make_exchanges(std::span<const Wanted> wanted);
    void add_memory();
    void connect_exchanges();
    void fill_memory();

    void read(Stream stream) const;
    void encode(Stream stream) const;
    void project(const DeviceBlock& block, DeviceSteps& steps) const;
    void attend(const DeviceBlock& block, Stream stream) const;
    void feed_forward(const DeviceBlock& block, DeviceSteps& steps) const;
    void expand(Stream stream) const;
    void decode(Stream stream) const;
    void exchange_planes(const std::optional<RingExchange>& exchange, int64_t from, Range own,
                         int64_t to, Range held, int64_t n_lon, DeviceSteps& steps) const;
    void measure(DeviceSteps& steps) const;

    LinearPass linear(const kernels::DeviceLinear& layer) const {
        return linear_pass(layer, weights_->operand(), grid_.n_tile());
    }
    LinearPass of_normalized(const kernels::DeviceLinear& layer, const kernels::DeviceNorm& norm,
                             Stream stream) const;
    void run(const LinearPass& pass, Stream stream) const {
        kernels_.linear(device_.properties(), pass.args, stream);
    }
    float* x() const { return arena_.at<float>(x_); }
    int64_t operand_bytes() const { return kernels::operand_bytes(weights_->operand()); }
    int64_t n_row() const { return device_rows(grid_); }
    int64_t n_image_point() const { return fine_.size() * config_.image.n_lon; }
    bool is_alone() const { return comm_.size() == 1; }
    RingStaging ring_staging() const {
        return {arena_.at<uint32_t>(given_), arena_.at<uint32_t>(taken_)};
    }
    /// Bytes of the sums over a ring.
    int64_t sum_bytes() const { return 2 * widths().points.width * int64_t{sizeof(double)}; }
    LayerCost exchanged(LayerCost cost, const std::optional<RingExchange>& exchange) const;
    const DeviceWidths& widths() const { return weights_->widths(); }

    const Transformer& config_;
    const SphereDomain &input_, &output_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    Communicator& comm_;
    std::vector<std::string> notes_;
    TransformerBands bands_;
    Range inner_, fine_;  // own rows
    DeviceGrid grid_;     // own rows
    Range image_held_, expanded_held_;
    std::optional<DeviceImageRows> image_rows_;
    std::optional<DeviceTable> encoder_, decoder_;
    std::optional<AttentionStage> attention_;
    DeviceColumns columns_;
    DeviceArena arena_;
    // In arena_. work_ holds gathered channels, then qkv, then hidden channels, then the channels
    // of the decoder.
    int64_t x_ = 0, work_ = 0, normed_ = 0, image_ = 0, expanded_ = 0, parts_ = 0;
    int64_t points_in_ = 0, points_out_ = 0;
    // Held rows; the own ones alone on one rank.
    int64_t image_read_ = 0, expanded_read_ = 0;
    int64_t places_ = 0, given_ = 0, taken_ = 0;
    int64_t most_rows_ = 0;  // of a rank
    std::optional<RingExchange> image_exchange_, key_exchange_, expanded_exchange_;
    std::vector<DeviceGather> gathers_;
    std::vector<DeviceExchange> exchanges_;
};

void DevicePasses::connect(const DeviceColumns& columns) {
    columns_ = columns;
    comm_.agree([&] {
        kernels_.load(device_.properties(), weights_->operand());
        make_tables();
    });
    image_rows_.emplace(input_, output_, bands_.fine,
                        std::max(columns_.n_input, columns_.n_output));
    std::vector<Wanted> wanted;
    if (!is_alone()) {
        for (const Range held :
             {image_held_, attention_ ? attention_->held() : inner_, expanded_held_})
            wanted.push_back(wanted_of_all(comm_, held));
    }
    comm_.agree([&] {
        if (!is_alone()) make_exchanges(wanted);
        add_memory();
        fill_memory();
        if (!is_alone()) connect_exchanges();
    });
}

void DevicePasses::make_tables() {
    using kernels::sphere::Stencil;
    const Convolution &encoder = config_.encoder, &decoder = config_.decoder;
    const Stencil in = kernels::sphere::convolution(encoder.out, encoder.in, encoder.filter,
                                                    inner_.begin, inner_.end);
    const Stencil out =
        upsampled(kernels::sphere::convolution(decoder.out, decoder.in, decoder.filter, fine_.begin,
                                               fine_.end),
                  kernels::sphere::resampling(config_.image, config_.inner,
                                              kernels::sphere::Interpolation::bilinear));
    image_held_ = is_alone() ? fine_ : rows_read(in);
    expanded_held_ = is_alone() ? inner_ : rows_read(out);
    encoder_.emplace(in, image_held_.begin);
    decoder_.emplace(out, expanded_held_.begin);
    if (config_.n_layer > 0) attention_.emplace(config_.attention, weights_->operand(), inner_);
}

void DevicePasses::make_exchanges(std::span<const Wanted> wanted) {
    const int rank = comm_.rank();
    image_exchange_.emplace(bands_.fine, wanted[0], rank, config_.encoder.n_in,
                            config_.image.n_lon);
    if (attention_) key_exchange_ = attention_->exchange(bands_.inner, wanted[1], rank);
    expanded_exchange_.emplace(bands_.inner, wanted[2], rank, widths().expanded.n_channel,
                               config_.inner.n_lon);
}

void DevicePasses::add_memory() {
    const DeviceWidths& w = widths();
    const int64_t n = n_row();
    const int64_t staging = 4 * n_image_point() * std::max(columns_.n_input, columns_.n_output);
    x_ = arena_.add(std::max(4 * n * w.points.width, staging));
    work_ = arena_.add(
        std::max({4 * n * w.gathered.width, 4 * n * w.expanded.width,
                  attention_ ? attention_->qkv_bytes() : 0, operand_bytes() * n * w.hidden.width}));
    for (int rank = 0; rank < comm_.size(); ++rank)
        most_rows_ = std::max(most_rows_, bands_.inner.of(rank).size());
    if (config_.norm == BlockNorm::instance) {
        normed_ = arena_.add(operand_bytes() * n * w.points.width);
        parts_ = arena_.add(comm_.size() * most_rows_ * sum_bytes());
        places_ = arena_.add(8 * config_.inner.n_lat);
    }
    image_ = image_read_ = arena_.add(4 * n_image_point() * config_.encoder.n_in);
    expanded_ = expanded_read_ = arena_.add(4 * grid_.n_point() * w.expanded.n_channel);
    points_in_ = arena_.add(8 * n_image_point());
    points_out_ = arena_.add(8 * n_image_point());
    if (!is_alone()) {
        image_read_ =
            arena_.add(4 * image_held_.size() * config_.image.n_lon * config_.encoder.n_in);
        expanded_read_ =
            arena_.add(4 * expanded_held_.size() * config_.inner.n_lon * w.expanded.n_channel);
        int64_t given = 0, taken = 0;
        for (auto* exchange : {&image_exchange_, &key_exchange_, &expanded_exchange_}) {
            if (!*exchange) continue;
            (*exchange)->add_to(arena_);
            given = std::max(given, (*exchange)->given_bytes());
            taken = std::max(taken, (*exchange)->taken_bytes());
        }
        given_ = arena_.add(given);
        taken_ = arena_.add(taken);
    }
    for (auto* table : {&encoder_, &decoder_}) (*table)->add_to(arena_);
    if (attention_) attention_->add_to(arena_);
    arena_.take(device_);
}

void DevicePasses::fill_memory() {
    ArenaWriter put(device_, arena_);
    put(points_in_, image_rows_->points_in());
    put(points_out_, image_rows_->points_out());
    for (auto* table : {&encoder_, &decoder_}) (*table)->move_to(put);
    for (auto* exchange : {&image_exchange_, &key_exchange_, &expanded_exchange_})
        if (*exchange) (*exchange)->move_to(put);
    if (attention_) attention_->move_to(put);
    if (config_.norm == BlockNorm::instance) put(places_, places_of(bands_.inner, most_rows_));
    put.finish();
}

void DevicePasses::connect_exchanges() {
    for (const auto* exchange : {&image_exchange_, &key_exchange_, &expanded_exchange_})
        if (*exchange) exchanges_.push_back((*exchange)->exchange(ring_staging()));
    if (config_.norm != BlockNorm::instance || config_.n_layer == 0) return;
    const int64_t n_byte = most_rows_ * sum_bytes();
    char* const parts = arena_.at<char>(parts_);
    gathers_.push_back({parts, n_byte, parts + comm_.rank() * n_byte});
}

// ---- what an evaluation enqueues ---------------------------------------------------------------

/// Fills the held rows with the channels of own rows and of other ranks' rows. Does nothing if no
/// exchange is set.
void DevicePasses::exchange_planes(const std::optional<RingExchange>& exchange, int64_t from,
                                   Range own, int64_t to, Range held, int64_t n_lon,
                                   DeviceSteps& steps) const {
    if (!exchange) return;
    exchange->enqueue(kernels_, device_, arena_, ring_staging(),
                      {arena_.at<uint32_t>(from), own.begin, n_lon, own.size() * n_lon},
                      {arena_.at<uint32_t>(to), held.begin, n_lon, held.size() * n_lon},
                      columns_.findings, steps);
}

/// The columns to planes of own rows.
void DevicePasses::read(Stream stream) const {
    kernels::sphere::ReadArgs read;
    read.n_point = n_image_point();
    read.points = arena_.at<int64_t>(points_in_);
    read.columns = columns_.inputs;
    read.n_column = columns_.n_input;
    read.to = arena_.at<float>(image_);
    read.findings = columns_.findings;
    read.outside = columns_.outside;
    kernels_.read(device_.properties(), read, stream);
}

/// The image to x.
void DevicePasses::encode(Stream stream) const {
    kernels::sphere::GatherArgs gather;
    gather.stencil = encoder_->in(arena_);
    gather.grid = grid_;
    gather.x = arena_.at<float>(image_read_);
    gather.n_channel = config_.encoder.n_in;
    gather.n_in_point = image_held_.size() * config_.image.n_lon;
    gather.to = arena_.at<float>(work_);
    gather.width = widths().gathered.width;
    kernels_.gather(device_.properties(), gather, stream);

    const DeviceLayers& layers = weights_->layers();
    const int64_t width = widths().points.width;
    const LinearPass encoder = linear(layers.encoder).of(gather.to);
    if (!layers.embedding) {
        run(encoder.to(x()), stream);
        return;
    }
    kernels_.copy(device_.properties(),
                  {layers.embedding + grid_.row(inner_.begin, 0) * width, x(), n_row() * width},
                  stream);
    run(encoder.adds_to(x()), stream);
}

/// Sums over the rows of all ranks, if the norm takes them.
void DevicePasses::measure(DeviceSteps& steps) const {
    if (config_.norm != BlockNorm::instance) return;
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
LinearPass DevicePasses::of_normalized(const kernels::DeviceLinear& layer,
                                       const kernels::DeviceNorm& norm, Stream stream) const {
    if (config_.norm != BlockNorm::instance)
        return linear(layer).of(x(), norm, config_.n_channel());
    const int64_t width = widths().points.width;
    kernels::sphere::InstanceNormArgs normalise;
    normalise.operand = weights_->operand();
    normalise.grid = grid_;
    normalise.x = x();
    normalise.width = width;
    normalise.parts = arena_.at<double>(parts_);
    normalise.places = arena_.at<int64_t>(places_);
    normalise.n_part = config_.inner.n_lat;
    normalise.weight = norm.weight;
    normalise.bias = norm.bias;
    normalise.eps = norm.eps;
    normalise.to = arena_.at<void>(normed_);
    normalise.findings = columns_.findings;
    kernels_.instance_norm(device_.properties(), normalise, stream);
    return linear(layer).of_pieces(normalise.to, width / 8);
}

void DevicePasses::project(const DeviceBlock& block, DeviceSteps& steps) const {
    void* const qkv = arena_.at<void>(work_);
    measure(steps);
    steps.compute([&] {
        run(of_normalized(block.attention.qkv, block.norm0, steps.stream())
                .to_pieces(attention_->own(qkv), attention_->qkv_width() / 8),
            steps.stream());
    });
    if (!key_exchange_) return;
    const RingMemory rings = attention_->rings(qkv);
    key_exchange_->enqueue(kernels_, device_, arena_, ring_staging(), rings, rings,
                           columns_.findings, steps);
}

void DevicePasses::attend(const DeviceBlock& block, Stream stream) const {
    const kernels::sphere::AttendArgs attend = attention_->args(arena_, arena_.at<void>(work_));
    kernels_.attend(device_.properties(), attend, stream);
    run(linear(block.attention.proj).of_pieces(attend.to, attention_->width() / 8).adds_to(x()),
        stream);
}

void DevicePasses::feed_forward(const DeviceBlock& block, DeviceSteps& steps) const {
    measure(steps);
    steps.compute([&] {
        const int64_t hidden_groups = widths().hidden.width / 8;
        void* const hidden = arena_.at<void>(work_);
        run(of_normalized(block.mlp_in, block.norm1, steps.stream())
                .then(activation_of(config_))
                .to_pieces(hidden, hidden_groups),
            steps.stream());
        run(linear(block.mlp_out).of_pieces(hidden, hidden_groups).adds_to(x()), steps.stream());
    });
}

/// x to planes of what the decoder's weights make of it.
void DevicePasses::expand(Stream stream) const {
    auto* const expanded = arena_.at<float>(work_);
    run(linear(weights_->layers().decoder).of(x()).to(expanded), stream);

    kernels::sphere::PlanesArgs planes;
    planes.grid = grid_;
    planes.x = expanded;
    planes.width = widths().expanded.width;
    planes.n_channel = widths().expanded.n_channel;
    planes.to = arena_.at<float>(expanded_);
    kernels_.planes(device_.properties(), planes, stream);
}

/// Those planes to the columns.
void DevicePasses::decode(Stream stream) const {
    kernels::sphere::WriteArgs write;
    write.stencil = decoder_->in(arena_);
    write.n_row = static_cast<int32_t>(fine_.size());
    write.t = arena_.at<float>(expanded_read_);
    write.n_in_point = expanded_held_.size() * config_.inner.n_lon;
    write.added = config_.residual ? arena_.at<float>(image_) : nullptr;
    write.points = arena_.at<int64_t>(points_out_);
    write.columns = columns_.outputs;
    write.n_column = columns_.n_output;
    write.findings = columns_.findings;
    kernels_.write(device_.properties(), write, stream);
}

void DevicePasses::enqueue(DeviceSteps& steps) const {
    steps.compute([&] { read(steps.stream()); });
    exchange_planes(image_exchange_, image_, fine_, image_read_, image_held_, config_.image.n_lon,
                    steps);
    steps.compute([&] { encode(steps.stream()); });
    for (const DeviceBlock& block : weights_->layers().blocks) {
        project(block, steps);
        steps.compute([&] { attend(block, steps.stream()); });
        feed_forward(block, steps);
    }
    steps.compute([&] { expand(steps.stream()); });
    exchange_planes(expanded_exchange_, expanded_, inner_, expanded_read_, expanded_held_,
                    config_.inner.n_lon, steps);
    steps.compute([&] { decode(steps.stream()); });
}

// ---- the table of the plan ---------------------------------------------------------------------

LayerCost DevicePasses::exchanged(LayerCost cost,
                                  const std::optional<RingExchange>& exchange) const {
    if (exchange) cost.bytes_sent += exchange->given_bytes();
    if (exchange) ++cost.collectives;
    return cost;
}

std::vector<LayerCost> DevicePasses::costs() const {
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    const double n = count(grid_.n_point());
    const int64_t c = config_.n_channel();
    const DeviceWidths& w = widths();
    const int64_t sums = gathers_.empty() ? 0 : gathers_.front().n_byte;
    const int64_t n_gather = std::ssize(gathers_);
    std::vector<LayerCost> list;
    const bool travels = image_rows_->travels();
    if (travels)
        list.push_back({.name = "inputs to the bands",
                        .bytes_sent = 4 * input_.own().size() * columns_.n_input,
                        .collectives = 1});
    list.push_back(exchanged({.name = "encoder",
                              .flops = 2 * encoder_->n_pair() * count(config_.encoder.n_in) +
                                       2 * n * count(w.gathered.n_channel * c)},
                             image_exchange_));
    for (int64_t i = 0; i < config_.n_layer; ++i) {
        const std::string name = "blocks." + std::to_string(i);
        list.push_back(exchanged(attention_->cost(name + " attention"), key_exchange_));
        list.back().bytes_sent += sums;
        list.back().collectives += n_gather;
        list.push_back({.name = name + " mlp",
                        .flops = 4 * n * count(c * config_.n_hidden),
                        .bytes_sent = sums,
                        .collectives = n_gather});
    }
    list.push_back(exchanged({.name = "decoder",
                              .flops = 2 * n * count(c * w.expanded.n_channel) +
                                       2 * decoder_->n_pair() * count(config_.decoder.n_out)},
                             expanded_exchange_));
    if (travels)
        list.push_back({.name = "outputs to the solver",
                        .bytes_sent = 4 * n_image_point() * columns_.n_output,
                        .collectives = 1});
    return list;
}

std::vector<std::string> DevicePasses::notes() const {
    std::vector<std::string> list = notes_;
    if (is_alone()) list.clear();
    list.push_back(
        "upsampling and the decoder's geometry are one stencil from the internal grid, of " +
        std::to_string(decoder_->n_strip()) + " strips");
    if (image_rows_->travels())
        list.push_back(
            "points are redistributed to their bands, and predictions to the solver, over the "
            "host");
    return list;
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Transformer& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const SphereDomain& input,
                                                   const SphereDomain& output,
                                                   const PlanRequest& request) {
    return std::make_unique<DevicePasses>(config, std::move(weights), input, output, request);
}

}  // namespace surrogate::impl::sphere
