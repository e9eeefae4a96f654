// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "kernels/mlp/mlp.hpp"
#include "kernels/norm/norm.hpp"
#include "tests/kernels/base/tile_box.hpp"
#include "tests/support/golden_file.hpp"

/// Layers of FLARE with weights, inputs and gradients of the published implementation, and the law
/// of gradients: what tests share that go backwards through its files.
namespace surrogate::kernels::test {

using surrogate::test::GoldenFile;

/// Memory of tiles and parameters in one precision, for the length of a test.
template <class T>
class Model {
public:
    explicit Model(const std::string& name)
        : file_(std::string(SURROGATE_TEST_DATA) + "/flare/" + name + ".safetensors"),
          network_(file_.card().at("network")) {}

    const GoldenFile& file() const { return file_; }
    std::string last_block() const {
        return "blocks." + std::to_string(network_.at("num_blocks").get<int>() - 1);
    }
    bool has(const std::string& name) const { return file_.has(name); }

    Tile<T> tile(int64_t n_channel, int64_t n_point) {
        const int64_t row = round_up(n_point, lane_count);
        memory_.emplace_back(n_channel * row);
        return {memory_.back().data(), {n_channel, n_point}, {row, 1}};
    }
    /// A tensor (1, n_point, n_channel) of the file.
    Tile<T> points(const std::string& name) {
        const auto golden = file_.tensor("check/" + name);
        const Tile<T> tile = this->tile(golden.shape.at(2), golden.shape.at(1));
        for (int64_t i = 0; i < tile.shape[1]; ++i)
            for (int64_t c = 0; c < tile.shape[0]; ++c)
                tile(c, i) =
                    static_cast<T>(golden.values.at(static_cast<size_t>(i * tile.shape[0] + c)));
        return tile;
    }
    const T* parameter(const std::string& name) {
        if (!file_.has(name)) return nullptr;
        const auto golden = file_.tensor(name);
        memory_.emplace_back(static_cast<int64_t>(golden.values.size()));
        std::copy(golden.values.begin(), golden.values.end(), memory_.back().begin());
        return memory_.back().data();
    }
    /// Memory for the gradient of a parameter, compared at the end; null if there is none.
    double* gradient(const std::string& name) {
        if (!file_.has(name)) return nullptr;
        sums_.emplace_back(static_cast<int64_t>(file_.tensor(name).values.size()));
        names_.push_back(name);
        return sums_.back().data();
    }

    Linear<T> linear(const std::string& name) {
        const auto shape = file_.tensor(name + ".weight").shape;
        return {shape.at(1), shape.at(0), parameter(name + ".weight"), parameter(name + ".bias")};
    }
    LinearGradient linear_gradient_of(const std::string& name) {
        return {gradient(name + ".weight"), gradient(name + ".bias")};
    }
    Norm<T> norm(const std::string& name) {
        const bool is_rms = network_.value("rmsnorm", false);
        // Machine epsilon of the precision, in PyTorch's RMSNorm.
        const T rms_eps = std::is_same_v<T, float> ? T(0x1p-23) : T(0x1p-52);
        return {is_rms ? NormKind::rms : NormKind::layer, is_rms ? rms_eps : T(1e-5),
                parameter(name + ".weight"), parameter(name + ".bias")};
    }
    Activation activation() const {
        return network_.value("act", "gelu") == "silu" ? Activation::silu : Activation::gelu_tanh;
    }

    /// The metric of the data: |difference| / (largest of the tensor + 1e-3 largest of all
    /// tensors).
    void expect_gradients(double bound) const {
        double largest_of_all = 0;
        for (const std::string& name : file_.names()) {
            if (name.rfind("check/grad64/", 0) != 0) continue;
            for (double value : file_.tensor(name).values)
                largest_of_all = std::max(largest_of_all, std::abs(value));
        }
        for (size_t j = 0; j < names_.size(); ++j) {
            const std::vector<double> want = file_.tensor("check/grad64/" + names_[j]).values;
            double largest = 0, difference = 0;
            for (size_t k = 0; k < want.size(); ++k) {
                largest = std::max(largest, std::abs(want[k]));
                const double error = std::abs(sums_[j][static_cast<int64_t>(k)] - want[k]);
                difference = error <= difference ? difference : error;  // a NaN stays
            }
            const double error = difference / (largest + 1e-3 * largest_of_all);
            EXPECT_TRUE(error <= bound) << names_[j] << ": " << error / bound << " times the bound";
        }
    }
    size_t n_compared() const { return names_.size(); }

private:
    GoldenFile file_;
    nlohmann::json network_;
    std::vector<Buffer<T>> memory_;
    std::vector<Buffer<double>> sums_;
    std::vector<std::string> names_;
};

/// dx of a residual MLP of the file, whose gradients of parameters are kept by the model.
template <class T>
Tile<T> mlp_backward(const Queue& queue, Model<T>& model, const std::string& name, Tile<const T> x,
                     Tile<const T> dy, bool residual_in, bool residual_out) {
    std::vector<std::string> names;
    if (model.has(name + ".fc.weight")) {
        names = {name + ".fc"};
    } else {
        names = {name + ".fc1"};
        for (int j = 0; model.has(name + ".fcs." + std::to_string(j) + ".weight"); ++j)
            names.push_back(name + ".fcs." + std::to_string(j));
        names.push_back(name + ".fc2");
    }
    std::vector<Linear<T>> layers;
    std::vector<LinearGradient> gradients;
    for (const std::string& layer : names) {
        layers.push_back(model.linear(layer));
        gradients.push_back(model.linear_gradient_of(layer));
    }
    const ResidualMlp<T> mlp{layers, model.activation(), residual_in, residual_out};
    const int64_t n_point = x.shape[1];
    const Tile<T> saved = model.tile(mlp.n_saved(), n_point), y = model.tile(mlp.n_out(), n_point);
    const Tile<T> dx = model.tile(mlp.n_in(), n_point);
    residual_mlp_forward<T>(queue, mlp, x, saved, false, y);
    residual_mlp_backward<T>(queue, mlp, x, saved, dy, gradients,
                             model.tile(2 * mlp.n_hidden(), n_point), false, dx);
    return dx;
}

/// dx of a norm, plus `residual`.
template <class T>
Tile<T> norm_backward(const Queue& queue, Model<T>& model, const std::string& name, Tile<const T> x,
                      Tile<const T> dy, Tile<const T> residual) {
    const Tile<T> dx = model.tile(x.shape[0], x.shape[1]);
    normalise_backward<T>(queue, model.norm(name), x, dy, residual, dx,
                          {model.gradient(name + ".weight"), model.gradient(name + ".bias")});
    return dx;
}

/// Gradient of |y - target| / |target| with respect to y, one sample.
template <class T>
Tile<T> loss_backward(Model<T>& model) {
    const Tile<T> y = model.points("output64/y"), target = model.points("input/target");
    double difference = 0, size = 0;
    for (int64_t c = 0; c < y.shape[0]; ++c)
        for (int64_t i = 0; i < y.shape[1]; ++i) {
            difference += std::pow(static_cast<double>(y(c, i)) - target(c, i), 2);
            size += std::pow(static_cast<double>(target(c, i)), 2);
        }
    for (int64_t c = 0; c < y.shape[0]; ++c)
        for (int64_t i = 0; i < y.shape[1]; ++i)
            y(c, i) = static_cast<T>((static_cast<double>(y(c, i)) - target(c, i)) /
                                     std::sqrt(difference * size));
    return y;
}

/// x + y, point by point.
template <class T>
Tile<T> sum_of(Tile<T> x, Tile<const T> y) {
    for (int64_t c = 0; c < x.shape[0]; ++c)
        for (int64_t i = 0; i < x.shape[1]; ++i) x(c, i) += y(c, i);
    return x;
}

/// Gradient with respect to what the last block's attention adds to the stream, from the loss
/// backwards; gradients of the parameters on the way are kept by the model.
template <class T>
Tile<T> attention_output_gradient(const Queue& queue, Model<T>& model) {
    const std::string block = model.last_block(), layers = "layers64/";
    const Tile<T> stream = model.points(layers + block);
    const bool has_norm = model.has("out_proj.0.weight");
    const Tile<T> normed = has_norm ? model.points(layers + "out_proj.0") : stream;
    Tile<T> d =
        mlp_backward<T>(queue, model, "out_proj.1", normed, loss_backward(model), true, false);
    if (has_norm) d = norm_backward<T>(queue, model, "out_proj.0", stream, d, {});
    const Tile<T> d_normed = mlp_backward<T>(
        queue, model, block + ".mlp", model.points(layers + block + ".norm2"), d, true, true);
    // The stream between attention and MLP: what left the block before, and this block's attention.
    const std::string before =
        block == "blocks.0" ? "in_proj" : "blocks." + std::to_string(block.back() - '1');
    const Tile<T> middle =
        sum_of<T>(model.points(layers + before), model.points(layers + block + ".att"));
    return norm_backward<T>(queue, model, block + ".norm2", middle, d_normed, d);
}

/// A file, and what is known of its gradients.
struct GoldenGradients {
    const char* name;
    size_t n_tensor;           ///< compared, so that none is left out silently
    double error_of_official;  ///< in float
};

/// Expects that `backward` finds the gradients of each file. It is called with a queue, the name of
/// a file and the error that is allowed, and returns the number of tensors compared.
template <class T, class Backward>
void expect_golden(const Queue& queue, std::span<const GoldenGradients> files,
                   const Backward& backward) {
    for (const GoldenGradients& golden : files) {
        SCOPED_TRACE(golden.name);
        const double bound =
            std::is_same_v<T, double> ? 1e-10 : std::max(1e-4, 5 * golden.error_of_official);
        EXPECT_EQ(backward(queue, golden.name, bound), golden.n_tensor);
    }
}

}  // namespace surrogate::kernels::test
