// SPDX-License-Identifier: Apache-2.0
// Attention in the backward pass. There are two kinds of passes: a thread has a point of a head and
// loops over the latents, or it has a latent and loops over the points of a part. The items of the
// loop are in shared memory and are read by all lanes at once. Each pass recomputes the scores.
#include "kernels/device/launch.cuh"
#include "kernels/flare/flare_gradient_cuda.hpp"
#include "kernels/linear/row_product_cuda.hpp"

namespace surrogate::kernels::flare::cuda {
using namespace surrogate::kernels::cuda;
namespace {

constexpr int n_thread = 128;
constexpr int n_shared = 32;  // latents or points in shared memory at once
constexpr float lowest = lowest_score<float>();
constexpr float ln_2 = 0.69314718055994531F;

unsigned blocks(int64_t n, int64_t size) {
    return static_cast<unsigned>((n + size - 1) / size);
}

/// Loads d = 0 .. n_dim - 1 of a row of n numbers, with zeros after them.
template <int n_dim>
__device__ void read_row(const float* from, int n, float (&to)[n_dim]) {
#pragma unroll
    for (int d = 0; d < n_dim; ++d) to[d] = from && d < n ? from[d] : 0.0F;
}
template <int n_dim>
__device__ float dot(const float (&a)[n_dim], const float* b) {
    float sum = 0;
#pragma unroll
    for (int d = 0; d < n_dim; ++d) sum = fmaf(a[d], b[d], sum);
    return sum;
}
template <int n_dim>
__device__ void add_scaled(float scale, const float* from, float (&to)[n_dim]) {
#pragma unroll
    for (int d = 0; d < n_dim; ++d) to[d] = fmaf(scale, from[d], to[d]);
}

/// Copies `count` rows of n numbers with stride `stride` to rows of n_dim in shared memory, by the
/// whole block.
template <int n_dim>
__device__ void share_rows(const float* from, int64_t stride, int count, int n, float* to) {
    for (int i = static_cast<int>(threadIdx.x); i < count * n_dim; i += n_thread) {
        const int row = i / n_dim, d = i % n_dim;
        to[i] = d < n ? from[row * stride + d] : 0.0F;
    }
}

/// Head and points of a block, and addresses of rows.
struct Place {
    const AttentionArgs& args;
    int n_dim;
    int64_t head, n_latent, width;

    __device__ explicit Place(const AttentionArgs& a)
        : args(a),
          n_dim(static_cast<int>(a.sizes.n_dim)),
          head(blockIdx.y),
          n_latent(a.sizes.n_latent),
          width(a.sizes.n_channel()) {}

    __device__ int64_t of_latent(int64_t m) const { return head * n_latent + m; }
    __device__ int64_t row(int64_t point) const { return point * width + head * n_dim; }
    __device__ float* of_point(int64_t point) const {
        return args.of_points + (point * args.sizes.n_head + head) * point_rows;
    }
};

// ---- a thread has a point ----

template <int n_dim>
__global__ void __launch_bounds__(n_thread) decode_points_kernel(const AttentionArgs args) {
    __shared__ float queries[n_shared * n_dim];
    __shared__ float z[n_shared * n_dim];
    const Place place(args);
    const int64_t point = int64_t{blockIdx.x} * n_thread + threadIdx.x;
    const bool exists = point < args.n_point;
    float k[n_dim], y[n_dim] = {};
    read_row(exists ? args.k + place.row(point) : nullptr, place.n_dim, k);
    float maximum = lowest, sum = 0;
    for (int64_t first = 0; first < place.n_latent; first += n_shared) {
        const int count = static_cast<int>(min(place.n_latent - first, int64_t{n_shared}));
        const int64_t from = place.of_latent(first) * place.n_dim;
        share_rows<n_dim>(args.queries + from, place.n_dim, count, place.n_dim, queries);
        share_rows<n_dim>(args.z + from, place.n_dim, count, place.n_dim, z);
        __syncthreads();
        float highest = maximum;
        for (int m = 0; m < count; ++m) highest = fmaxf(highest, dot(k, queries + m * n_dim));
        const float scale = fast_exp2(maximum - highest);
        maximum = highest;
        sum *= scale;
#pragma unroll
        for (int d = 0; d < n_dim; ++d) y[d] *= scale;
        for (int m = 0; m < count; ++m) {
            const float p = fast_exp2(dot(k, queries + m * n_dim) - maximum);
            sum += p;
            add_scaled(p, z + m * n_dim, y);
        }
        __syncthreads();
    }
    if (!exists) return;
    const float inverse = 1.0F / sum;
    place.of_point(point)[0] = maximum;
    place.of_point(point)[1] = inverse;
#pragma unroll
    for (int d = 0; d < n_dim; ++d) {
        if (d < place.n_dim) args.y[place.row(point) + d] = y[d] * inverse;
    }
}

__global__ void __launch_bounds__(n_thread) delta_kernel(const AttentionArgs args) {
    const Place place(args);
    const int64_t point = int64_t{blockIdx.x} * n_thread + threadIdx.x;
    if (point >= args.n_point) return;
    float delta = 0;
    for (int64_t at = place.row(point); at < place.row(point) + place.n_dim; ++at)
        delta = fmaf(args.dy[at], args.y[at], delta);
    place.of_point(point)[2] = delta;
}

template <int n_dim>
__global__ void __launch_bounds__(n_thread) mix_points_kernel(const AttentionArgs args) {
    __shared__ float queries[n_shared * n_dim];
    __shared__ float z[n_shared * n_dim];
    __shared__ float dz[n_shared * n_dim];
    __shared__ float gamma[n_shared];
    __shared__ float log_sum[n_shared];
    const Place place(args);
    const int thread = static_cast<int>(threadIdx.x);
    const int64_t point = int64_t{blockIdx.x} * n_thread + thread;
    const bool exists = point < args.n_point;
    float k[n_dim], v[n_dim], dy[n_dim], dk[n_dim] = {}, dv[n_dim] = {};
    read_row(exists ? args.k + place.row(point) : nullptr, place.n_dim, k);
    read_row(exists ? args.v + place.row(point) : nullptr, place.n_dim, v);
    read_row(exists ? args.dy + place.row(point) : nullptr, place.n_dim, dy);
    const float* const own = exists ? place.of_point(point) : nullptr;
    const float maximum = own ? own[0] : 0, inverse = own ? own[1] : 0, delta = own ? own[2] : 0;
    for (int64_t first = 0; first < place.n_latent; first += n_shared) {
        const int count = static_cast<int>(min(place.n_latent - first, int64_t{n_shared}));
        const int64_t latent = place.of_latent(first), from = latent * place.n_dim;
        share_rows<n_dim>(args.queries + from, place.n_dim, count, place.n_dim, queries);
        share_rows<n_dim>(args.z + from, place.n_dim, count, place.n_dim, z);
        share_rows<n_dim>(args.dz + from, place.n_dim, count, place.n_dim, dz);
        if (thread < count) {
            gamma[thread] = args.gamma[latent + thread];
            log_sum[thread] = args.log_sum[latent + thread];
        }
        __syncthreads();
        for (int m = 0; m < count; ++m) {
            const float s = dot(k, queries + m * n_dim);
            const float r = fast_exp2(s - maximum) * inverse;
            const float p = fast_exp2(fminf(s, log_sum[m]) - log_sum[m]);
            const float dr = dot(dy, z + m * n_dim) - delta;
            const float dp = dot(v, dz + m * n_dim) - gamma[m];
            add_scaled(p, dz + m * n_dim, dv);
            add_scaled(r * dr + p * dp, queries + m * n_dim, dk);
        }
        __syncthreads();
    }
    if (!exists) return;
#pragma unroll
    for (int d = 0; d < n_dim; ++d) {
        if (d >= place.n_dim) continue;
        args.dk[place.row(point) + d] = ln_2 * dk[d];
        args.dv[place.row(point) + d] = dv[d];
    }
}

// ---- a thread has a latent ----

/// Returns the number of latents of a block, in whole warps. If there are few latents, several
/// threads share one and process the points in turn.
__host__ __device__ int latents_of_block(int64_t n_latent) {
    if (n_latent > 64) return n_thread;
    return n_latent > 32 ? 64 : 32;
}

/// Sums over the points of a part, for one latent: term(point in shared memory, sum) adds to them.
template <int n_dim>
struct OfLatent {
    const Place place;
    int n_own, lane, n_lane;  // latents of the block; threads of one latent
    int64_t m;
    bool exists;
    float sum[n_dim] = {};

    __device__ explicit OfLatent(const AttentionArgs& args)
        : place(args), n_own(latents_of_block(args.sizes.n_latent)) {
        lane = static_cast<int>(threadIdx.x) / n_own;
        n_lane = n_thread / n_own;
        m = int64_t{blockIdx.z} * n_own + static_cast<int>(threadIdx.x) % n_own;
        exists = m < place.n_latent;
    }

    __device__ void read(const float* rows, float (&to)[n_dim]) const {
        read_row(exists ? rows + place.of_latent(m) * place.n_dim : nullptr, place.n_dim, to);
    }

    /// Loops over the points. share(first point, count) loads points to shared memory; term(i) adds
    /// point i of them.
    template <class Share, class Term>
    __device__ void add_points(const Share& share, const Term& term) {
        const int64_t begin = int64_t{blockIdx.x} * place.args.points_per_part;
        const int64_t end = min(begin + place.args.points_per_part, place.args.n_point);
        for (int64_t first = begin; first < end; first += n_shared) {
            const int count = static_cast<int>(min(end - first, int64_t{n_shared}));
            share(first, count);
            __syncthreads();
            for (int i = lane; i < count; i += n_lane) term(i);
            __syncthreads();
        }
    }

    /// Joins the threads of a latent and writes its sums to the parts.
    __device__ void write(float* shared) {
        const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
        for (int d = 0; d < n_dim; ++d) {
            shared[thread] = sum[d];
            __syncthreads();
            if (lane == 0) {
                float all = sum[d];
                for (int other = 1; other < n_lane; ++other) all += shared[thread + other * n_own];
                const int64_t n_row = place.args.sizes.n_head * place.n_latent;
                if (exists && d < place.n_dim)
                    place.args.parts[(blockIdx.x * n_row + place.of_latent(m)) * place.n_dim + d] =
                        all;
            }
            __syncthreads();
        }
    }
};

/// Loads the numbers of points into shared memory, in the layout of of_points.
__device__ void share_of_points(const Place& place, int64_t first, int count, float* to) {
    for (int i = static_cast<int>(threadIdx.x); i < count * point_rows; i += n_thread)
        to[i] = place.of_point(first + i / point_rows)[i % point_rows];
}

template <int n_dim>
__global__ void __launch_bounds__(n_thread) decode_sums_kernel(const AttentionArgs args) {
    __shared__ float k[n_shared * n_dim];
    __shared__ float dy[n_shared * n_dim];
    __shared__ float of_points[n_shared * point_rows];
    __shared__ float joined[n_thread];
    OfLatent<n_dim> own(args);
    const Place& place = own.place;
    float query[n_dim];
    own.read(args.queries, query);
    own.add_points(
        [&](int64_t first, int count) {
            const int64_t at = place.row(first);
            share_rows<n_dim>(args.k + at, place.width, count, place.n_dim, k);
            share_rows<n_dim>(args.dy + at, place.width, count, place.n_dim, dy);
            share_of_points(place, first, count, of_points);
        },
        [&](int i) {
            const float* point = of_points + i * point_rows;
            const float r = fast_exp2(dot(query, k + i * n_dim) - point[0]) * point[1];
            add_scaled(r, dy + i * n_dim, own.sum);
        });
    own.write(joined);
}

template <int n_dim>
__global__ void __launch_bounds__(n_thread) mix_sums_kernel(const AttentionArgs args) {
    __shared__ float k[n_shared * n_dim];
    __shared__ float v[n_shared * n_dim];
    __shared__ float dy[n_shared * n_dim];
    __shared__ float of_points[n_shared * point_rows];
    __shared__ float joined[n_thread];
    OfLatent<n_dim> own(args);
    const Place& place = own.place;
    float query[n_dim], z[n_dim], dz[n_dim];
    own.read(args.queries, query);
    own.read(args.z, z);
    own.read(args.dz, dz);
    const float gamma = own.exists ? args.gamma[place.of_latent(own.m)] : 0;
    const float log_sum = own.exists ? args.log_sum[place.of_latent(own.m)] : 0;
    own.add_points(
        [&](int64_t first, int count) {
            const int64_t at = place.row(first);
            share_rows<n_dim>(args.k + at, place.width, count, place.n_dim, k);
            share_rows<n_dim>(args.v + at, place.width, count, place.n_dim, v);
            share_rows<n_dim>(args.dy + at, place.width, count, place.n_dim, dy);
            share_of_points(place, first, count, of_points);
        },
        [&](int i) {
            const float* point = of_points + i * point_rows;
            const float s = dot(query, k + i * n_dim);
            const float r = fast_exp2(s - point[0]) * point[1];
            const float p = fast_exp2(fminf(s, log_sum) - log_sum);
            const float dr = dot(z, dy + i * n_dim) - point[2];
            const float dp = dot(dz, v + i * n_dim) - gamma;
            add_scaled(r * dr + p * dp, k + i * n_dim, own.sum);
        });
    own.write(joined);
}

// ---- small passes ----

__global__ void __launch_bounds__(n_thread) rows_kernel(const RowsArgs args) {
    const int64_t at = int64_t{blockIdx.x} * n_thread + threadIdx.x;
    const int64_t width = args.shape.sizes.n_channel();
    if (at >= args.n_point * width) return;
    const int64_t position = args.shape.channels().position(at % width);
    args.rows[at] = args.x[fragment_index(at / width, position, args.shape.width)];
}

__global__ void __launch_bounds__(n_thread) kept_latents_kernel(const KeptLatentsArgs args) {
    const int64_t row = int64_t{blockIdx.x} * n_thread + threadIdx.x, n_dim = args.sizes.n_dim;
    if (row >= args.sizes.n_head * args.sizes.n_latent) return;
    const float* from = args.sums + row * (n_dim + 1);
    args.log_sum[row] = args.maxima[row] + log2f(from[0]);
    for (int64_t d = 0; d < n_dim; ++d)
        args.z[row * n_dim + d] = from[0] == 0.0F ? 0.0F : from[1 + d] / from[0];
}

__global__ void __launch_bounds__(n_thread) round_latents_kernel(const LatentGradientArgs args) {
    const int64_t at = int64_t{blockIdx.x} * n_thread + threadIdx.x;
    if (at < args.sizes.n_head * args.sizes.n_latent * args.sizes.n_dim)
        args.dz[at] = static_cast<float>(args.local[at]);
}

__global__ void __launch_bounds__(n_thread) weigh_latents_kernel(const LatentGradientArgs args) {
    const int64_t row = int64_t{blockIdx.x} * n_thread + threadIdx.x, n_dim = args.sizes.n_dim;
    if (row >= args.sizes.n_head * args.sizes.n_latent) return;
    double gamma = 0;
    bool is_finite = true;
    for (int64_t at = row * n_dim; at < (row + 1) * n_dim; ++at) {
        gamma += static_cast<double>(args.dz[at]) * static_cast<double>(args.z[at]);
        is_finite = is_finite && fabsf(args.dz[at]) <= 3.402823466e38F;
    }
    args.gamma[row] = static_cast<float>(gamma);
    if (!is_finite) atomicOr(args.lost, 1);
}

/// Calls body<n_dim>() for heads of up to n_dim channels.
template <class Body>
void with_head(int64_t n_dim, const Body& body) {
    if (n_dim <= 8) {
        body.template operator()<8>();
    } else if (n_dim <= 16) {
        body.template operator()<16>();
    } else {
        body.template operator()<32>();
    }
}

dim3 point_grid(const AttentionArgs& args) {
    return {blocks(args.n_point, n_thread), static_cast<unsigned>(args.sizes.n_head), 1};
}
dim3 latent_grid(const AttentionArgs& args) {
    return {static_cast<unsigned>(args.n_part()), static_cast<unsigned>(args.sizes.n_head),
            blocks(args.sizes.n_latent, latents_of_block(args.sizes.n_latent))};
}

void rows(const DeviceProperties&, const RowsArgs& args, Stream stream) {
    const int64_t n = args.n_point * args.shape.sizes.n_channel();
    if (n == 0) return;
    SURROGATE_LAUNCH(rows_kernel, blocks(n, n_thread), n_thread, 0, stream, args);
    check_launch("flare rows");
}

void kept_latents(const DeviceProperties&, const KeptLatentsArgs& args, Stream stream) {
    const int64_t n = args.sizes.n_head * args.sizes.n_latent;
    SURROGATE_LAUNCH(kept_latents_kernel, blocks(n, n_thread), n_thread, 0, stream, args);
    check_launch("flare kept latents");
}

void round_latents(const DeviceProperties&, const LatentGradientArgs& args, Stream stream) {
    const int64_t n = args.sizes.n_head * args.sizes.n_latent * args.sizes.n_dim;
    SURROGATE_LAUNCH(round_latents_kernel, blocks(n, n_thread), n_thread, 0, stream, args);
    check_launch("flare latent gradients");
}

void weigh_latents(const DeviceProperties&, const LatentGradientArgs& args, Stream stream) {
    const int64_t n = args.sizes.n_head * args.sizes.n_latent;
    SURROGATE_LAUNCH(weigh_latents_kernel, blocks(n, n_thread), n_thread, 0, stream, args);
    check_launch("flare latent gradients");
}

void decode_points(const DeviceProperties&, const AttentionArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    with_head(args.sizes.n_dim, [&]<int n_dim>() {
        SURROGATE_LAUNCH(decode_points_kernel<n_dim>, point_grid(args), n_thread, 0, stream, args);
    });
    check_launch("flare decode again");
}

void decode_sums(const DeviceProperties&, const AttentionArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    SURROGATE_LAUNCH(delta_kernel, point_grid(args), n_thread, 0, stream, args);
    with_head(args.sizes.n_dim, [&]<int n_dim>() {
        SURROGATE_LAUNCH(decode_sums_kernel<n_dim>, latent_grid(args), n_thread, 0, stream, args);
    });
    check_launch("flare decode backward");
}

void mix_points(const DeviceProperties&, const AttentionArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    with_head(args.sizes.n_dim, [&]<int n_dim>() {
        SURROGATE_LAUNCH(mix_points_kernel<n_dim>, point_grid(args), n_thread, 0, stream, args);
    });
    check_launch("flare mix backward");
}

void mix_sums(const DeviceProperties&, const AttentionArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    with_head(args.sizes.n_dim, [&]<int n_dim>() {
        SURROGATE_LAUNCH(mix_sums_kernel<n_dim>, latent_grid(args), n_thread, 0, stream, args);
    });
    check_launch("flare mix backward");
}

void load_gradients(const DeviceProperties& device) {
    const auto load = [](auto kernel) { check(allow_shared(kernel, 0), "flare gradients"); };
    for (const int64_t n : {8, 16, 32}) {
        with_head(n, [&]<int n_dim>() {
            load(decode_points_kernel<n_dim>);
            load(decode_sums_kernel<n_dim>);
            load(mix_points_kernel<n_dim>);
            load(mix_sums_kernel<n_dim>);
        });
    }
    load(delta_kernel);
    load(rows_kernel);
    load(kept_latents_kernel);
    load(round_latents_kernel);
    load(weigh_latents_kernel);
    load_row_product(device);
    load_row_norm(device);
}

}  // namespace

GradientKernels gradient_kernels() {
    return {rows,          kept_latents,      decode_points,     decode_sums,   round_latents,
            weigh_latents, mix_points,        mix_sums,          row_product,   part_sums,
            row_norm,      row_norm_backward, row_norm_gradient, load_gradients};
}

GradientKernels gradient_kernels_on_device() {
    return {&OnDevice<rows>::call,
            &OnDevice<kept_latents>::call,
            &OnDevice<decode_points>::call,
            &OnDevice<decode_sums>::call,
            &OnDevice<round_latents>::call,
            &OnDevice<weigh_latents>::call,
            &OnDevice<mix_points>::call,
            &OnDevice<mix_sums>::call,
            &OnDevice<row_product>::call,
            &OnDevice<part_sums>::call,
            &OnDevice<row_norm>::call,
            &OnDevice<row_norm_backward>::call,
            &OnDevice<row_norm_gradient>::call,
            &OnDevice<load_gradients>::call};
}

}  // namespace surrogate::kernels::flare::cuda
