// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscksp.h>

#include <vector>

#include "body.hpp"
#include "box_grid.hpp"
#include "owner.hpp"
#include "panel.hpp"

namespace airflow {

/// Planes that reflect the flow. Images of the panels represent the other side of each plane.
struct Mirrors {
    bool middle = true;  ///< y = 0: the body is symmetric, so half of its panels are unknown
    bool ground = true;  ///< z = 0: no wind through the ground
};

/// The flow without friction and without swirl around a body in a wind of speed one along x, by the
/// source panel method of Hess and Smith (1967): a constant source on each flat panel, such that no
/// wind crosses the panel's center. This is a dense system with one equation per panel, solved by
/// GMRES with the rows of the matrix distributed over the ranks.
class PotentialFlow {
public:
    /// Integrals over a panel are exact up to `near` of its diameters.
    explicit PotentialFlow(double near = usual_near) : near_(near) {}

    /// Solves for the sources. All ranks store all panels (a few thousand). Collective.
    PetscErrorCode solve(MPI_Comm comm, const Body& body, const BoxGrid& grid,
                         const Mirrors& mirrors);

    /// Returns the velocity along the surface at a point of another grid on the same body. The
    /// velocity of each of the four nearest corners is the mean of the panels around it; between
    /// the corners it is bilinear; the component through the surface is removed. Local.
    Vector3 velocity_at(const BoxGrid& fine, const BoxGrid::Index& index,
                        const Vector3& normal) const;

    PetscInt n_iteration() const { return n_iteration_; }

    // The parts of solve(), for other methods that solve the same equations.

    /// Signs of y and z of an image; the first image is the panel itself.
    struct Image {
        double y, z;
    };
    void make_panels(const Body& body, const BoxGrid& grid, const Mirrors& mirrors);
    const std::vector<Panel>& panels() const { return panels_; }
    const std::vector<Image>& images() const { return images_; }
    /// Returns the velocity at the center of a panel by a source of one on another panel and its
    /// images. Local.
    Vector3 induced(PetscInt at, PetscInt by) const;
    /// Sets the velocities at the centers of all panels, on every rank, for velocity_at(). Local.
    void spread_to_corners(const std::vector<Vector3>& velocity);

private:
    PetscErrorCode assemble();
    PetscErrorCode solve_sources();
    PetscErrorCode find_velocities();
    std::vector<Vector3> corner_means(const std::vector<Vector3>& velocity) const;

    double near_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    BoxGrid grid_;
    bool is_half_ = false;
    std::vector<Image> images_;
    std::vector<int64_t> cells_;  // of the panels
    std::vector<Panel> panels_;
    Owner<Mat, MatDestroy> matrix_;
    std::vector<Vector3> stored_;  // velocities by pairs, column by column of the matrix
    Owner<Vec, VecDestroy> sources_;
    std::vector<Vector3> corner_velocity_;  // by points of the grid, on all ranks
    PetscInt n_iteration_ = 0;
};

}  // namespace airflow
