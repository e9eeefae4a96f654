// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/flare/device_gradient_passes.hpp"

#include <algorithm>
#include <limits>

namespace surrogate::impl::flare {

using kernels::flare::AttentionArgs;
using kernels::flare::LatentGradientArgs;
using kernels::flare::point_rows;

DeviceGradientPasses::DeviceGradientPasses(const Config& config, const Layers<float>& layers,
                                           const kernels::flare::GradientKernels& kernels,
                                           DeviceContext& context, kernels::Operand operand,
                                           const RowCut& cut)
    : config_(config),
      kernels_(kernels),
      device_(context.device()),
      cut_(cut),
      sizes_{config.num_heads, config.num_latents, config.head_dim()},
      places_(config, layers.weights.master()),
      weights_(context, config, layers),
      layers_(config, kernels, device_, operand, weights_, cut),
      n_arena_(std::ssize(layers.weights.master().values())),
      n_latent_(config.channel_dim * config.num_latents) {}

namespace {

/// Adds arrays of floats to an arena, and finds them when it has been taken.
class Pieces {
public:
    explicit Pieces(DeviceArena& arena) : arena_(arena) {}

    void add(float*& to, int64_t n) { list_.push_back({&to, arena_.add(4 * n)}); }
    void place() const {
        for (const auto& [to, offset] : list_) *to = arena_.at<float>(offset);
    }

private:
    DeviceArena& arena_;
    std::vector<std::pair<float**, int64_t>> list_;
};

/// Returns a shape for chains that share memory: the largest number and width of hidden layers.
void add_chain(std::span<const MlpShape* const> shapes, int64_t n_point, Pieces& pieces,
               ChainMemory& memory) {
    int64_t n_layer = 0, width = 0;
    for (const MlpShape* shape : shapes) {
        if (shape->n_layer() == 1) continue;
        n_layer = std::max(n_layer, shape->n_layer() - 1);
        width = std::max(width, shape->n_hidden);
    }
    memory.sums.assign(static_cast<size_t>(n_layer), nullptr);
    memory.results = memory.sums;
    for (float*& sum : memory.sums) pieces.add(sum, n_point * width);
    for (float*& result : memory.results) pieces.add(result, n_point * width);
    for (float*& slope : memory.slopes) pieces.add(slope, n_point * width);
    pieces.add(memory.gradient, n_point * width);
}

}  // namespace

void DeviceGradientPasses::allocate(int64_t n_point, int64_t n_input) {
    n_point_ = n_point;
    const int64_t width = config_.channel_dim, slab = std::min(n_point, cut_.slab_points);
    const int64_t n_head = config_.num_heads;
    Pieces pieces(arena_);
    kept_.resize(static_cast<size_t>(config_.num_blocks));
    for (KeptBlock& kept : kept_) {
        pieces.add(kept.x, n_point * width);
        pieces.add(kept.z, n_latent_);
        pieces.add(kept.log_sum, n_head * config_.num_latents);
    }
    Scratch& s = scratch_;
    for (float** piece :
         {&s.normed, &s.dnormed, &s.mid, &s.y, &s.raw_k, &s.k, &s.v, &s.dk, &s.dv, &s.draw})
        pieces.add(*piece, slab * width);
    pieces.add(s.moments, 2 * slab * n_head);
    const MlpShape* const keys[] = {&config_.k_proj};
    const MlpShape* const others[] = {&config_.v_proj, &config_.ffn, &config_.in_proj,
                                      &config_.out_proj};
    add_chain(keys, slab, pieces, s.k_chain);
    add_chain(others, slab, pieces, s.chain);
    float* parts = nullptr;
    pieces.add(parts, layers_.n_part(slab));
    last_ = arena_.add(4 * n_point * width);
    dx_ = arena_.add(4 * n_point * width);
    dy_ = arena_.add(4 * n_point * width);
    of_points_ = arena_.add(4 * n_point * n_head * point_rows);
    inputs_ = arena_.add(4 * n_point * n_input);
    dinputs_ = arena_.add(4 * n_point * n_input);
    doutputs_ = arena_.add(4 * n_point * config_.out_dim);
    results_ = arena_.add(8 * n_result());
    local_dz_ = arena_.add(8 * n_latent_);
    dz_ = arena_.add(4 * n_latent_);
    gamma_ = arena_.add(4 * n_head * config_.num_latents);
    lost_ = arena_.add(4);
    arena_.take(device_);
    pieces.place();
    layers_.set(arena_.at<double>(results_), parts);
    poison_ = pinned_memory(device_, 4 * n_latent_);
    std::fill_n(static_cast<float*>(poison_.get()), n_latent_,
                std::numeric_limits<float>::quiet_NaN());
    reduction_ = {DeviceReduction::Kind::sum_float, arena_.at<void>(dz_), n_latent_, poison_.get()};
}

template <class Body>
void DeviceGradientPasses::for_slabs(kernels::Stream stream, const Body& body) {
    stream_ = stream;
    for (int64_t first = 0; first < n_point_; first += cut_.slab_points) {
        n_slab_ = std::min(cut_.slab_points, n_point_ - first);
        layers_.begin(stream, n_slab_);
        body(first);
    }
}

AttentionArgs DeviceGradientPasses::attention(int64_t i, int64_t first) const {
    AttentionArgs args;
    args.sizes = sizes_;
    args.n_point = n_slab_;
    args.queries = weights_.queries(i);
    args.z = kept(i).z;
    args.log_sum = kept(i).log_sum;
    args.dz = arena_.at<float>(dz_);
    args.gamma = arena_.at<float>(gamma_);
    args.k = config_.qk_norm ? scratch_.k : scratch_.raw_k;
    args.v = scratch_.v;
    args.dy = rows(dy_, first);
    args.y = scratch_.y;
    args.of_points = arena_.at<float>(of_points_) + first * config_.num_heads * point_rows;
    args.dk = scratch_.dk;
    args.dv = scratch_.dv;
    args.points_per_part = cut_.part_points;
    args.parts = layers_.parts();
    return args;
}

LatentGradientArgs DeviceGradientPasses::latent_args(int64_t i) const {
    return {sizes_,    arena_.at<double>(local_dz_), arena_.at<float>(dz_),
            kept(i).z, arena_.at<float>(gamma_),     arena_.at<int32_t>(lost_)};
}

/// norm1 and the keys, as the run forward had them up to rounding.
void DeviceGradientPasses::keys(int64_t i, const float* x) {
    const BlockPlaces& places = places_of(i);
    Scratch& s = scratch_;
    layers_.norm(places.norm1, 1, config_.channel_dim, x, s.normed);
    layers_.chain(config_.k_proj, places.k_proj, s.normed, s.k_chain, s.raw_k);
    if (config_.qk_norm)
        layers_.norm(places.k_norm, config_.num_heads, config_.head_dim(), s.raw_k, s.k);
}

/// Behind the last block.
void DeviceGradientPasses::leave(int64_t first) {
    Scratch& s = scratch_;
    const int64_t width = config_.channel_dim;
    const float* const x = rows(last_, first);
    const bool has_norm = config_.out_proj_norm;
    if (has_norm) layers_.norm(places_.out_norm, 1, width, x, s.normed);
    const float* const input = has_norm ? s.normed : x;
    const float* const dy = doutputs() + first * config_.out_dim;
    layers_.chain(config_.out_proj, places_.out_proj, input, s.chain, nullptr);
    float* const dx = rows(dx_, first);
    layers_.chain_backward(config_.out_proj, places_.out_proj, input, dy, s.chain, false,
                           has_norm ? s.dnormed : dx);
    if (has_norm)
        layers_.norm_backward(places_.out_norm, 1, width, x, s.dnormed, nullptr, s.moments, dx);
}

/// From behind block i to its decode.
void DeviceGradientPasses::finish_block(int64_t i, int64_t first) {
    Scratch& s = scratch_;
    const BlockPlaces& places = places_of(i);
    const int64_t width = config_.channel_dim;
    const float* const x = kept(i).x + first * width;
    float *const dx = rows(dx_, first), *const dy = rows(dy_, first);
    keys(i, x);
    const AttentionArgs args = attention(i, first);
    kernels_.decode_points(device_.properties(), args, stream_);
    layers_.linear(places.out_proj, width, width, s.y, x, s.mid);
    layers_.norm(places.norm2, 1, width, s.mid, s.normed);
    layers_.chain(config_.ffn, places.ffn, s.normed, s.chain, nullptr);
    layers_.chain_backward(config_.ffn, places.ffn, s.normed, dx, s.chain, false, s.dnormed);
    layers_.norm_backward(places.norm2, 1, width, s.mid, s.dnormed, dx, s.moments, dx);
    layers_.linear_backward(places.out_proj, width, width, dx, {}, dy);
    layers_.linear_gradient(places.out_proj, width, width, s.y, dx);
    kernels_.decode_sums(device_.properties(), args, stream_);
    layers_.add_latents(args.n_part(), arena_.at<double>(local_dz_));
}

/// From the scores of block i to what is before it.
void DeviceGradientPasses::start_block(int64_t i, int64_t first) {
    Scratch& s = scratch_;
    const BlockPlaces& places = places_of(i);
    const int64_t width = config_.channel_dim;
    const float* const x = kept(i).x + first * width;
    float* const dx = rows(dx_, first);
    keys(i, x);
    layers_.chain(config_.v_proj, places.v_proj, s.normed, s.chain, s.v);
    const AttentionArgs args = attention(i, first);
    kernels_.mix_points(device_.properties(), args, stream_);
    kernels_.mix_sums(device_.properties(), args, stream_);
    layers_.add_latents(args.n_part(), arena_.at<double>(results_) + n_arena_ + i * n_latent_);
    layers_.chain_backward(config_.v_proj, places.v_proj, s.normed, s.dv, s.chain, false,
                           s.dnormed);
    const float* dk = s.dk;
    if (config_.qk_norm) {
        layers_.norm_backward(places.k_norm, config_.num_heads, config_.head_dim(), s.raw_k, s.dk,
                              nullptr, s.moments, s.draw);
        dk = s.draw;
    }
    layers_.chain_backward(config_.k_proj, places.k_proj, s.normed, dk, s.k_chain, true, s.dnormed);
    layers_.norm_backward(places.norm1, 1, width, x, s.dnormed, dx, s.moments, dx);
}

/// Before the first block.
void DeviceGradientPasses::enter(int64_t first, bool wants_inputs) {
    const float* const input = inputs() + first * config_.in_dim;
    layers_.chain(config_.in_proj, places_.in_proj, input, scratch_.chain, nullptr);
    layers_.chain_backward(config_.in_proj, places_.in_proj, input, rows(dx_, first),
                           scratch_.chain, false,
                           wants_inputs ? dinputs() + first * config_.in_dim : nullptr);
}

void DeviceGradientPasses::enqueue(DeviceSteps& steps, bool alive, bool wants_inputs) {
    const kernels::Stream stream = steps.stream();
    const kernels::DeviceProperties& properties = device_.properties();
    steps.compute([&] {
        device_.clear(arena_.at<void>(results_), 8 * n_result(), stream);
        device_.clear(arena_.at<void>(lost_), 4, stream);
        if (alive) for_slabs(stream, [&](int64_t first) { leave(first); });
    });
    for (int64_t i = config_.num_blocks - 1; i >= 0; --i) {
        steps.compute([&] {
            if (!alive) {
                device_.copy(reduction_.values, reduction_.poison, reduction_.bytes(), stream);
                return;
            }
            device_.clear(arena_.at<void>(local_dz_), 8 * n_latent_, stream);
            for_slabs(stream, [&](int64_t first) { finish_block(i, first); });
            kernels_.round_latents(properties, latent_args(i), stream);
        });
        steps.reduce(reduction_);
        steps.compute([&] {
            kernels_.weigh_latents(properties, latent_args(i), stream);
            if (alive) for_slabs(stream, [&](int64_t first) { start_block(i, first); });
        });
    }
    steps.compute([&] {
        if (alive) for_slabs(stream, [&](int64_t first) { enter(first, wants_inputs); });
    });
}

}  // namespace surrogate::impl::flare
