// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/convolution.hpp"

namespace surrogate::impl::sphere {

using kernels::sphere::ConvolutionTable;

namespace {

double count(int64_t n) {
    return static_cast<double>(n);
}

/// Points of the disk of the filter at the equator, times the basis functions that overlap there.
double entries_of_column(const Convolution& c) {
    const double step = 3.14159 / count(c.in.n_lat);
    const double radius = c.filter.theta_cutoff / step;
    return 3.14159 * radius * radius * std::min(4.0, count(c.n_basis()));
}

}  // namespace

template <class T>
bool ConvolutionLayer<T>::is_weights_first(const Convolution& c) {
    if (c.groups > 1) return false;
    const double in = count(c.in.n_lat * c.in.n_lon), out = count(c.out.n_lat * c.out.n_lon);
    const double product = 2 * count(c.n_in * c.n_out * c.n_basis());
    const double geometry = 2 * entries_of_column(c) * out;
    return product * in + geometry * count(c.n_out) < product * out + geometry * count(c.n_in);
}

template <class T>
int64_t ConvolutionLayer<T>::n_ring_channel(const Convolution& c) {
    return is_weights_first(c) ? c.n_out * c.n_basis() : c.n_in;
}

template <class T>
ConvolutionLayer<T>::ConvolutionLayer(const Frame& frame, const Convolution& config,
                                      const Weights<T>& weights, const std::string& prefix)
    : frame_(frame), config_(config) {
    set_weight(weights, weights.at(prefix + "weight"));
    if (config.bias) bias_ = weights.at(prefix + "bias");
}

template <class T>
ConvolutionLayer<T>::ConvolutionLayer(const Frame& frame, const Convolution& config,
                                      const Weights<T>& weights, const T* weight)
    : frame_(frame), config_(config) {
    set_weight(weights, weight);
}

template <class T>
void ConvolutionLayer<T>::set_weight(const Weights<T>& weights, const T* weight) {
    weight_ = weight;
    is_weights_first_ = is_weights_first(config_);
    n_basis_ = config_.n_basis();
    n_ring_channel_ = n_ring_channel(config_);
    if (!is_weights_first_) return;
    const int64_t n_in = config_.n_in, n_out = config_.n_out, n_basis = n_basis_;
    reordered_ = weights.derive(n_out * n_in * n_basis, [=](T* to) {
        for (int64_t o = 0; o < n_out; ++o) {
            for (int64_t c = 0; c < n_in; ++c) {
                for (int64_t k = 0; k < n_basis; ++k)
                    to[(o * n_basis + k) * n_in + c] = weight[(o * n_in + c) * n_basis + k];
            }
        }
    });
}

template <class T>
void ConvolutionLayer<T>::prepare(const Frame& frame, const Convolution& config, Range out_rows,
                                  Workspace& ws) {
    const auto make = config.is_transposed ? kernels::sphere::transposed_convolution
                                           : kernels::sphere::convolution;
    ws.stencil = make(config.out, config.in, config.filter, out_rows.begin, out_rows.end);
    ws.values = Buffer<T>(std::ssize(ws.stencil.values));
    std::ranges::transform(ws.stencil.values, ws.values.begin(),
                           [](double value) { return static_cast<T>(value); });
    std::vector<double>().swap(ws.stencil.values);
    const int64_t n_phase = ws.stencil.n_phase_in;
    if (!ws.stencil.strips.empty()) {
        const auto [low, high] =
            std::ranges::minmax(ws.stencil.strips, {}, &kernels::sphere::Strip::row);
        ws.in_rows = {low.row / n_phase, high.row / n_phase + 1};
    }
    ws.own_rows = ws.in_rows;
    ws.n_phase_out = ws.stencil.n_phase_out;
    ws.layout = RingLayout(ws.in_rows.begin, ws.in_rows.end, n_phase, ws.stencil.n_column,
                           n_ring_channel(config), ws.stencil.strips);
    ws.memory = Buffer<T>(ws.layout.size());
    const int n_thread = frame.queue.n_thread();
    ws.n_row_channel = row_channels(config);
    ws.row_memory =
        Buffer<T>(n_thread * ws.n_row_channel * round_up(config.in.n_lon, kernels::lane_count));
    const auto entries = [&](int64_t row) { return count(1 + ws.stencil.pairs(row)); };
    ws.tiles = {rows_of(out_rows), ws.stencil.n_column, tile_points, n_thread, entries};
}

template <class T>
void ConvolutionLayer<T>::connect(const Frame& frame, const Convolution& config,
                                  const Bands& in_bands, Workspace& ws) {
    std::vector<NeighborExchange::Want> wants;
    frame.comm.agree([&] {
        // Rows that this rank computed itself are loaded where they are.
        const Range own = in_bands.of(frame.rank());
        ws.own_rows = {std::clamp(own.begin, ws.in_rows.begin, ws.in_rows.end),
                       std::clamp(own.end, ws.in_rows.begin, ws.in_rows.end)};
        in_bands.add_wants({ws.in_rows.begin, ws.own_rows.begin}, wants);
        in_bands.add_wants({ws.own_rows.end, ws.in_rows.end}, wants);
    });
    ws.exchange.connect(frame.comm, std::move(wants),
                        config.n_in * static_cast<int64_t>(sizeof(T)));
}

template <class T>
void ConvolutionLayer<T>::require(const Convolution& config, Scratch<T>& scratch) {
    scratch.require(basis_slot, is_weights_first(config) ? 1 : config.n_in * config.n_basis());
    scratch.require(phase_slot, config.n_out);
}

template <class T>
int64_t ConvolutionLayer<T>::row_channels(const Convolution& config) {
    return config.n_in + (is_weights_first(config) ? n_ring_channel(config) : 0);
}

template <class T>
Tile<T> ConvolutionLayer<T>::Workspace::row(const Convolution& config, int thread, int64_t first,
                                            int64_t n_channel) {
    const int64_t step = round_up(config.in.n_lon, kernels::lane_count);
    return {row_memory.data() + (thread * n_row_channel + first) * step,
            {n_channel, config.in.n_lon},
            {step, 1}};
}

template <class T>
int64_t ConvolutionLayer<T>::Workspace::bytes() const {
    return stencil.bytes() + values.bytes() + memory.bytes() + row_memory.bytes() +
           exchange.bytes();
}

template <class T>
void ConvolutionLayer<T>::expand(Tile<const T> x, Tile<T> t) const {
    const kernels::Linear<T> linear{config_.n_in, n_ring_channel_, reordered_.data(), nullptr};
    for (int64_t first = 0; first < x.shape[1]; first += tile_points) {
        const int64_t n = std::min(tile_points, x.shape[1] - first);
        kernels::linear<T>(frame_.queue, linear, {x.data + first, {x.shape[0], n}, x.stride}, {},
                           {t.data + first, {t.shape[0], n}, t.stride});
    }
}

/// One input row (n_in, n_lon_in) to its rings; any thread, one row each.
template <class T>
void ConvolutionLayer<T>::store(Workspace& ws, int64_t row, int thread, Tile<const T> x) const {
    const Rings<T> rings{&ws.layout, ws.memory.data()};
    if (!is_weights_first_) {
        kernels::sphere::store_row<T>(x, row, rings);
        return;
    }
    const Tile<T> t = ws.row(config_, thread, config_.n_in, n_ring_channel_);
    expand(x, t);
    kernels::sphere::store_row<T>(t, row, rings);
}

template <class T>
void ConvolutionLayer<T>::load(Workspace& ws, Field<T>& source) const {
    frame_.queue.parallel_for(ws.own_rows.size(), [&](int64_t i, int thread) {
        const int64_t row = ws.own_rows.begin + i;
        store(ws, row, thread, source.row(row));
    });
}

template <class T>
void ConvolutionLayer<T>::exchange(Workspace& ws, Field<T>& source) const {
    const int64_t n = config_.n_in;
    ws.exchange.template begin<T>(frame_.comm, frame_.queue, n, [&](const Segment& s, T* to) {
        copy<T>(source.row(s.row), packed(to, n, s.count));
    });
    load(ws, source);
    // Rows arrive packed; kernels want padded ones.
    ws.exchange.template finish<T>(frame_.comm, frame_.queue, n,
                                   [&](const Segment& s, const T* from, int thread) {
                                       const Tile<T> row = ws.row(config_, thread, 0, n);
                                       copy<T>(packed(from, n, s.count), row);
                                       store(ws, s.row, thread, row);
                                   });
}

template <class T>
Tile<T> ConvolutionLayer<T>::ring_row(Workspace& ws, int64_t row) const {
    return Rings<T>{&ws.layout, ws.memory.data()}.row(row);
}

template <class T>
void ConvolutionLayer<T>::close(Workspace& ws, int64_t row) const {
    kernels::sphere::close_ring<T>(row, {&ws.layout, ws.memory.data()});
}

template <class T>
void ConvolutionLayer<T>::convolve(Workspace& ws, Scratch<T>& scratch, const Work& work, int thread,
                                   Tile<T> y) const {
    const ConvolutionTable<T> table{&ws.stencil, ws.values.data()};
    const Rings<const T> rings{&ws.layout, ws.memory.data()};
    const int64_t n_out = config_.n_out, n_basis = n_basis_, groups = config_.groups;
    for (int64_t phase = 0; phase < ws.n_phase_out; ++phase) {
        const Tile<T> part =
            ws.n_phase_out == 1 ? y : scratch.tile(thread, phase_slot, n_out, work.count);
        if (is_weights_first_) {
            kernels::sphere::sum_basis<T>(frame_.queue, table, work.row, phase, work.first, rings,
                                          false, part);
            for (int64_t o = 0; bias_ && o < n_out; ++o) {
                for (int64_t i = 0; i < work.count; ++i) part(o, i) += bias_[o];
            }
        } else {
            const Tile<T> z = scratch.tile(thread, basis_slot, config_.n_in * n_basis, work.count);
            kernels::sphere::apply_basis<T>(frame_.queue, table, work.row, phase, work.first, rings,
                                            z);
            const int64_t width = config_.n_in / groups * n_basis, height = n_out / groups;
            for (int64_t g = 0; g < groups; ++g) {
                const kernels::Linear<T> linear{width, height, weight_ + g * height * width,
                                                bias_ ? bias_ + g * height : nullptr};
                kernels::linear<T>(frame_.queue, linear, channels(z, g * width, width), {},
                                   channels(part, g * height, height));
            }
        }
        if (ws.n_phase_out == 1) return;
        for (int64_t o = 0; o < n_out; ++o) {
            for (int64_t i = 0; i < work.count; ++i) y(o, i * ws.n_phase_out + phase) = part(o, i);
        }
    }
}

template <class T>
LayerCost ConvolutionLayer<T>::cost(const std::string& name, const Workspace& ws) const {
    LayerCost cost{.name = name};
    const double product = 2 * count(config_.n_in / config_.groups * config_.n_out * n_basis_);
    double entries = 0;
    for (int64_t row = ws.stencil.first_row; row < ws.stencil.end_row; ++row)
        entries += count(ws.stencil.pairs(row) * ws.stencil.n_column);
    const bool weights_first = is_weights_first_;
    const int64_t points = weights_first
                               ? ws.in_rows.size() * config_.in.n_lon
                               : (ws.stencil.end_row - ws.stencil.first_row) * config_.out.n_lon;
    cost.flops =
        product * count(points) + 2 * entries * count(weights_first ? config_.n_out : config_.n_in);
    cost.bytes_sent = ws.exchange.n_item_sent() * config_.n_in * static_cast<int64_t>(sizeof(T));
    cost.collectives = ws.exchange.collectives();
    cost.messages = ws.exchange.n_message();
    return cost;
}

template class ConvolutionLayer<float>;
template class ConvolutionLayer<double>;

RowWork convolution_work(const Convolution& c) {
    const bool weights_first = ConvolutionLayer<float>::is_weights_first(c);
    const double product = 2 * count(c.n_in / c.groups * c.n_out * c.n_basis());
    const double pairs = 2 * std::min(4.0, count(c.n_basis()));
    if (!weights_first) return {product, pairs * count(c.n_in)};
    return {product * count(c.in.n_lat * c.in.n_lon) / count(c.out.n_lat * c.out.n_lon),
            pairs * count(c.n_out)};
}

}  // namespace surrogate::impl::sphere
