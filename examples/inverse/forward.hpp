// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>

namespace inverse {

/// The pressure p of a mobility a, and its derivative: the part of the inversion that a surrogate
/// can replace.
class Forward {
public:
    Forward() = default;
    virtual ~Forward() = default;
    Forward(const Forward&) = delete;
    Forward& operator=(const Forward&) = delete;

    /// Computes p(a). Collective.
    virtual PetscErrorCode pressure(Vec a, Vec p) = 0;
    /// Computes g = (dp/da)^T w at the last a: dJ/da of each cell, if w is dJ/dp. Collective; at
    /// most once after each call of pressure.
    virtual PetscErrorCode gradient(Vec w, Vec g) = 0;
};

}  // namespace inverse
