// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/device_program.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "libsurrogate/src/model/sequoia/costs.hpp"
#include "libsurrogate/src/model/sequoia/device_readout.hpp"
#include "libsurrogate/src/model/sequoia/device_tree.hpp"
#include "libsurrogate/src/model/sequoia/embedding.hpp"
#include "libsurrogate/src/model/sequoia/leaf_order.hpp"

namespace surrogate::impl::sequoia {

using kernels::DeviceActivation;
using kernels::DeviceChannels;
using kernels::LinearArgs;
using kernels::Stream;
using kernels::tile_rows;
using kernels::sequoia::BeginArgs;
using kernels::sequoia::CutArgs;
using kernels::sequoia::DeviceKernels;
using kernels::sequoia::MarkArgs;
using kernels::sequoia::TreeOperands;

namespace {

/// Evaluates the network on a device. All nodes pass through a layer together; the kernels of the
/// tree process one level after the other.
///
/// On one rank the kernels read and write the caller's points in the order of leaves. On several
/// ranks rows are sent to the ranks of their leaves through host memory. Ranks exchange data on the
/// shared level only: once for its means, then where it attends to its children.
class DevicePasses final : public DeviceProgram {
public:
    DevicePasses(const Config& config, std::shared_ptr<const DeviceWeights> weights,
                 const PointDomain& domain, const PlanRequest& request)
        : config_(config),
          domain_(domain),
          comm_(domain.context().comm()),
          request_(request),
          device_(request.device->device()),
          kernels_(request.device->kernels<DeviceKernels>("sequoia")),
          weights_(std::move(weights)),
          levels_(config),
          readout_(config, device_, kernels_, *weights_, comm_) {}

    void connect(const DeviceColumns& columns) override;

    RowExchange<float>* rows() override { return rows_ ? &*rows_ : nullptr; }
    /// Returns x, which is computed from the features after the columns have been read.
    float* staging() const override { return arena_.at<float>(x_); }
    std::span<const DeviceGather> gathers() const override { return gathers_; }
    void enqueue(DeviceSteps& steps) const override;

    int64_t bytes() const override { return arena_.bytes(); }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return own().size(); }
    int64_t n_output_row() const override { return readout_.n_row(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;

private:
    // indices in gathers_; the read-out's gather follows
    static constexpr size_t of_nodes = 0, of_children = 1;

    void allocate(std::span<const int64_t> leaves);
    void add_memory();
    void fill_memory(std::span<const int64_t> leaves);
    void add_gathers();
    std::vector<float> sinusoid() const;
    std::vector<int64_t> all_begins() const;

    void embed(Stream stream) const;
    void average(DeviceSteps& steps) const;
    void mark(Stream stream) const;
    void run_layer(const DeviceLayer& layer, DeviceSteps& steps) const;
    void visit(int l, DeviceSteps& steps) const;
    void finish(const DeviceLayer& layer, Stream stream) const;
    void gather(size_t which, DeviceSteps& steps) const;
    CutArgs cut_args(size_t which) const;

    LinearArgs layer_args(const kernels::DeviceLinear& layer, int64_t n_tile) const;
    void from_nodes(LinearArgs& args, const kernels::DeviceNorm& norm) const;
    void run(const LinearArgs& args, Stream stream) const {
        kernels_.linear(device_.properties(), args, stream);
    }
    TreeOperands operands() const;
    /// Returns the floats that a rank contributes to a gather: a flag, and the rows of its nodes.
    int64_t part_size(int64_t n_channel) const { return 1 + tree_.most_owned() * n_channel; }
    Range own() const { return tree_.owned(0); }
    /// Returns the number of columns that are copied through the program's points.
    int64_t n_staged() const {
        const bool is_at_points = readout_.n_row() < 0;
        return std::max(columns_.n_input, is_at_points ? columns_.n_output : 0);
    }
    bool is_alone() const { return comm_.size() == 1; }
    bool has_points() const { return is_alone() && own().size() > 0; }
    int64_t operand_bytes() const { return kernels::operand_bytes(weights_->operand()); }
    const DeviceWidths& widths() const { return weights_->widths(); }

    const Config& config_;
    const PointDomain& domain_;
    Communicator& comm_;
    const PlanRequest request_;
    kernels::Device& device_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    Tree tree_;
    DeviceTree levels_;
    DeviceReadout readout_;
    std::vector<int> visits_;
    std::optional<RowExchange<float>> rows_;  // only with more than one rank
    DeviceColumns columns_;
    DeviceArena arena_;
    // Offsets in arena_. work_: features, then qkv, then hidden channels; finally the read-out's
    // memory.
    int64_t x_ = 0, work_ = 0, children_ = 0, added_ = 0;
    int64_t points_ = 0, begins_ = 0, parts_ = 0;
    std::vector<DeviceGather> gathers_;
};

void DevicePasses::connect(const DeviceColumns& columns) {
    columns_ = columns;
    std::vector<int64_t> begins;
    comm_.agree([&] {
        tree_ = Tree(domain_.n_global(), config_.k, comm_.rank(), comm_.size());
        require_tree(config_, tree_);
        levels_.resize(tree_);
        readout_.resize(tree_, levels_, columns);
        visits_ = visits(config_.schedule, tree_.n_level());
        begins = tree_.begins(0);
    });
    const std::vector<int64_t> leaves = leaf_positions(config_, domain_, request_, begins);
    if (!is_alone()) rows_.emplace(comm_, RowRoute(comm_, leaves, begins), n_staged());
    comm_.agree([&] { allocate(leaves); });
}

void DevicePasses::allocate(std::span<const int64_t> leaves) {
    kernels_.load(device_.properties(), weights_->operand());
    add_memory();
    fill_memory(leaves);
    if (!is_alone()) add_gathers();
}

void DevicePasses::add_memory() {
    const DeviceWidths& w = widths();
    const int64_t n_row = levels_.n_tile() * tile_rows;
    const int64_t n_leaf_row = levels_.n_leaf_tile() * tile_rows;
    const int64_t n_upper_row = n_row - n_leaf_row;
    const int64_t staging = 4 * own().size() * n_staged();
    const int64_t hidden = operand_bytes() * n_row * w.hidden.width;
    x_ = arena_.add(std::max(4 * n_row * w.nodes.width, staging));
    work_ = arena_.add(
        std::max({4 * n_leaf_row * w.features.width, operand_bytes() * n_row * w.qkv.width, hidden,
                  readout_.work_bytes()}));
    if (config_.has_children) children_ = arena_.add(4 * n_upper_row * w.heads.width);
    if (config_.has_sinusoid) added_ = arena_.add(4 * n_upper_row * w.nodes.width);
    if (has_points()) points_ = arena_.add(8 * own().size());
    if (!is_alone()) {
        const int64_t widest = std::max(config_.dim, config_.inner_dim());
        begins_ = arena_.add(8 * (comm_.size() + 1) * (tree_.cut() + 1));
        parts_ = arena_.add(comm_.size() * std::max(4 * part_size(widest), readout_.part_bytes()));
    }
    readout_.add_memory(arena_);
    arena_.take(device_);
}

void DevicePasses::fill_memory(std::span<const int64_t> leaves) {
    if (arena_.bytes() == 0) return;
    ArenaWriter put(device_, arena_);
    if (has_points()) {
        std::vector<int64_t> points(leaves.size());
        for (size_t i = 0; i < leaves.size(); ++i)
            points[static_cast<size_t>(leaves[i])] = static_cast<int64_t>(i);
        put(points_, points);
    }
    if (config_.has_sinusoid) put(added_, sinusoid());
    if (!is_alone()) put(begins_, all_begins());
    readout_.fill_memory(put);
    put.finish();
}

/// Returns the partition of each level up to the shared level.
std::vector<int64_t> DevicePasses::all_begins() const {
    std::vector<int64_t> all;
    for (int l = 0; l <= tree_.cut(); ++l) {
        const std::vector<int64_t> begins = tree_.begins(l);
        all.insert(all.end(), begins.begin(), begins.end());
    }
    return all;
}

/// Returns the sinusoids of the nodes above the leaves, as a stream.
std::vector<float> DevicePasses::sinusoid() const {
    const int64_t width = widths().nodes.width, first = levels_.n_leaf_tile() * tile_rows;
    std::vector<float> added(static_cast<size_t>(levels_.n_upper_tile() * tile_rows * width));
    for (int l = 1; l < tree_.n_level(); ++l) {
        const Range held = tree_.level(l).held;
        for (int64_t i = held.begin; i < held.end; ++i) {
            const int64_t row = levels_.row(l, i) - first;
            for_sinusoid(tree_, l, i, config_.dim, [&](int64_t c, double value) {
                added[static_cast<size_t>(kernels::fragment_index(row, c, width))] =
                    static_cast<float>(value);
            });
        }
    }
    return added;
}

/// Adds the gathers. Each rank owns the same number of nodes of the shared level, or one less; all
/// parts have the length of the longest part.
void DevicePasses::add_gathers() {
    for (const int64_t n_channel : {config_.dim, config_.inner_dim()}) {
        const int64_t size = part_size(n_channel);
        float* const parts = arena_.at<float>(parts_);
        gathers_.push_back({parts, 4 * size, parts + comm_.rank() * size});
    }
    const DeviceGather of_rows =
        readout_.gather(arena_.at<void>(parts_), arena_.at<int64_t>(begins_));
    if (of_rows.n_byte > 0) gathers_.push_back(of_rows);
}

// ---- passes of an evaluation -------------------------------------------------------------------

CutArgs DevicePasses::cut_args(size_t which) const {
    const Range own = tree_.owned(tree_.cut());
    const bool is_of_nodes = which == of_nodes;
    CutArgs args;
    args.k = config_.k;
    args.level = levels_.level(tree_.cut());
    args.channels = is_of_nodes ? widths().nodes : widths().heads;
    args.stream = arena_.at<float>(is_of_nodes ? x_ : children_);
    args.first_tile = is_of_nodes ? 0 : levels_.n_leaf_tile();
    args.own_begin = own.begin;
    args.own_end = own.end;
    args.parts = arena_.at<float>(parts_);
    args.part_size = gathers_[which].n_byte / 4;
    args.begins = arena_.at<int64_t>(begins_) + tree_.cut() * (comm_.size() + 1);
    args.rank = comm_.rank();
    args.n_rank = comm_.size();
    args.findings = columns_.findings;
    return args;
}

/// Gathers the rows of the shared level's nodes from their owners to all ranks.
void DevicePasses::gather(size_t which, DeviceSteps& steps) const {
    if (is_alone()) return;
    const CutArgs args = cut_args(which);
    steps.compute([&] { kernels_.pack(device_.properties(), args, steps.stream()); });
    steps.gather(gathers_[which]);
    steps.compute([&] { kernels_.unpack(device_.properties(), args, steps.stream()); });
}

LinearArgs DevicePasses::layer_args(const kernels::DeviceLinear& layer, int64_t n_tile) const {
    return pass_of(layer, weights_->operand(), n_tile);
}

void DevicePasses::from_nodes(LinearArgs& args, const kernels::DeviceNorm& norm) const {
    args.stream = arena_.at<float>(x_);
    args.norm = norm;
    args.n_norm = static_cast<int32_t>(config_.dim);
}

TreeOperands DevicePasses::operands() const {
    return {weights_->operand(), arena_.at<void>(work_), widths().qkv.width / 8,
            static_cast<int32_t>(config_.num_head), static_cast<int32_t>(widths().head_groups())};
}

/// Embeds the own leaves: computes x from the columns.
void DevicePasses::embed(Stream stream) const {
    const DeviceLayers& layers = weights_->layers();
    BeginArgs begin;
    using Encoding = BeginArgs::Features;
    begin.features = config_.features == Features::fourier  ? Encoding::fourier
                     : config_.features == Features::linear ? Encoding::linear
                                                            : Encoding::none;
    begin.k = config_.k;
    begin.level = levels_.level(0);
    begin.own_begin = own().begin;
    begin.own_end = own().end;
    begin.points = has_points() ? arena_.at<int64_t>(points_) : nullptr;
    begin.columns = columns_.inputs;
    begin.n_column = columns_.n_input;
    begin.n_position = config_.takes_positions() ? config_.dimensionality : 0;
    begin.n_skipped = Embedding<float>::n_skipped(config_);
    begin.weight = layers.encoding;
    begin.bias = layers.encoding_bias;
    begin.n_feature = config_.c_in;
    begin.width = widths().features.width;
    begin.to = arena_.at<float>(work_);
    begin.findings = columns_.findings;
    begin.outside = columns_.outside;
    kernels_.begin(device_.properties(), begin, stream);

    LinearArgs embedding = layer_args(layers.embedding, levels_.n_leaf_tile());
    embedding.stream = arena_.at<float>(work_);
    embedding.to_stream = arena_.at<float>(x_);
    run(embedding, stream);
}

void DevicePasses::average(DeviceSteps& steps) const {
    if (tree_.cut() == 0) gather(of_nodes, steps);
    for (int l = 1; l < tree_.n_level(); ++l) {
        kernels::sequoia::AverageArgs args = levels_.average(l);
        args.width = widths().nodes.width;
        args.x = arena_.at<float>(x_);
        steps.compute([&] { kernels_.average(device_.properties(), args, steps.stream()); });
        if (l == tree_.cut()) gather(of_nodes, steps);
    }
}

/// Adds sinusoids and markers to the nodes of a sequence above its leaves.
void DevicePasses::mark(Stream stream) const {
    if (!config_.has_sinusoid && !config_.has_marker) return;
    for (int l = 1; l < tree_.n_level(); ++l) {
        MarkArgs args;
        args.level = levels_.level(l);
        if (config_.has_sinusoid) args.added = arena_.at<float>(added_);
        args.first_tile = levels_.n_leaf_tile();
        if (config_.has_marker) args.marker = config_.dim - l;
        args.width = widths().nodes.width;
        args.x = arena_.at<float>(x_);
        kernels_.mark(device_.properties(), args, stream);
    }
}

void DevicePasses::visit(int l, DeviceSteps& steps) const {
    const bool has_children = l > 0 && config_.has_children;
    if (has_children) {
        kernels::sequoia::ChildrenArgs args = levels_.children(l);
        args.nodes = operands();
        args.to = arena_.at<float>(children_);
        steps.compute([&] { kernels_.children(device_.properties(), args, steps.stream()); });
        if (l == tree_.cut()) gather(of_children, steps);
    }
    kernels::sequoia::AttendArgs args = levels_.attend(l);
    args.nodes = operands();
    if (has_children) args.children = arena_.at<float>(children_);
    steps.compute([&] { kernels_.attend(device_.properties(), args, steps.stream()); });
}

void DevicePasses::run_layer(const DeviceLayer& layer, DeviceSteps& steps) const {
    steps.compute([&] {
        LinearArgs project = layer_args(layer.qkv, levels_.n_tile());
        from_nodes(project, layer.norm1);
        project.to_pieces = arena_.at<void>(work_);
        project.out_groups = widths().qkv.width / 8;
        run(project, steps.stream());
    });
    for (const int l : visits_) visit(l, steps);
    steps.compute([&] { finish(layer, steps.stream()); });
}

/// Computes x += ff(v), x += mlp(norm2(x)). The hidden channels overwrite q, k and v.
void DevicePasses::finish(const DeviceLayer& layer, Stream stream) const {
    const TreeOperands nodes = operands();
    const int64_t first_value = 2 * int64_t{nodes.n_head} * nodes.head_groups;
    LinearArgs ff = layer_args(layer.ff, levels_.n_tile());
    ff.pieces = arena_.at<char>(work_) +
                first_value * 8 * tile_rows * operand_bytes();  // bytes of a group of 8 channels
    ff.in_groups = nodes.n_group;
    ff.to_stream = arena_.at<float>(x_);
    ff.adds = true;
    run(ff, stream);

    LinearArgs in = layer_args(layer.mlp_in, levels_.n_tile());
    from_nodes(in, layer.norm2);
    in.activation = DeviceActivation::gelu;
    in.to_pieces = arena_.at<void>(work_);
    in.out_groups = widths().hidden.width / 8;
    run(in, stream);

    LinearArgs out = layer_args(layer.mlp_out, levels_.n_tile());
    out.pieces = in.to_pieces;
    out.in_groups = in.out_groups;
    out.to_stream = arena_.at<float>(x_);
    out.adds = true;
    run(out, stream);
}

void DevicePasses::enqueue(DeviceSteps& steps) const {
    steps.compute([&] { embed(steps.stream()); });
    average(steps);
    steps.compute([&] { mark(steps.stream()); });
    for (int64_t i = 0; i < config_.num_layers; ++i) run_layer(weights_->layer(i), steps);
    readout_.enqueue(steps, arena_,
                     {arena_.at<float>(x_), arena_.at<char>(work_),
                      has_points() ? arena_.at<int64_t>(points_) : nullptr});
}

// ---- table of the plan -------------------------------------------------------------------------

std::vector<LayerCost> DevicePasses::costs() const {
    Work work{tree_, domain_.n_local(), own().size(), 4, Embedding<float>::n_real(config_) * 4};
    work.is_on_device = true;
    work.n_rank = comm_.size();
    work.readout_bytes = readout_.part_bytes();
    work.readout_collectives = readout_.part_bytes() > 0 ? 1 : 0;
    return costs_of(config_, work);
}

std::vector<std::string> DevicePasses::notes() const {
    std::vector<std::string> list = {description(tree_)};
    if (!is_alone()) {
        list.push_back(readout_.n_row() < 0
                           ? "points are sent to their leaves, and predictions back, through host "
                             "memory, once per run"
                           : "points are sent to their leaves through host memory, once per run");
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

}  // namespace surrogate::impl::sequoia
