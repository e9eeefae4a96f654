// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sequoia/costs.hpp"

#include <algorithm>

#include "libsurrogate/src/model/sequoia/layer_pass.hpp"
#include "libsurrogate/src/model/sequoia/readout.hpp"

namespace surrogate::impl::sequoia {

namespace {

/// Returns the number of (query, key) pairs that this rank computes in one layer.
double pairs_of(const Config& c, const Tree& tree) {
    double pairs = 0;
    for (const int l : visits(c.schedule, tree.n_level())) {
        const int64_t n_sibling = c.has_siblings ? std::min(c.k, tree.level(l).n) : 0;
        pairs += static_cast<double>(tree.level(l).held.size()) *
                 static_cast<double>(n_ancestor(c, tree, l) + n_sibling);
        if (l > 0 && c.has_children) pairs += static_cast<double>(tree.level(l - 1).held.size());
    }
    return pairs * static_cast<double>(c.num_head);
}

double product(int64_t n_in, int64_t n_out) {
    return 2.0 * static_cast<double>(n_in) * static_cast<double>(n_out);
}

double embedding_flops(const Config& c) {
    const int64_t n_encoding = c.features == Features::fourier ? c.c_in / 2 : c.c_in;
    switch (c.features) {
        case Features::fourier:
        case Features::linear:
            return product(c.dimensionality, n_encoding) + product(c.c_in, c.dim);
        case Features::none: return product(c.c_in, c.dim);
        case Features::tokens: break;
    }
    return static_cast<double>(c.dim);
}

LayerCost layer_cost(const Config& c, const Work& work) {
    const Tree& tree = work.tree;
    const double n = static_cast<double>(tree.n_held()), pairs = pairs_of(c, tree);
    const double a_node = 4 * product(c.dim, c.inner_dim()) + 2 * product(c.dim, c.hidden_dim);
    const int64_t n_gather = LayerPass<float>::n_gather(c, tree);
    LayerCost cost;
    cost.flops = n * a_node + 4.0 * static_cast<double>(c.head_dim) * pairs;
    cost.exponentials = pairs;
    cost.bytes_sent = work.gather_bytes(n_gather, c.inner_dim());
    cost.collectives = work.gathers(n_gather);
    return cost;
}

}  // namespace

std::vector<LayerCost> costs_of(const Config& c, const Work& work) {
    const Tree& tree = work.tree;
    std::vector<LayerCost> list;
    if (!work.is_on_device) list.push_back(error_flag_cost("error flag of every rank"));
    if (work.input_bytes > 0 && work.sends())
        list.push_back(scatter_cost("inputs to the leaves", work.n_solver * work.input_bytes, 1));
    list.push_back({"embedding, means", static_cast<double>(work.n_own) * embedding_flops(c), 0,
                    work.gather_bytes(1, c.dim), work.gathers(1)});
    for (int64_t i = 0; i < c.num_layers; ++i) {
        list.push_back(layer_cost(c, work));
        list.back().name = "layer " + std::to_string(i);
    }
    const double a_row = product(c.dim, c.hidden_dim) + product(c.hidden_dim, c.num_classes);
    const Place place = place_of(c);
    const int64_t n_row = place == Place::cloud    ? 1
                          : place == Place::leaves ? work.n_own
                                                   : tree.n_held();
    list.push_back({"head", static_cast<double>(n_row) * a_row, 0, work.readout_bytes,
                    work.readout_collectives});
    if (place == Place::leaves && work.sends()) {
        list.push_back(scatter_cost("outputs to solver order",
                                    work.n_own * c.num_classes * work.value_bytes, 1));
    }
    return list;
}

}  // namespace surrogate::impl::sequoia
