// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/resampling.hpp"

namespace surrogate::impl::sphere {

template <class T>
ResampleLayer<T>::ResampleLayer(const Frame& frame, const Resample& config, int64_t n_channel,
                                Range out_rows)
    : frame_(frame),
      table_(kernels::sphere::resampling(config.out, config.in, config.interpolation)),
      n_channel_(n_channel),
      out_rows_(out_rows) {
    Range held{0, 0};  // extended rows
    if (out_rows.size() > 0 && table_.is_identity) held = out_rows;
    if (out_rows.size() > 0 && !table_.is_identity) {
        const auto above = [&](int64_t row) { return table_.above[static_cast<size_t>(row)]; };
        held = {above(out_rows.begin), above(out_rows.end - 1) + 2};
    }
    const int64_t n_lat = config.in.n_lat, shift = table_.has_poles && !table_.is_identity ? 1 : 0;
    if (held.size() > 0) {
        in_rows_ = {std::clamp<int64_t>(held.begin - shift, 0, n_lat),
                    std::clamp<int64_t>(held.end - shift, 0, n_lat)};
    }
    own_rows_ = in_rows_;
    rows_ = Field<T>(held, config.in.n_lon, n_channel);
    scratch_ = Field<T>({0, frame.queue.n_thread()}, config.in.n_lon, n_channel);
}

template <class T>
void ResampleLayer<T>::connect(const Bands& in_bands) {
    std::vector<NeighborExchange::Want> wants;
    frame_.comm.agree([&] {
        const Range own = in_bands.of(frame_.rank());
        own_rows_ = {std::clamp(own.begin, in_rows_.begin, in_rows_.end),
                     std::clamp(own.end, in_rows_.begin, in_rows_.end)};
        in_bands.add_wants({in_rows_.begin, own_rows_.begin}, wants);
        in_bands.add_wants({own_rows_.end, in_rows_.end}, wants);
    });
    exchange_.connect(frame_.comm, std::move(wants), n_channel_ * static_cast<int64_t>(sizeof(T)));
}

template <class T>
void ResampleLayer<T>::exchange(Field<T>& source) {
    exchange_.begin<T>(frame_.comm, frame_.queue, n_channel_, [&](const Segment& s, T* to) {
        copy<T>(source.row(s.row), packed(to, n_channel_, s.count));
    });
    load_own(source);
    exchange_.finish<T>(frame_.comm, frame_.queue, n_channel_,
                        [&](const Segment& s, const T* from, int) {
                            copy<T>(packed(from, n_channel_, s.count), rows_.row(extended(s.row)));
                        });
    fill_poles();
}

template <class T>
void ResampleLayer<T>::load(Field<T>& source) {
    load_own(source);
    fill_poles();
}

template <class T>
void ResampleLayer<T>::load_own(Field<T>& source) {
    frame_.queue.parallel_for(own_rows_.size(), [&](int64_t i, int) {
        const int64_t row = own_rows_.begin + i;
        copy<T>(source.row(row), rows_.row(table_.is_identity ? row : extended(row)));
    });
}

template <class T>
void ResampleLayer<T>::fill_poles() {
    if (!table_.has_poles || table_.is_identity || rows_.rows().size() == 0) return;
    const Range held = rows_.rows();
    const int64_t south = table_.in.n_lat + 1;
    if (held.begin == 0) kernels::sphere::pole_row<T>(rows_.row(1), rows_.row(0));
    if (held.end == south + 1) kernels::sphere::pole_row<T>(rows_.row(south - 1), rows_.row(south));
}

template <class T>
void ResampleLayer<T>::row(int64_t row, int thread, bool accumulate, Tile<T> y) {
    const int64_t above = table_.is_identity ? row : table_.above[static_cast<size_t>(row)];
    const Tile<T> upper = rows_.row(above);
    const Tile<T> lower = table_.is_identity ? upper : rows_.row(above + 1);
    kernels::sphere::resample_row<T>(frame_.queue, table_, row, upper, lower, scratch_.row(thread),
                                     accumulate, y);
}

template <class T>
LayerCost ResampleLayer<T>::cost(const std::string& name) const {
    LayerCost cost{.name = name};
    const int64_t points = out_rows_.size() * (table_.in.n_lon + table_.out.n_lon);
    cost.flops = 3.0 * static_cast<double>(n_channel_ * points);
    cost.bytes_sent = exchange_.n_item_sent() * n_channel_ * static_cast<int64_t>(sizeof(T));
    cost.collectives = exchange_.collectives();
    cost.messages = exchange_.n_message();
    return cost;
}

template class ResampleLayer<float>;
template class ResampleLayer<double>;

}  // namespace surrogate::impl::sphere
