// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/erwin_messages.hpp"

#include <algorithm>
#include <utility>

#include "kernels/activation/activation.hpp"
#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/domain/ordered_edges.hpp"

namespace surrogate::impl::bsa::erwin {

using kernels::Buffer;
using kernels::Tile;

template <class T>
Messages<T>::Messages(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                      const PointDomain& domain, PointPorts<T>& features)
    : config_(config),
      layers_(layers),
      queue_(queue),
      domain_(domain),
      features_(features),
      n_channel_(config.width.front()) {
    const bool has_own = config.features != Features::given;
    for (int thread = 0; thread < queue.n_thread(); ++thread) {
        scratch_.push_back({Buffer<T>((2 * n_channel_ + config.n_axis) * tile_points),
                            Buffer<T>(n_channel_ * tile_points),
                            Buffer<T>(has_own ? config.n_feature * tile_points : 0),
                            Buffer<T>(has_own ? config.n_axis * tile_points : 0)});
    }
}

const Edges* edges_of(const Config& config, const PointDomain& domain, const kernels::Queue& queue,
                      const TreePoints& points, const RowRoute& route, Edges& nearest) {
    Communicator& comm = domain.context().comm();
    if (config.n_step == 0) return nullptr;
    if (!domain.edges() && config.n_neighbor > 0) {
        nearest = nearest_edges(comm, queue, points, config.n_axis, route, config.n_neighbor);
        return &nearest;
    }
    comm.agree([&] {
        if (domain.edges() || domain.n_global() == 0) return;
        throw Error(Status::invalid_argument,
                    "Erwin's U-net needs edges, but the domain has none" +
                        std::string(domain.revision() > 0 ? " since its points moved" : "") +
                        "; set them with surrogate_domain_set_edges, or give the card "
                        "network.neighbors");
    });
    return domain.edges();
}

template <class T>
void Messages<T>::connect(const TreePoints& points, const RowRoute& route) {
    edges_ = edges_of(config_, domain_, queue_, points, route, own_edges_);
    const int64_t n = domain_.n_local();
    set_points(n, [&](int64_t i, int64_t k) { return points.x[k * n + i]; });
}

template <class T>
void Messages<T>::connect_in_tree(const TreePoints& points, const RowRoute& route,
                                  const TreePlan<T>& tree) {
    Communicator& comm = domain_.context().comm();
    keeps_ = true;
    edges_ = edges_of(config_, domain_, queue_, points, route, own_edges_);
    if (edges_) {
        std::vector<int64_t> begins;
        comm.agree([&] {
            begins = tree.slots().point_begins({tree.begins().begin(), tree.begins().end()});
        });
        own_edges_ = ordered_edges(comm, *edges_, route, begins);
        edges_ = &own_edges_;
    }
    set_points(tree.n_point(), [&](int64_t i, int64_t k) {
        return static_cast<float>(tree.coordinates(i / tile_points)(k, i % tile_points));
    });
}

template <class T>
template <class PositionOf>
void Messages<T>::set_points(int64_t n_point, const PositionOf& position) {
    Communicator& comm = domain_.context().comm();
    std::vector<NeighborExchange::Want> wants;
    n_point_ = n_point;
    comm.agree([&] {
        wants = find_sources();
        const int64_t d = config_.n_axis, n_row = n_point_ + std::ssize(wants);
        position_.resize(n_row * d);
        for (int64_t i = 0; i < n_point_; ++i)
            for (int64_t k = 0; k < d; ++k) position_[i * d + k] = position(i, k);
        h_.resize(n_row * n_channel_);
        resize_tiles(mean_, n_tile(), n_channel_);
        if (!keeps_) return;
        kept_h_.resize(layers_.steps.size());
        kept_mean_.resize(layers_.steps.size());
        for (size_t step = 0; step < kept_h_.size(); ++step) {
            kept_h_[step].resize(h_.size());
            kept_mean_[step].resize(mean_.size());
        }
    });
    const auto item_bytes = std::max(n_channel_ * static_cast<int64_t>(sizeof(T)),
                                     config_.n_axis * static_cast<int64_t>(sizeof(float)));
    exchange_ = NeighborExchange();
    exchange_.connect(comm, std::move(wants), item_bytes);
    exchange_rows(exchange_, comm, queue_, position_.data(), config_.n_axis);
}

/// Sets the rows of h at which edges begin, and returns the segments to receive: sources on other
/// ranks, each once, stored after this rank's points.
template <class T>
std::vector<NeighborExchange::Want> Messages<T>::find_sources() {
    source_.clear();
    target_.clear();
    std::vector<NeighborExchange::Want> wants;
    const Edges* const edges = edges_;
    if (!edges) return wants;
    const int own = domain_.context().comm().rank();
    using Source = std::pair<int64_t, int64_t>;  // rank, row
    std::vector<Source> others;
    const auto source = [&](size_t e) {
        return Source(edges->source_rank[e], edges->source_row[e]);
    };
    for (size_t e = 0; e < edges->source_row.size(); ++e)
        if (source(e).first != own) others.push_back(source(e));
    std::ranges::sort(others);
    others.erase(std::unique(others.begin(), others.end()), others.end());
    // The receiver stores a segment at `row`; the sender only uses `first`.
    for (size_t i = 0; i < others.size(); ++i)
        wants.push_back({static_cast<int>(others[i].first),
                         {n_point_ + static_cast<int64_t>(i), others[i].second, 1}});
    source_.reserve(edges->source_row.size());
    target_.reserve(edges->source_row.size());
    for (int64_t i = 0; i < n_point_; ++i) {
        const auto at = static_cast<size_t>(i);
        for (auto e = static_cast<size_t>(edges->first[at]);
             e < static_cast<size_t>(edges->first[at + 1]); ++e) {
            const bool is_own = source(e).first == own;
            const auto place = std::ranges::lower_bound(others, source(e)) - others.begin();
            source_.push_back(is_own ? source(e).second : n_point_ + place);
            target_.push_back(i);
        }
    }
    return wants;
}

template <class T>
void Messages<T>::run() {
    queue_.parallel_for(n_tile(), [&](int64_t tile, int thread) { embed(tile, thread); });
    for (size_t step = 0; step < layers_.steps.size(); ++step) {
        const StepWeights<T>& w = layers_.steps[step];
        exchange_rows(exchange_, domain_.context().comm(), queue_, h_.data(), n_channel_);
        queue_.parallel_for(n_tile(),
                            [&](int64_t tile, int thread) { sum_messages(w, tile, thread); });
        if (keeps_) {
            const int64_t own = n_point_ * n_channel_;
            std::copy(h_.data() + own, h_.end(), kept_h_[step].data() + own);
        }
        queue_.parallel_for(n_tile(), [&](int64_t tile, int thread) {
            if (keeps_) keep(step, tile);
            update(w, tile, thread);
        });
    }
}

/// Stores h and the means of a tile for the backward pass.
template <class T>
void Messages<T>::keep(size_t step, int64_t tile) {
    const int64_t first = tile * tile_points * n_channel_;
    std::copy_n(h_.data() + first, count(tile) * n_channel_, kept_h_[step].data() + first);
    std::copy_n(mean_.data() + first, tile_points * n_channel_, kept_mean_[step].data() + first);
}

template <class T>
Tile<T> Messages<T>::features(int64_t tile, Scratch& scratch) {
    if (config_.features == Features::given) return features_.input(tile);
    const int64_t n = count(tile), d = config_.n_axis;
    const Tile<T> p{scratch.positions.data(), {d, n}, {tile_points, 1}};
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < d; ++k)
            p(k, i) = static_cast<T>(position_[(tile * tile_points + i) * d + k]);
    const Tile<T> f{scratch.features.data(), {config_.n_feature, n}, {tile_points, 1}};
    if (config_.features == Features::fourier)
        kernels::fourier_features<T>(queue_, config_.n_feature / 2, layers_.fourier, p, f);
    else
        kernels::linear<T>(queue_, layers_.positions, p, {}, f);
    return f;
}

template <class T>
void Messages<T>::embed(int64_t tile, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const Tile<T> e{scratch.out.data(), {n_channel_, count(tile)}, {tile_points, 1}};
    kernels::linear<T>(queue_, layers_.embed, features(tile, scratch), {}, e);
    T* const rows = h_.data() + tile * tile_points * n_channel_;
    for (int64_t i = 0; i < e.shape[1]; ++i)
        for (int64_t c = 0; c < n_channel_; ++c) rows[i * n_channel_ + c] = e(c, i);
}

/// Computes the mean of the messages to each target of a tile, tile_points edges at a time.
template <class T>
void Messages<T>::sum_messages(const StepWeights<T>& w, int64_t tile, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const Tile<T> sum = mean(tile);
    std::fill_n(sum.data, n_channel_ * tile_points, T(0));
    if (!edges_) return;
    const int64_t first = tile * tile_points;
    const int64_t* const begins = edges_->first.data() + first;
    for (int64_t e = begins[0]; e < begins[sum.shape[1]]; e += tile_points)
        send_along(w, {e, std::min(e + tile_points, begins[sum.shape[1]])}, first, scratch, sum);
    for (int64_t i = 0; i < sum.shape[1]; ++i) {
        const auto n = static_cast<T>(std::max<int64_t>(1, begins[i + 1] - begins[i]));
        for (int64_t c = 0; c < n_channel_; ++c) sum(c, i) /= n;
    }
}

/// Adds the messages of some edges to the sums of their targets.
template <class T>
void Messages<T>::send_along(const StepWeights<T>& w, Range edges, int64_t first_target,
                             Scratch& scratch, Tile<T> sum) {
    const int64_t d = config_.n_axis, n = edges.size();
    const Tile<T> u{scratch.in.data(), {2 * n_channel_ + d, n}, {tile_points, 1}};
    const Tile<T> m{scratch.out.data(), {n_channel_, n}, {tile_points, 1}};
    const auto at = [&](int64_t i) { return static_cast<size_t>(edges.begin + i); };
    for (int64_t i = 0; i < n; ++i) {
        const int64_t s = source_[at(i)], t = target_[at(i)];
        for (int64_t c = 0; c < n_channel_; ++c) u(c, i) = h_[s * n_channel_ + c];
        for (int64_t c = 0; c < n_channel_; ++c) u(n_channel_ + c, i) = h_[t * n_channel_ + c];
        for (int64_t k = 0; k < d; ++k)
            u(2 * n_channel_ + k, i) = static_cast<T>(static_cast<double>(position_[s * d + k]) -
                                                      static_cast<double>(position_[t * d + k]));
    }
    kernels::linear<T>(queue_, w.message, u, {}, m);
    kernels::activate<T>(queue_, kernels::Activation::gelu, m, m);
    kernels::normalise<T>(queue_, w.message_norm, m, m);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < n_channel_; ++c) sum(c, target_[at(i)] - first_target) += m(c, i);
}

template <class T>
void Messages<T>::update(const StepWeights<T>& w, int64_t tile, int thread) {
    Scratch& scratch = scratch_[static_cast<size_t>(thread)];
    const Tile<T> average = mean(tile);
    const int64_t n = average.shape[1];
    const Tile<T> u{scratch.in.data(), {2 * n_channel_, n}, {tile_points, 1}};
    const Tile<T> g{scratch.out.data(), {n_channel_, n}, {tile_points, 1}};
    T* const rows = h_.data() + tile * tile_points * n_channel_;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < n_channel_; ++c) u(c, i) = rows[i * n_channel_ + c];
    std::copy_n(average.data, n_channel_ * tile_points, &u(n_channel_, 0));
    kernels::linear<T>(queue_, w.update, u, {}, g);
    kernels::normalise<T>(queue_, w.update_norm, g, g);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < n_channel_; ++c) rows[i * n_channel_ + c] += g(c, i);
}

template <class T>
int64_t Messages<T>::bytes() const {
    int64_t n_byte = position_.bytes() + h_.bytes() + mean_.bytes() + exchange_.bytes() +
                     static_cast<int64_t>(16 * source_.size() + 20 * own_edges_.source_row.size());
    for (const auto* kept : {&kept_h_, &kept_mean_})
        for (const Buffer<T>& buffer : *kept) n_byte += buffer.bytes();
    for (const Scratch& s : scratch_)
        n_byte += s.in.bytes() + s.out.bytes() + s.features.bytes() + s.positions.bytes();
    return n_byte;
}

template class Messages<float>;
template class Messages<double>;

}  // namespace surrogate::impl::bsa::erwin
