// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

#include "tests/coupling/petsc_plugin/darcy_ksp.hpp"

namespace surrogate::test {

class GuessCase : public testing::Test {
protected:
    void SetUp() override { PETSC_OK(surrogate_petsc_register()); }

    /// The options of a surrogate, for KSPs made while they live.
    static OptionMap with(const std::string& model, OptionMap more = {}) {
        more.insert({{"-ksp_guess_type", "surrogate"}, {"-surrogate_model", model}});
        return more;
    }
    static std::string bad_model() {
        return model_file("bad", small_flare({{"x", 0}, {"y", 1}, {"mobility"}}, {{"p"}}, false));
    }
    /// The history with the prediction of darcy_flow, at the coordinates of the DM.
    static std::vector<PetscReal> predicted() {
        const OptionScope options(with(darcy_model));
        DarcyKsp darcy;
        darcy.compose(PetscObject(darcy.ksp), "mobility");
        return darcy.solve();
    }
    static std::vector<PetscReal> reference() { return DarcyKsp().solve(); }
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace surrogate::test
