// SPDX-License-Identifier: Apache-2.0
#include "heat.hpp"

namespace million {

namespace {

/// Element of a triangle: integrals of grad phi_i . grad phi_j, and of phi_i, for its linear
/// functions phi.
struct Element {
    PetscReal stiffness[3][3];
    PetscReal share;

    explicit Element(const Position (&at)[3]) {
        const PetscReal area = ((at[1].x - at[0].x) * (at[2].y - at[0].y) -
                                (at[1].y - at[0].y) * (at[2].x - at[0].x)) /
                               2;
        PetscReal gradient[3][2];  // times 2 area
        for (int i = 0; i < 3; ++i) {
            const Position &next = at[(i + 1) % 3], &last = at[(i + 2) % 3];
            gradient[i][0] = next.y - last.y;
            gradient[i][1] = last.x - next.x;
        }
        const PetscReal size = PetscAbsReal(area);  // corners may have either orientation
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                stiffness[i][j] =
                    (gradient[i][0] * gradient[j][0] + gradient[i][1] * gradient[j][1]) /
                    (4 * size);
        share = size / 3;
    }
};

/// Matrix and right-hand side. Points where T = 0 have the separate equation 1 T = 0, so that the
/// matrix stays symmetric.
class System {
public:
    PetscErrorCode assemble(const Mesh& mesh, const Concrete& concrete) {
        PetscFunctionBegin;
        PetscCall(DMCreateMatrix(mesh.dm(), matrix_.out()));
        PetscCall(MatSetOption(matrix_, MAT_SPD, PETSC_TRUE));
        PetscCall(mesh.new_field(&rhs_));
        ISLocalToGlobalMapping numbers = nullptr;  // borrowed; a DMPlex sets it for matrices only
        PetscCall(DMGetLocalToGlobalMapping(mesh.dm(), &numbers));
        PetscCall(VecSetLocalToGlobalMapping(rhs_, numbers));
        PetscCall(VecSet(rhs_, 0));
        for (int64_t cell = 0; cell < mesh.n_cell(); ++cell)
            PetscCall(add(mesh, concrete, &mesh.corners()[std::size_t(3 * cell)]));
        for (const PetscInt point : mesh.owned())
            if (mesh.distance()[std::size_t(point)] == 0)
                PetscCall(MatSetValueLocal(matrix_, point, point, 1, ADD_VALUES));
        PetscCall(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY));
        PetscCall(VecAssemblyBegin(rhs_));
        PetscCall(VecAssemblyEnd(rhs_));
        PetscFunctionReturn(0);
    }
    Mat matrix() const { return matrix_; }
    Vec rhs() const { return rhs_; }

private:
    PetscErrorCode add(const Mesh& mesh, const Concrete& concrete, const PetscInt corner[3]) {
        PetscFunctionBegin;
        Position at[3];
        for (int i = 0; i < 3; ++i) at[i] = mesh.coordinates()[std::size_t(corner[i])];
        const Element element(at);
        PetscScalar rows[9]{}, load[3]{};
        for (int i = 0; i < 3; ++i) {
            if (is_cold(mesh, corner[i])) continue;
            load[i] = concrete.heat * element.share;
            for (int j = 0; j < 3; ++j)
                if (!is_cold(mesh, corner[j]))
                    rows[3 * i + j] = concrete.conductivity * element.stiffness[i][j];
        }
        PetscCall(MatSetValuesLocal(matrix_, 3, corner, 3, corner, rows, ADD_VALUES));
        PetscCall(VecSetValuesLocal(rhs_, 3, corner, load, ADD_VALUES));
        PetscFunctionReturn(0);
    }
    static bool is_cold(const Mesh& mesh, PetscInt point) {
        return mesh.distance()[std::size_t(point)] == 0;
    }

    Owner<Mat, MatDestroy> matrix_;
    OwnedVec rhs_;
};

}  // namespace

PetscErrorCode solve_heat(const Mesh& mesh, const Concrete& concrete, Vec temperature,
                          PetscInt* n_iteration) {
    PetscFunctionBegin;
    System system;
    PetscCall(system.assemble(mesh, concrete));
    Owner<KSP, KSPDestroy> ksp;
    PC pc = nullptr;  // borrowed
    PetscCall(KSPCreate(mesh.comm(), ksp.out()));
    PetscCall(KSPSetOperators(ksp, system.matrix(), system.matrix()));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, system.rhs(), temperature));
    PetscCall(KSPGetIterationNumber(ksp, n_iteration));
    PetscFunctionReturn(0);
}

}  // namespace million
