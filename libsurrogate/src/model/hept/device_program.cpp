// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/hept/device_program.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "libsurrogate/src/layers/linear_pass.hpp"
#include "libsurrogate/src/model/family/device_limits.hpp"
#include "libsurrogate/src/model/hept/costs.hpp"
#include "libsurrogate/src/model/hept/device_tokens.hpp"
#include "libsurrogate/src/model/hept/device_visits.hpp"
#include "libsurrogate/src/model/hept/home_order.hpp"
#include "libsurrogate/src/model/hept/particle_class.hpp"

namespace surrogate::impl::hept {

using kernels::DeviceActivation;
using kernels::padded_rows;
using kernels::row_tiles;
using kernels::Stream;
using kernels::hept::AttendArgs;
using kernels::hept::AugmentArgs;
using kernels::hept::BeginArgs;
using kernels::hept::CombineArgs;
using kernels::hept::DeviceKernels;
using kernels::hept::EndArgs;
using kernels::hept::most_coordinates;
using kernels::hept::OrderArgs;
using kernels::hept::SquashArgs;

namespace {

/// Evaluates the network on a device. Tokens pass through the layers together, all heads at once.
/// The plan fixes the tokens of each cell and block; each layer computes their order within a cell.
/// Ghost tokens follow the own tokens. A layer projects ghost tokens, computes their attention and
/// returns their sums; the owner ranks compute everything else.
class DevicePasses final : public DeviceProgram {
public:
    DevicePasses(const Config& config, std::shared_ptr<const DeviceWeights> weights,
                 const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          regions_(weights->host_layers().regions),
          domain_(domain),
          comm_(domain.context().comm()),
          request_(request),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("hept")),
          weights_(std::move(weights)),
          visits_(config, weights_->widths().head, plan_, device_, kernels_, arena_) {}

    void connect(const DeviceColumns& columns) override;
    RowExchange<float>* rows() override { return rows_ ? &*rows_ : nullptr; }
    std::span<const DeviceExchange> exchanges() const override { return visits_.exchanges(); }

    const char* required_of(int column) const override {
        return config_.is_pileup && column + 1 == columns_.n_input ? class_text : nullptr;
    }
    BadValue find_bad(std::span<const float> rows) const override;

    /// Returns the memory of the rows, which no pass reads before the columns are read, or after
    /// the last layer.
    float* staging() const override { return arena_.at<float>(head_rows_); }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return plan_.n_point(); }
    std::vector<LayerCost> costs() const override { return costs_of(config_, work()); }
    std::vector<std::string> notes() const override { return notes_of(config_, work()); }

private:
    /// Offset and length of a list in the arena.
    template <class T>
    struct List {
        int64_t place = 0, n = 0;
    };
    template <class T>
    List<T> add(const std::vector<T>& list) {
        return {arena_.add(bytes_of(list)), std::ssize(list)};
    }
    template <class T>
    const T* at(const List<T>& list) const {
        return arena_.at<T>(list.place);
    }
    template <class T>
    static int64_t bytes_of(const std::vector<T>& list) {
        return static_cast<int64_t>(list.size() * sizeof(T));
    }

    void add_memory(const DeviceTokens& tokens);
    int64_t work_bytes() const;
    void fill_memory(const DeviceTokens& tokens) const;
    void set_order(const DeviceTokens& tokens);

    void embed(Stream stream) const;
    void run_layer(const DeviceLayer& layer, DeviceSteps& steps) const;
    void order(const DeviceLayer& layer, Stream stream) const;
    void join(const DeviceLayer& layer, Stream stream) const;
    void feed_forward(const DeviceLayer& layer, Stream stream) const;
    void leave(const kernels::DeviceLinear& states, bool is_first, Stream stream) const;
    void read_out(Stream stream) const;

    /// Returns the pass of a layer over the own tokens.
    LinearPass linear(const kernels::DeviceLinear& layer) const {
        return linear_pass(layer, weights_->operand(), row_tiles(plan_.n_own()));
    }
    void run(const LinearPass& pass, Stream stream) const {
        kernels_.linear(device_.properties(), pass.args, stream);
    }
    AugmentArgs augment_args(const DeviceLayer& layer) const;
    AttendArgs attend_args() const;
    CombineArgs combine_args() const;

    Work work() const {
        Work work{plan_, domain_.n_local()};
        work.is_on_device = true;
        if (rows_) work.n_given = columns_.n_input;
        if (!visits_.is_needed()) return work;
        work.coordinate_bytes = visits_.coordinate_bytes();
        work.layer_bytes = visits_.layer_bytes();
        work.layer_collectives = 2;
        return work;
    }
    int64_t n_token() const { return plan_.n_token(); }
    int64_t n_row() const { return padded_rows(n_token()); }
    int64_t n_own_row() const { return padded_rows(plan_.n_own()); }
    int64_t n_sum() const { return config_.n_row() * n_token() * widths().head.n_sum(); }
    int64_t operand_bytes() const { return kernels::operand_bytes(weights_->operand()); }
    const DeviceWidths& widths() const { return weights_->widths(); }

    const Config& config_;
    const std::vector<float>& regions_;
    const PointDomain& domain_;
    Communicator& comm_;
    const PlanRequest request_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    TokenPlan plan_;
    std::optional<RowExchange<float>> rows_;  // only with more than one rank
    DeviceColumns columns_;
    OrderArgs order_;
    DeviceArena arena_;
    DeviceVisits visits_;
    // Offsets in arena_. head_rows_: rows of all heads, then their sums as operands. work_: in
    // turn the features and their hidden channels; projections, then sums; hidden channels; hidden_
    // and squashed_ of the output MLP, and y_.
    int64_t h_ = 0, e_ = 0, coordinates_ = 0, head_rows_ = 0, hashes_ = 0, orders_ = 0, keys_ = 0;
    int64_t work_ = 0, hidden_ = 0, squashed_ = 0, y_ = 0;
    List<int64_t> points_;
    List<kernels::hept::DeviceBlock> blocks_;
    List<int32_t> members_;
    List<kernels::hept::DeviceCell> small_, middle_, parts_;
    List<kernels::hept::DeviceLargeCell> large_;
};

void DevicePasses::connect(const DeviceColumns& columns) {
    columns_ = columns;
    const HomeOrder home = home_order(config_, domain_, request_);
    plan_.connect(comm_, config_, regions_, home);
    const bool is_alone = comm_.size() == 1;
    if (!is_alone)
        rows_.emplace(comm_, RowRoute(comm_, home.positions, home.begins),
                      std::max(columns.n_input, columns.n_output));
    comm_.agree([&] {
        kernels_.load(device_.properties(), weights_->operand(), widths().head);
        std::vector<int64_t> points(static_cast<size_t>(plan_.n_point()));
        std::iota(points.begin(), points.end(), 0);
        if (is_alone) points = points_at_home(home.positions);
        const DeviceTokens tokens(config_, plan_, points);
        add_memory(tokens);
        fill_memory(tokens);
        set_order(tokens);
        visits_.connect(columns_.findings, arena_.at<float>(work_));
    });
}

BadValue DevicePasses::find_bad(std::span<const float> rows) const {
    if (!config_.is_pileup) return {};
    const int64_t n = columns_.n_input;
    return find_bad_class(rows.data(), std::ssize(rows) / n, n, n - 1);
}

/// Returns the size of work_. The offsets within work_ are chosen so that buffers that are read
/// together do not overlap.
int64_t DevicePasses::work_bytes() const {
    const DeviceWidths& w = widths();
    const int64_t features = 4 * n_own_row() * w.features.width;
    const int64_t hidden = operand_bytes() * n_own_row() * w.tokens.width;
    const int64_t projections = 4 * n_row() * w.qkv.width;
    const int64_t wide = 4 * n_own_row() * w.wide.width;
    const int64_t squashed = operand_bytes() * n_own_row() * w.wide.width;
    return std::max({features + hidden, projections, 4 * n_sum(), wide + squashed,
                     4 * n_own_row() * w.outputs.width});
}

void DevicePasses::add_memory(const DeviceTokens& tokens) {
    const DeviceWidths& w = widths();
    const int64_t staging = 4 * plan_.n_point() * std::max(columns_.n_input, columns_.n_output);
    const int64_t rows = 4 * config_.num_heads * n_token() * w.head.stride();
    const int64_t heads = operand_bytes() * n_own_row() * w.heads.width;
    h_ = arena_.add(4 * n_row() * w.tokens.width);
    e_ = arena_.add(4 * n_own_row() * w.embedding.width);
    coordinates_ = arena_.add(4 * n_row() * most_coordinates);
    head_rows_ = arena_.add(std::max({rows, heads, staging}));
    hashes_ = arena_.add(2 * 4 * config_.n_row() * n_token());
    orders_ = arena_.add(2 * 4 * config_.n_row() * tokens.n_place);
    keys_ = arena_.add(4 * 8 * tokens.n_key);
    work_ = arena_.add(work_bytes());
    hidden_ = work_ + 4 * n_own_row() * w.features.width;
    squashed_ = work_ + 4 * n_own_row() * w.wide.width;
    y_ = work_;
    points_ = add(tokens.points);
    blocks_ = add(tokens.blocks);
    members_ = add(tokens.members);
    small_ = add(tokens.small);
    middle_ = add(tokens.middle);
    parts_ = add(tokens.parts);
    large_ = add(tokens.large);
    visits_.add(comm_.size());
    arena_.take(device_);
}

void DevicePasses::fill_memory(const DeviceTokens& tokens) const {
    if (arena_.bytes() == 0) return;
    ArenaWriter put(device_, arena_);
    put(points_.place, tokens.points);
    put(blocks_.place, tokens.blocks);
    put(members_.place, tokens.members);
    put(small_.place, tokens.small);
    put(middle_.place, tokens.middle);
    put(parts_.place, tokens.parts);
    put(large_.place, tokens.large);
    visits_.fill(put);
    put.finish();
}

void DevicePasses::set_order(const DeviceTokens& tokens) {
    order_ = {.n_row = config_.n_row(),
              .n_token = n_token(),
              .n_member = tokens.n_member,
              .n_place = tokens.n_place,
              .members = at(members_),
              .hashes = arena_.at<uint32_t>(hashes_),
              .orders = arena_.at<int32_t>(orders_),
              .small = at(small_),
              .n_small = small_.n,
              .middle = at(middle_),
              .n_middle = middle_.n,
              .largest_middle = tokens.largest_middle,
              .parts = at(parts_),
              .n_part = parts_.n,
              .large = at(large_),
              .n_large = large_.n,
              .largest = tokens.largest,
              .n_key = tokens.n_key,
              .keys = arena_.at<uint64_t>(keys_)};
}

// ---- passes of an evaluation -------------------------------------------------------------------

void DevicePasses::embed(Stream stream) const {
    const DeviceWidths& w = widths();
    const DeviceLayers& layers = weights_->layers();
    BeginArgs begin;
    begin.n_point = plan_.n_point();
    begin.n_token = plan_.n_own();
    begin.points = at(points_);
    begin.columns = columns_.inputs;
    begin.n_coordinate = config_.coords_dim;
    begin.n_feature = config_.in_dim;
    begin.classes = layers.classes;
    begin.n_class = Config::n_class_of_particle;
    begin.class_width = Config::class_width;
    begin.are_callers = !rows_;
    begin.width = w.features.width;
    begin.features = arena_.at<float>(work_);
    begin.coordinates = arena_.at<float>(coordinates_);
    begin.findings = columns_.findings;
    begin.outside = columns_.outside;
    kernels_.begin(device_.properties(), begin, stream);

    const int64_t hidden_groups = w.tokens.width / 8;
    void* const hidden = arena_.at<void>(hidden_);
    run(linear(layers.encoder_in)
            .of(begin.features)
            .then(DeviceActivation::relu)
            .to_pieces(hidden, hidden_groups),
        stream);
    run(linear(layers.encoder_out).of_pieces(hidden, hidden_groups).to(arena_.at<float>(h_)),
        stream);
    leave(layers.states, true, stream);
}

/// Computes e = W_l h if is_first, otherwise e += W_l h.
void DevicePasses::leave(const kernels::DeviceLinear& states, bool is_first, Stream stream) const {
    const LinearPass pass = linear(states).of(arena_.at<float>(h_));
    auto* const e = arena_.at<float>(e_);
    run(is_first ? pass.to(e) : pass.adds_to(e), stream);
}

AugmentArgs DevicePasses::augment_args(const DeviceLayer& layer) const {
    return {.head = widths().head,
            .n_head = static_cast<int32_t>(config_.num_heads),
            .n_table = static_cast<int32_t>(config_.n_hashes),
            .n_token = n_token(),
            .qkv = arena_.at<float>(work_),
            .width = widths().qkv.width,
            .coordinates = arena_.at<float>(coordinates_),
            .scale = layer.scale,
            .alpha = layer.alpha,
            .rows = arena_.at<float>(head_rows_),
            .hashes = arena_.at<uint32_t>(hashes_),
            .findings = columns_.findings};
}

AttendArgs DevicePasses::attend_args() const {
    return {.head = widths().head,
            .n_head = static_cast<int32_t>(config_.num_heads),
            .n_table = static_cast<int32_t>(config_.n_hashes),
            .n_token = n_token(),
            .n_place = order_.n_place,
            .blocks = at(blocks_),
            .n_block = blocks_.n,
            .block_size = config_.block_size,
            .rows = arena_.at<float>(head_rows_),
            .orders = arena_.at<int32_t>(orders_),
            .sums = arena_.at<float>(work_)};
}

CombineArgs DevicePasses::combine_args() const {
    return {.head = widths().head,
            .n_head = static_cast<int32_t>(config_.num_heads),
            .n_table = static_cast<int32_t>(config_.n_hashes),
            .n_token = n_token(),
            .n_own = plan_.n_own(),
            .sums = arena_.at<float>(work_),
            .operand = weights_->operand(),
            .to = arena_.at<void>(head_rows_),
            .n_group = widths().heads.width / 8};
}

/// Computes the rows and hashes of all tokens and sorts the tokens.
void DevicePasses::order(const DeviceLayer& layer, Stream stream) const {
    run(linear_pass(layer.qkv, weights_->operand(), row_tiles(n_token()))
            .of(arena_.at<float>(h_), layer.norm1, config_.h_dim)
            .to(arena_.at<float>(work_)),
        stream);
    kernels_.augment(device_.properties(), augment_args(layer), stream);
    kernels_.order(device_.properties(), order_, stream);
}

/// Computes h += out_linear(attention of all heads).
void DevicePasses::join(const DeviceLayer& layer, Stream stream) const {
    kernels_.combine(device_.properties(), combine_args(), stream);
    run(linear(layer.out)
            .of_pieces(arena_.at<void>(head_rows_), widths().heads.width / 8)
            .adds_to(arena_.at<float>(h_)),
        stream);
}

void DevicePasses::feed_forward(const DeviceLayer& layer, Stream stream) const {
    const int64_t hidden_groups = widths().tokens.width / 8;
    auto* const h = arena_.at<float>(h_);
    void* const hidden = arena_.at<void>(work_);
    run(linear(layer.ff_in)
            .of(h, layer.norm2, config_.h_dim)
            .then(DeviceActivation::relu)
            .to_pieces(hidden, hidden_groups),
        stream);
    run(linear(layer.ff_out).of_pieces(hidden, hidden_groups).adds_to(h), stream);
}

void DevicePasses::run_layer(const DeviceLayer& layer, DeviceSteps& steps) const {
    visits_.bring_tokens(arena_.at<float>(h_), widths().tokens.width, steps);
    steps.compute([&] { order(layer, steps.stream()); });
    visits_.clear_sums(steps);
    steps.compute([&] { kernels_.attend(device_.properties(), attend_args(), steps.stream()); });
    visits_.return_sums(steps);
    steps.compute([&] {
        join(layer, steps.stream());
        feed_forward(layer, steps.stream());
        leave(layer.states, false, steps.stream());
    });
}

/// Computes e += mlp(e), then the classes.
void DevicePasses::read_out(Stream stream) const {
    const DeviceLayers& layers = weights_->layers();
    auto* const e = arena_.at<float>(e_);
    void* const squashed = arena_.at<void>(squashed_);
    for (size_t j = 0; j < layers.mlp.size(); ++j) {
        const LinearPass layer = linear(layers.mlp[j]);
        const LinearPass pass =
            j == 0 ? layer.of(e) : layer.of_pieces(squashed, widths().wide.width / 8);
        if (j + 1 == layers.mlp.size()) {
            run(pass.adds_to(e), stream);
            break;
        }
        run(pass.to(arena_.at<float>(work_)), stream);
        const SquashArgs squash{.n_tile = row_tiles(plan_.n_own()),
                                .width = widths().wide.width,
                                .n_channel = static_cast<int32_t>(Config::mlp_width),
                                .x = arena_.at<float>(work_),
                                .norm = layers.mlp_norm[j],
                                .operand = weights_->operand(),
                                .to = squashed};
        kernels_.squash(device_.properties(), squash, stream);
    }
    const bool has_classes = config_.num_classes > 0;
    if (has_classes) run(linear(layers.out).of(e).to(arena_.at<float>(y_)), stream);
    EndArgs end;
    end.n_point = plan_.n_point();
    end.points = at(points_);
    end.y = has_classes ? arena_.at<float>(y_) : e;
    end.width = has_classes ? widths().outputs.width : widths().embedding.width;
    end.columns = columns_.outputs;
    end.n_column = columns_.n_output;
    end.is_probability = config_.is_pileup;
    end.findings = columns_.findings;
    kernels_.end(device_.properties(), end, stream);
}

void DevicePasses::enqueue(DeviceSteps& steps) const {
    steps.compute([&] { embed(steps.stream()); });
    visits_.bring_coordinates(arena_.at<float>(coordinates_), steps);
    for (const DeviceLayer& layer : weights_->layers().layers) run_layer(layer, steps);
    steps.compute([&] { read_out(steps.stream()); });
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request) {
    return std::make_unique<DevicePasses>(config, std::move(weights), domain, request);
}

}  // namespace surrogate::impl::hept
