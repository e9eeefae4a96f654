// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sequoia_case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/sphere_models.hpp"

namespace surrogate::test {

using nlohmann::json;

json small_sequoia(const json& changes) {
    const json network = {{"c_in", 16},
                          {"transformer_dim", 16},
                          {"num_head", 2},
                          {"head_dim", 6},
                          {"transformer_hidden_dim", 20},
                          {"num_layers", 3},
                          {"k", 3},
                          {"num_classes", 1}};
    return changed(network, changes);
}

json small_sequence(const json& changes) {
    const json network = {{"pos_enc", "tokens"}, {"vocab_size", 11}, {"max_seq_len", 64},
                          {"num_classes", 3},    {"c_in", nullptr},  {"pooling_mode", "MEAN"}};
    return changed(small_sequoia(network), changes);
}

std::string sequoia_model(const json& network) {
    return sphere_model({{"format", 1}, {"family", "sequoia"}, {"network", network}}).bytes();
}

SequoiaCase SequoiaCase::wave(int64_t n, int64_t n_axis) {
    SequoiaCase points;
    points.n = n;
    points.n_axis = n_axis;
    const std::vector<float> x = test::wave(n * n_axis, 0.6);
    points.positions.assign(x.begin(), x.end());
    points.ids = points.all();
    return points;
}

SequoiaCase SequoiaCase::sequence(int64_t n) {
    SequoiaCase points = wave(n, 0);
    for (int64_t j = 0; j < n; ++j) points.tokens.push_back(7 * j % 11);
    return points;
}

namespace {

std::vector<int64_t> integers(const GoldenFile& file, const std::string& name) {
    const std::vector<double> values = file.tensor(name).values;
    return {values.begin(), values.end()};
}

/// Rows of a table with so many rows.
template <class T>
std::vector<T> some_rows(const std::vector<T>& table, int64_t n, const std::vector<int64_t>& rows) {
    std::vector<T> some;
    const int64_t width = n > 0 ? std::ssize(table) / n : 0;
    for (const int64_t row : rows)
        some.insert(some.end(), table.begin() + row * width, table.begin() + (row + 1) * width);
    return some;
}

}  // namespace

SequoiaCase::SequoiaCase(const GoldenFile& file) {
    if (file.has("check/input/tokens")) {
        tokens = integers(file, "check/input/tokens");
        n = std::ssize(tokens);
        ids = all();
        return;
    }
    const GoldenTensor golden = file.tensor("check/input/positions");
    n = golden.shape[0];
    n_axis = golden.shape[1];
    positions = golden.values;
    ids = file.has("check/input/gid") ? integers(file, "check/input/gid") : all();
    for (const char* name : {"check/input/features", "check/input/x"})
        if (file.has(name)) features = file.tensor(name).values;
}

std::vector<int64_t> SequoiaCase::all() const {
    std::vector<int64_t> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    return rows;
}

SequoiaCase SequoiaCase::rows(const std::vector<int64_t>& rows) const {
    SequoiaCase some;
    some.n = std::ssize(rows);
    some.n_axis = n_axis;
    some.positions = some_rows(positions, n, rows);
    some.ids = some_rows(ids, n, rows);
    some.features = some_rows(features, n, rows);
    some.tokens = some_rows(tokens, n, rows);
    return some;
}

Domain SequoiaCase::domain(const Context& context) const {
    return {context, matrix(positions.data(), n, n_axis), ids.data()};
}

std::vector<double> run(Plan& plan, const Model& model, const SequoiaCase& own) {
    std::vector<surrogate_named_array> given, wanted;
    std::vector<double> y;
    for (const surrogate_port_info& port : model.ports()) {
        if (port.is_output) {
            const int64_t n = port.location == SURROGATE_ON_OUTPUT   ? own.n
                              : port.location == SURROGATE_ON_CLOUDS ? 1
                                                                     : plan.counter("nodes");
            y.assign(static_cast<size_t>(n * port.n_channel), NAN);
            wanted.push_back({port.name, matrix(y.data(), n, port.n_channel)});
        } else if (port.kind == SURROGATE_INTEGER) {
            surrogate_array tokens{};
            tokens.data = const_cast<int64_t*>(own.tokens.data());
            tokens.dtype = SURROGATE_INT64;
            tokens.shape[0] = own.n;
            tokens.shape[1] = tokens.stride[0] = tokens.stride[1] = 1;
            given.push_back({port.name, tokens});
        } else if (port.location == SURROGATE_ON_INPUT) {
            given.push_back({port.name, matrix(own.features.data(), own.n, port.n_channel)});
        }
    }
    plan.run_network(given, wanted);
    return y;
}

std::vector<double> run(const Context& context, const Model& model, const SequoiaCase& own,
                        const Options& options) {
    const Domain domain = own.domain(context);
    Plan plan(model, domain, options);
    return run(plan, model, own);
}

}  // namespace surrogate::test
