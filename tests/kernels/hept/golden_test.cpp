// SPDX-License-Identifier: Apache-2.0
// Layer 0 of the published model, 205 points in blocks of 32 with zero padding, in double.
#include "tests/kernels/hept/block_problem.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::kernels::hept::test {
namespace {

class HeptGoldenOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(HeptGoldenOn);

constexpr RowShape shape{12, 6};
constexpr int64_t n_point = 205, n_token = 224, n_head = 3, n_table = 2, block_size = 32,
                  n_term = 5;
constexpr int64_t d = shape.n_channel, n_query = d + shape.n_coordinate;

class Golden {
public:
    double operator()(const std::string& name, int64_t i) {
        if (name != name_) values_ = file_.tensor(name_ = name).values;
        return values_.at(static_cast<size_t>(i));
    }
    std::vector<double> all(const std::string& name) const { return file_.tensor(name).values; }
    std::vector<int32_t> order(const char* which, int64_t row) const {
        const auto all = file_.integers(std::string("check/layers/0/order_") + which);
        return {all.begin() + row * n_token, all.begin() + row * n_token + n_point};
    }

private:
    surrogate::test::GoldenFile file_{SURROGATE_TEST_DATA "/hept/odd_zero.safetensors"};
    std::string name_;
    std::vector<double> values_;
};

/// Fills u (d, n_point): the normalized input of the layer.
void fill_input(const Golden& golden, TileBox<float>& u) {
    const auto h = golden.all("check/layers/0/h_in"), gain = golden.all("attns.0.norm1.weight"),
               bias = golden.all("attns.0.norm1.bias");
    u.fill([&](int64_t c, int64_t i) {
        const auto at = h.begin() + i * d;
        double mean = 0, variance = 0;
        for (int64_t e = 0; e < d; ++e) mean += at[e] / d;
        for (int64_t e = 0; e < d; ++e) variance += (at[e] - mean) * (at[e] - mean) / d;
        const auto k = static_cast<size_t>(c);
        return gain[k] * (at[c] - mean) / std::sqrt(variance + 1e-5) + bias[k];
    });
}

/// Weights of one head.
struct HeadWeights {
    HeadWeights(const Golden& golden, int64_t h) {
        for (const char* name :
             {"attns.0.w_q.weight", "attns.0.w_k.weight", "attns.0.w_v.weight"}) {
            const auto all = golden.all(name);
            weight.insert(weight.end(), all.begin() + h * d * d, all.begin() + (h + 1) * d * d);
        }
        const auto table = golden.all("attns.0.w_rpe.weight");
        for (int64_t r = 0; r < shape.n_coordinate; ++r) {
            double omega = 0;
            for (int64_t k = 0; k < n_term; ++k) {
                double sum = 0;
                for (int64_t i = 0; i < d; ++i)
                    sum += table[static_cast<size_t>((h * d + i) * 25 +
                                                     std::max<int64_t>(r - 1, 0) * n_term + k)];
                omega += std::exp(sum);
            }
            scale.push_back(static_cast<float>(std::sqrt(2 * omega)));
        }
        const auto alphas = golden.all("check/tables/alpha/0");  // (H, E, C)
        for (int64_t t = 0; t < n_table; ++t)
            for (int64_t e = 0; e < n_query; ++e)
                alpha.push_back(static_cast<float>(
                    alphas[static_cast<size_t>((h * n_query + e) * n_table + t)]));
    }
    Head<float> head() const {
        return {shape, {d, 3 * d, weight.data(), nullptr}, scale.data(), alpha.data(), n_table};
    }
    std::vector<float> weight, scale, alpha;
};

/// Rows and hashes of all points, tile by tile.
struct Augmented {
    Augmented(const Queue& queue, const Golden& golden, int64_t h)
        : rows(n_point * shape.stride()), hashes(static_cast<size_t>(2 * n_table * n_point)) {
        const HeadWeights weights(golden, h);
        TileBox<float> u(TileBox<float>::input, d, n_point), x(TileBox<float>::input, 6, n_point);
        fill_input(golden, u);
        const auto coords = golden.all("check/input/coords");
        x.fill([&](int64_t r, int64_t i) { return coords[static_cast<size_t>(i * 6 + r)]; });
        Buffer<float> scratch(augment_scratch(weights.head()));
        for (int64_t first = 0; first < n_point; first += tile_points) {
            const int64_t n = std::min(tile_points, n_point - first);
            EXPECT_TRUE(augment<float>(queue, weights.head(), points(u.input_view(), first, n),
                                       points(x.input_view(), first, n), scratch.data(),
                                       rows.data() + first * shape.stride(),
                                       {hashes.data() + first, n_point}));
        }
    }
    Buffer<float> rows;
    std::vector<uint32_t> hashes;
};

float float_of(uint32_t ordered) {
    return std::bit_cast<float>(ordered & 0x80000000U ? ordered & 0x7fffffffU : ~ordered);
}

TEST_P(HeptGoldenOn, QueriesKeysAndHashesAreThoseOfThePublishedModel) {
    Golden golden;
    for (int64_t h = 0; h < n_head; ++h) {
        const Augmented got(queue(), golden, h);
        const auto expect = [&](const std::string& name, int64_t channel) {
            for (int64_t i = 0; i < n_point; ++i) {
                for (int64_t e = 0; e < n_query; ++e) {
                    const int64_t at = e < d ? channel + e : e;
                    ASSERT_NEAR(got.rows[i * shape.stride() + at],
                                golden("check/layers/0/" + name, (h * n_token + i) * n_query + e),
                                1e-5)
                        << name << " of point " << i << ", number " << e;
                }
            }
        };
        expect("Q", 0);
        expect("K", n_query);
        for (int64_t t = 0; t < 2 * n_table; ++t) {
            const std::string name = t < n_table ? "hash_q" : "hash_k";
            for (int64_t i = 0; i < n_point; ++i)
                ASSERT_NEAR(
                    float_of(got.hashes[static_cast<size_t>(t * n_point + i)]),
                    golden("check/layers/0/" + name, (t % n_table * n_head + h) * n_token + i),
                    5e-5)
                    << name << " of point " << i;
        }
    }
}

TEST_P(HeptGoldenOn, SumsOfAllBlocksAreThoseOfThePublishedModel) {
    Golden golden;
    Buffer<float> scratch(attend_block_scratch(shape)), sums(block_size * shape.n_sum());
    for (int64_t row = 0; row < n_table * n_head; ++row) {
        const Augmented tokens(queue(), golden, row % n_head);
        const auto queries = golden.order("q", row), keys = golden.order("k", row);
        for (int64_t first = 0; first < n_point; first += block_size) {
            const auto n = static_cast<size_t>(std::min(block_size, n_point - first));
            const std::span<const int32_t> some{queries.data() + first, n};
            attend_block<float>(queue(), shape,
                                {tokens.rows.data(),
                                 some,
                                 {keys.data() + first, n},
                                 block_size - static_cast<int64_t>(n)},
                                scratch.data(), sums.data());
            for (int64_t i = 0; i < std::ssize(some); ++i) {
                const int64_t at = row * n_token + some[static_cast<size_t>(i)];
                for (int64_t c = 0; c < d; ++c)
                    ASSERT_NEAR(sums[i * (d + 1) + c], golden("check/layers/0/num", at * d + c),
                                2e-5);
            }
            for (int64_t i = 0; i < std::ssize(some); ++i)
                ASSERT_NEAR(
                    sums[i * (d + 1) + d],
                    golden("check/layers/0/den", row * n_token + some[static_cast<size_t>(i)]),
                    2e-5);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::hept::test
