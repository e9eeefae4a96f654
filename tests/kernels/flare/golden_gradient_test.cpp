// SPDX-License-Identifier: Apache-2.0
// Gradients of the published implementation of FLARE through the mixer of its last block, with
// respect to the latents' queries, both projections in front of the mixer and the norm before them.
#include <cmath>

#include "kernels/flare/gradient.hpp"
#include "tests/kernels/mlp/golden_model.hpp"

namespace surrogate::kernels::test {
namespace {

constexpr double log2_e = 1.4426950408889634;

/// Queries in both orders, times log2 e (attn_scale is 1), and their memory.
template <class T>
struct GoldenQueries {
    explicit GoldenQueries(Model<T>& model)
        : sizes(sizes_of(model.file(), model.last_block())),
          by_latent(sizes.n_channel() * sizes.n_latent),
          by_dim(sizes.n_channel() * sizes.n_row()) {
        const T* q = model.parameter(model.last_block() + ".att.latent_q");
        for (int64_t h = 0; h < sizes.n_head; ++h)
            for (int64_t m = 0; m < sizes.n_latent; ++m)
                for (int64_t d = 0; d < sizes.n_dim; ++d) {
                    const int64_t at = (h * sizes.n_latent + m) * sizes.n_dim + d;
                    by_latent[at] = static_cast<T>(static_cast<double>(q[at]) * log2_e);
                    by_dim[(h * sizes.n_dim + d) * sizes.n_row() + m] = by_latent[at];
                }
    }
    static flare::Sizes sizes_of(const GoldenFile& file, const std::string& block) {
        const auto z = file.tensor("check/layers64/" + block + ".z").shape;  // (1, H, M, D)
        return {z.at(1), z.at(2), z.at(3)};
    }
    flare::Queries<T> view() const { return {sizes, by_latent.data(), by_dim.data()}; }

    flare::Sizes sizes;
    Buffer<T> by_latent, by_dim;
};

/// The second pass's latents: z and log sums of a forward pass in this precision, dz.
template <class T>
struct GoldenLatents {
    GoldenLatents(const Queue& queue, const GoldenQueries<T>& queries, Tile<const T> k,
                  Tile<const T> v)
        : sizes(queries.sizes),
          z(queries.by_latent.size()),
          dz(flare::LatentSums<T>::size(sizes)),
          gamma(sizes.n_head * sizes.n_row()),
          log_sum(gamma.size()),
          partial_data(flare::Partial<T>::size(sizes)) {
        const flare::Partial<T> partial{sizes, partial_data.data()};
        flare::reset(partial);
        flare::encode<T>(queue, queries.view(), k, v, partial);
        each_latent([&](int64_t h, int64_t m, int64_t d) {
            z[(h * sizes.n_latent + m) * sizes.n_dim + d] =
                partial.value(h, d)[m] / partial.sum(h)[m];
            log_sum[h * sizes.n_row() + m] = partial.maximum(h)[m] + std::log2(partial.sum(h)[m]);
        });
    }
    void find_gamma() {
        each_latent([&](int64_t h, int64_t m, int64_t d) {
            gamma[h * sizes.n_row() + m] +=
                sums().row(h, d)[m] * z[(h * sizes.n_latent + m) * sizes.n_dim + d];
        });
    }
    template <class Body>
    void each_latent(const Body& body) const {
        for (int64_t h = 0; h < sizes.n_head; ++h)
            for (int64_t m = 0; m < sizes.n_latent; ++m)
                for (int64_t d = 0; d < sizes.n_dim; ++d) body(h, m, d);
    }
    flare::LatentSums<T> sums() { return {sizes, dz.data()}; }

    flare::Sizes sizes;
    Buffer<T> z, dz, gamma, log_sum, partial_data;
};

/// Backward through the last block's attention; returns the number of tensors compared.
template <class T>
size_t compare(const Queue& queue, const std::string& name, double bound) {
    Model<T> model(name);
    const std::string block = model.last_block(), att = block + ".att", layer = "layers64/" + block;
    const Tile<T> d = attention_output_gradient(queue, model);
    const int64_t n_channel = d.shape[0], n_point = d.shape[1];
    const auto tile = [&](int64_t n_row) { return model.tile(n_row, n_point); };
    const Tile<T> dy = tile(n_channel), y = tile(n_channel), dk = tile(n_channel),
                  dv = tile(n_channel);
    linear_backward<T>(queue, model.linear(att + ".out_proj"), d, {}, false, dy);

    const Tile<T> k = model.points(layer + ".k"), v = model.points(layer + ".v");
    const GoldenQueries<T> queries(model);
    const flare::Sizes sizes = queries.sizes;
    GoldenLatents<T> latents(queue, queries, k, v);
    const Tile<T> of_points = tile(flare::point_rows * sizes.n_head);
    flare::decode_backward<T>(queue, queries.view(), k, latents.z.data(), dy, y, of_points,
                              latents.sums());
    latents.find_gamma();
    Buffer<T> dq_data(latents.dz.size());
    const flare::LatentSums<T> dq{sizes, dq_data.data()};
    flare::mix_backward<T>(
        queue, queries.view(),
        {latents.z.data(), latents.dz.data(), latents.gamma.data(), latents.log_sum.data()}, k, v,
        dy, of_points, dk, dv, dq);
    double* dlatent_q = model.gradient(att + ".latent_q");
    latents.each_latent([&](int64_t h, int64_t m, int64_t dim) {
        dlatent_q[(h * sizes.n_latent + m) * sizes.n_dim + dim] = dq.row(h, dim)[m];
    });

    const Tile<T> normed = model.points(layer + ".norm1");
    Tile<T> d_normed = tile(n_channel);
    for (const auto& [projection, gradient] :
         {std::pair{att + ".k_proj", dk}, std::pair{att + ".v_proj", dv}}) {
        const bool is_residual =
            model.file().tensor(projection + ".fc1.weight").shape.at(0) == n_channel;
        d_normed = sum_of<T>(d_normed, mlp_backward<T>(queue, model, projection, normed, gradient,
                                                       is_residual, is_residual));
    }
    const std::string before =
        block == "blocks.0" ? "in_proj" : "blocks." + std::to_string(block.back() - '1');
    norm_backward<T>(queue, model, block + ".norm1", model.points("layers64/" + before), d_normed,
                     d);
    model.expect_gradients(bound);
    return model.n_compared();
}

class FlareGoldenGradientOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(FlareGoldenGradientOn);

const GoldenGradients files[] = {{"tiny", 45, 1.2e-5}, {"layers", 33, 2e-6}};

TEST(FlareGoldenGradient, OfDoubleIsThatOfTheOfficialCode) {
    expect_golden<double>(Queue(), files, compare<double>);
}

TEST_P(FlareGoldenGradientOn, OfFloatIsWithinItsTolerance) {
    expect_golden<float>(queue(), files, compare<float>);
}

}  // namespace
}  // namespace surrogate::kernels::test
