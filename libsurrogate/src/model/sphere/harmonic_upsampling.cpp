// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/harmonic_upsampling.hpp"

namespace surrogate::impl::sphere {

namespace {

kernels::sphere::Truncation truncation_of(const Grid& grid) {
    try {
        return kernels::sphere::default_truncation(grid);
    } catch (const Error& error) {
        throw Error(Status::bad_file, std::string("card: network.upsample_sht: ") + error.what());
    }
}

}  // namespace

template <class T>
HarmonicUpsampling<T>::HarmonicUpsampling(const Frame& frame, const Grid& out, const Grid& in,
                                          int64_t n_channel, Range out_rows)
    : frame_(frame),
      in_(in, truncation_of(in), true),
      out_(out, truncation_of(in), true, out_rows.begin, out_rows.end),
      n_channel_(n_channel),
      out_rows_(out_rows),
      fields_(n_channel * in.n_lat * in.n_lon),
      coefficients_(n_channel * in_.n_degree() * in_.n_degree()),
      synthesis_(n_channel * out_rows.size() * out.n_lon) {}

template <class T>
void HarmonicUpsampling<T>::connect(const Bands& in_bands) {
    std::vector<NeighborExchange::Want> wants;
    frame_.comm.agree([&] { in_bands.add_wants({0, in_.grid().n_lat}, wants); });
    exchange_.connect(frame_.comm, std::move(wants), n_channel_ * static_cast<int64_t>(sizeof(T)));
}

template <class T>
void HarmonicUpsampling<T>::exchange(Field<T>& source) {
    const int64_t n_lat = in_.grid().n_lat, n_lon = in_.grid().n_lon;
    exchange_.begin<T>(frame_.comm, frame_.queue, n_channel_, [&](const Segment& s, T* to) {
        copy<T>(source.row(s.row), packed(to, n_channel_, s.count));
    });
    exchange_.finish<T>(
        frame_.comm, frame_.queue, n_channel_, [&](const Segment& s, const T* from, int) {
            for (int64_t c = 0; c < n_channel_; ++c) {
                std::copy_n(from + c * n_lon, n_lon, fields_.data() + (c * n_lat + s.row) * n_lon);
            }
        });
    const int64_t n_coefficient = in_.n_degree() * in_.n_degree();
    frame_.queue.parallel_for(n_channel_, [&](int64_t c, int) {
        std::complex<double>* coefficients = coefficients_.data() + c * n_coefficient;
        in_.forward(fields_.data() + c * n_lat * n_lon, coefficients);
        out_.inverse_rows(coefficients, out_rows_.begin, out_rows_.end,
                          synthesis_.data() + c * out_rows_.size() * out_.grid().n_lon);
    });
}

template <class T>
void HarmonicUpsampling<T>::row(int64_t row, Tile<T> y) {
    const int64_t n_lon = out_.grid().n_lon;
    for (int64_t c = 0; c < n_channel_; ++c) {
        const double* from =
            synthesis_.data() + (c * out_rows_.size() + row - out_rows_.begin) * n_lon;
        for (int64_t j = 0; j < n_lon; ++j) y(c, j) = static_cast<T>(from[j]);
    }
}

template <class T>
LayerCost HarmonicUpsampling<T>::cost(const std::string& name) const {
    LayerCost cost{.name = name};
    const auto n = [](int64_t i) { return static_cast<double>(i); };
    const double degrees = n(in_.n_degree());
    const double rows = n(in_.grid().n_lat + out_rows_.size());
    cost.flops = n(n_channel_) * rows * degrees * (2 * degrees + 4 * n(out_.grid().n_lon));
    cost.bytes_sent = exchange_.n_item_sent() * n_channel_ * static_cast<int64_t>(sizeof(T));
    cost.collectives = exchange_.collectives();
    cost.messages = exchange_.n_message();
    return cost;
}

template <class T>
int64_t HarmonicUpsampling<T>::bytes() const {
    return fields_.bytes() + coefficients_.bytes() + synthesis_.bytes() + exchange_.bytes();
}

template class HarmonicUpsampling<float>;
template class HarmonicUpsampling<double>;

}  // namespace surrogate::impl::sphere
