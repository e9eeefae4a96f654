// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/erwin_message_gradient.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/activation/activation.hpp"
#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/model/family/loaded_points.hpp"
#include "libsurrogate/src/ranks/send_rows.hpp"

namespace surrogate::impl::bsa::erwin {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

template <class T>
MessageGradient<T>::MessageGradient(const Config& config, const Layers<T>& layers,
                                    const kernels::Queue& queue, Communicator& comm,
                                    const Messages<T>& messages, PointPorts<T>& features,
                                    PointPorts<T>& back)
    : config_(config),
      layers_(layers),
      queue_(queue),
      comm_(comm),
      messages_(messages),
      features_(features),
      back_(back),
      n_channel_(config.width.front()) {
    if (config.features == Features::fourier) embed_names_.emplace_back("pos_enc.linear");
    if (config.features == Features::linear) embed_names_.emplace_back("pos_enc");
    embed_names_.emplace_back(embed_name(config));
    for (int64_t t = 0; t < config.n_step; ++t) {
        const WeightName message = message_name(config, t), update = update_name(config, t);
        steps_.push_back({message + "0", message + "2", update + "0", update + "1"});
    }
    const int64_t c = n_channel_ * tile_points, f = config.n_feature * tile_points;
    const int64_t in = (2 * n_channel_ + config.n_axis) * tile_points;
    const int64_t p = config.n_axis * tile_points;
    for (int thread = 0; thread < queue.n_thread(); ++thread)
        scratch_.push_back({Buffer<T>(in), Buffer<T>(c), Buffer<T>(c), Buffer<T>(in), Buffer<T>(c),
                            Buffer<T>(c), Buffer<T>(c), Buffer<T>(f), Buffer<T>(f), Buffer<T>(p),
                            Buffer<T>(f), Buffer<T>(p + f)});
}

template <class T>
void MessageGradient<T>::connect() {
    const Edges* const edges = messages_.edges();
    std::vector<SourceEdge> list;
    comm_.agree([&] {
        list.resize(messages_.sources().size());
        for (size_t e = 0; e < list.size(); ++e)
            list[e] = {edges->source_row[e], static_cast<int64_t>(e), edges->source_rank[e],
                       comm_.rank()};
    });
    list = send_rows(comm_, list, [](const SourceEdge& edge) { return edge.owner; });
    std::vector<NeighborExchange::Want> wants;
    comm_.agree([&] {
        wants = sort_by_source(list);
        dsource_.resize((messages_.n_edge() + std::ssize(wants)) * (n_channel_ + config_.n_axis));
    });
    exchange_ = NeighborExchange();
    exchange_.connect(comm_, std::move(wants),
                      (n_channel_ + config_.n_axis) * static_cast<int64_t>(sizeof(T)));
}

/// Sets the rows of the gradients of each point as a source, and returns those to receive. list: by
/// rank, then edge, which is the order of targets over all ranks.
template <class T>
std::vector<NeighborExchange::Want> MessageGradient<T>::sort_by_source(
    const std::vector<SourceEdge>& list) {
    std::vector<NeighborExchange::Want> wants;
    first_of_source_.assign(static_cast<size_t>(messages_.n_point()) + 1, 0);
    row_of_source_.resize(list.size());
    for (const SourceEdge& edge : list) ++first_of_source_[static_cast<size_t>(edge.source) + 1];
    std::partial_sum(first_of_source_.begin(), first_of_source_.end(), first_of_source_.begin());
    std::vector<int64_t> next(first_of_source_.begin(), first_of_source_.end() - 1);
    for (const SourceEdge& edge : list) {
        int64_t row = edge.edge;
        if (edge.rank != comm_.rank()) {
            row = messages_.n_edge() + std::ssize(wants);
            wants.push_back({edge.rank, {row, edge.edge, 1}});
        }
        row_of_source_[static_cast<size_t>(next[static_cast<size_t>(edge.source)]++)] = row;
    }
    return wants;
}

template <class T>
void MessageGradient<T>::run(const PointChunks& chunks, T* dh, T* dposition, GradientSums& sums) {
    dposition_ = dposition;
    const MasterWeights& master = layers_.weights->master();
    const int64_t n_tile = (messages_.n_point() + tile_points - 1) / tile_points;
    for (size_t step = steps_.size(); step-- > 0;) {
        chunks.run(queue_, master, sums, steps_[step],
                   [&](Range points, int thread, const Gradients& gradients) {
                       step_backward(step, points, dh, gradients,
                                     scratch_[static_cast<size_t>(thread)]);
                   });
        exchange_rows(exchange_, comm_, queue_, dsource_.data(), row());
        queue_.parallel_for(n_tile, [&](int64_t tile, int) { add_sources(dh, tile); });
    }
    chunks.run(queue_, master, sums, embed_names_,
               [&](Range points, int thread, const Gradients& gradients) {
                   embed_backward(points, dh, gradients, scratch_[static_cast<size_t>(thread)]);
               });
}

/// Differentiates a step at some points: adds to dh the gradients of h of the points as targets,
/// and stores the gradients of sources by edge.
template <class T>
void MessageGradient<T>::step_backward(size_t step, Range points, T* dh, const Gradients& gradients,
                                       Scratch& s) {
    const StepWeights<T>& w = layers_.steps[step];
    const int64_t n = points.size(), c = n_channel_;
    const T* const h = messages_.kept_h(step) + points.begin * c;
    T* const rows = dh + points.begin * c;
    const Tile<T> u = tile_in(s.in, 2 * c, n);
    const Tile<T> mean = load<T>(messages_.kept_mean(step), points, s.mean);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) {
            u(k, i) = h[i * c + k];
            u(c + k, i) = mean(k, i);
        }
    const Tile<T> z = tile_in(s.z, c, n), d = tile_in(s.dout, c, n);
    const Tile<T> du = tile_in(s.din, 2 * c, n);
    kernels::linear<T>(queue_, w.update, u, {}, z);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) d(k, i) = rows[i * c + k];
    kernels::normalise_backward<T>(queue_, w.update_norm, z, d, {}, d,
                                   gradients.layer_norm(steps_[step][3]));
    kernels::linear_gradient<T>(queue_, u, d, gradients.linear(steps_[step][2]));
    kernels::linear_backward<T>(queue_, w.update, d, {}, false, du);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) rows[i * c + k] += du(k, i);
    // The gradient of each message to a target.
    const Tile<T> dmean = tile_in(s.dmean, c, n);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t n_message = first_edge(points.begin + i + 1) - first_edge(points.begin + i);
        const auto factor = static_cast<T>(std::max<int64_t>(1, n_message));
        for (int64_t k = 0; k < c; ++k) dmean(k, i) = du(c + k, i) / factor;
    }
    const int64_t end = first_edge(points.end);
    for (int64_t e = first_edge(points.begin); e < end; e += tile_points)
        edges_backward(step, {e, std::min(e + tile_points, end)}, points.begin, rows, gradients, s);
}

/// Differentiates the messages along some edges.
///   rows  of dh of the targets, from first_target on
template <class T>
void MessageGradient<T>::edges_backward(size_t step, Range edges, int64_t first_target, T* rows,
                                        const Gradients& gradients, Scratch& s) {
    const StepWeights<T>& w = layers_.steps[step];
    const T* const h = messages_.kept_h(step);
    const int64_t n = edges.size(), c = n_channel_, axes = config_.n_axis;
    const auto at = [&](int64_t i) { return static_cast<size_t>(edges.begin + i); };
    const Tile<T> u = tile_in(s.in, w.message.n_in, n), du = tile_in(s.din, w.message.n_in, n);
    const Tile<T> z = tile_in(s.z, c, n), a = tile_in(s.a, c, n), d = tile_in(s.dout, c, n);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t source = messages_.sources()[at(i)], target = messages_.targets()[at(i)];
        for (int64_t k = 0; k < c; ++k) u(k, i) = h[source * c + k];
        for (int64_t k = 0; k < c; ++k) u(c + k, i) = h[target * c + k];
        const float* const from = messages_.positions() + source * axes;
        const float* const to = messages_.positions() + target * axes;
        for (int64_t k = 0; k < axes; ++k)
            u(2 * c + k, i) =
                static_cast<T>(static_cast<double>(from[k]) - static_cast<double>(to[k]));
        for (int64_t k = 0; k < c; ++k) d(k, i) = s.dmean[k * tile_points + target - first_target];
    }
    kernels::linear<T>(queue_, w.message, u, {}, z);
    kernels::activate<T>(queue_, kernels::Activation::gelu, z, a);
    kernels::normalise_backward<T>(queue_, w.message_norm, a, d, {}, d,
                                   gradients.layer_norm(steps_[step][1]));
    kernels::activate_backward<T>(queue_, kernels::Activation::gelu, z, d, d);
    kernels::linear_gradient<T>(queue_, u, d, gradients.linear(steps_[step][0]));
    kernels::linear_backward<T>(queue_, w.message, d, {}, false, du);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t target = messages_.targets()[at(i)];
        T* const of_target = rows + (target - first_target) * c;
        T* const of_source = dsource_.data() + (edges.begin + i) * row();
        for (int64_t k = 0; k < c; ++k) of_source[k] = du(k, i);
        for (int64_t k = 0; k < c; ++k) of_target[k] += du(c + k, i);
        for (int64_t k = 0; k < axes && dposition_; ++k) {
            of_source[c + k] = du(2 * c + k, i);
            dposition_[target * axes + k] -= du(2 * c + k, i);
        }
    }
}

/// Adds the gradients of h and positions of the points of a tile as sources, in the order of
/// targets.
template <class T>
void MessageGradient<T>::add_sources(T* dh, int64_t tile) {
    const int64_t c = n_channel_, axes = config_.n_axis;
    const int64_t end = std::min((tile + 1) * tile_points, messages_.n_point());
    for (int64_t i = tile * tile_points; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        for (int64_t e = first_of_source_[at]; e < first_of_source_[at + 1]; ++e) {
            const T* const from = dsource_.data() + row_of_source_[static_cast<size_t>(e)] * row();
            for (int64_t k = 0; k < c; ++k) dh[i * c + k] += from[k];
            for (int64_t k = 0; k < axes && dposition_; ++k)
                dposition_[i * axes + k] += from[c + k];
        }
    }
}

/// Returns the features of some points. Sets their positions, too.
template <class T>
Tile<const T> MessageGradient<T>::features(Range points, Scratch& s) {
    const int64_t n = points.size(), n_feature = config_.n_feature, d = config_.n_axis;
    const Tile<T> f = tile_in(s.features, n_feature, n), p = tile_in(s.positions, d, n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < d; ++k)
            p(k, i) = static_cast<T>(messages_.positions()[(points.begin + i) * d + k]);
    if (config_.features == Features::fourier)
        kernels::fourier_features<T>(queue_, n_feature / 2, layers_.fourier, p, f);
    if (config_.features == Features::linear)
        kernels::linear<T>(queue_, layers_.positions, p, {}, f);
    if (config_.features == Features::given) {
        const Tile<T> first = features_.input(0);
        load<T>(Tiles<T>{first.data, n_feature, messages_.n_point()}, points, s.features);
    }
    return f;
}

template <class T>
void MessageGradient<T>::embed_backward(Range points, const T* dh, const Gradients& gradients,
                                        Scratch& s) {
    const int64_t n = points.size(), c = n_channel_, n_feature = config_.n_feature;
    const int64_t axes = config_.n_axis;
    const Tile<T> first = back_.output(0);
    const Tiles<T> to{first.data, first.shape[0], messages_.n_point()};
    const Tile<T> d = tile_in(s.dout, c, n), df = tile_in(s.dfeatures, n_feature, n);
    const Tile<T> out = tile_in(s.back, to.n_channel, n), dp = kernels::channels(out, 0, axes);
    const T* const rows = dh + points.begin * c;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) d(k, i) = rows[i * c + k];
    const Tile<const T> f = features(points, s);
    const Tile<T> p = tile_in(s.positions, axes, n);
    kernels::linear_gradient<T>(queue_, f, d, gradients.linear(embed_names_.back()));
    kernels::linear_backward<T>(queue_, layers_.embed, d, {}, false, df);
    if (config_.features == Features::fourier) {
        kernels::fourier_features_backward<T>(queue_, n_feature / 2, layers_.fourier, p, f, df,
                                              tile_in(s.angles, n_feature / 2, n),
                                              gradients.at(embed_names_.front() + ".weight"), dp);
    } else if (config_.features == Features::linear) {
        kernels::linear_gradient<T>(queue_, p, df, gradients.linear(embed_names_.front()));
        kernels::linear_backward<T>(queue_, layers_.positions, df, {}, false, dp);
    } else {
        for (int64_t k = 0; k < axes; ++k) std::fill_n(&dp(k, 0), n, T(0));
        for (int64_t k = 0; k < n_feature; ++k) std::copy_n(&df(k, 0), n, &out(axes + k, 0));
    }
    for (int64_t i = 0; i < n && dposition_; ++i)
        for (int64_t k = 0; k < axes; ++k) dp(k, i) += dposition_[(points.begin + i) * axes + k];
    store<T>(out, points, to);
}

template <class T>
int64_t MessageGradient<T>::bytes() const {
    const size_t n_index = first_of_source_.size() + row_of_source_.size();
    int64_t n_byte =
        dsource_.bytes() + exchange_.bytes() + static_cast<int64_t>(n_index * sizeof(int64_t));
    for (const Scratch& s : scratch_)
        for (const Buffer<T>* buffer :
             {&s.in, &s.z, &s.a, &s.din, &s.dout, &s.dmean, &s.mean, &s.features, &s.dfeatures,
              &s.positions, &s.angles, &s.back})
            n_byte += buffer->bytes();
    return n_byte;
}

template class MessageGradient<float>;
template class MessageGradient<double>;

}  // namespace surrogate::impl::bsa::erwin
