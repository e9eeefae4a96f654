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
                                    PointPorts<T>& features, PointPorts<T>& back, ThreadSums& sums)
    : config_(config),
      layers_(layers),
      queue_(queue),
      messages_(messages),
      features_(features),
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
                            Buffer<T>(c), Buffer<T>(f), Buffer<T>(f),
                            Buffer<T>(config.n_axis * tile_points), Buffer<T>(f)});
}

template <class T>
void MessageGradient<T>::allocate(const RowRoute& route) {
    const int64_t n = messages_.n_point();
    std::vector<int64_t> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    row_.resize(rows.size());
    route.to_target_alone(rows.data(), row_.data(), sizeof(int64_t));
    sort_edges();
    sort_by_source();
    h_.resize(n * n_channel_);
    mean_.resize(n * n_channel_);
    dsource_.resize(std::ssize(source_) * n_channel_);
}

/// Lists the edges of each point in the order of the tree.
template <class T>
void MessageGradient<T>::sort_edges() {
    std::vector<int64_t> place(row_.size());
    for (size_t i = 0; i < row_.size(); ++i)
        place[static_cast<size_t>(row_[i])] = static_cast<int64_t>(i);
    first_.assign(1, 0);
    source_.clear();
    target_.clear();
    for (size_t i = 0; i < row_.size(); ++i) {
        for (int64_t e = messages_.first_edge(row_[i]); e < messages_.first_edge(row_[i] + 1);
             ++e) {
            source_.push_back(
                place[static_cast<size_t>(messages_.sources()[static_cast<size_t>(e)])]);
            target_.push_back(static_cast<int64_t>(i));
        }
        first_.push_back(std::ssize(source_));
    }
}

/// Lists the edges of each source, in ascending order.
template <class T>
void MessageGradient<T>::sort_by_source() {
    first_of_source_.assign(row_.size() + 1, 0);
    edge_of_source_.resize(source_.size());
    for (const int64_t source : source_) ++first_of_source_[static_cast<size_t>(source) + 1];
    std::partial_sum(first_of_source_.begin(), first_of_source_.end(), first_of_source_.begin());
    std::vector<int64_t> next(first_of_source_.begin(), first_of_source_.end() - 1);
    for (size_t e = 0; e < source_.size(); ++e)
        edge_of_source_[static_cast<size_t>(next[static_cast<size_t>(source_[e])]++)] =
            static_cast<int64_t>(e);
}

template <class T>
void MessageGradient<T>::run(T* dh) {
    const int64_t n_tile = (messages_.n_point() + tile_points - 1) / tile_points;
    for (size_t step = steps_.size(); step-- > 0;) {
        queue_.parallel_for(n_tile, [&](int64_t tile, int) { restore(step, tile); });
        queue_.parallel_for(
            n_tile, [&](int64_t tile, int thread) { step_backward(step, dh, tile, thread); });
        queue_.parallel_for(n_tile, [&](int64_t tile, int) { add_sources(dh, tile); });
    }
    queue_.parallel_for(n_tile,
                        [&](int64_t tile, int thread) { embed_backward(dh, tile, thread); });
}

/// Copies h and the means of a step at the points of a tile.
template <class T>
void MessageGradient<T>::restore(size_t step, int64_t tile) {
    const int64_t c = n_channel_;
    for (int64_t i = tile * tile_points; i < tile * tile_points + count(tile); ++i) {
        const int64_t row = row_[static_cast<size_t>(i)];
        std::copy_n(messages_.kept_h(step) + row * c, c, h_.data() + i * c);
        const T* const mean =
            messages_.kept_mean(step) + row / tile_points * c * tile_points + row % tile_points;
        for (int64_t k = 0; k < c; ++k) mean_[i * c + k] = mean[k * tile_points];
    }
}

/// Differentiates a step at the points of a tile: adds to dh the gradients of h of the points as
/// targets, and stores the gradients of sources by edge.
template <class T>
void MessageGradient<T>::step_backward(size_t step, T* dh, int64_t tile, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const StepWeights<T>& w = layers_.steps[step];
    const StepSums& sums = steps_[step];
    const int64_t n = count(tile), c = n_channel_, first = tile * tile_points;
    T* const rows = dh + first * c;
    const Tile<T> u = tile_in(s.in, 2 * c, n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) {
            u(k, i) = h_[(first + i) * c + k];
            u(c + k, i) = mean_[(first + i) * c + k];
        }
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
    const int64_t* const begins = first_.data() + first;
    const Tile<T> dmean = tile_in(s.dmean, c, n);
    for (int64_t i = 0; i < n; ++i) {
        const auto n_edge = static_cast<T>(std::max<int64_t>(1, begins[i + 1] - begins[i]));
        for (int64_t k = 0; k < c; ++k) dmean(k, i) = du(c + k, i) / n_edge;
    }
    for (int64_t e = begins[0]; e < begins[n]; e += tile_points)
        edges_backward(step, {e, std::min(e + tile_points, begins[n])}, first, rows, thread);
}

/// Differentiates the messages along some edges.
///   rows  of dh of the targets, from first_target on
template <class T>
void MessageGradient<T>::edges_backward(size_t step, Range edges, int64_t first_target, T* rows,
                                        int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const StepWeights<T>& w = layers_.steps[step];
    const StepSums& sums = steps_[step];
    const int64_t n = edges.size(), c = n_channel_, axes = config_.n_axis;
    const auto at = [&](int64_t i) { return static_cast<size_t>(edges.begin + i); };
    const Tile<T> u = tile_in(s.in, w.message.n_in, n), du = tile_in(s.din, w.message.n_in, n);
    const Tile<T> z = tile_in(s.z, c, n), a = tile_in(s.a, c, n), d = tile_in(s.dout, c, n);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t source = source_[at(i)], target = target_[at(i)];
        for (int64_t k = 0; k < c; ++k) u(k, i) = h_[source * c + k];
        for (int64_t k = 0; k < c; ++k) u(c + k, i) = h_[target * c + k];
        const float* const from = messages_.positions() + row_[static_cast<size_t>(source)] * axes;
        const float* const to = messages_.positions() + row_[static_cast<size_t>(target)] * axes;
        for (int64_t k = 0; k < axes; ++k)
            u(2 * c + k, i) =
                static_cast<T>(static_cast<double>(from[k]) - static_cast<double>(to[k]));
    }
    kernels::linear<T>(queue_, w.message, u, {}, z);
    kernels::activate<T>(queue_, kernels::Activation::gelu, z, a);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t target = target_[at(i)] - first_target;
        for (int64_t k = 0; k < c; ++k) d(k, i) = s.dmean[k * tile_points + target];
    }
    kernels::normalise_backward<T>(queue_, w.message_norm, a, d, {}, d,
                                   sums_.norm(sums.message_norm, thread));
    kernels::activate_backward<T>(queue_, kernels::Activation::gelu, z, d, d);
    kernels::linear_gradient<T>(queue_, u, d, sums_.linear(sums.message, thread));
    kernels::linear_backward<T>(queue_, w.message, d, {}, false, du);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t target = target_[at(i)] - first_target;
        T* const of_source = dsource_.data() + (edges.begin + i) * c;
        for (int64_t k = 0; k < c; ++k) of_source[k] = du(k, i);
        for (int64_t k = 0; k < c; ++k) rows[target * c + k] += du(c + k, i);
    }
}

/// Adds the gradients of h of the points of a tile as sources, in the order of edges.
template <class T>
void MessageGradient<T>::add_sources(T* dh, int64_t tile) {
    const int64_t c = n_channel_;
    for (int64_t i = tile * tile_points; i < tile * tile_points + count(tile); ++i) {
        const auto at = static_cast<size_t>(i);
        for (int64_t e = first_of_source_[at]; e < first_of_source_[at + 1]; ++e) {
            const T* const from = dsource_.data() + edge_of_source_[static_cast<size_t>(e)] * c;
            for (int64_t k = 0; k < c; ++k) dh[i * c + k] += from[k];
        }
    }
}

/// Returns the features of the points of a tile. Unless they are given, sets the positions, too.
template <class T>
Tile<T> MessageGradient<T>::features(int64_t tile, Scratch& s) {
    const int64_t n = count(tile), n_feature = config_.n_feature, d = config_.n_axis;
    const Tile<T> f = tile_in(s.features, n_feature, n), p = tile_in(s.positions, d, n);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t row = row_[static_cast<size_t>(tile * tile_points + i)];
        for (int64_t k = 0; k < config_.n_given(); ++k)
            f(k, i) = features_.input(row / tile_points)(k, row % tile_points);
        for (int64_t k = 0; k < d; ++k)
            p(k, i) = static_cast<T>(messages_.positions()[row * d + k]);
    }
    if (config_.features == Features::fourier)
        kernels::fourier_features<T>(queue_, n_feature / 2, layers_.fourier, p, f);
    if (config_.features == Features::linear)
        kernels::linear<T>(queue_, layers_.positions, p, {}, f);
    return f;
}

template <class T>
void MessageGradient<T>::embed_backward(const T* dh, int64_t tile, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    const int64_t n = count(tile), c = n_channel_, n_feature = config_.n_feature;
    const Tile<T> d = tile_in(s.dout, c, n), df = tile_in(s.dfeatures, n_feature, n);
    const T* const rows = dh + tile * tile_points * c;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) d(k, i) = rows[i * c + k];
    const Tile<T> f = features(tile, s), p = tile_in(s.positions, config_.n_axis, n);
    kernels::linear_gradient<T>(queue_, f, d, sums_.linear(embed_, thread));
    kernels::linear_backward<T>(queue_, layers_.embed, d, {}, false, df);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t row = row_[static_cast<size_t>(tile * tile_points + i)];
        for (int64_t k = 0; k < config_.n_given(); ++k)
            back_.output(row / tile_points)(k, row % tile_points) = df(k, i);
    }
    if (config_.features == Features::linear)
        kernels::linear_gradient<T>(queue_, p, df, sums_.linear(positions_, thread));
    if (config_.features == Features::fourier)
        kernels::fourier_features_backward<T>(queue_, n_feature / 2, layers_.fourier, p, f, df,
                                              tile_in(s.angles, n_feature / 2, n),
                                              sums_.at(fourier_, thread), {});
}

template <class T>
int64_t MessageGradient<T>::bytes() const {
    const size_t n_index = row_.size() + first_.size() + source_.size() + target_.size() +
                           first_of_source_.size() + edge_of_source_.size();
    int64_t n_byte = h_.bytes() + mean_.bytes() + dsource_.bytes() +
                     static_cast<int64_t>(n_index * sizeof(int64_t));
    for (const Scratch& s : scratch_)
        for (const Buffer<T>* buffer : {&s.in, &s.z, &s.a, &s.din, &s.dout, &s.dmean, &s.features,
                                        &s.dfeatures, &s.positions, &s.angles})
            n_byte += buffer->bytes();
    return n_byte;
}

template class MessageGradient<float>;
template class MessageGradient<double>;

}  // namespace surrogate::impl::bsa::erwin
