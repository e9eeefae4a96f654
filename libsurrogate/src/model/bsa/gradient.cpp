// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/bsa/gradient.hpp"

#include <algorithm>

#include "kernels/embedding/embedding.hpp"
#include "libsurrogate/src/model/family/loaded_points.hpp"

namespace surrogate::impl::bsa {

using kernels::Buffer;
using kernels::Tile;
using kernels::tile_points;
using kernels::Tiles;

template <class T>
Gradient<T>::Gradient(const Config& config, const Layers<T>& layers, const kernels::Queue& queue,
                      Communicator& comm, PointPorts<T>& ports, PointPorts<T>& back,
                      const TreePlan<T>& plan, Forward<T>& forward, bool is_reproducible,
                      bool saves_less)
    : config_(config),
      layers_(layers),
      queue_(queue),
      ports_(ports),
      back_(back),
      plan_(plan),
      forward_(forward),
      is_reproducible_(is_reproducible),
      layer_(config, layers, queue_, comm, forward, is_reproducible, saves_less) {
    const int64_t size = plan.shape().size(config.n_channel), c = config.n_channel;
    for (int64_t layer = 0; layer <= config.depth; ++layer) saved_.emplace_back(size);
    for (Buffer<T>* buffer : {&x_, &dx_, &dres_}) *buffer = Buffer<T>(size);
    if (config.has_balls()) dposition_.emplace(plan, queue, config.n_axis);
    for (int thread = 0; thread < queue_.n_thread(); ++thread) {
        Scratch s;
        for (Buffer<T>* buffer : {&s.z, &s.h, &s.dh}) *buffer = Buffer<T>(c * tile_points);
        for (Buffer<T>* buffer : {&s.features, &s.dfeatures, &s.angles, &s.inputs})
            *buffer = Buffer<T>(config.n_feature * tile_points);
        s.y = Buffer<T>(config.n_output * tile_points);
        s.positions = Buffer<T>(config.n_axis * tile_points);
        s.back = Buffer<T>((config.n_axis + config.n_feature) * tile_points);
        scratch_.push_back(std::move(s));
        sums_.emplace_back(config);
    }
}

template <class T>
Range Gradient<T>::points_of_ball(int64_t ball) const {
    const SlotShape& shape = plan_.shape();
    const Slots& slots = plan_.slots();
    const int64_t first = shape.own.begin + ball * shape.ball;
    const int64_t before = slots.points_before(shape.own.begin);
    return {slots.points_before(first) - before, slots.points_before(first + shape.ball) - before};
}

template <class T>
template <class Body>
void Gradient<T>::for_points(GradientSums& sums, EndSums::Part part, const Body& body) {
    const MasterWeights& master = layers_.weights->master();
    if (!is_reproducible_) {
        const int64_t n = plan_.n_point();
        queue_.parallel_for(ports_.n_tile(), [&](int64_t tile, int thread) {
            body(Range{tile * tile_points, std::min((tile + 1) * tile_points, n)}, thread);
        });
        for (size_t thread = 1; thread < sums_.size(); ++thread) sums_[0].add(sums_[thread]);
        sums_[0].move_to({master, sums, 0}, part);
        return;
    }
    const SlotShape& shape = plan_.shape();
    queue_.parallel_for(shape.n_local() / shape.ball, [&](int64_t ball, int thread) {
        const Range all = points_of_ball(ball);
        for (int64_t first = all.begin; first < all.end; first += tile_points)
            body(Range{first, std::min(first + tile_points, all.end)}, thread);
        sums_[static_cast<size_t>(thread)].move_to({master, sums, thread}, part);
    });
}

template <class T>
template <class Body>
void Gradient<T>::for_elements(const Body& body) {
    const int64_t n_tile = plan_.shape().n_tile();
    const int64_t size = n_tile > 0 ? dx_.size() / n_tile : 0;
    queue_.parallel_for(n_tile, [&](int64_t t, int) { body(t * size, (t + 1) * size); });
}

template <class T>
bool Gradient<T>::forward() {
    forward_.embed();
    const T* const x = forward_.work().x().data;
    for (int64_t layer = 0; layer <= config_.depth; ++layer) {
        Buffer<T>& saved = saved_[static_cast<size_t>(layer)];
        for_elements([&](int64_t begin, int64_t end) {
            std::copy(x + begin, x + end, saved.data() + begin);
        });
        if (layer == config_.depth) break;
        layer_.begin_forward(layer);
        if (!forward_.run_layer(layer)) return false;
        layer_.end_forward(layer);
    }
    forward_.head();
    return true;
}

template <class T>
bool Gradient<T>::backward(GradientSums& sums, bool is_relative) {
    is_relative = is_relative && config_.has_balls();
    if (is_relative) dposition_->clear();
    for (EndSums& of_thread : sums_) {
        of_thread.want(sums.is_wanted());
        of_thread.clear();
    }
    for_elements([&](int64_t begin, int64_t end) {
        std::fill(dx_.data() + begin, dx_.data() + end, T(0));
        std::fill(dres_.data() + begin, dres_.data() + end, T(0));
    });
    for_points(sums, EndSums::head,
               [&](Range points, int thread) { head_backward(points, thread); });
    for (int64_t layer = config_.depth - 1; layer >= 0; --layer)
        if (!layer_backward(layer, sums, is_relative)) return false;
    if (is_relative) dposition_->finish();
    for_elements([&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) dx_[i] += dres_[i];
    });
    for (EndSums& of_thread : sums_) of_thread.clear();
    for_points(sums, EndSums::embedding,
               [&](Range points, int thread) { embed_backward(points, is_relative, thread); });
    return true;
}

namespace {

/// Returns tiles of points, the first of which is `first`.
template <class T>
Tiles<T> from_first(Tile<T> first, int64_t n_point) {
    return {first.data, first.shape[0], n_point};
}

}  // namespace

/// Computes dx of the originals; the head does not read copies.
template <class T>
void Gradient<T>::head_backward(Range points, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    EndSums& sums = sums_[static_cast<size_t>(thread)];
    const int64_t c = config_.n_channel;
    const Tile<const T> dy = load<T>(from_first(back_.input(0), plan_.n_point()), points, s.y);
    const int64_t n = dy.shape[1];
    const Tile<T> z = tile_in(s.z, c, n), h = tile_in(s.h, c, n), dh = tile_in(s.dh, c, n);
    const Tiles<T> x = saved(config_.depth), dx = plan_.shape().tiles(dx_.data(), c);
    const int64_t* const slots = plan_.slot_of() + points.begin;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) z(k, i) = x(k, slots[i]);
    kernels::linear<T>(queue_, layers_.head1, z, {}, h);
    kernels::linear_backward<T>(queue_, layers_.head2, dy, {}, false, dh);
    kernels::activate_backward<T>(queue_, kernels::Activation::gelu, h, dh, dh);
    kernels::activate<T>(queue_, kernels::Activation::gelu, h, h);
    kernels::linear_gradient<T>(queue_, h, dy, sums.head2);
    kernels::linear_gradient<T>(queue_, z, dh, sums.head1);
    kernels::linear_backward<T>(queue_, layers_.head1, dh, {}, false, z);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) dx(k, slots[i]) = z(k, i);
}

/// Differentiates a layer. dres is the gradient of the most recent block residual. Returns false,
/// on all ranks, if scores are not finite.
template <class T>
bool Gradient<T>::layer_backward(int64_t layer, GradientSums& sums, bool is_relative) {
    const Tiles<T> x = plan_.shape().tiles(x_.data(), config_.n_channel);
    const Tiles<T> dx = plan_.shape().tiles(dx_.data(), config_.n_channel);
    const Buffer<T>& saved = saved_[static_cast<size_t>(layer)];
    const bool adds_residual = config_.adds_residual(layer);
    for_elements([&](int64_t begin, int64_t end) {
        std::copy(saved.data() + begin, saved.data() + end, x_.data() + begin);
        for (int64_t i = begin; i < end && adds_residual; ++i) dres_[i] = dx_[i] += dres_[i];
    });
    const bool rotated = config_.is_layer_rotated(layer);
    T* const memory = forward_.work().free_memory();
    if (rotated) plan_.move(x, true, memory);
    if (rotated) plan_.move(dx, true, memory);
    Tiles<T> drelative;
    if (is_relative) drelative = dposition_->relative(rotated);
    if (!layer_.run(layer, x, dx, sums, drelative)) return false;
    if (rotated) plan_.move(dx, false, memory);
    return true;
}

/// Adds the gradients of copies to the gradient of their point, in ascending order of slots.
template <class T>
void Gradient<T>::embed_backward(Range points, bool is_relative, int thread) {
    Scratch& s = scratch_[static_cast<size_t>(thread)];
    EndSums& sums = sums_[static_cast<size_t>(thread)];
    const int64_t c = config_.n_channel, d = config_.n_axis, n_feature = config_.n_feature;
    const int64_t n = points.size(), n_point = plan_.n_point();
    const Tile<const T> p = load<T>(from_first(plan_.coordinates(0), n_point), points, s.positions);
    const Tiles<T> to = from_first(back_.output(0), n_point);
    const Tile<T> out = tile_in(s.back, to.n_channel, n);
    const Tile<T> de = tile_in(s.z, c, n), df = tile_in(s.dfeatures, n_feature, n);
    const Tiles<T> dx = plan_.shape().tiles(dx_.data(), c);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t point = points.begin + i;
        for (int64_t k = 0; k < c; ++k) {
            T sum = 0;
            for (int64_t slot = plan_.slot_of()[point]; slot < plan_.end_of(point); ++slot)
                sum += dx(k, slot);
            de(k, i) = sum;
        }
    }
    kernels::linear_backward<T>(queue_, layers_.embed, de, {}, false, df);
    const Tile<T> dp = kernels::channels(out, 0, d);
    Tile<T> f = tile_in(s.features, n_feature, n);
    if (config_.features == Features::fourier) {
        kernels::fourier_features<T>(queue_, n_feature / 2, layers_.fourier, p, f);
        kernels::fourier_features_backward<T>(queue_, n_feature / 2, layers_.fourier, p, f, df,
                                              tile_in(s.angles, n_feature / 2, n), sums.fourier,
                                              dp);
    } else if (config_.features == Features::linear) {
        kernels::linear<T>(queue_, layers_.positions, p, {}, f);
        kernels::linear_gradient<T>(queue_, p, df, sums.positions);
        kernels::linear_backward<T>(queue_, layers_.positions, df, {}, false, dp);
    } else {
        f = load<T>(from_first(ports_.input(0), n_point), points, s.inputs);
        for (int64_t k = 0; k < d; ++k) std::fill_n(&dp(k, 0), n, T(0));
        for (int64_t k = 0; k < n_feature; ++k) std::copy_n(&df(k, 0), n, &out(d + k, 0));
    }
    kernels::linear_gradient<T>(queue_, f, de, sums.embed);
    for (int64_t i = 0; i < n && is_relative; ++i) {
        const int64_t point = points.begin + i;
        for (int64_t slot = plan_.slot_of()[point]; slot < plan_.end_of(point); ++slot)
            for (int64_t k = 0; k < d; ++k) dp(k, i) += dposition_->positions()(k, slot);
    }
    store<T>(out, points, to);
}

template <class T>
int64_t Gradient<T>::bytes() const {
    int64_t n_byte = layer_.bytes() + x_.bytes() + dx_.bytes() + dres_.bytes() +
                     (dposition_ ? dposition_->bytes() : 0);
    for (const Buffer<T>& saved : saved_) n_byte += saved.bytes();
    for (const EndSums& sums : sums_) n_byte += sums.bytes();
    for (const Scratch& s : scratch_) {
        for (const Buffer<T>* buffer : {&s.z, &s.h, &s.dh, &s.features, &s.dfeatures, &s.angles,
                                        &s.y, &s.positions, &s.inputs, &s.back})
            n_byte += buffer->bytes();
    }
    return n_byte;
}

template class Gradient<float>;
template class Gradient<double>;

}  // namespace surrogate::impl::bsa
