// SPDX-License-Identifier: Apache-2.0
// Wide layers of devices, compiled for the host, against the same layer in double.
#include "kernels/linear/linear_cuda.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <vector>

#include "kernels/device/fragments.hpp"
#include "kernels/device/operand_writer.hpp"
#include "tests/kernels/device/rounding.hpp"

namespace surrogate::tests {
namespace {

using kernels::DeviceActivation;
using kernels::DeviceChannels;
using kernels::fragment_index;
using kernels::NormKind;
using kernels::Operand;

constexpr int n_lane = 32;

/// Memory as a device's: 256-byte aligned.
template <class T>
class Aligned {
public:
    explicit Aligned(int64_t n) : n_(n) {
        const auto n_byte = (static_cast<size_t>(n) * sizeof(T) + 511) / 256 * 256;
        data_.reset(static_cast<T*>(std::aligned_alloc(256, n_byte)));
        std::memset(static_cast<void*>(data_.get()), 0, n_byte);
    }
    T* data() const { return data_.get(); }
    int64_t size() const { return n_; }

private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<T, Free> data_;
    int64_t n_;
};

/// The smaller of the two architectures, one multiprocessor.
kernels::DeviceProperties small_device() {
    kernels::DeviceProperties device;
    device.shared_bytes = 163 * 1024;
    device.n_multiprocessor = 1;
    return device;
}

void run(const kernels::LinearArgs& args,
         const kernels::DeviceProperties& device = small_device()) {
    kernels::cuda::load_linear(device, args.operand);
    kernels::cuda::linear(device, args, nullptr);
}

DeviceChannels plain(int64_t n) {
    const int64_t width = (n + 15) / 16 * 16;
    return {n, n, width, width};
}

struct LayerCase {
    int64_t n_in = 16, n_out = 16, n_row = 16;
    bool has_norm = false;
    NormKind kind = NormKind::layer;
    DeviceActivation activation = DeviceActivation::none;
    bool adds = false;

    /// Numbers of a row that come out.
    int64_t n_given() const { return activation == DeviceActivation::swiglu ? n_out / 2 : n_out; }
};

/// A layer with all that surrounds it, its numbers by a rule.
class Layer {
public:
    explicit Layer(const LayerCase& c)
        : c_(c),
          x(wave(c.n_row * c.n_in, 0.37)),
          weight(wave(c.n_out * c.n_in, 1.31)),
          bias(wave(c.n_out, 0.71)),
          scale(wave(c.n_in, 0.53)),
          shift(wave(c.n_in, 0.29)),
          before(wave(c.n_row * c.n_given(), 0.83)) {
        for (float& w : weight) w /= std::sqrt(static_cast<float>(c.n_in));
    }

    /// (n_row, n_given()) in double; operands of the product rounded to n_bit bits of fraction.
    std::vector<double> truth(int n_bit = 52) const {
        std::vector<double> y;
        for (int64_t row = 0; row < c_.n_row; ++row) {
            const std::vector<double> input = normed(row, n_bit);
            const auto sum_of = [&](int64_t o) {
                double sum = bias[at(o)];
                for (int64_t i = 0; i < c_.n_in; ++i)
                    sum += rounded(weight[at(o * c_.n_in + i)], n_bit) * input[at(i)];
                return sum;
            };
            for (int64_t o = 0; o < c_.n_given(); ++o) {
                double value;
                if (c_.activation == DeviceActivation::swiglu) {
                    const double a = sum_of(o / 8 * 16 + o % 8);
                    value = a / (1 + std::exp(-a)) * sum_of(o / 8 * 16 + 8 + o % 8);
                } else {
                    value = activated(sum_of(o));
                }
                y.push_back(c_.adds ? value + double{before[at(row * c_.n_given() + o)]} : value);
            }
        }
        return y;
    }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }
    static std::vector<float> wave(int64_t n, double step) {
        std::vector<float> values(at(n));
        for (int64_t i = 0; i < n; ++i)
            values[at(i)] = static_cast<float>(std::sin(step * static_cast<double>(i + 1) +
                                                        0.001 * static_cast<double>(i * i % 97)));
        return values;
    }
    static double rounded(double value, int n_bit) {
        return n_bit > 23 ? value : double{kernels::round_to(static_cast<float>(value), n_bit)};
    }
    std::vector<double> normed(int64_t row, int n_bit) const {
        std::vector<double> input(x.begin() + row * c_.n_in, x.begin() + (row + 1) * c_.n_in);
        if (c_.has_norm) {
            const double n = static_cast<double>(c_.n_in);
            const double mean = c_.kind == NormKind::layer
                                    ? std::accumulate(input.begin(), input.end(), 0.0) / n
                                    : 0;
            double square = 0;
            for (const double v : input) square += (v - mean) * (v - mean);
            const double share = 1 / std::sqrt(square / n + 1e-5);
            for (size_t i = 0; i < input.size(); ++i)
                input[i] = (input[i] - mean) * share * double{scale[i]} + double{shift[i]};
        }
        for (double& v : input) v = rounded(v, n_bit);
        return input;
    }
    double activated(double u) const {
        if (c_.activation == DeviceActivation::relu) return std::max(u, 0.0);
        if (c_.activation == DeviceActivation::gelu)
            return 0.5 * u * (1 + std::erf(u / std::sqrt(2.0)));
        return u;
    }

    LayerCase c_;

public:
    std::vector<float> x, weight, bias, scale, shift, before;
};

/// Returns the output of the pass, (n_row, n_given()). first_row: where the rows begin in their
/// tiles.
std::vector<float> run(const LayerCase& c, const Layer& layer, Operand operand,
                       int64_t first_row = 0,
                       const kernels::DeviceProperties& device = small_device()) {
    const DeviceChannels in = plain(c.n_in), out = plain(c.n_out);
    const int64_t n_tile = (first_row + c.n_row + 15) / 16;
    const int64_t y_width = c.activation == DeviceActivation::swiglu ? out.width / 2 : out.width;
    Aligned<float> x(n_tile * 16 * in.width), y(n_tile * 16 * y_width);
    Aligned<float> scale(in.width), shift(in.width);
    Aligned<char> packed(kernels::linear_bytes(operand, in.width, out.width));
    for (int64_t row = 0; row < c.n_row; ++row) {
        for (int64_t i = 0; i < c.n_in; ++i)
            x.data()[fragment_index(first_row + row, i, in.width)] =
                layer.x[static_cast<size_t>(row * c.n_in + i)];
        for (int64_t o = 0; o < c.n_given(); ++o)
            y.data()[fragment_index(first_row + row, o, y_width)] =
                layer.before[static_cast<size_t>(row * c.n_given() + o)];
    }
    kernels::pack_channels(in, layer.scale.data(), false, scale.data());
    kernels::pack_channels(in, layer.shift.data(), false, shift.data());
    kernels::pack_linear(operand, in, out,
                         {c.n_in, c.n_out, layer.weight.data(), layer.bias.data()}, packed.data());
    kernels::LinearArgs args;
    args.operand = operand;
    args.n_tile = n_tile;
    args.stream = x.data();
    if (c.has_norm) args.norm = {c.kind, 1e-5F, scale.data(), shift.data()};
    args.n_norm = static_cast<int32_t>(c.n_in);
    args.layer = {packed.data(), static_cast<int32_t>(in.width), static_cast<int32_t>(out.width)};
    args.activation = c.activation;
    args.to_stream = y.data();
    args.adds = c.adds;
    run(args, device);
    std::vector<float> found;
    for (int64_t row = 0; row < c.n_row; ++row)
        for (int64_t o = 0; o < c.n_given(); ++o)
            found.push_back(y.data()[fragment_index(first_row + row, o, y_width)]);
    return found;
}

class WideLayer : public testing::TestWithParam<std::tuple<LayerCase, Operand>> {};

void PrintTo(const LayerCase& c, std::ostream* out) {
    *out << c.n_in << " to " << c.n_out << ", " << c.n_row << " rows";
}

/// As FLARE's passes: twice what a plain version with operands so rounded errs by, and float's
/// share.
TEST_P(WideLayer, EqualsDoubleAsFarAsOperandsAllow) {
    const auto& [c, operand] = GetParam();
    const Layer layer(c);
    const std::vector<double> truth = layer.truth();
    const double plain_error = relative_l2(layer.truth(fraction_bits(operand)), truth);
    EXPECT_LE(relative_l2(run(c, layer, operand), truth), 2 * plain_error + 1e-6)
        << "a plain version errs by " << plain_error;
}

const LayerCase cases[] = {
    {},
    {.n_in = 48, .n_out = 80, .n_row = 5, .has_norm = true},
    {.n_in = 40, .n_out = 3, .n_row = 33, .activation = DeviceActivation::relu},
    {.n_in = 128,
     .n_out = 128,
     .n_row = 150,
     .has_norm = true,
     .kind = NormKind::rms,
     .activation = DeviceActivation::gelu},
    {.n_in = 528, .n_out = 200, .n_row = 20, .adds = true},
    {.n_in = 32, .n_out = 32, .n_row = 16, .activation = DeviceActivation::swiglu},
    {.n_in = 64,
     .n_out = 208,
     .n_row = 70,
     .has_norm = true,
     .kind = NormKind::rms,
     .activation = DeviceActivation::swiglu,
     .adds = true},
};

INSTANTIATE_TEST_SUITE_P(Layers, WideLayer,
                         testing::Combine(testing::ValuesIn(cases),
                                          testing::Values(Operand::fp32, Operand::tf32,
                                                          Operand::fp16, Operand::bf16)),
                         [](const auto& tested) {
                             const LayerCase& c = std::get<0>(tested.param);
                             const bool is_paired = c.activation == DeviceActivation::swiglu;
                             return std::to_string(c.n_in) + "_" + std::to_string(c.n_out) + "_" +
                                    (is_paired ? "swiglu_" : "") +
                                    kernels::name(std::get<1>(tested.param));
                         });

TEST(WideLayer, BitsOfARowDoNotDependOnItsPlace) {
    const LayerCase c{.n_in = 48, .n_out = 80, .n_row = 40, .has_norm = true};
    const Layer layer(c);
    for (const Operand operand : {Operand::fp32, Operand::fp16})
        EXPECT_EQ(run(c, layer, operand, 7), run(c, layer, operand)) << kernels::name(operand);
}

// Inputs in parts that fit shared memory, outputs shared among blocks of threads: a device decides.
TEST(WideLayer, BitsDoNotDependOnTheDevice) {
    const LayerCase c{.n_in = 250, .n_out = 300, .n_row = 150, .has_norm = true};
    const Layer layer(c);
    kernels::DeviceProperties tight = small_device(), many = small_device();
    tight.shared_bytes = 99 * 1024;  // one chunk of inputs beside the weights
    many.n_multiprocessor = 108;     // a block for each 128 outputs
    many.shared_bytes = 227 * 1024;  // all inputs at once, of 16 bits
    for (const Operand operand : {Operand::fp32, Operand::tf32, Operand::fp16}) {
        const std::vector<float> found = run(c, layer, operand);
        EXPECT_EQ(run(c, layer, operand, 0, tight), found) << kernels::name(operand);
        EXPECT_EQ(run(c, layer, operand, 0, many), found) << kernels::name(operand);
    }
}

// A layer that gives operands, and one that takes some of them: as if the stream had been rounded.
TEST(WideLayer, OperandsGoFromOneLayerToTheNext) {
    constexpr int64_t n_row = 40, width = 32, n_tile = 3, n_group = 8, first_group = 2;
    const DeviceChannels channels = plain(width);
    const Layer layer({.n_in = width, .n_out = width, .n_row = n_row});
    const kernels::Linear<float> linear{width, width, layer.weight.data(), layer.bias.data()};
    for (const Operand operand : {Operand::fp32, Operand::tf32, Operand::fp16, Operand::bf16}) {
        Aligned<char> packed(kernels::linear_bytes(operand, width, width));
        kernels::pack_linear(operand, channels, channels, linear, packed.data());
        Aligned<float> x(n_tile * 16 * width), between(x.size()), by_stream(x.size()),
            found(x.size());
        for (int64_t i = 0; i < x.size(); ++i) x.data()[i] = std::sin(0.3F * static_cast<float>(i));
        const int64_t piece_bytes = 4 * kernels::operand_bytes(operand);
        Aligned<char> pieces(n_tile * n_group * n_lane * piece_bytes);
        char* const first = pieces.data() + first_group * n_lane * piece_bytes;

        kernels::LinearArgs args;
        args.operand = operand;
        args.n_tile = n_tile;
        args.stream = x.data();
        args.layer = {packed.data(), width, width};
        args.to_stream = between.data();
        run(args);
        args.stream = between.data();
        args.to_stream = by_stream.data();
        run(args);

        args.stream = x.data();
        args.to_stream = nullptr;
        args.to_pieces = first;
        args.out_groups = n_group;
        run(args);
        args.stream = nullptr;
        args.pieces = first;
        args.in_groups = n_group;
        args.to_pieces = nullptr;
        args.to_stream = found.data();
        run(args);
        EXPECT_TRUE(std::equal(found.data(), found.data() + found.size(), by_stream.data()))
            << kernels::name(operand);
    }
}

TEST(WideLayer, NoRowsAreNoWork) {
    run(kernels::LinearArgs{});
}

}  // namespace
}  // namespace surrogate::tests
