// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/kernels/swiglu_case.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace surrogate::bench {

using namespace kernels;

namespace {

/// Returns the three layers, contiguous in memory.
template <class T>
SwiGlu<T> layers(const T* parameters, int64_t width, int64_t n_hidden) {
    const int64_t n_weight = width * n_hidden;
    const auto layer = [&](int64_t at, int64_t n_in, int64_t n_out) -> Linear<T> {
        return {n_in, n_out, parameters + at, parameters + at + n_weight};
    };
    const int64_t second = n_weight + n_hidden;
    return {layer(0, width, n_hidden), layer(second, width, n_hidden),
            layer(2 * second, n_hidden, width)};
}

}  // namespace

SwiGluCase::SwiGluCase(int64_t width, int64_t ratio, int64_t n_point)
    : width_(width),
      n_hidden_(ratio * width),
      n_point_(n_point),
      parameters_(3 * width_ * n_hidden_ + 2 * n_hidden_ + width_),
      x_(n_point * width),
      y_(x_.size()),
      dy_(x_.size()),
      dx_(x_.size()),
      saved_(2 * n_point * n_hidden_),
      scratch_(3 * n_hidden_ * tile_points),
      sums_(parameters_.size()),
      mlp_(layers<float>(parameters_.data(), width_, n_hidden_)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const float scale = 1 / std::sqrt(static_cast<float>(width));
    for (float& p : parameters_) p = scale * normal(random);
    for (Buffer<float>* x : {&x_, &dy_})
        for (float& value : *x) value = normal(random);
    const Linear<float>* all[] = {&mlp_.w1, &mlp_.w2, &mlp_.w3};
    for (size_t j = 0; j < 3; ++j)
        gradients_[j] = {sums_.data() + (all[j]->weight - parameters_.data()),
                         sums_.data() + (all[j]->bias - parameters_.data())};
}

Tile<float> SwiGluCase::tile(Buffer<float>& data, int64_t t, int64_t n_channel) const {
    return {data.data() + t * n_channel * tile_points, {n_channel, tile_points}, {tile_points, 1}};
}

Tile<float> SwiGluCase::scratch(int64_t n_channel) {
    return tile(scratch_, 0, n_channel);
}

void SwiGluCase::run(const Queue& queue) {
    for (int64_t t = 0; t < n_tile(); ++t)
        swiglu<float>(queue, mlp_, tile(x_, t, width_), scratch(2 * n_hidden_), false,
                      tile(y_, t, width_));
}

void SwiGluCase::forward(const Queue& queue) {
    for (int64_t t = 0; t < n_tile(); ++t)
        swiglu_forward<float>(queue, mlp_, tile(x_, t, width_), tile(saved_, t, mlp_.n_saved()),
                              scratch(n_hidden_), false, tile(y_, t, width_));
}

void SwiGluCase::backward(const Queue& queue) {
    for (int64_t t = 0; t < n_tile(); ++t)
        swiglu_backward<float>(queue, mlp_, tile(x_, t, width_), tile(saved_, t, mlp_.n_saved()),
                               tile(dy_, t, width_), gradients_, scratch(3 * n_hidden_), false,
                               tile(dx_, t, width_));
}

double SwiGluCase::error(const Queue& queue) {
    run(queue);
    Buffer<double> parameters(parameters_.size()), x(width_ * tile_points), y(x.size());
    Buffer<double> memory(2 * n_hidden_ * tile_points);
    std::copy(parameters_.begin(), parameters_.end(), parameters.begin());
    std::copy_n(x_.begin(), x.size(), x.begin());
    const auto view = [](Buffer<double>& data) {
        return make_view(data.data(), data.size() / tile_points, tile_points);
    };
    kernels::ref::swiglu<double>(layers<double>(parameters.data(), width_, n_hidden_), view(x),
                                 view(memory), false, view(y));
    double difference = 0, size = 0;
    for (int64_t i = 0; i < y.size(); ++i) {
        difference = std::max(difference, std::abs(y_[i] - y[i]));
        size = std::max(size, std::abs(y[i]));
    }
    return difference / size;
}

}  // namespace surrogate::bench
