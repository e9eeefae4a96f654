// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/flare/device_block.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numbers>

namespace surrogate::tests {

using namespace kernels;
using flare::DeviceShape;

namespace {

/// Numbers without a pattern that a product could hide: sines of a running count.
class Formula {
public:
    float next(double scale) { return static_cast<float>(scale * std::sin(1.7 * ++count_ + 0.3)); }
    std::vector<float> vector(int64_t n, double scale, double shift = 0) {
        std::vector<float> values(static_cast<size_t>(n));
        for (float& v : values) v = static_cast<float>(shift) + next(scale);
        return values;
    }

private:
    double count_ = 0;
};

std::vector<BlockWeights::Layer> chain(Formula& formula, int64_t n_in, int64_t n_hidden,
                                       int64_t n_out, int n_inner) {
    std::vector<BlockWeights::Layer> layers;
    const auto add = [&](int64_t in, int64_t out) {
        layers.push_back({in, out,
                          formula.vector(in * out, 1.2 / std::sqrt(static_cast<double>(in))),
                          formula.vector(out, 0.1)});
    };
    if (n_inner < 0) {
        add(n_in, n_out);
        return layers;
    }
    add(n_in, n_hidden);
    for (int i = 0; i < n_inner; ++i) add(n_hidden, n_hidden);
    add(n_hidden, n_out);
    return layers;
}

struct Residuals {
    bool in, out;
};

/// By the contract of mlp.hpp, apart from pack_chain(): the reference checks it.
uint32_t residual_mask(const std::vector<BlockWeights::Layer>& layers, Residuals r) {
    const int n = static_cast<int>(layers.size());
    const auto widths_agree = [&](int l) {
        return layers[static_cast<size_t>(l)].n_in == layers[static_cast<size_t>(l)].n_out;
    };
    if (n == 1) return r.in && r.out && widths_agree(0) ? 1U : 0U;
    uint32_t mask = 0;
    for (int l = 0; l < n; ++l) {
        const bool wanted = l == 0 ? r.in : l + 1 == n ? r.out : true;
        if (wanted && widths_agree(l)) mask |= 1U << l;
    }
    return mask;
}

constexpr Residuals both{true, true}, only_in{true, false}, only_out{false, true},
    neither{false, false};

}  // namespace

BlockWeights::BlockWeights(const BlockCase& c) {
    Formula f;
    const int64_t n = c.n_channel(), hidden = c.n_hidden ? c.n_hidden : n;
    in_proj = chain(f, c.in_dim, n, n, 0);
    k_proj = chain(f, n, hidden, n, c.n_inner_kv);
    v_proj = chain(f, n, hidden, n, c.n_inner_kv);
    att_out = chain(f, n, n, n, -1);
    ffn = chain(f, n, hidden, n, c.n_inner_ffn);
    out_proj = chain(f, n, n, c.out_dim, 0);
    norm1_weight = f.vector(n, 0.1, 1);
    norm1_bias = f.vector(n, 0.1);
    norm2_weight = f.vector(n, 0.1, 1);
    norm2_bias = f.vector(n, 0.1);
    k_norm_weight = f.vector(c.n_dim, 0.1, 1);
    k_norm_bias = f.vector(c.n_dim, 0.1);
    queries = f.vector(c.n_head * c.n_latent * c.n_dim,
                       c.query_scale * std::numbers::log2e / std::sqrt(double(c.n_dim)));
}

std::vector<Linear<float>> linears(const std::vector<BlockWeights::Layer>& layers) {
    std::vector<Linear<float>> list;
    for (const auto& layer : layers)
        list.push_back({layer.n_in, layer.n_out, layer.weight.data(), layer.bias.data()});
    return list;
}

std::vector<float> block_inputs(const BlockCase& c) {
    std::vector<float> inputs(static_cast<size_t>(c.n_point * c.in_dim));
    for (size_t i = 0; i < inputs.size(); ++i)
        inputs[i] = static_cast<float>(std::cos(0.7 * static_cast<double>(i) + 0.2));
    return inputs;
}

namespace {

/// Channel-major points in double: (n_channel, n_point).
struct Rows {
    int64_t n_channel, n_point;
    std::vector<double> data;
    Rows(int64_t c, int64_t n) : n_channel(c), n_point(n), data(static_cast<size_t>(c * n)) {}
    Tile<double> tile() { return {data.data(), {n_channel, n_point}, {n_point, 1}}; }
    Tile<double> head(int64_t h, int64_t n_dim) {
        return {data.data() + h * n_dim * n_point, {n_dim, n_point}, {n_point, 1}};
    }
};

std::vector<double> widen(const std::vector<float>& v) {
    return {v.begin(), v.end()};
}

double round_to(double value, int n_bit) {
    if (n_bit == 0 || value == 0) return value;
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);  // [1/2, 1)
    return std::ldexp(std::nearbyint(std::ldexp(fraction, n_bit + 1)), exponent - n_bit - 1);
}

class Reference {
public:
    Reference(const BlockCase& c, const BlockWeights& w, int n_bit) : c_(c), w_(w), n_bit_(n_bit) {}

    std::vector<double> run(const std::vector<float>& inputs) {
        const int64_t n_point = c_.n_point;
        Rows in(c_.in_dim, n_point);
        for (int64_t i = 0; i < n_point; ++i) {
            for (int64_t j = 0; j < c_.in_dim; ++j)
                in.tile()(j, i) =
                    static_cast<double>(inputs[static_cast<size_t>(i * c_.in_dim + j)]);
        }
        Rows x = chain(w_.in_proj, only_out, in);
        Rows normed = norm(w_.norm1_weight, w_.norm1_bias, x);
        Rows k = chain(w_.k_proj, both, normed), v = chain(w_.v_proj, both, normed);
        if (c_.qk_norm) {
            for (int64_t h = 0; h < c_.n_head; ++h)
                norm_tile(w_.k_norm_weight, w_.k_norm_bias, k.head(h, c_.n_dim));
        }
        Rows y = mix(k, v);
        Rows attention = chain(w_.att_out, neither, y);
        add(x, attention);
        Rows second = norm(w_.norm2_weight, w_.norm2_bias, x);
        Rows ffn = chain(w_.ffn, both, second);
        add(x, ffn);
        Rows last = norm(w_.norm1_weight, w_.norm1_bias, x);
        Rows out = chain(w_.out_proj, only_in, last);
        std::vector<double> outputs;
        for (int64_t i = 0; i < n_point; ++i) {
            for (int64_t j = 0; j < c_.out_dim; ++j) outputs.push_back(out.tile()(j, i));
        }
        return outputs;
    }

private:
    void norm_tile(const std::vector<float>& weight, const std::vector<float>& bias,
                   Tile<double> x) {
        const auto w = widen(weight), b = widen(bias);
        const Norm<double> norm{c_.rms ? NormKind::rms : NormKind::layer, 1e-5, w.data(),
                                c_.rms ? nullptr : b.data()};
        ref::normalise<double>(norm, x, x);
    }
    Rows norm(const std::vector<float>& weight, const std::vector<float>& bias, Rows x) {
        norm_tile(weight, bias, x.tile());
        return x;
    }
    std::vector<double> operands(std::vector<double> values) const {
        for (double& v : values) v = round_to(v, n_bit_);
        return values;
    }
    Rows operands(Rows values) const {
        values.data = operands(std::move(values.data));
        return values;
    }
    Rows chain(const std::vector<BlockWeights::Layer>& layers, Residuals r, const Rows& input) {
        const uint32_t mask = residual_mask(layers, r);
        Rows x = input;
        for (size_t l = 0; l < layers.size(); ++l) {
            const auto& layer = layers[l];
            const auto weight = operands(widen(layer.weight)), bias = widen(layer.bias);
            Rows from = operands(x), y(layer.n_out, x.n_point);
            ref::linear<double>({layer.n_in, layer.n_out, weight.data(), bias.data()}, from.tile(),
                                {}, y.tile());
            if (l + 1 < layers.size()) ref::activate<double>(c_.activation, y.tile(), y.tile());
            if ((mask >> l) & 1U) add(y, x);
            x = y;
        }
        return x;
    }
    Rows mix(Rows& k, Rows& v) {
        const flare::Sizes sizes{c_.n_head, c_.n_latent, c_.n_dim};
        const auto q = operands(widen(w_.queries));
        k = operands(k);
        v = operands(v);
        const flare::Queries<double> queries{sizes, q.data(), nullptr};
        std::vector<double> memory(static_cast<size_t>(flare::Partial<double>::size(sizes)));
        const flare::Partial<double> partial{sizes, memory.data()};
        flare::reset(partial);
        flare::ref::encode<double>(queries, k.tile(), v.tile(), partial);
        std::vector<double> z;
        for (int64_t h = 0; h < c_.n_head; ++h) {
            for (int64_t m = 0; m < c_.n_latent; ++m) {
                for (int64_t d = 0; d < c_.n_dim; ++d)
                    z.push_back(partial.value(h, d)[m] / partial.sum(h)[m]);
            }
        }
        Rows y(c_.n_channel(), c_.n_point);
        z = operands(z);
        flare::ref::decode<double>(queries, k.tile(), z.data(), y.tile());
        return y;
    }
    static void add(Rows& x, const Rows& y) {
        for (size_t i = 0; i < x.data.size(); ++i) x.data[i] += y.data[i];
    }

    const BlockCase& c_;
    const BlockWeights& w_;
    int n_bit_;
};

}  // namespace

std::vector<double> reference_block(const BlockCase& c, const BlockWeights& weights,
                                    const std::vector<float>& inputs, int n_bit) {
    return Reference(c, weights, n_bit).run(inputs);
}

namespace {

/// Device memory that is given back when a run ends.
class Arena {
public:
    explicit Arena(const DeviceMemory& memory) : memory_(memory) {}
    ~Arena() {
        for (void* p : owned_) memory_.release(p);
    }
    /// 0xff: NaN in every type, so that what is read before it is written shows.
    template <class T>
    T* make(int64_t count) {
        const int64_t n_byte = std::max<int64_t>(1, count) * static_cast<int64_t>(sizeof(T));
        void* p = memory_.allocate(n_byte);
        owned_.push_back(p);
        const std::vector<unsigned char> fill(static_cast<size_t>(n_byte), 0xff);
        memory_.copy(p, fill.data(), n_byte);
        return static_cast<T*>(p);
    }
    template <class T>
    T* put(const std::vector<T>& values) {
        T* p = make<T>(std::ssize(values));
        if (!values.empty())
            memory_.copy(p, values.data(), std::ssize(values) * static_cast<int64_t>(sizeof(T)));
        return p;
    }
    template <class T>
    std::vector<T> get(const T* from, int64_t count) {
        memory_.synchronize();
        std::vector<T> values(static_cast<size_t>(count));
        if (count > 0) memory_.copy(values.data(), from, count * static_cast<int64_t>(sizeof(T)));
        return values;
    }

private:
    const DeviceMemory& memory_;
    std::vector<void*> owned_;
};

class DeviceRun {
public:
    DeviceRun(const BlockCase& c, const BlockWeights& w, Operand operand,
              const flare::DeviceKernels& kernels, const DeviceMemory& memory)
        : c_(c), w_(w), operand_(operand), kernels_(kernels), arena_(memory) {
        const int64_t hidden = std::max(c.n_hidden, c.n_channel());
        shape_ = DeviceShape::of({c.n_head, c.n_latent, c.n_dim},
                                 std::max({hidden, c.in_dim, c.out_dim}));
        device_.shared_bytes = c.shared_bytes;
        device_.n_multiprocessor = c.n_multiprocessor;
        kernels.load(device_, operand, shape_.width);
    }

    BlockResult run(const std::vector<float>& inputs, bool poisoned) {
        DeviceFindings start;
        start.poisoned = poisoned;
        findings_ = arena_.put(std::vector{start});
        auto* x = arena_.make<float>(fragment_size(c_.n_point, shape_.width));
        auto* k = arena_.make<unsigned char>(fragment_size(c_.n_point, shape_.width) *
                                             operand_bytes(operand_));
        const void* queries = pack_queries();
        const float* from = arena_.put(inputs);
        kernels_.begin(device_,
                       {shape_, operand_, c_.n_point, columns(from, c_.in_dim), c_.in_dim,
                        chain(w_.in_proj, only_out, true), x, findings_},
                       nullptr);
        const int64_t n_partial = encode(x, k, queries);
        void* z = reduce(n_partial);
        kernels_.decode(
            device_,
            {shape_, operand_, c_.n_point, queries, k, z, chain(w_.att_out, neither),
             norm(w_.norm2_weight, w_.norm2_bias, false), chain(w_.ffn, both), x, c_.variant},
            nullptr);
        auto* to = arena_.make<float>(c_.n_point * c_.out_dim);
        kernels_.end(device_,
                     {shape_, operand_, c_.n_point, x, norm(w_.norm1_weight, w_.norm1_bias, false),
                      chain(w_.out_proj, only_in, false, true), columns(to, c_.out_dim), c_.out_dim,
                      findings_},
                     nullptr);
        const auto outputs = arena_.get(to, c_.n_point * c_.out_dim);
        return {{outputs.begin(), outputs.end()},
                arena_.get(findings_, 1)[0],
                arena_.get(partials_, n_partial * partial_size())};
    }

private:
    int64_t partial_size() const { return c_.n_head * c_.n_latent * (c_.n_dim + 2); }

    int64_t encode(const float* x, void* k, const void* queries) {
        const auto k_proj = chain(w_.k_proj, both), v_proj = chain(w_.v_proj, both);
        const auto geometry =
            flare::encode_geometry(device_, operand_, shape_, k_proj.n_layer + v_proj.n_layer,
                                   c_.n_point, c_.reproducible, c_.variant);
        const int64_t n_partial = c_.reproducible
                                      ? (c_.n_point + flare::chunk_points - 1) / flare::chunk_points
                                      : geometry.n_block;
        partials_ = arena_.make<float>(n_partial * partial_size());
        if (c_.reproducible)
            v_max_ = arena_.put(std::vector<float>(static_cast<size_t>(c_.n_head)));
        kernels_.encode(
            device_,
            {shape_, operand_, geometry, c_.n_point, x, norm(w_.norm1_weight, w_.norm1_bias, false),
             c_.qk_norm ? norm(w_.k_norm_weight, w_.k_norm_bias, true) : DeviceNorm{}, k_proj,
             v_proj, queries, k, partials_, v_max_},
            nullptr);
        return n_partial;
    }

    void* reduce(int64_t n_partial) {
        const int64_t n_row = c_.n_head * c_.n_latent;
        void* z = arena_.make<unsigned char>(flare::latent_bytes(operand_, shape_));
        const flare::LatentArgs args{shape_,
                                     operand_,
                                     n_partial,
                                     partials_,
                                     v_max_,
                                     std::max<int64_t>(1, n_partial),
                                     arena_.make<float>(n_row + c_.n_head + 1),
                                     arena_.make<int64_t>(n_row * (c_.n_dim + 1)),
                                     z,
                                     findings_};
        if (c_.combined) {
            kernels_.combine(device_, args, nullptr);
            return z;
        }
        kernels_.maxima(device_, args, nullptr);
        kernels_.sums(device_, args, nullptr);
        kernels_.latents(device_, args, nullptr);
        return z;
    }

    const DeviceColumn* columns(const float* data, int64_t n) {
        std::vector<DeviceColumn> list;
        for (int64_t j = 0; j < n; ++j) list.push_back({const_cast<float*>(data) + j, n, 0, 1, 0});
        return arena_.put(list);
    }
    DeviceMlp chain(const std::vector<BlockWeights::Layer>& layers, Residuals r,
                    bool reads_port = false, bool writes_port = false) {
        std::vector<unsigned char> bytes(
            static_cast<size_t>(layer_bytes(operand_, shape_.width) * std::ssize(layers)));
        const auto list = linears(layers);
        DeviceMlp packed =
            pack_chain(operand_, shape_.channels(), {list, c_.activation, r.in, r.out}, reads_port,
                       writes_port, bytes.data());
        packed.layers = arena_.put(bytes);
        return packed;
    }
    DeviceNorm norm(const std::vector<float>& weight, const std::vector<float>& bias,
                    bool per_head) {
        std::vector<float> w(static_cast<size_t>(shape_.width)), b(w.size());
        pack_channels(shape_.channels(), weight.data(), per_head, w.data());
        pack_channels(shape_.channels(), bias.data(), per_head, b.data());
        return {c_.rms ? NormKind::rms : NormKind::layer, 1e-5F, arena_.put(w),
                c_.rms ? nullptr : arena_.put(b)};
    }
    const void* pack_queries() {
        std::vector<unsigned char> bytes(
            static_cast<size_t>(flare::queries_bytes(operand_, shape_)));
        flare::pack_queries(operand_, shape_, w_.queries.data(), bytes.data());
        return arena_.put(bytes);
    }

    const BlockCase& c_;
    const BlockWeights& w_;
    Operand operand_;
    const flare::DeviceKernels& kernels_;
    Arena arena_;
    DeviceShape shape_;
    DeviceProperties device_;
    DeviceFindings* findings_ = nullptr;
    float *partials_ = nullptr, *v_max_ = nullptr;
};

}  // namespace

BlockResult device_block(const BlockCase& c, const BlockWeights& weights,
                         const std::vector<float>& inputs, Operand operand,
                         const flare::DeviceKernels& kernels, const DeviceMemory& memory,
                         bool poisoned) {
    return DeviceRun(c, weights, operand, kernels, memory).run(inputs, poisoned);
}

}  // namespace surrogate::tests
