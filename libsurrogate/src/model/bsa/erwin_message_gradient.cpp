// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/erwin_message_gradient.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/activation/activation.hpp"
#include "kernels/embedding/embedding.hpp"

namespace surrogate::impl::bsa::erwin {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;

template <class T>
MessageGradient<T>::MessageGradient(const Config& config, const Layers<T>& layers,
                                    const kernels::Queue& queue, Messages<T>& messages,
                                    PointPorts<T>& back, ThreadSums& sums)
    : config_(config),
      layers_(layers),
      queue_(queue),
      messages_(messages),
      back_(back),
      sums_(sums),
      n_channel_(config.width.front()) {
    messages.keep();
    if (config.features == Features::fourier) fourier_ = sums.add("pos_enc.linear.weight");
    if (config.features == Features::linear) positions_ = sums.add_layer("pos_enc");
    embed_ = sums.add_layer(embed_name(config));
    for (int64_t t = 0; t < config.n_step; ++t) {
        const std::string message = message_name(config, t), update = update_name(config, t);
        steps_.push_back({sums.add_layer(message + "0"), sums.add_layer(message + "2"),
                          sums.add_layer(update + "0"), sums.add_layer(update + "1")});
    }
    const int64_t c = n_channel_ * tile_points, f = config.n_feature * tile_points;
    const int64_t in = (2 * n_channel_ + config.n_axis) * tile_points;
    for (int thread = 0; thread < queue.n_thread(); ++thread)
        scratch_.push_back({Buffer<T>(in), Buffer<T>(c), Buffer<T>(c), Buffer<T>(in), Buffer<T>(c),
                            Buffer<T>(c), Buffer<T>(f), Buffer<T>(f)});
}

template <class T>
void MessageGradient<T>::allocate() {
    sort_by_source();
    dsource_.resize(messages_.n_edge() * n_channel_);
}

/// Lists the edges of each source, in ascending order.
template <class T>
void MessageGradient<T>::sort_by_source() {
    const std::span<const int64_t> sources = messages_.sources();
    first_of_source_.assign(static_cast<size_t>(messages_.n_point()) + 1, 0);
    edge_of_source_.resize(sources.size());
    for (const int64_t source : sources) ++first_of_source_[static_cast<size_t>(source) + 1];
    std::partial_sum(first_of_source_.begin(), first_of_source_.end(), first_of_source_.begin());
    std::vector<int64_t> next(first_of_source_.begin(), first_of_source_.end() - 1);
    for (size_t e = 0; e < sources.size(); ++e)
        edge_of_source_[static_cast<size_t>(next[static_cast<size_t>(sources[e])]++)] =
            static_cast<int64_t>(e);
}

template <class T>
void MessageGradient<T>::run(T* dh) {
    const int64_t n_tile = messages_.n_tile();
    for (size_t step = steps_.size(); step-- > 0;) {
        messages_.restore(step);
        queue_.parallel_for(
            n_tile, [&](int64_t tile, int thread) { step_backward(step, dh, tile, thread); });
        queue_.parallel_for(n_tile, [&](int64_t tile, int) { add_sources(dh, tile); });
    }
    queue_.parallel_for(n_tile,
                        [&](int64_t tile, int thread) { embed_backward(dh, tile, thread); });
}

/// Differentiates a step at the points of a tile: adds to dh the gradients of h of the points as
/// targets, and stores those of the sources by edge.
template <class T>
void MessageGradient<T>::step_backward(size_t step, T* dh, int64_t tile, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const StepWeights<T>& w = layers_.steps[step];
    const StepSums& sums = steps_[step];
    const int64_t n = messages_.count(tile), c = n_channel_, first = tile * tile_points;
    T* const rows = dh + first * c;
    const Tile<T> u = messages_.update_input(tile, thread);
    const Tile<T> z = tile_in(s.z, c, n), d = tile_in(s.dout, c, n);
    const Tile<T> du = tile_in(s.din, 2 * c, n);
    kernels::linear<T>(queue_, w.update, u, {}, z);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) d(k, i) = rows[i * c + k];
    kernels::normalise_backward<T>(queue_, w.update_norm, z, d, {}, d,
                                   sums_.norm(sums.update_norm, thread));
    kernels::linear_gradient<T>(queue_, u, d, sums_.linear(sums.update, thread));
    kernels::linear_backward<T>(queue_, w.update, d, {}, false, du);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) rows[i * c + k] += du(k, i);
    // The gradient of each message to a target.
    const Tile<T> dmean = tile_in(s.target, c, n);
    for (int64_t i = 0; i < n; ++i) {
        const auto n_edge = static_cast<T>(std::max<int64_t>(
            1, messages_.first_edge(first + i + 1) - messages_.first_edge(first + i)));
        for (int64_t k = 0; k < c; ++k) dmean(k, i) = du(c + k, i) / n_edge;
    }
    const int64_t end = messages_.first_edge(first + n);
    for (int64_t e = messages_.first_edge(first); e < end; e += tile_points)
        edges_backward(step, {e, std::min(e + tile_points, end)}, first, rows, thread);
}

/// Differentiates the messages along some edges.
///   rows  of dh of the targets, from first_target on
template <class T>
void MessageGradient<T>::edges_backward(size_t step, Range edges, int64_t first_target, T* rows,
                                        int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const StepWeights<T>& w = layers_.steps[step];
    const StepSums& sums = steps_[step];
    const int64_t n = edges.size(), c = n_channel_;
    const std::span<const int64_t> targets = messages_.targets();
    const Tile<T> u = tile_in(s.in, w.message.n_in, n), du = tile_in(s.din, w.message.n_in, n);
    const Tile<T> z = tile_in(s.z, c, n), a = tile_in(s.a, c, n), d = tile_in(s.dout, c, n);
    messages_.read_ends(edges, u);
    kernels::linear<T>(queue_, w.message, u, {}, z);
    kernels::activate<T>(queue_, kernels::Activation::gelu, z, a);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t target = targets[static_cast<size_t>(edges.begin + i)] - first_target;
        for (int64_t k = 0; k < c; ++k) d(k, i) = s.target[k * tile_points + target];
    }
    kernels::normalise_backward<T>(queue_, w.message_norm, a, d, {}, d,
                                   sums_.norm(sums.message_norm, thread));
    kernels::activate_backward<T>(queue_, kernels::Activation::gelu, z, d, d);
    kernels::linear_gradient<T>(queue_, u, d, sums_.linear(sums.message, thread));
    kernels::linear_backward<T>(queue_, w.message, d, {}, false, du);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t target = targets[static_cast<size_t>(edges.begin + i)] - first_target;
        T* const of_source = dsource_.data() + (edges.begin + i) * c;
        for (int64_t k = 0; k < c; ++k) of_source[k] = du(k, i);
        for (int64_t k = 0; k < c; ++k) rows[target * c + k] += du(c + k, i);
    }
}

/// Adds the gradients of h of the points of a tile as sources, in the order of edges.
template <class T>
void MessageGradient<T>::add_sources(T* dh, int64_t tile) {
    const int64_t c = n_channel_;
    for (int64_t i = tile * tile_points; i < tile * tile_points + messages_.count(tile); ++i) {
        const auto at = static_cast<size_t>(i);
        for (int64_t e = first_of_source_[at]; e < first_of_source_[at + 1]; ++e) {
            const T* const from = dsource_.data() + edge_of_source_[static_cast<size_t>(e)] * c;
            for (int64_t k = 0; k < c; ++k) dh[i * c + k] += from[k];
        }
    }
}

template <class T>
void MessageGradient<T>::embed_backward(const T* dh, int64_t tile, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const int64_t n = messages_.count(tile), c = n_channel_, n_feature = config_.n_feature;
    const Tile<T> d = tile_in(s.dout, c, n), df = tile_in(s.features, n_feature, n);
    const T* const rows = dh + tile * tile_points * c;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) d(k, i) = rows[i * c + k];
    const Tile<const T> f = messages_.features(tile, thread);
    kernels::linear_gradient<T>(queue_, f, d, sums_.linear(embed_, thread));
    if (config_.features == Features::given)
        return kernels::linear_backward<T>(queue_, layers_.embed, d, {}, false, back_.output(tile));
    kernels::linear_backward<T>(queue_, layers_.embed, d, {}, false, df);
    const Tile<const T> p = messages_.positions(tile, thread);
    if (config_.features == Features::linear)
        return kernels::linear_gradient<T>(queue_, p, df, sums_.linear(positions_, thread));
    kernels::fourier_features_backward<T>(queue_, n_feature / 2, layers_.fourier, p, f, df,
                                          tile_in(s.angles, n_feature / 2, n),
                                          sums_.at(fourier_, thread), {});
}

template <class T>
int64_t MessageGradient<T>::bytes() const {
    int64_t n_byte = dsource_.bytes() +
                     static_cast<int64_t>(8 * (first_of_source_.size() + edge_of_source_.size()));
    for (const Scratch& s : scratch_)
        for (const Buffer<T>* buffer :
             {&s.in, &s.z, &s.a, &s.din, &s.dout, &s.target, &s.features, &s.angles})
            n_byte += buffer->bytes();
    return n_byte;
}

template class MessageGradient<float>;
template class MessageGradient<double>;

}  // namespace surrogate::impl::bsa::erwin
