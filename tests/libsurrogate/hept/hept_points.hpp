// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <surrogate/surrogate.hpp>
#include <utility>
#include <vector>

#include "libsurrogate/src/model/hept/home_order.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::test {

/// Points as a solver gives them.
struct HeptPoints {
    int64_t n_axis = 2;
    std::vector<double> x;             // (n, n_axis)
    std::vector<int64_t> ids, clouds;  // (n); a domain without them if there are none

    int64_t n() const { return std::ssize(x) / n_axis; }

    void add(std::vector<double> at, int64_t id, int64_t cloud = 0) {
        x.insert(x.end(), at.begin(), at.end());
        ids.push_back(id);
        clouds.push_back(cloud);
    }
    HeptPoints rows(const std::vector<int64_t>& rows) const {
        HeptPoints part;
        part.n_axis = n_axis;
        for (const int64_t row : rows) {
            const auto r = static_cast<size_t>(row);
            part.x.insert(part.x.end(), x.begin() + row * n_axis, x.begin() + (row + 1) * n_axis);
            if (!ids.empty()) part.ids.push_back(ids[r]);
            if (!clouds.empty()) part.clouds.push_back(clouds[r]);
        }
        return part;
    }
};

/// Points of a rank and what a plan makes of them.
struct HeptPlan {
    impl::Communicator& comm() { return domain->context().comm(); }

    /// Collective.
    HeptPlan(std::unique_ptr<impl::Communicator> ranks, const impl::hept::Config& config,
             const HeptPoints& own, bool is_reproducible = false) {
        const surrogate_points given{matrix(own.x.data(), own.n(), own.n_axis),
                                     own.ids.empty() ? nullptr : own.ids.data(),
                                     own.clouds.empty() ? nullptr : own.clouds.data(), nullptr};
        domain = std::make_unique<impl::PointDomain>(
            std::make_shared<impl::Context>(std::move(ranks), impl::Options{}, impl::Placement{}),
            &given);
        std::vector<impl::Column> columns;
        for (int64_t axis = 0; axis < own.n_axis; ++axis) {
            impl::Column column;
            column.data = const_cast<double*>(domain->coordinate(static_cast<int>(axis)));
            column.is_double = true;
            columns.push_back(column);
        }
        impl::PlanRequest request{*domain, *domain, kernels::Queue()};
        request.reproducible = is_reproducible;
        request.coordinates = columns;
        home = impl::hept::home_order(config, *domain, request);
    }
    /// Collective.
    void connect(const impl::hept::Config& config, std::span<const float> regions) {
        plan.connect(comm(), config, regions, home);
    }

    std::unique_ptr<impl::PointDomain> domain;
    impl::hept::HomeOrder home;
    impl::hept::TokenPlan plan;
};

}  // namespace surrogate::test
