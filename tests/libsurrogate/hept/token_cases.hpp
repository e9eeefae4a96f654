// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/libsurrogate/hept/hept_points.hpp"

namespace surrogate::test {

/// Points, regions and blocks for tests of tokens.
struct TokenCase {
    std::string name;
    HeptPoints points;
    std::vector<float> regions;  // (C, 2, H)
    int64_t block_size = 8;

    static constexpr int64_t n_table = 2, n_head = 3;
    bool has_one_cloud() const {
        for (const int64_t cloud : points.clouds)
            if (cloud != 0) return false;
        return true;
    }
    impl::hept::Config config(impl::hept::Padding padding) const {
        impl::hept::Config config;
        config.n_hashes = n_table;
        config.num_heads = n_head;
        config.coords_dim = points.n_axis;
        config.block_size = block_size;
        config.padding = padding;
        return config;
    }
};

/// Points of a cloud, scattered, with ids from first_id on.
inline void add_cloud(HeptPoints& points, int64_t n, int64_t cloud) {
    const int64_t first = points.n();
    for (int64_t i = first; i < first + n; ++i) {
        const double r = static_cast<double>(i + 1);  // Roberts' R2 sequence
        const double eta = std::fmod(0.7548776662466927 * r, 1.0) - 0.5;
        points.add({eta, std::fmod(0.5698402909980532 * r, 1.0) - 0.5}, 7 * i, cloud);
    }
}

inline TokenCase token_case(const std::string& name, const std::vector<int64_t>& cloud_sizes,
                            int64_t block_size, double region_scale = 1) {
    TokenCase test{name, {}, {}, block_size};
    for (size_t g = 0; g < cloud_sizes.size(); ++g)
        add_cloud(test.points, cloud_sizes[g], static_cast<int64_t>(g));
    for (const double r :
         {3.0, 7.0 / 3, 10.0 / 3, 5.0, 4.0, 2.0, 2.0, 19.0 / 3, 4.0, 4.0, 3.0, 5.0})
        test.regions.push_back(static_cast<float>(region_scale * r));
    return test;
}

inline std::vector<TokenCase> token_cases() {
    std::vector<TokenCase> cases{
        token_case("one cloud", {203}, 8),
        token_case("blocks of one point", {41}, 1),
        token_case("clouds of unequal size, one without points", {37, 1, 0, 120, 5, 16}, 16),
        token_case("many small clouds", std::vector<int64_t>(40, 5), 4),
        token_case("fewer points than a block has", {13}, 32),
        token_case("three points of a block", {3}, 50),
        token_case("no points", {0}, 8),
        token_case("one cell, cut by all ranks", {150}, 4, 0.1),
        token_case("a slab for each point", {61}, 4, 1e6),
        token_case("many slabs", {900, 100}, 50, 4),
        token_case("ties", {130}, 8),
        token_case("equal points", {70}, 8),
        token_case("sparse ids", {90, 33}, 8),
    };
    for (TokenCase& test : cases) {
        for (size_t i = 0; i < test.points.x.size(); ++i) {
            double& x = test.points.x[i];
            if (test.name == "ties") x = std::round(4 * x) / 2;  // with -0
            if (test.name == "equal points") x = 0.25;
        }
        for (size_t i = 0; i < test.points.ids.size(); ++i) {
            int64_t& id = test.points.ids[i];
            if (test.name == "ties" || test.name == "equal points") id = (id * 31) % 1009;
            if (test.name == "sparse ids") id = (i % 2 == 0 ? 1 : -1) * (id << 40);
        }
        if (test.name == "sparse ids") {
            test.points.ids[5] = std::numeric_limits<int64_t>::max();
            test.points.ids[8] = std::numeric_limits<int64_t>::min();
        }
    }
    return cases;
}

}  // namespace surrogate::test
