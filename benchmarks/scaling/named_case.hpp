// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "benchmarks/scaling/cloud_case.hpp"
#include "benchmarks/scaling/flare_case.hpp"
#include "benchmarks/scaling/hept_case.hpp"
#include "benchmarks/scaling/sphere_case.hpp"

namespace surrogate::bench {

/// flare: 8 blocks, 40,000 points. neighborhood, global: the sphere's Transformer, 128 x 256.
/// neighborhood_layer, global_layer: a layer of its attention. bsa, group_compression, sequoia: 2
/// layers, erwin: 8, 65,536 points. hept: the published tracking model, 60,000 hits.
constexpr const char* cases[] = {"flare",
                                 "neighborhood",
                                 "global",
                                 "neighborhood_layer",
                                 "global_layer",
                                 "bsa",
                                 "group_compression",
                                 "erwin",
                                 "sequoia",
                                 "hept"};

/// Writes the model file of a case and calls use.operator()<Run>(arguments...): Run(context,
/// arguments..., options) is a plan on the ranks of a context with its fields, Run::run() evaluates
/// it. n_point: 0 for the number above. The file is removed on return.
template <class Use>
void with_case(const std::string& name, const Use& use, int64_t n_point = 0) {
    if (name == "flare") {
        const FlareCase flare(8);
        use.template operator()<FlareRun>(flare.path(), n_point > 0 ? n_point : int64_t{40000});
    } else if (name.starts_with("neighborhood") || name.starts_with("global")) {
        const int64_t n_lat = n_point > 0 ? std::lround(std::sqrt(n_point / 2.0)) : 128;
        const std::string mode = name.substr(0, name.find('_'));
        const ModelCase sphere("sphere", name == mode ? paper_transformer(mode, n_lat, 2 * n_lat)
                                                      : attention_layer(mode, n_lat, 2 * n_lat));
        use.template operator()<SphereRun>(sphere.path());
    } else if (name == "hept") {
        const ModelCase hits("hept", hept_network(4));
        use.template operator()<HitRun>(hits.path(), n_point > 0 ? n_point : int64_t{60000});
    } else {
        const bool is_bsa = name != "sequoia" && name != "erwin";
        const ModelCase cloud(is_bsa ? "bsa" : name, name == "sequoia" ? sequoia_network(2)
                                                     : name == "erwin" ? erwin_network(8)
                                                                       : bsa_network(name, 2));
        use.template operator()<CloudRun>(cloud.path(), n_point > 0 ? n_point : int64_t{65536});
    }
}

}  // namespace surrogate::bench
