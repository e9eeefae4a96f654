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

/// Selects the rows (points or cells) of this rank's part of a mesh that are evaluated on this
/// rank, each row of the mesh on one rank, and sends the results to all other copies.
class Placement {
public:
    virtual ~Placement() = default;

    /// Returns the local rows that are evaluated here, in the order of the domain's points.
    const std::vector<int64_t>& chosen() const { return chosen_; }

    /// Creates a domain of the chosen rows at x [chosen().size()][n_axis], with weights and clouds
    /// [chosen().size()], or none where these are null; a grid uses its own positions and neither.
    /// Collective.
    virtual Domain make_domain(const Context& context, const std::vector<double>& x, int64_t n_axis,
                               const double* weights, const int64_t* clouds) const = 0;

    /// Returns true if move() can update a domain from rows of another mesh to these rows, which
    /// holds for scattered points.
    virtual bool can_move() const { return false; }
    /// Returns true if the points of the domain have ids.
    virtual bool has_ids() const { return false; }
    /// Updates a domain with the same has_ids() to the chosen rows. Collective; arguments as
    /// in make_domain().
    virtual void move(Domain& domain, const std::vector<double>& x, int64_t n_axis,
                      const double* weights, const int64_t* clouds) const;

    /// Sends of_chosen [chosen().size()] to all rows of the part; NaN in hidden rows. Collective.
    virtual std::vector<double> spread(const Job& job,
                                       const std::vector<double>& of_chosen) const = 0;

    /// Returns the number of rows, over all ranks, that are at the coordinates of another row and
    /// count separately.
    virtual int64_t n_split() const { return 0; }

protected:
    std::vector<int64_t> chosen_;
};

/// Selects scattered points: rows that are equal by their ids, or by coordinates and values, count
/// once (see SharedRows). Collective.
std::unique_ptr<Placement> place_points(const Job& job, const vtk::MeshFile& mesh,
                                        const FieldPlan& plan);

/// Selects what two placements select, the first one's rows first, to evaluate them together. Its
/// points have no ids. Local; the number of rows is all that it takes from them.
std::unique_ptr<Placement> place_both(const Placement& first, const Placement& second);

/// Selects the nodes of the grid of `model`: this rank's rows of the structured file, whose parts
/// are slabs along `file.lat_axis`. Collective. Throws Failure for points that do not match their
/// row and column, and for hidden points.
std::unique_ptr<Placement> place_on_sphere(const Job& job, const vtk::MeshFile& mesh,
                                           const vtk::SphereFile& file, const Model& model);

}  // namespace surrogate::tool
