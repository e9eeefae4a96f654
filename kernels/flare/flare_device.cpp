// SPDX-License-Identifier: Apache-2.0
#include "kernels/flare/flare_device.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/flare/flare_tiling.hpp"

namespace surrogate::kernels {

const char* name(Operand operand) {
    switch (operand) {
        case Operand::fp32: return "fp32";
        case Operand::tf32: return "tf32";
        case Operand::fp16: return "fp16";
        case Operand::bf16: return "bf16";
    }
    return "?";
}

}  // namespace surrogate::kernels

namespace surrogate::kernels::flare {

DeviceShape DeviceShape::of(const Sizes& sizes, int64_t widest) {
    DeviceShape shape;
    shape.sizes = sizes;
    shape.n_dim_padded = std::max<int64_t>(
        4, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(sizes.n_dim))));
    const int64_t width = std::max(widest, sizes.n_head * shape.n_dim_padded);
    if (width > 128) {
        throw Error(Status::not_supported,
                    "backend 'cuda' keeps the channels of a point in registers and takes up to 128 "
                    "of them, the model needs " +
                        std::to_string(width) + " (" + std::to_string(sizes.n_head) + " heads of " +
                        std::to_string(sizes.n_dim) + " channels, padded to " +
                        std::to_string(shape.n_dim_padded) + "; widest layer " +
                        std::to_string(widest) + "); backend 'simd' has no such limit");
    }
    shape.width = width <= 64 ? 64 : 128;
    return shape;
}

EncodeGeometry encode_geometry(const DeviceProperties& device, Operand operand,
                               const DeviceShape& shape, int64_t n_layer, int64_t n_point,
                               bool reproducible) {
    const int64_t tile = block_rows(operand, shape.width);
    const int64_t unit = reproducible ? chunk_rows : tile;
    const int64_t fixed = exchange_bytes(operand, shape.width);
    const int64_t latents = shape.all_latent_tiles();
    EncodeGeometry geometry;
    geometry.n_block = std::clamp<int64_t>((n_point + unit - 1) / unit, 1, device.n_multiprocessor);

    const auto room = [&](int64_t weights) {
        return (device.shared_bytes - fixed - weights) / sum_bytes(shape);
    };
    const int64_t all_weights = n_layer * layer_operand_bytes(operand, shape.width);
    const int64_t two_slices = 2 * slice_bytes(operand, shape.width);
    geometry.resident = room(all_weights) >= latents;
    const int64_t weights = geometry.resident ? all_weights : two_slices;
    geometry.tiles_per_pass = std::min(latents, room(weights));
    if (geometry.tiles_per_pass < 1) {
        throw Error(Status::not_supported,
                    "backend 'cuda' in " + std::string(name(operand)) + " needs " +
                        std::to_string(fixed + two_slices + sum_bytes(shape)) +
                        " bytes of shared memory a block for this model, device '" + device.name +
                        "' has " + std::to_string(device.shared_bytes) +
                        "; a precision with smaller operands needs less");
    }
    geometry.n_pass = (latents + geometry.tiles_per_pass - 1) / geometry.tiles_per_pass;
    geometry.tiles_per_pass = (latents + geometry.n_pass - 1) / geometry.n_pass;
    geometry.shared_bytes = fixed + weights + geometry.tiles_per_pass * sum_bytes(shape);
    return geometry;
}

}  // namespace surrogate::kernels::flare
