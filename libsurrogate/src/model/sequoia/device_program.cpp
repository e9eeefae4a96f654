// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/device_program.hpp"

#include <algorithm>
#include <optional>

#include "libsurrogate/src/layers/linear_pass.hpp"
#include "libsurrogate/src/model/family/listed_program.hpp"
#include "libsurrogate/src/model/sequoia/costs.hpp"
#include "libsurrogate/src/model/sequoia/device_readout.hpp"
#include "libsurrogate/src/model/sequoia/device_tree.hpp"
#include "libsurrogate/src/model/sequoia/embedding.hpp"
#include "libsurrogate/src/model/sequoia/leaf_order.hpp"

namespace surrogate::impl::sequoia {

using kernels::DeviceActivation;
using kernels::tile_rows;
using kernels::sequoia::BeginArgs;
using kernels::sequoia::CutArgs;
using kernels::sequoia::DeviceKernels;
using kernels::sequoia::TreeOperands;

namespace {

/// The network on a device: all nodes pass through a layer together, attention goes level by level.
///
/// With one rank kernels read and write the caller's points in leaf order. With several, rows are
/// scattered to their leaves over the host, and ranks gather rows of the shared level: once its
/// means, then wherever it attends to its children.
class SequoiaDeviceProgram final : public ListedProgram {
public:
    SequoiaDeviceProgram(const Config& config, std::shared_ptr<const DeviceWeights> weights,
                         const PointDomain& domain, const PlanRequest& request)
        : ListedProgram(request.device->device(), domain.context().comm()),
          config_(config),
          domain_(domain),
          request_(request),
          kernels_(request.device->kernels<DeviceKernels>("sequoia")),
          weights_(std::move(weights)),
          levels_(config),
          readout_(config, kernels_, *weights_, comm_) {}

    RowExchange<float>* rows() override { return rows_ ? &*rows_ : nullptr; }
    /// x, which is made of the features after the columns were read.
    float* staging() const override { return x_; }
    int64_t weight_bytes() const override { return weights_->bytes(); }
    int64_t n_point() const override { return own().size(); }
    int64_t n_output_row() const override { return readout_.n_row(); }
    std::vector<LayerCost> costs() const override;
    std::vector<std::string> notes() const override;

private:
    void prepare() override;
    void list(PassList& passes) override;

    void list_memory(PassList& passes);
    void list_embedding(PassList& passes) const;
    void list_means(PassList& passes) const;
    void list_marks(PassList& passes) const;
    void list_layer(PassList& passes, const DeviceLayer& layer) const;
    void list_attention(PassList& passes, int l) const;
    void list_gather(PassList& passes, float* stream, int64_t first_tile,
                     const kernels::DeviceChannels& channels) const;
    std::vector<float> sinusoid() const;
    std::vector<int64_t> shared_begins() const;
    std::vector<int64_t> leaf_points() const;

    LinearPass linear(const kernels::DeviceLinear& layer) const {
        return linear_pass(layer, weights_->operand(), levels_.n_tile());
    }
    TreeOperands operands() const {
        return {weights_->operand(), work_, widths().qkv.width / 8,
                static_cast<int32_t>(config_.num_head),
                static_cast<int32_t>(widths().head_groups())};
    }
    /// Floats of a rank in a gather: a flag, and the rows of its nodes.
    int64_t part_size(int64_t n_channel) const { return 1 + tree_.most_owned() * n_channel; }
    Range own() const { return tree_.owned(0); }
    bool has_points() const { return is_alone() && own().size() > 0; }
    /// Bytes of operands of all nodes, or of rows of a stream.
    int64_t operand_bytes() const { return kernels::operand_bytes(weights_->operand()); }
    const DeviceWidths& widths() const { return weights_->widths(); }

    const Config& config_;
    const PointDomain& domain_;
    const PlanRequest request_;
    const DeviceKernels& kernels_;
    std::shared_ptr<const DeviceWeights> weights_;
    Tree tree_;
    DeviceTree levels_;
    DeviceReadout readout_;
    std::vector<int> visits_;
    std::vector<int64_t> leaves_;             // of this rank's points
    std::optional<RowExchange<float>> rows_;  // more than one rank
    // Device memory. work_: features, then q, k, v, then hidden channels, at last the read-out's.
    float *x_ = nullptr, *children_ = nullptr, *added_ = nullptr;
    char *work_ = nullptr, *parts_ = nullptr;
    int64_t *points_ = nullptr, *begins_ = nullptr;
};

void SequoiaDeviceProgram::prepare() {
    std::vector<int64_t> begins;
    comm_.agree([&] {
        tree_ = Tree(domain_.n_global(), config_.k, comm_.rank(), comm_.size());
        require_tree(config_, tree_);
        levels_.resize(tree_);
        readout_.resize(tree_, levels_, columns_);
        visits_ = visits(config_.schedule, tree_.n_level());
        begins = tree_.begins(0);
        kernels_.load(request_.device->device().properties(), weights_->operand());
    });
    leaves_ = leaf_positions(config_, domain_, request_, begins);
    if (is_alone()) return;
    const int64_t n_output = readout_.n_row() < 0 ? columns_.n_output : 0;
    rows_.emplace(comm_, RowRoute(comm_, leaves_, begins), std::max(columns_.n_input, n_output));
}

void SequoiaDeviceProgram::list(PassList& passes) {
    list_memory(passes);
    list_embedding(passes);
    list_means(passes);
    list_marks(passes);
    for (int64_t i = 0; i < config_.num_layers; ++i) list_layer(passes, weights_->layer(i));
    readout_.list(passes, {x_, work_, points_, parts_, begins_});
}

void SequoiaDeviceProgram::list_memory(PassList& passes) {
    const DeviceWidths& w = widths();
    const int64_t n_row = levels_.n_tile() * tile_rows;
    const int64_t n_leaf_row = levels_.n_leaf_tile() * tile_rows, n_upper = n_row - n_leaf_row;
    const int64_t n_output = readout_.n_row() < 0 ? columns_.n_output : 0;
    x_ = passes.memory(
        4 * std::max(n_row * w.nodes.width, own().size() * std::max(columns_.n_input, n_output)));
    work_ = passes.memory<char>(
        std::max({4 * n_leaf_row * w.features.width, operand_bytes() * n_row * w.qkv.width,
                  operand_bytes() * n_row * w.hidden.width, readout_.work_bytes()}));
    if (config_.has_children) children_ = passes.memory(4 * n_upper * w.heads.width);
    if (config_.has_sinusoid)
        added_ = passes.table<float>(n_upper * w.nodes.width, [&] { return sinusoid(); });
    if (has_points()) points_ = passes.table<int64_t>(own().size(), [&] { return leaf_points(); });
    if (!is_alone()) {
        begins_ = passes.table<int64_t>((comm_.size() + 1) * (tree_.cut() + 1),
                                        [&] { return shared_begins(); });
        const int64_t widest = std::max(config_.dim, config_.inner_dim());
        parts_ = passes.memory<char>(comm_.size() *
                                     std::max(4 * part_size(widest), readout_.part_bytes()));
    }
    readout_.list_memory(passes);
}

/// Returns the point of each leaf of this rank.
std::vector<int64_t> SequoiaDeviceProgram::leaf_points() const {
    std::vector<int64_t> points(leaves_.size());
    for (size_t i = 0; i < leaves_.size(); ++i)
        points[static_cast<size_t>(leaves_[i])] = static_cast<int64_t>(i);
    return points;
}

/// Returns the first node of each rank, for the levels up to the shared one.
std::vector<int64_t> SequoiaDeviceProgram::shared_begins() const {
    std::vector<int64_t> all;
    for (int l = 0; l <= tree_.cut(); ++l) {
        const std::vector<int64_t> begins = tree_.begins(l);
        all.insert(all.end(), begins.begin(), begins.end());
    }
    return all;
}

/// Returns the stream that is added to the nodes above the leaves.
std::vector<float> SequoiaDeviceProgram::sinusoid() const {
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

/// Gathers the shared level's rows of a stream, whose first tile is `first_tile`, on all ranks.
/// Ranks own equally many nodes there or one less: parts are as long as the longest.
void SequoiaDeviceProgram::list_gather(PassList& passes, float* stream, int64_t first_tile,
                                       const kernels::DeviceChannels& channels) const {
    if (is_alone()) return;
    const Range own = tree_.owned(tree_.cut());
    CutArgs args;
    args.k = config_.k;
    args.level = levels_.level(tree_.cut());
    args.channels = channels;
    args.stream = stream;
    args.first_tile = first_tile;
    args.own_begin = own.begin;
    args.own_end = own.end;
    args.parts = parts_;
    args.part_size = part_size(channels.n_channel);
    args.begins = begins_ + tree_.cut() * (comm_.size() + 1);
    args.rank = comm_.rank();
    args.n_rank = comm_.size();
    args.findings = columns_.findings;
    passes.pass(kernels_.pack, args);
    passes.gather({parts_, 4 * args.part_size, parts_ + 4 * comm_.rank() * args.part_size});
    passes.pass(kernels_.unpack, args);
}

/// x of the own leaves, from the columns.
void SequoiaDeviceProgram::list_embedding(PassList& passes) const {
    using Encoding = BeginArgs::Features;
    const DeviceLayers& layers = weights_->layers();
    auto* const features = reinterpret_cast<float*>(work_);
    passes.pass(kernels_.begin,
                BeginArgs{.features = config_.features == Features::fourier  ? Encoding::fourier
                                      : config_.features == Features::linear ? Encoding::linear
                                                                             : Encoding::none,
                          .k = config_.k,
                          .level = levels_.level(0),
                          .own_begin = own().begin,
                          .own_end = own().end,
                          .points = points_,
                          .columns = columns_.inputs,
                          .n_column = columns_.n_input,
                          .n_position = config_.takes_positions() ? config_.dimensionality : 0,
                          .n_skipped = Embedding<float>::n_skipped(config_),
                          .weight = layers.encoding,
                          .bias = layers.encoding_bias,
                          .n_feature = config_.c_in,
                          .width = widths().features.width,
                          .to = features,
                          .findings = columns_.findings,
                          .outside = columns_.outside});
    passes.pass(kernels_.linear,
                linear_pass(layers.embedding, weights_->operand(), levels_.n_leaf_tile())
                    .of(features)
                    .to(x_)
                    .args);
}

/// x of the levels above the leaves.
void SequoiaDeviceProgram::list_means(PassList& passes) const {
    for (int l = 0; l < tree_.n_level(); ++l) {
        if (l > 0) {
            kernels::sequoia::AverageArgs args = levels_.average(l);
            args.width = widths().nodes.width;
            args.x = x_;
            passes.pass(kernels_.average, args);
        }
        if (l == tree_.cut()) list_gather(passes, x_, 0, widths().nodes);
    }
}

/// Marks of a sequence's nodes above the leaves, added to their means.
void SequoiaDeviceProgram::list_marks(PassList& passes) const {
    if (!config_.has_sinusoid && !config_.has_marker) return;
    for (int l = 1; l < tree_.n_level(); ++l) {
        passes.pass(kernels_.mark,
                    kernels::sequoia::MarkArgs{.level = levels_.level(l),
                                               .added = added_,
                                               .first_tile = levels_.n_leaf_tile(),
                                               .marker = config_.has_marker ? config_.dim - l : -1,
                                               .width = widths().nodes.width,
                                               .x = x_});
    }
}

void SequoiaDeviceProgram::list_attention(PassList& passes, int l) const {
    const bool has_children = l > 0 && config_.has_children;
    if (has_children) {
        kernels::sequoia::ChildrenArgs args = levels_.children(l);
        args.nodes = operands();
        args.to = children_;
        passes.pass(kernels_.children, args);
        if (l == tree_.cut()) list_gather(passes, children_, levels_.n_leaf_tile(), widths().heads);
    }
    kernels::sequoia::AttendArgs args = levels_.attend(l);
    args.nodes = operands();
    if (has_children) args.children = children_;
    passes.pass(kernels_.attend, args);
}

/// v = attention(norm1(x)), x += ff(v), x += mlp(norm2(x)); hidden channels replace q, k and v.
void SequoiaDeviceProgram::list_layer(PassList& passes, const DeviceLayer& layer) const {
    const TreeOperands qkv = operands();
    const int64_t first_value = 2 * int64_t{qkv.n_head} * qkv.head_groups;  // of groups
    const int64_t hidden_groups = widths().hidden.width / 8;
    const char* const values = work_ + first_value * 8 * tile_rows * operand_bytes();
    const auto pass = [&](const LinearPass& p) { passes.pass(kernels_.linear, p.args); };
    pass(linear(layer.qkv).of(x_, layer.norm1, config_.dim).to_pieces(work_, qkv.n_group));
    for (const int l : visits_) list_attention(passes, l);
    pass(linear(layer.ff).of_pieces(values, qkv.n_group).adds_to(x_));
    pass(linear(layer.mlp_in)
             .of(x_, layer.norm2, config_.dim)
             .then(DeviceActivation::gelu)
             .to_pieces(work_, hidden_groups));
    pass(linear(layer.mlp_out).of_pieces(work_, hidden_groups).adds_to(x_));
}

std::vector<LayerCost> SequoiaDeviceProgram::costs() const {
    Work work{tree_, domain_.n_local(), own().size(), 4, Embedding<float>::n_real(config_) * 4};
    work.is_on_device = true;
    work.n_rank = comm_.size();
    work.readout_bytes = readout_.part_bytes();
    work.readout_collectives = readout_.part_bytes() > 0 ? 1 : 0;
    return costs_of(config_, work);
}

std::vector<std::string> SequoiaDeviceProgram::notes() const {
    std::vector<std::string> list = {description(tree_)};
    if (is_alone()) return list;
    list.push_back(readout_.n_row() < 0
                       ? "points are scattered to their leaves and predictions back over the host, "
                         "once per run"
                       : "points are scattered to their leaves over the host, once per run");
    return list;
}

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const Config& config,
                                                   std::shared_ptr<const DeviceWeights> weights,
                                                   const PointDomain& domain,
                                                   const PlanRequest& request) {
    return std::make_unique<SequoiaDeviceProgram>(config, std::move(weights), domain, request);
}

}  // namespace surrogate::impl::sequoia
