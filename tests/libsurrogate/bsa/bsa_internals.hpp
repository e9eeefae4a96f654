// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libsurrogate/src/context/context.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/model.hpp"
#include "tests/support/sequoia_case.hpp"

namespace surrogate::test {

/// A model file and points behind the interface, on one rank.
struct BsaInternals {
    BsaInternals(const std::string& path, const SequoiaCase& points)
        : context(std::make_shared<impl::Context>(impl::self_communicator(), impl::Options{},
                                                  impl::Placement{})),
          model(context, path.c_str()),
          config(impl::bsa::parse_config(model.card().network)),
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

}  // namespace surrogate::test
