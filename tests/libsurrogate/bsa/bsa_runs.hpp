// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/context/context.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/gradient.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/bsa/program.hpp"
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
    std::vector<double> arena(parts.model.weights()->values().size());
    const auto outputs = BsaInternals::columns(y, n_output);
    impl::PointPorts<T> ports(*parts.domain, queue, n_feature, n_output),
        back(*parts.domain, queue, n_output, n_axis + n_feature);
    impl::bsa::TreePlan<T> plan(parts.config, *parts.domain, queue);
    const impl::bsa::ChoiceHook no_hook;
    impl::bsa::Forward<T> forward(parts.config, layers, queue, parts.context->comm(), ports, plan,
                                  false, no_hook);
    impl::PointPorts<T>* const both[] = {&ports, &back};
    plan.build(parts.coordinates, false, both);
    ports.allocate();
    back.allocate();
    forward.resize();
    impl::bsa::Gradient<T> gradient(parts.config, layers, queue, ports, back, plan, forward);
    impl::OutsideCounts outside(queue.n_thread(), n_output + n_feature);
    {
        const TrapGuard guard;
        ports.gather(BsaInternals::columns(points.features, n_feature), outside);
        if (n_feature > 0) ports.deliver();
        EXPECT_TRUE(gradient.forward());
        ports.scatter(outputs, true);
        back.gather(outputs, outside);
        back.deliver();
        EXPECT_TRUE(gradient.backward(arena));
        back.scatter(BsaInternals::columns(d, n_axis + n_feature), true);
    }
    Gradients found;
    found.y = y;
    for (const double value : y) found.loss += 0.5 * value * value;
    for (const auto& entry : parts.model.weights()->entries()) {
        const double* const from = arena.data() + entry.first;
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

/// Predictions of a program with a hook.
template <class T>
std::vector<double> predict(const std::string& path, SequoiaCase points,
                            const impl::bsa::ChoiceHook& hook) {
    const BsaInternals parts(path, points);
    const impl::bsa::Layers<T> layers(parts.config, parts.model.weights());
    const auto program = impl::bsa::make_program<T>(parts.config, layers, *parts.domain,
                                                    parts.request(kernels::Queue()), hook);
    program->connect();
    std::vector<impl::Column> inputs = parts.coordinates;
    for (const impl::Column& column :
         BsaInternals::columns(points.features, std::ssize(points.features) / points.n)) {
        inputs.push_back(column);
    }
    impl::OutsideCounts outside(1, std::ssize(inputs));
    EXPECT_LT(program->gather(inputs, outside).column, 0);
    EXPECT_TRUE(program->evaluate(true));
    std::vector<double> y(static_cast<size_t>(points.n * parts.config.n_output));
    program->scatter(BsaInternals::columns(y, parts.config.n_output), true);
    return y;
}

}  // namespace surrogate::test
