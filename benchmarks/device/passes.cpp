// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/device/passes.hpp"

#include <algorithm>

namespace surrogate::benchmarks {

using namespace kernels;
using tests::BlockCase;
using tests::BlockWeights;

template <class T>
T* Passes::make(int64_t count) {
    n_byte_ += count * static_cast<int64_t>(sizeof(T));
    return arena_.make<T>(count);
}

Passes::Passes(Platform& platform, const BlockCase& c, Operand operand)
    : kernels_(flare::cuda::kernels()),
      device_(platform.device()),
      operand_(operand),
      shape_(flare::DeviceShape::of({c.n_head, c.n_latent, c.n_dim}, c.n_channel())),
      arena_(platform) {
    kernels_.load(device_.properties(), operand, shape_.width);
    const BlockWeights w(c);
    const int64_t n_point = c.n_point, n_row = c.n_head * c.n_latent;
    auto* findings = arena_.put(std::vector<DeviceFindings>(1));
    auto* x = make<float>(fragment_size(n_point, shape_.width));
    auto* k = make<unsigned char>(fragment_size(n_point, shape_.width) * operand_bytes(operand));
    std::vector<unsigned char> packed(static_cast<size_t>(flare::queries_bytes(operand, shape_)));
    flare::pack_queries(operand, shape_, w.queries.data(), packed.data());
    const void* queries = arena_.put(packed);
    void* z = make<unsigned char>(flare::latent_bytes(operand, shape_));
    const DeviceNorm norm1 = norm(w.norm1_weight, w.norm1_bias);
    const DeviceNorm norm2 = norm(w.norm2_weight, w.norm2_bias);

    const auto inputs = tests::block_inputs(c);
    n_byte_ += std::ssize(inputs) * int64_t{sizeof(float)};
    begin_ = {shape_,   operand,
              n_point,  columns(arena_.put(inputs), c.in_dim),
              c.in_dim, chain(w.in_proj, {false, true}, true, false),
              x,        findings};

    const DeviceMlp k_proj = chain(w.k_proj, {true, true});
    const DeviceMlp v_proj = chain(w.v_proj, {true, true});
    const auto geometry =
        flare::encode_geometry(device_.properties(), operand, shape_,
                               k_proj.n_layer + v_proj.n_layer, n_point, c.reproducible, c.variant);
    const int64_t n_partial = c.reproducible
                                  ? (n_point + flare::chunk_points - 1) / flare::chunk_points
                                  : geometry.n_block;
    auto* partials = make<float>(std::max<int64_t>(1, n_partial) * n_row * (c.n_dim + 2));
    float* v_max = c.reproducible ? make<float>(c.n_head) : nullptr;
    encode_ = {shape_, operand, geometry, n_point, x,        norm1, {},
               k_proj, v_proj,  queries,  k,       partials, v_max};
    // Two limbs suffice for any number of chunks; sums of doubles and of int64 need 8 bytes.
    latent_ = {shape_,
               operand,
               n_partial,
               partials,
               v_max,
               std::max<int64_t>(1, n_partial),
               make<float>(n_row + c.n_head + 1),
               make<int64_t>(2 * n_row * (c.n_dim + 1)),
               z,
               findings};
    decode_ = {shape_,
               operand,
               n_point,
               queries,
               k,
               z,
               chain(w.att_out, {false, false}),
               norm2,
               chain(w.ffn, {true, true}),
               x,
               c.variant};
    end_ = {shape_,
            operand,
            n_point,
            x,
            norm1,
            chain(w.out_proj, {true, false}, false, true),
            columns(make<float>(n_point * c.out_dim), c.out_dim),
            c.out_dim,
            findings};
}

DeviceMlp Passes::chain(const std::vector<BlockWeights::Layer>& layers, Residuals residuals,
                        bool reads_port, bool writes_port) {
    std::vector<unsigned char> bytes(static_cast<size_t>(layer_bytes(operand_, shape_.width)) *
                                     layers.size());
    const auto list = tests::linears(layers);
    DeviceMlp packed = pack_chain(operand_, shape_.channels(),
                                  {list, Activation::gelu_tanh, residuals.in, residuals.out},
                                  reads_port, writes_port, bytes.data());
    n_byte_ += std::ssize(bytes);
    packed.layers = arena_.put(bytes);
    return packed;
}

DeviceNorm Passes::norm(const std::vector<float>& weight, const std::vector<float>& bias) {
    std::vector<float> w(static_cast<size_t>(shape_.width)), b(w.size());
    pack_channels(shape_.channels(), weight.data(), false, w.data());
    pack_channels(shape_.channels(), bias.data(), false, b.data());
    return {NormKind::layer, 1e-5F, arena_.put(w), arena_.put(b)};
}

const DeviceColumn* Passes::columns(const float* data, int64_t n_column) {
    std::vector<DeviceColumn> list;
    for (int64_t j = 0; j < n_column; ++j)
        list.push_back({const_cast<float*>(data) + j, n_column, 0, 1, 0});
    return arena_.put(list);
}

void Passes::begin(Stream stream) const {
    kernels_.begin(device_.properties(), begin_, stream);
}

void Passes::encode(Stream stream) const {
    if (encode_.v_max)
        device_.clear(encode_.v_max, shape_.sizes.n_head * int64_t{sizeof(float)}, stream);
    kernels_.encode(device_.properties(), encode_, stream);
}

void Passes::maxima(Stream stream) const {
    kernels_.maxima(device_.properties(), latent_, stream);
}
void Passes::sums(Stream stream) const {
    kernels_.sums(device_.properties(), latent_, stream);
}
void Passes::latents(Stream stream) const {
    kernels_.latents(device_.properties(), latent_, stream);
}
void Passes::decode(Stream stream) const {
    kernels_.decode(device_.properties(), decode_, stream);
}
void Passes::end(Stream stream) const {
    kernels_.end(device_.properties(), end_, stream);
}

void Passes::block(Stream stream) const {
    encode(stream);
    kernels_.combine(device_.properties(), latent_, stream);
    decode(stream);
}

}  // namespace surrogate::benchmarks
