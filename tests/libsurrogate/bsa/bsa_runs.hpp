// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/context/context.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/gradient.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/model.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {

/// A model file and points behind the interface, on one rank.
struct BsaInternals {
    BsaInternals(const std::string& path, const SequoiaCase& points)
        : context(std::make_shared<impl::Context>(impl::self_communicator(), impl::Options{},
                                                  impl::Placement{})),
          model(context, path.c_str()),
          config(impl::bsa::parse_config(*model.card().network)),
          n(points.n) {
        const surrogate_points given{matrix(points.positions.data(), n, points.n_axis),
                                     points.ids.data(), nullptr, nullptr};
        domain = std::make_unique<impl::PointDomain>(context, &given);
        for (int axis = 0; axis < domain->n_axis(); ++axis) {
            coordinates.push_back({.data = const_cast<double*>(domain->coordinate(axis)),
                                   .is_double = true,
                                   .is_constant = true});
        }
    }

    impl::PlanRequest request(const kernels::Queue& queue) const {
        impl::PlanRequest request{*domain, *domain, queue};
        request.coordinates = coordinates;
        return request;
    }

    /// Columns of a row-major table (n, n_column) of doubles.
    static std::vector<impl::Column> columns(std::vector<double>& table, int64_t n_column) {
        std::vector<impl::Column> list;
        for (int64_t c = 0; c < n_column; ++c)
            list.push_back({.data = table.data() + c, .stride = n_column, .is_double = true});
        return list;
    }

    std::shared_ptr<impl::Context> context;
    impl::Model model;
    impl::bsa::Config config;
    int64_t n;
    std::unique_ptr<impl::PointDomain> domain;
    std::vector<impl::Column> coordinates;
};

/// Gradients by name of the tensor, and of positions and features.
struct Gradients {
    std::map<std::string, std::vector<double>> by_name;
    std::vector<double> positions, features;
    std::vector<double> y;
    double loss = 0;  ///< 0.5 sum(y^2), of which they are the gradients
};

template <class T>
Gradients gradients(const std::string& path, SequoiaCase points, const kernels::Queue& queue) {
    const BsaInternals parts(path, points);
    const impl::bsa::Layers<T> layers(parts.config, parts.model.weights());
    const int64_t n_output = parts.config.n_output, n_axis = parts.config.n_axis;
    const bool has_features = parts.config.features == impl::bsa::Features::given;
    const int64_t n_feature = has_features ? parts.config.n_feature : 0;
    const auto size = [&](int64_t n_column) { return static_cast<size_t>(points.n * n_column); };
    std::vector<double> y(size(n_output)), d(size(n_axis + n_feature));
    impl::GradientSums sums(*parts.model.weights(), queue.n_thread(), impl::GradientOrder::real);
    const auto outputs = BsaInternals::columns(y, n_output);
    impl::PointPorts<T> ports(*parts.domain, queue, n_feature, n_output),
        back(*parts.domain, queue, n_output, n_axis + n_feature);
    impl::bsa::TreePlan<T> plan(parts.config, *parts.domain, queue);
    impl::bsa::Forward<T> forward(parts.config, layers, queue, parts.context->comm(), ports, plan,
                                  false);
    impl::PointPorts<T>* const both[] = {&ports, &back};
    plan.build(parts.coordinates, false, both);
    ports.allocate();
    back.allocate();
    forward.resize();
    impl::bsa::Gradient<T> gradient(parts.config, layers, queue, parts.context->comm(), ports, back,
                                    plan, forward, false);
    impl::OutsideCounts outside(queue.n_thread(), n_output + n_feature);
    {
        const TrapGuard guard;
        ports.gather(BsaInternals::columns(points.features, n_feature), outside);
        if (n_feature > 0) ports.deliver();
        EXPECT_TRUE(gradient.forward());
        ports.scatter(outputs, true);
        back.gather(outputs, outside);
        back.deliver();
        EXPECT_TRUE(gradient.backward(sums, false));
        back.scatter(BsaInternals::columns(d, n_axis + n_feature), true);
    }
    Gradients found;
    found.y = y;
    for (const double value : y) found.loss += 0.5 * value * value;
    for (const auto& entry : parts.model.weights()->entries()) {
        const double* const from = sums.total().data() + entry.first;
        found.by_name[entry.name] = {from, from + entry.size};
    }
    for (int64_t i = 0; i < points.n; ++i) {
        const auto row = d.begin() + i * (n_axis + n_feature);
        found.positions.insert(found.positions.end(), row, row + n_axis);
        found.features.insert(found.features.end(), row + n_axis, row + n_axis + n_feature);
    }
    return found;
}

inline double largest(const std::vector<double>& values) {
    double size = 0;
    for (const double value : values) size = std::max(size, std::abs(value));
    return size;
}

/// Returns the largest difference over the largest expected entry, or over `scale` if it is larger.
inline double difference(const std::vector<double>& found, const std::vector<double>& expected,
                         double scale = 0) {
    if (found.size() != expected.size()) return INFINITY;
    double most = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        if (std::isnan(found[i])) return NAN;
        most = std::max(most, std::abs(found[i] - expected[i]));
    }
    return most / std::max(scale, largest(expected));
}

/// Sees, and may replace, the ascending blocks that a group has chosen for a head. Called by
/// several threads at once; groups and blocks are global numbers of the layer's ordering.
using ChoiceHook =
    std::function<void(int64_t layer, int64_t head, int64_t group, std::span<int32_t> blocks)>;

/// A forward pass that gives all chosen blocks to a hook.
template <class T>
class ObservedForward final : public impl::bsa::Forward<T> {
public:
    ObservedForward(const impl::bsa::Config& config, const impl::bsa::Layers<T>& layers,
                    impl::Communicator& comm, impl::PointPorts<T>& ports,
                    const impl::bsa::TreePlan<T>& plan, const ChoiceHook& hook)
        : impl::bsa::Forward<T>(config, layers, kernels::Queue(), comm, ports, plan, false),
          config_(config),
          hook_(hook) {}

private:
    void on_blocks_chosen(int64_t layer, impl::Range groups) override {
        auto& work = this->work();
        const int64_t first = work.shape().own.begin / config_.group_size;
        for (int64_t group = groups.begin; group < groups.end; ++group) {
            for (int64_t head = 0; head < config_.n_head; ++head)
                hook_(layer, head, first + group,
                      {work.chosen(group, head), static_cast<size_t>(work.n_choice())});
        }
    }

    const impl::bsa::Config& config_;
    const ChoiceHook& hook_;
};

/// Returns the predictions of a model whose chosen blocks `hook` sees.
template <class T>
std::vector<double> predict(const std::string& path, SequoiaCase points, const ChoiceHook& hook) {
    const BsaInternals parts(path, points);
    const impl::bsa::Layers<T> layers(parts.config, parts.model.weights());
    const kernels::Queue queue;
    const bool has_features = parts.config.features == impl::bsa::Features::given;
    const int64_t n_feature = has_features ? parts.config.n_feature : 0;
    impl::PointPorts<T> ports(*parts.domain, queue, n_feature, parts.config.n_output);
    impl::bsa::TreePlan<T> plan(parts.config, *parts.domain, queue);
    ObservedForward<T> forward(parts.config, layers, parts.context->comm(), ports, plan, hook);
    impl::PointPorts<T>* const all[] = {&ports};
    plan.build(parts.coordinates, false, all);
    ports.allocate();
    forward.resize();
    impl::OutsideCounts outside(1, std::max<int64_t>(n_feature, 1));
    EXPECT_LT(ports.gather(BsaInternals::columns(points.features, n_feature), outside).column, 0);
    if (n_feature > 0) ports.deliver();
    forward.embed();
    for (int64_t layer = 0; layer < parts.config.depth; ++layer)
        EXPECT_TRUE(forward.run_layer(layer));
    forward.head();
    std::vector<double> y(static_cast<size_t>(points.n * parts.config.n_output));
    ports.scatter(BsaInternals::columns(y, parts.config.n_output), true);
    return y;
}

}  // namespace surrogate::test
