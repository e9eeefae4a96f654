// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/mesh/mesh_fields.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "coupling/mesh/sphere_file.hpp"

namespace surrogate::tool {

/// Which rows (points or cells) of this rank's share of a mesh are evaluated here, each row of the
/// mesh on one rank, and how all others get their results.
class Placement {
public:
    virtual ~Placement() = default;

    /// Local rows of the share that are evaluated here, in the order of the domain's points.
    const std::vector<int64_t>& chosen() const { return chosen_; }

    /// The chosen rows as a domain, at x [chosen().size()][n_axis]; a grid has its own positions.
    /// Collective.
    virtual Domain make_domain(const Context& context, const std::vector<double>& x,
                               int64_t n_axis) const = 0;

    /// Returns whether a domain of another mesh's rows can be updated to these by move(): scattered
    /// points.
    virtual bool can_move() const { return false; }
    /// The points of the domain have numbers.
    virtual bool has_ids() const { return false; }
    /// Takes the chosen rows into a domain with the same has_ids(). Collective; x as in
    /// make_domain().
    virtual void move(Domain& domain, const std::vector<double>& x, int64_t n_axis) const;

    /// of_chosen [chosen().size()] -> all rows of the share; NaN in hidden ones. Collective.
    virtual std::vector<double> spread(const Job& job,
                                       const std::vector<double>& of_chosen) const = 0;

    /// Rows, over all ranks, that lie at another's place and count as rows of their own.
    virtual int64_t n_split() const { return 0; }

protected:
    std::vector<int64_t> chosen_;
};

/// Scattered points: rows that are the same by their ids, or by place and values, count once (see
/// SharedRows). Collective.
std::unique_ptr<Placement> place_points(const Job& job, const vtk::MeshFile& mesh,
                                        const FieldPlan& plan);

/// Nodes of the grid of `model`: this rank's rows of the structured file, of which the shares are
/// slabs along `file.lat_axis`. Collective. Failure: points that are not where row and column say,
/// hidden points.
std::unique_ptr<Placement> place_on_sphere(const Job& job, const vtk::MeshFile& mesh,
                                           const vtk::SphereFile& file, const Model& model);

}  // namespace surrogate::tool
