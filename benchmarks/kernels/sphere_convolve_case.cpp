// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/sphere_convolve_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace surrogate::bench {

using namespace kernels;
using namespace kernels::sphere;

namespace {

constexpr int max_threads = 256;

void fill_normal(Buffer<float>& x) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(random);
}

Stencil filter(const Grid& out, const Grid& in, double theta_cutoff) {
    Filter filter;
    filter.shape = {5, 4};
    filter.theta_cutoff = theta_cutoff;
    return convolution(out, in, filter, 0, out.n_lat);
}

/// Largest difference divided by the largest value.
class Difference {
public:
    void add(double got, double want) {
        difference_ = std::max(difference_, std::abs(got - want));
        size_ = std::max(size_, std::abs(want));
    }
    double relative() const { return difference_ / size_; }

private:
    double difference_ = 0, size_ = 0;
};

}  // namespace

ConvolveCase::ConvolveCase(Ordering order, Grid out, Grid in, double theta_cutoff,
                           int64_t n_channel)
    : order_(order),
      out_(out),
      in_(in),
      n_channel_(n_channel),
      stencil_(filter(out, in, theta_cutoff)),
      layout_(0, in.n_lat, stencil_.n_phase_in, stencil_.n_column,
              order == geometry_first ? n_channel : n_channel * stencil_.n_basis, stencil_.strips),
      values_(stencil_.values.begin(), stencil_.values.end()),
      x_(layout_.size()),
      y_(out.n_lat * n_result() * round_up(out.n_lon, lane_count)) {
    fill_normal(x_);
    for (int64_t row = 0; row < in.n_lat * stencil_.n_phase_in; ++row)
        close_ring<float>(row, {&layout_, x_.data()});
}

int64_t ConvolveCase::n_result() const {
    return order_ == geometry_first ? n_channel_ * stencil_.n_basis : n_channel_;
}

Tile<float> ConvolveCase::tile(int64_t row) const {
    const int64_t step = round_up(out_.n_lon, lane_count);
    return {y_.data() + row * n_result() * step, {n_result(), out_.n_lon}, {step, 1}};
}

void ConvolveCase::run(const Queue& queue) {
    const Queue one(queue.backend(), queue.level(), 1);
    const ConvolutionTable<float> table{&stencil_, values_.data()};
    const Rings<const float> x{&layout_, x_.data()};
    queue.parallel_for(out_.n_lat, [&](int64_t row, int) {
        if (order_ == geometry_first) {
            apply_basis<float>(one, table, row, 0, 0, x, tile(row));
        } else {
            sum_basis<float>(one, table, row, 0, 0, x, false, tile(row));
        }
    });
}

double ConvolveCase::error(const Queue& queue) {
    run(queue);
    Buffer<double> x(x_.size()), y(n_result() * round_up(out_.n_lon, lane_count));
    std::copy(x_.begin(), x_.end(), x.begin());
    const std::vector<double> values(values_.begin(), values_.end());
    const ConvolutionTable<double> table{&stencil_, values.data()};
    Difference difference;
    for (int64_t row : {int64_t{0}, int64_t{1}, out_.n_lat / 2}) {
        const Tile<float> got = tile(row);
        const Tile<double> want{y.data(), got.shape, got.stride};
        if (order_ == geometry_first) {
            ref::apply_basis<double>(table, row, 0, 0, {&layout_, x.data()}, want);
        } else {
            ref::sum_basis<double>(table, row, 0, 0, {&layout_, x.data()}, false, want);
        }
        for (int64_t c = 0; c < got.shape[0]; ++c)
            for (int64_t i = 0; i < got.shape[1]; ++i) difference.add(got(c, i), want(c, i));
    }
    return difference.relative();
}

double ConvolveCase::flops() const {
    int64_t pairs = 0;
    for (int64_t row = 0; row < out_.n_lat; ++row) pairs += stencil_.pairs(row);
    return 2.0 * static_cast<double>(pairs * stencil_.n_column * n_channel_);
}

ResampleCase::ResampleCase(Grid out, Grid in, int64_t n_channel)
    : table_(resampling(out, in, Interpolation::bilinear)),
      n_channel_(n_channel),
      step_in_(round_up(in.n_lon, lane_count)),
      step_out_(round_up(out.n_lon, lane_count)),
      x_((in.n_lat + 2) * n_channel * step_in_),
      y_(out.n_lat * n_channel * step_out_),
      scratch_(max_threads * n_channel * step_in_) {
    fill_normal(x_);
}

void ResampleCase::run(const Queue& queue) {
    const Queue one(queue.backend(), queue.level(), 1);
    const int64_t n_in = n_channel_ * step_in_;
    const auto tile = [&](float* data) {
        return Tile<float>{data, {n_channel_, table_.in.n_lon}, {step_in_, 1}};
    };
    queue.parallel_for(table_.out.n_lat, [&](int64_t row, int thread) {
        float* above = x_.data() + table_.above[static_cast<size_t>(row)] * n_in;
        resample_row<float>(one, table_, row, tile(above), tile(above + n_in),
                            tile(scratch_.data() + thread * n_in), false,
                            {y_.data() + row * n_channel_ * step_out_,
                             {n_channel_, table_.out.n_lon},
                             {step_out_, 1}});
    });
}

double ResampleCase::error(const Queue& queue) {
    run(queue);
    Buffer<double> x(x_.size()), scratch(n_channel_ * step_in_), y(n_channel_ * step_out_);
    std::copy(x_.begin(), x_.end(), x.begin());
    const auto tile = [&](double* data) {
        return Tile<double>{data, {n_channel_, table_.in.n_lon}, {step_in_, 1}};
    };
    const Tile<double> want{y.data(), {n_channel_, table_.out.n_lon}, {step_out_, 1}};
    Difference difference;
    for (int64_t row = 0; row < table_.out.n_lat; ++row) {
        double* above = x.data() + table_.above[static_cast<size_t>(row)] * n_channel_ * step_in_;
        ref::resample_row<double>(table_, row, tile(above), tile(above + n_channel_ * step_in_),
                                  tile(scratch.data()), false, want);
        for (int64_t c = 0; c < n_channel_; ++c)
            for (int64_t j = 0; j < table_.out.n_lon; ++j)
                difference.add(y_[(row * n_channel_ + c) * step_out_ + j], want(c, j));
    }
    return difference.relative();
}

double ResampleCase::n_result() const {
    return static_cast<double>(n_channel_ * table_.out.n_lat * table_.out.n_lon);
}

}  // namespace surrogate::bench
