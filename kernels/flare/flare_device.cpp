// SPDX-License-Identifier: Apache-2.0
#include "kernels/flare/flare_device.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/device/operand_writer.hpp"
#include "kernels/flare/flare_tiling.hpp"

namespace surrogate::kernels::flare {

DeviceShape DeviceShape::of(const Sizes& sizes, int64_t widest) {
    DeviceShape shape;
    shape.sizes = sizes;
    shape.n_dim_padded = std::max<int64_t>(
        4, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(sizes.n_dim))));
    const int64_t width = std::max(widest, sizes.n_head * shape.n_dim_padded);
    if (width > 128) {
        throw Error(Status::not_supported,
                    "backend 'cuda' keeps the channels of a point in registers and supports up to "
                    "128 channels, the model needs " +
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
                               bool reproducible, int variant) {
    const Tiling most = tiling_of(operand, shape.width, variant);
    const Tiling tiling = reproducible ? most : most.for_points(n_point, device.n_multiprocessor);
    const int64_t unit = reproducible ? chunk_points : tiling.block_rows();
    const int64_t fixed = exchange_bytes(operand, shape.width, most);
    const int64_t latents = shape.all_latent_tiles();
    EncodeGeometry geometry;
    geometry.variant = variant;
    geometry.n_thread = tiling.n_thread();
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
                        " bytes of shared memory per block for this model, device '" + device.name +
                        "' has " + std::to_string(device.shared_bytes) +
                        "; use a precision with smaller operands");
    }
    geometry.n_pass = (latents + geometry.tiles_per_pass - 1) / geometry.tiles_per_pass;
    geometry.tiles_per_pass = (latents + geometry.n_pass - 1) / geometry.n_pass;
    geometry.shared_bytes = fixed + weights + geometry.tiles_per_pass * sum_bytes(shape);
    return geometry;
}

int64_t queries_bytes(Operand operand, const DeviceShape& shape) {
    return shape.all_latent_tiles() * shape.head_groups() * latent_group_bytes(operand);
}

int64_t latent_bytes(Operand operand, const DeviceShape& shape) {
    return queries_bytes(operand, shape);
}

void pack_queries(Operand operand, const DeviceShape& shape, const float* by_latent, void* to) {
    const auto& [n_head, n_latent, n_dim] = shape.sizes;
    OperandWriter writer(operand, to);
    const auto query = [&](int64_t head, int64_t latent, int64_t channel) {
        // Channels are counted from the head's first group of 8, which half-heads share.
        const int64_t d = channel - head * shape.n_dim_padded % 8;
        const bool exists = latent < n_latent && d >= 0 && d < n_dim;
        return exists ? by_latent[(head * n_latent + latent) * n_dim + d] : 0.0F;
    };
    for (int64_t head = 0; head < n_head; ++head) {
        for (int64_t group = 0; group < shape.head_groups(); ++group) {
            for (int64_t tile = 0; tile < shape.latent_tiles(); ++tile) {
                for (int64_t lane = 0; lane < 32; ++lane) {
                    for (int64_t slot = 0; slot < 4; ++slot) {
                        const int64_t latent = 16 * tile + lane / 4 + slot / 2 * 8;
                        writer.put(query(head, latent, 8 * group + lane % 4 * 2 + slot % 2));
                    }
                }
            }
        }
    }
}

}  // namespace surrogate::kernels::flare
