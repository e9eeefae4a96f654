// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "kernels/sphere/attention_backward.hpp"
#include "tests/kernels/base/tile_box.hpp"
#include "tests/support/golden_file.hpp"

/// Stored layers of attention on the sphere and what surrounds their kernels: projections as plain
/// loops in double, norms of heads.
namespace surrogate::kernels::sphere::test {

using namespace surrogate::kernels::test;
using surrogate::test::GoldenFile;

/// A field (channel, row, column) in double.
struct Field {
    int64_t n_channel = 0, n_lat = 0, n_lon = 0;
    std::vector<double> data;

    Field() = default;
    Field(int64_t c, const Grid& grid)
        : n_channel(c),
          n_lat(grid.n_lat),
          n_lon(grid.n_lon),
          data(static_cast<size_t>(c * grid.n_lat * grid.n_lon)) {}
    int64_t n_point() const { return n_lat * n_lon; }
    double& operator()(int64_t c, int64_t row, int64_t j) {
        return data[static_cast<size_t>((c * n_lat + row) * n_lon + j)];
    }
    double& at(int64_t c, int64_t point) {
        return data[static_cast<size_t>(c * n_point() + point)];
    }
};

/// One row of a field as a tile, and back.
template <class T>
TileBox<T> row_of(Field& field, int64_t row) {
    TileBox<T> box(TileBox<T>::input, field.n_channel, field.n_lon);
    box.fill([&](int64_t c, int64_t j) { return field(c, row, j); });
    return box;
}
template <class T>
void set_row(Field& field, int64_t row, Tile<const T> x, int64_t phase = 0, int64_t n_phase = 1) {
    for (int64_t c = 0; c < x.shape[0]; ++c)
        for (int64_t j = 0; j < x.shape[1]; ++j) field(c, row, j * n_phase + phase) = x(c, j);
}

template <class T>
struct FieldRings {
    FieldRings(Field& field, int64_t n_phase, std::span<const Strip> strips)
        : layout(0, field.n_lat, n_phase, field.n_lon / n_phase, field.n_channel, strips),
          data(layout.size()) {
        for (int64_t row = 0; row < field.n_lat; ++row)
            store_row<T>(row_of<T>(field, row).input_view(), row, rings());
    }
    Rings<T> rings() { return {&layout, data.data()}; }
    /// A phase row as a tile of one call.
    Tile<T> tile(int64_t row, int64_t phase) { return rings().row(row * layout.n_phase() + phase); }
    RingLayout layout;
    Buffer<T> data;
};

class Layer {
public:
    explicit Layer(const std::string& name)
        : file_(SURROGATE_TEST_DATA "/sphere/operators/" + name + ".safetensors") {
        const auto network = file_.card().at("network");
        const auto grid = [&](const char* which) {
            const auto shape =
                network.at(std::string(which) + "_shape").get<std::vector<int64_t>>();
            const std::string kind = network.at(std::string("grid_") + which);
            return Grid{parse_grid_kind(kind), shape[0], shape[1]};
        };
        in = grid("in");
        out = grid("out");
        is_global = network.at("layer") == "AttentionS2";
        const int64_t n_head = network.at("num_heads"), n_in = network.at("in_channels");
        heads = {n_head, network.value("k_channels", n_in) / n_head,
                 network.value("out_channels", n_in) / n_head};
        const Grid& coarse = out.n_lon > in.n_lon ? in : out;
        cutoff = network.value("theta_cutoff", largest_gap(latitudes(coarse.kind, coarse.n_lat)));
        scale = std::numbers::log2e / std::sqrt(static_cast<double>(heads.n_key_dim));
        for (double w : latitudes(in.kind, in.n_lat).weight)
            row_weight.push_back(2 * std::numbers::pi * w / static_cast<double>(in.n_lon));
    }
    bool has(const std::string& name) const { return file_.has(name); }
    std::vector<double> numbers(const std::string& name) const { return file_.tensor(name).values; }
    bool is_self() const { return has("check/input/x"); }
    Field input(const std::string& name, const Grid& grid) const {
        Field field(1, grid);
        field.data = numbers("check/input/" + (is_self() ? "x" : name));
        field.n_channel = static_cast<int64_t>(field.data.size()) / field.n_point();
        return field;
    }

    Grid in, out;
    bool is_global = false;
    Heads heads;
    double cutoff = 0, scale = 0;
    std::vector<double> row_weight;

private:
    GoldenFile file_;
};

/// A 1x1 convolution with the layer's weights and biases, and its gradients.
class Projection {
public:
    Projection(const Layer& layer, const std::string& name, int64_t n_out)
        : name_(name), n_out_(n_out), weight_(layer.numbers(name + "_weights")), bias_(n_out) {
        if (layer.has(name + "_bias")) bias_ = layer.numbers(name + "_bias");
    }
    Field apply(Field& x) const {
        Field y(n_out_, {GridKind::equiangular, x.n_lat, x.n_lon});
        for (int64_t o = 0; o < n_out_; ++o)
            for (int64_t i = 0; i < x.n_point(); ++i) {
                y.at(o, i) = bias_[static_cast<size_t>(o)];
                for (int64_t c = 0; c < x.n_channel; ++c) y.at(o, i) += w(o, c, x) * x.at(c, i);
            }
        return y;
    }
    /// dx; gradients of weights and biases go to `to`.
    Field backward(Field& x, Field& dy, std::map<std::string, std::vector<double>>& to) const {
        Field dx(x.n_channel, {GridKind::equiangular, x.n_lat, x.n_lon});
        std::vector<double>&dw = to[name_ + "_weights"], &db = to[name_ + "_bias"];
        dw.assign(weight_.size(), 0);
        db.assign(static_cast<size_t>(n_out_), 0);
        for (int64_t o = 0; o < n_out_; ++o)
            for (int64_t i = 0; i < x.n_point(); ++i) {
                db[static_cast<size_t>(o)] += dy.at(o, i);
                for (int64_t c = 0; c < x.n_channel; ++c) {
                    dx.at(c, i) += w(o, c, x) * dy.at(o, i);
                    dw[static_cast<size_t>(o * x.n_channel + c)] += dy.at(o, i) * x.at(c, i);
                }
            }
        return dx;
    }

private:
    double w(int64_t o, int64_t c, const Field& x) const {
        return weight_[static_cast<size_t>(o * x.n_channel + c)];
    }
    std::string name_;
    int64_t n_out_;
    std::vector<double> weight_, bias_;
};

/// q/k norm, if the layer has one.
template <class T>
class HeadNorm {
public:
    HeadNorm(const Queue& queue, const Layer& layer, const std::string& name)
        : queue_(queue), n_head_(layer.heads.n_head), name_(name + "_norm_weights") {
        if (layer.has(name_)) {
            const auto numbers = layer.numbers(name_);
            g_.assign(numbers.begin(), numbers.end());
        }
    }
    Field apply(Field x) const {
        for (int64_t row = 0; row < x.n_lat && !g_.empty(); ++row) {
            TileBox<T> box = row_of<T>(x, row);
            normalise_heads<T>(queue_, n_head_, g_.data(), box.input_view(), box.view());
            set_row<T>(x, row, box.view());
        }
        return x;
    }
    Field backward(Field x, Field dy, std::map<std::string, std::vector<double>>& to) const {
        if (g_.empty()) return dy;
        std::vector<double>& dg = to[name_];
        dg.assign(g_.size(), 0);
        std::vector<T> scratch(g_.size());
        for (int64_t row = 0; row < x.n_lat; ++row) {
            TileBox<T> box = row_of<T>(x, row), gradient = row_of<T>(dy, row);
            normalise_heads_backward<T>(queue_, n_head_, g_.data(), box.input_view(),
                                        gradient.input_view(), gradient.view(), dg.data(),
                                        scratch.data());
            set_row<T>(dy, row, gradient.view());
        }
        return dy;
    }

private:
    Queue queue_;
    int64_t n_head_;
    std::string name_;
    std::vector<T> g_;
};

}  // namespace surrogate::kernels::sphere::test
