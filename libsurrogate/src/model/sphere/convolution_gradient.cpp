// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/convolution_gradient.hpp"

#include "kernels/norm/moments.hpp"

namespace surrogate::impl::sphere {

using kernels::Linear;
using kernels::sphere::ConvolutionTable;

namespace {

/// Output rows that see the input rows `in_rows`.
Range seen_from(const Convolution& c, Range in_rows) {
    const auto rows = kernels::sphere::rows_within(
        kernels::latitudes(c.in.kind, c.in.n_lat), kernels::latitudes(c.out.kind, c.out.n_lat),
        c.filter.theta_cutoff, in_rows.begin, in_rows.end);
    return {rows.begin, rows.end};
}

/// A part of a tile, as linear() and its kin want it: at most tile_points columns.
template <class T>
Tile<T> part_of(Tile<T> tile, int64_t first) {
    return kernels::points(tile, first, std::min(tile_points, tile.shape[1] - first));
}

}  // namespace

template <class T>
ConvolutionGradient<T>::ConvolutionGradient(const Frame& frame, const ConvolutionLayer<T>& layer,
                                            const Convolution& config, const MasterWeights& master,
                                            const std::string& prefix)
    : frame_(frame),
      layer_(layer),
      config_(config),
      n_source_(n_source(config)),
      slots_(master, prefix + "weight", config.bias ? prefix + "bias" : "") {}

template <class T>
ConvolutionGradient<T>::ConvolutionGradient(const Frame& frame, const ConvolutionLayer<T>& layer,
                                            const Convolution& config)
    : frame_(frame), layer_(layer), config_(config), n_source_(n_source(config)) {}

/// Channels of the rings: dy, or what the weights make of it.
template <class T>
int64_t ConvolutionGradient<T>::n_source(const Convolution& c) {
    return ConvolutionLayer<T>::is_weights_first(c) ? c.n_out : c.n_in * c.n_basis();
}

template <class T>
void ConvolutionGradient<T>::prepare(const Frame& frame, const Convolution& config, Range in_rows,
                                     Workspace& ws) {
    const auto make = config.is_transposed ? kernels::sphere::transposed_convolution
                                           : kernels::sphere::convolution;
    const Range readers = in_rows.size() > 0 ? seen_from(config, in_rows) : Range{0, 0};
    ws.stencil = kernels::sphere::transpose(
        make(config.out, config.in, config.filter, readers.begin, readers.end), in_rows.begin,
        in_rows.end);
    ws.values = Buffer<T>(std::ssize(ws.stencil.values));
    std::ranges::transform(ws.stencil.values, ws.values.begin(),
                           [](double value) { return static_cast<T>(value); });
    std::vector<double>().swap(ws.stencil.values);
    const int64_t n_phase = ws.stencil.n_phase_in;  // of the output
    if (!ws.stencil.strips.empty()) {
        const auto [low, high] =
            std::ranges::minmax(ws.stencil.strips, {}, &kernels::sphere::Strip::row);
        ws.dy_rows = {low.row / n_phase, high.row / n_phase + 1};
    }
    ws.own_rows = ws.dy_rows;
    ws.layout = RingLayout(ws.dy_rows.begin, ws.dy_rows.end, n_phase, ws.stencil.n_column,
                           n_source(config), ws.stencil.strips);
    ws.memory = Buffer<T>(ws.layout.size());
    const int n_thread = frame.queue.n_thread();
    const bool weights_first = ConvolutionLayer<T>::is_weights_first(config);
    ws.row_memory = Buffer<T>(n_thread * (config.n_out + n_source(config)) *
                              round_up(config.out.n_lon, kernels::lane_count));
    if (weights_first)
        ws.sums = Buffer<double>(n_thread * config.n_out * config.n_basis() * config.n_in);
    const auto entries = [&](int64_t row) {
        return static_cast<double>(1 + ws.stencil.pairs(row));
    };
    ws.tiles = {rows_of(in_rows), ws.stencil.n_column, tile_points, n_thread, entries};
}

template <class T>
void ConvolutionGradient<T>::connect(const Frame& frame, const Convolution& config,
                                     const Bands& out_bands, Workspace& ws) {
    std::vector<NeighborExchange::Want> wants;
    frame.comm.agree([&] {
        const Range own = out_bands.of(frame.rank());
        ws.own_rows = {std::clamp(own.begin, ws.dy_rows.begin, ws.dy_rows.end),
                       std::clamp(own.end, ws.dy_rows.begin, ws.dy_rows.end)};
        out_bands.add_wants({ws.dy_rows.begin, ws.own_rows.begin}, wants);
        out_bands.add_wants({ws.own_rows.end, ws.dy_rows.end}, wants);
    });
    ws.exchange.connect(frame.comm, std::move(wants),
                        config.n_out * static_cast<int64_t>(sizeof(T)));
}

template <class T>
void ConvolutionGradient<T>::require(const Convolution& config, Scratch<T>& scratch) {
    ConvolutionLayer<T>::require(config, scratch);
    scratch.require(ConvolutionLayer<T>::phase_slot,
                    std::max(ConvolutionLayer<T>::n_ring_channel(config), config.n_out));
}

template <class T>
int64_t ConvolutionGradient<T>::Workspace::bytes() const {
    return stencil.bytes() + values.bytes() + memory.bytes() + row_memory.bytes() + sums.bytes() +
           exchange.bytes();
}

/// A row of the output that came packed, in memory of this thread.
template <class T>
Tile<T> ConvolutionGradient<T>::row_memory(Workspace& ws, int thread) const {
    const int64_t step = round_up(config_.out.n_lon, kernels::lane_count);
    const int64_t n_channel = config_.n_out + n_source_;
    return {ws.row_memory.data() + thread * n_channel * step,
            {n_channel, config_.out.n_lon},
            {step, 1}};
}

/// dz (n_in * n_basis) = W^T dy, group by group.
template <class T>
void ConvolutionGradient<T>::unmix(Tile<const T> dy, Tile<T> dz) const {
    const int64_t groups = config_.groups;
    const int64_t width = config_.n_in / groups * layer_.n_basis_, height = config_.n_out / groups;
    for (int64_t g = 0; g < groups; ++g) {
        const Linear<T> linear{width, height, layer_.weight_ + g * height * width, nullptr};
        kernels::linear_backward<T>(frame_.queue, linear, kernels::channels(dy, g * height, height),
                                    {}, false, kernels::channels(dz, g * width, width));
    }
}

template <class T>
void ConvolutionGradient<T>::store(Workspace& ws, int64_t row, int thread, Tile<const T> dy) const {
    const Rings<T> rings{&ws.layout, ws.memory.data()};
    if (is_weights_first()) return kernels::sphere::store_row<T>(dy, row, rings);
    const int64_t n_channel = n_source_;
    const Tile<T> dz = kernels::channels(row_memory(ws, thread), config_.n_out, n_channel);
    for (int64_t first = 0; first < dy.shape[1]; first += tile_points)
        unmix(part_of(dy, first), part_of(dz, first));
    kernels::sphere::store_row<T>(dz, row, rings);
}

template <class T>
void ConvolutionGradient<T>::load(Workspace& ws, Field<T>& dy) const {
    frame_.queue.parallel_for(ws.own_rows.size(), [&](int64_t i, int thread) {
        const int64_t row = ws.own_rows.begin + i;
        store(ws, row, thread, dy.row(row));
    });
}

template <class T>
void ConvolutionGradient<T>::exchange(Workspace& ws, Field<T>& dy) const {
    const int64_t n = config_.n_out;
    ws.exchange.template begin<T>(frame_.comm, frame_.queue, n, [&](const Segment& s, T* to) {
        copy<T>(dy.row(s.row), packed(to, n, s.count));
    });
    load(ws, dy);
    ws.exchange.template finish<T>(
        frame_.comm, frame_.queue, n, [&](const Segment& s, const T* from, int thread) {
            const Tile<T> row = kernels::channels(row_memory(ws, thread), 0, n);
            copy<T>(packed(from, n, s.count), row);
            store(ws, s.row, thread, row);
        });
}

template <class T>
void ConvolutionGradient<T>::ring_gradient(Workspace& ws, Scratch<T>& scratch, const Work& work,
                                           int thread, Tile<T> dring) const {
    const ConvolutionTable<T> table{&ws.stencil, ws.values.data()};
    const Rings<const T> rings{&ws.layout, ws.memory.data()};
    const int64_t n_phase = ws.stencil.n_phase_out, n_channel = n_ring_channel();
    for (int64_t phase = 0; phase < n_phase; ++phase) {
        const Tile<T> part = n_phase == 1 ? dring
                                          : scratch.tile(thread, ConvolutionLayer<T>::phase_slot,
                                                         n_channel, work.count);
        if (is_weights_first()) {
            kernels::sphere::apply_basis<T>(frame_.queue, table, work.row, phase, work.first, rings,
                                            part);
        } else {
            kernels::sphere::sum_basis<T>(frame_.queue, table, work.row, phase, work.first, rings,
                                          false, part);
        }
        if (n_phase == 1) return;
        for (int64_t c = 0; c < n_channel; ++c) {
            for (int64_t i = 0; i < work.count; ++i) dring(c, i * n_phase + phase) = part(c, i);
        }
    }
}

template <class T>
void ConvolutionGradient<T>::input_gradient(Tile<const T> dring, Tile<T> dx) const {
    if (!is_weights_first()) return copy<T>(dring, dx);
    const Linear<T> linear{config_.n_in, n_ring_channel(), layer_.reordered_.data(), nullptr};
    for (int64_t first = 0; first < dx.shape[1]; first += tile_points)
        kernels::linear_backward<T>(frame_.queue, linear, part_of(dring, first), {}, false,
                                    part_of(dx, first));
}

template <class T>
void ConvolutionGradient<T>::add_weights(typename ConvolutionLayer<T>::Workspace& forward,
                                         Scratch<T>& scratch, int64_t row, int thread, Field<T>& dy,
                                         GradientSums& sums) const {
    if (!sums.is_wanted()) return;
    sum_weights(forward, scratch, row, thread, dy, slots_.linear(sums, thread));
    slots_.close(sums, thread);
}

template <class T>
void ConvolutionGradient<T>::sum_weights(typename ConvolutionLayer<T>::Workspace& forward,
                                         Scratch<T>& scratch, int64_t row, int thread, Field<T>& dy,
                                         kernels::LinearGradient all) const {
    const ConvolutionTable<T> table{&forward.stencil, forward.values.data()};
    const Rings<const T> rings{&forward.layout, forward.memory.data()};
    const int64_t n_phase = forward.n_phase_out, groups = config_.groups;
    const int64_t width = config_.n_in / groups * layer_.n_basis_, height = config_.n_out / groups;
    for (int64_t first = 0; first < forward.stencil.n_column; first += tile_points) {
        const int64_t count = std::min(tile_points, forward.stencil.n_column - first);
        for (int64_t phase = 0; phase < n_phase; ++phase) {
            const Tile<T> z = scratch.tile(thread, ConvolutionLayer<T>::basis_slot,
                                           config_.n_in * layer_.n_basis_, count);
            kernels::sphere::apply_basis<T>(frame_.queue, table, row, phase, first, rings, z);
            Tile<T> slope = dy.tile(row, first * n_phase, count * n_phase);
            if (n_phase > 1) {
                const Tile<T> part =
                    scratch.tile(thread, ConvolutionLayer<T>::phase_slot, config_.n_out, count);
                for (int64_t o = 0; o < config_.n_out; ++o) {
                    for (int64_t i = 0; i < count; ++i) part(o, i) = slope(o, i * n_phase + phase);
                }
                slope = part;
            }
            for (int64_t g = 0; g < groups; ++g)
                kernels::linear_gradient<T>(
                    frame_.queue, kernels::channels(z, g * width, width),
                    kernels::channels(slope, g * height, height),
                    {all.weight + g * height * width, all.bias ? all.bias + g * height : nullptr});
        }
    }
}

template <class T>
void ConvolutionGradient<T>::add_weights(Workspace& ws, Tile<const T> x, Tile<const T> dring,
                                         int thread, GradientSums& sums) const {
    if (!sums.is_wanted()) return;
    sum_weights(ws, x, dring, thread, slots_.weight.open(sums, thread));
    slots_.weight.close(sums, thread);
}

template <class T>
void ConvolutionGradient<T>::sum_weights(Workspace& ws, Tile<const T> x, Tile<const T> dring,
                                         int thread, double* to) const {
    const int64_t n_out = config_.n_out, n_in = config_.n_in, n_basis = layer_.n_basis_;
    const int64_t size = n_out * n_basis * n_in;
    double* const reordered = ws.sums.data() + thread * size;
    std::fill_n(reordered, size, 0.0);
    kernels::linear_gradient<T>(frame_.queue, x, dring, {reordered, nullptr});
    for (int64_t o = 0; o < n_out; ++o) {
        for (int64_t c = 0; c < n_in; ++c) {
            for (int64_t k = 0; k < n_basis; ++k)
                to[(o * n_in + c) * n_basis + k] += reordered[(o * n_basis + k) * n_in + c];
        }
    }
}

template <class T>
void ConvolutionGradient<T>::add_bias(Tile<const T> dy, int thread, GradientSums& sums) const {
    double* const to = slots_.bias.open(sums, thread);
    if (!to) return;
    for (int64_t o = 0; o < config_.n_out; ++o) {
        double sum = 0, square = 0;
        kernels::channel_moments<T>(frame_.queue, kernels::channels(dy, o, 1), &sum, &square);
        to[o] += sum;
    }
    slots_.bias.close(sums, thread);
}

template <class T>
LayerCost ConvolutionGradient<T>::cost(const std::string& name, const Workspace& ws) const {
    LayerCost cost{.name = name};
    double pairs = 0;
    for (int64_t row = ws.stencil.first_row; row < ws.stencil.end_row; ++row)
        pairs += static_cast<double>(ws.stencil.pairs(row) * ws.stencil.n_column);
    const int64_t points = (ws.stencil.end_row - ws.stencil.first_row) * config_.in.n_lon;
    const int64_t width = config_.n_in / config_.groups * layer_.n_basis_ * config_.n_out;
    // Weights and input: a product each.
    cost.flops = 4 * static_cast<double>(points) * static_cast<double>(width) +
                 2 * pairs * static_cast<double>(is_weights_first() ? config_.n_out : config_.n_in);
    cost.bytes_sent = ws.exchange.n_item_sent() * config_.n_out * static_cast<int64_t>(sizeof(T));
    cost.collectives = ws.exchange.collectives();
    cost.messages = ws.exchange.n_message();
    return cost;
}

template class ConvolutionGradient<float>;
template class ConvolutionGradient<double>;

}  // namespace surrogate::impl::sphere
