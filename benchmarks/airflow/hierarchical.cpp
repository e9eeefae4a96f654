// SPDX-License-Identifier: Apache-2.0
// The panel method of examples/airflow with a hierarchical matrix (hmat-oss, Debian:
// libhmat-oss-dev) in place of the dense one: seconds and errors of both at several numbers of
// panels.
//
//     airflow_hierarchical [first seed] [bodies] [panels ...]       default: 3001 2 1000 2000 ..
//     20000
//
// Beyond 3 diameters a panel counts as a point. The matrix is split: all pairs as points, which is
// compressed by adaptive cross approximation, and a sparse matrix of what exact integrals add for
// near pairs, computed once. Both methods solve to 1e-4. Errors are relative L2 distances of the
// pressure coefficient at 3,800 points from the dense solver with 10,000 panels; seconds are
// processor seconds of the program's single rank.
#include <hmat/hmat.h>

#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "measure.hpp"
#include "surface.hpp"

namespace airflow {

namespace {

constexpr double tolerance = 1e-4;  // of GMRES and of the compression of a block
constexpr double near_diameters = 3;
constexpr Vector3 wind{1, 0, 0};

/// Returns the velocity at the center of a panel by points in place of another panel and its
/// images; without the panel itself at its own center.
Vector3 by_points(const PotentialFlow& flow, int at, int by) {
    const Panel& source = flow.panels()[by];
    const Vector3& x = flow.panels()[at].centre;
    Vector3 sum;
    for (std::size_t k = 0; k < flow.images().size(); ++k) {
        if (k == 0 && at == by) continue;
        const auto [y, z] = flow.images()[k];
        const Vector3 away = Vector3{x.x, y * x.y, z * x.z} - source.centre;
        const double square = dot(away, away);
        const double scale = source.area / (4 * std::numbers::pi * square * std::sqrt(square));
        sum += {scale * away.x, scale * y * away.y, scale * z * away.z};
    }
    return sum;
}

/// The sparse difference between exact integrals and points: velocities by pairs, row by row.
class Near {
public:
    explicit Near(const PotentialFlow& flow) {
        const auto n = int(flow.panels().size());
        begin_.push_back(0);
        for (int at = 0; at < n; ++at) {
            for (int by = 0; by < n; ++by)
                if (is_near(flow, at, by)) {
                    by_.push_back(by);
                    value_.push_back(flow.induced(at, by) - by_points(flow, at, by));
                }
            begin_.push_back(by_.size());
        }
    }
    std::size_t size() const { return by_.size(); }
    Vector3 at(std::size_t row, const double* source) const {
        Vector3 sum;
        for (std::size_t k = begin_[row]; k < begin_[row + 1]; ++k)
            sum += source[by_[k]] * value_[k];
        return sum;
    }

private:
    static bool is_near(const PotentialFlow& flow, int at, int by) {
        const Panel& source = flow.panels()[by];
        const Vector3& x = flow.panels()[at].centre;
        for (const auto& [y, z] : flow.images()) {
            const Vector3 away = Vector3{x.x, y * x.y, z * x.z} - source.centre;
            if (dot(away, away) <=
                near_diameters * near_diameters * source.diameter * source.diameter)
                return true;
        }
        return false;
    }

    std::vector<std::size_t> begin_;
    std::vector<int> by_;
    std::vector<Vector3> value_;
};

/// One component of the velocity by points, as a hierarchical matrix.
class Hierarchical {
public:
    enum class Component { normal, x, y, z };

    Hierarchical(const PotentialFlow& flow, Component component)
        : flow_(flow), component_(component) {
        std::vector<double> place;
        for (const Panel& panel : flow.panels())
            place.insert(place.end(), {panel.centre.x, panel.centre.y, panel.centre.z});
        hmat_init_default_interface(&interface_, HMAT_DOUBLE_PRECISION);
        hmat_clustering_algorithm_t* median = hmat_create_clustering_median();
        hmat_clustering_algorithm_t* clustering = hmat_create_clustering_max_dof(median, 40);
        hmat_cluster_tree_t* tree =
            hmat_create_cluster_tree(place.data(), 3, int(flow.panels().size()), clustering);
        hmat_admissibility_t* admissible = hmat_create_admissibility_standard(2);
        matrix_ = interface_.create_empty_hmatrix_admissibility(tree, hmat_copy_cluster_tree(tree),
                                                                0, admissible);
        interface_.own_cluster_trees(matrix_, 1, 1);
        hmat_compression_algorithm_t* compression = hmat_create_compression_aca_plus(tolerance);
        interface_.set_low_rank_epsilon(matrix_, tolerance);
        hmat_assemble_context_t assembly;
        hmat_assemble_context_init(&assembly);
        assembly.simple_compute = [](void* self, int row, int column, void* result) {
            *static_cast<double*>(result) = static_cast<Hierarchical*>(self)->entry(row, column);
        };
        assembly.user_context = this;
        assembly.compression = compression;
        assembly.progress = nullptr;
        if (interface_.assemble_generic(matrix_, &assembly)) std::abort();
        hmat_delete_compression(compression);
        hmat_delete_admissibility(admissible);
        hmat_delete_clustering(clustering);
        hmat_delete_clustering(median);
    }
    ~Hierarchical() { interface_.destroy(matrix_); }
    Hierarchical(const Hierarchical&) = delete;
    Hierarchical& operator=(const Hierarchical&) = delete;

    /// y = matrix * x
    void multiply(const double* x, double* y) {
        double one = 1, zero = 0;
        interface_.gemv('N', &one, matrix_, const_cast<double*>(x), &zero, y, 1);
    }
    /// Returns the stored over all entries.
    double fraction() {
        hmat_info_t info;
        interface_.get_info(matrix_, &info);
        return double(info.compressed_size) / double(info.uncompressed_size);
    }

private:
    double entry(int row, int column) const {
        const Vector3 v = by_points(flow_, row, column);
        switch (component_) {
            case Component::normal: return dot(flow_.panels()[row].normal, v);
            case Component::x: return v.x;
            case Component::y: return v.y;
            default: return v.z;
        }
    }

    const PotentialFlow& flow_;
    Component component_;
    hmat_interface_t interface_{};
    hmat_matrix_t* matrix_ = nullptr;
};

/// The operator of the equations, for PETSc.
struct Operator {
    const PotentialFlow& flow;
    const Near& near;
    Hierarchical& far;

    static PetscErrorCode multiply(Mat mat, Vec x, Vec y) {
        PetscFunctionBegin;
        Operator* self = nullptr;
        const PetscScalar* in = nullptr;
        PetscScalar* out = nullptr;
        PetscCall(MatShellGetContext(mat, &self));
        PetscCall(VecGetArrayRead(x, &in));
        PetscCall(VecGetArrayWrite(y, &out));
        self->far.multiply(in, out);
        for (std::size_t row = 0; row < self->flow.panels().size(); ++row)
            out[row] += dot(self->flow.panels()[row].normal, self->near.at(row, in));
        PetscCall(VecRestoreArrayWrite(y, &out));
        PetscCall(VecRestoreArrayRead(x, &in));
        PetscFunctionReturn(0);
    }
};

/// Seconds of the parts of a solve.
struct Parts {
    double near = 0, compress = 0, solve = 0, velocity = 0;
    PetscInt n_iteration = 0;
    double pairs = 0;     ///< near ones, of a panel
    double fraction = 0;  ///< stored entries of the matrix of the solve
    double all() const { return near + compress + solve + velocity; }
};

PetscErrorCode solve_sources(Operator* equations, std::vector<double>* source,
                             PetscInt* n_iteration) {
    PetscFunctionBegin;
    const auto n = PetscInt(equations->flow.panels().size());
    Owner<Mat, MatDestroy> matrix;
    Owner<Vec, VecDestroy> rhs, solution;
    Owner<KSP, KSPDestroy> ksp;
    PC pc = nullptr;
    PetscCall(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, equations, matrix.out()));
    PetscCall(MatShellSetOperation(matrix, MATOP_MULT,
                                   reinterpret_cast<void (*)()>(&Operator::multiply)));
    PetscCall(MatCreateVecs(matrix, solution.out(), rhs.out()));
    for (PetscInt row = 0; row < n; ++row)
        PetscCall(
            VecSetValue(rhs, row, -dot(equations->flow.panels()[row].normal, wind), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(rhs));
    PetscCall(VecAssemblyEnd(rhs));
    PetscCall(KSPCreate(PETSC_COMM_SELF, ksp.out()));
    PetscCall(KSPSetOperators(ksp, matrix, matrix));
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCNONE));
    PetscCall(KSPSetTolerances(ksp, tolerance, 0, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, rhs, solution));
    PetscCall(KSPGetIterationNumber(ksp, n_iteration));
    const PetscScalar* values = nullptr;
    PetscCall(VecGetArrayRead(solution, &values));
    source->assign(values, values + n);
    PetscCall(VecRestoreArrayRead(solution, &values));
    PetscFunctionReturn(0);
}

/// Solves with hierarchical matrices. The velocities use three of them, one for each axis.
PetscErrorCode solve_hierarchical(const Body& body, PetscInt n_panel, PotentialFlow* flow,
                                  Parts* parts) {
    PetscFunctionBegin;
    double begin = processor_seconds();
    const auto lap = [&begin](double* seconds) {
        const double now = processor_seconds();
        *seconds = now - begin;
        begin = now;
    };
    flow->make_panels(body, BoxGrid::of_points(n_panel, body.extent), {true, true});
    const Near near(*flow);
    parts->pairs = double(near.size()) / double(flow->panels().size());
    lap(&parts->near);
    std::vector<double> source;
    {
        Hierarchical far(*flow, Hierarchical::Component::normal);
        parts->fraction = far.fraction();
        lap(&parts->compress);
        Operator equations{*flow, near, far};
        PetscCall(solve_sources(&equations, &source, &parts->n_iteration));
        lap(&parts->solve);
    }
    using Component = Hierarchical::Component;
    std::vector<double> v[3];
    for (int axis = 0; axis < 3; ++axis) {
        v[axis].resize(source.size());
        constexpr Component components[] = {Component::x, Component::y, Component::z};
        Hierarchical(*flow, components[axis]).multiply(source.data(), v[axis].data());
    }
    std::vector<Vector3> velocity;
    for (std::size_t p = 0; p < source.size(); ++p)
        velocity.push_back(wind + Vector3{v[0][p], v[1][p], v[2][p]} + near.at(p, source.data()));
    flow->spread_to_corners(velocity);
    lap(&parts->velocity);
    PetscFunctionReturn(0);
}

PetscErrorCode solve_dense(const Body& body, PetscInt n_panel, PotentialFlow* flow,
                           double* seconds) {
    PetscFunctionBegin;
    const double begin = processor_seconds();
    PetscCall(
        flow->solve(PETSC_COMM_SELF, body, BoxGrid::of_points(n_panel, body.extent), {true, true}));
    *seconds = processor_seconds() - begin;
    PetscFunctionReturn(0);
}

PetscErrorCode run(int64_t seed, const std::vector<PetscInt>& panels) {
    PetscFunctionBegin;
    const Body body = car_body(random_car(uint64_t(seed)));
    Surface surface;
    OwnedVec reference, pressure;
    PetscCall(surface.create(PETSC_COMM_SELF, body, 3800));
    PetscCall(surface.new_field(&reference));
    PetscCall(surface.new_field(&pressure));
    double seconds = 0;
    PotentialFlow finest;
    PetscCall(solve_dense(body, 10000, &finest, &seconds));
    PetscCall(evaluate_pressure(finest, surface, reference));
    for (const PetscInt n_panel : panels) {
        double dense_error = 0, error = 0;
        PotentialFlow dense(near_diameters), flow(near_diameters);
        Parts parts;
        PetscCall(solve_dense(body, n_panel, &dense, &seconds));
        PetscCall(evaluate_pressure(dense, surface, pressure));
        PetscCall(relative_distance(pressure, reference, &dense_error));
        PetscCall(solve_hierarchical(body, n_panel, &flow, &parts));
        PetscCall(evaluate_pressure(flow, surface, pressure));
        PetscCall(relative_distance(pressure, reference, &error));
        std::printf("%lld,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%d,%.0f,%.3f\n",
                    static_cast<long long>(seed), int(n_panel), dense_error, seconds, error,
                    parts.all(), parts.near, parts.compress, parts.solve, parts.velocity,
                    int(parts.n_iteration), parts.pairs, parts.fraction);
        std::fflush(stdout);
    }
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace airflow

int main(int argc, char** argv) {
    PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
    PetscCall(PetscOptionsSetValue(nullptr, "-ksp_rtol", "1e-4"));  // of the dense solver too
    const int64_t first = argc > 1 ? std::atoll(argv[1]) : 3001;
    const int n_body = argc > 2 ? std::atoi(argv[2]) : 2;
    std::vector<PetscInt> panels;
    for (int k = 3; k < argc; ++k) panels.push_back(std::atoi(argv[k]));
    if (panels.empty()) panels = {1000, 2000, 3000, 4000, 6000, 10000, 20000};
    std::printf(
        "seed,panels,dense error,dense s,hierarchical error,hierarchical s,near s,compression s,"
        "solve s,velocities s,iterations,near pairs of a panel,stored fraction\n");
    for (int64_t seed = first; seed < first + n_body; ++seed) PetscCall(airflow::run(seed, panels));
    PetscCall(PetscFinalize());
    return 0;
}
