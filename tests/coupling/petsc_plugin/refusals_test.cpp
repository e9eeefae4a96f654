// SPDX-License-Identifier: Apache-2.0
// A surrogate that cannot be used: an error whose text says what would help, or one line with
// -surrogate_optional. The same on all ranks.
#include <surrogate/surrogate_petsc.h>

#include "tests/coupling/petsc_plugin/darcy_ksp.hpp"

namespace {

using namespace surrogate::test;

const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new PetscEnvironment);

/// A case: what is wrong, and what the text must name.
struct Refused {
    const char* name;
    OptionMap options;
    bool has_coordinates = true, has_dm = true;
    PetscErrorCode code;
    std::vector<std::string> parts;
};

void PrintTo(const Refused& refused, std::ostream* out) {
    *out << refused.name;
}

class Refusal : public testing::TestWithParam<Refused> {
protected:
    void SetUp() override { PETSC_OK(surrogate_petsc_register()); }

    /// The options of the case, for a KSP that asks a surrogate.
    OptionMap options() const {
        OptionMap all = GetParam().options;
        all.insert({{"-ksp_guess_type", "surrogate"}, {"-surrogate_model", darcy_model}});
        return all;
    }
};

TEST_P(Refusal, SaysWhatWouldHelp) {
    const OptionScope scope(options());
    DarcyKsp darcy(GetParam().has_coordinates, GetParam().has_dm);
    const PetscErrorCode error = KSPSolve(darcy.ksp, darcy.rhs, darcy.x);
    EXPECT_EQ(error, GetParam().code);
    for (const std::string& part : GetParam().parts)
        EXPECT_NE(petsc_text(error).find(part), std::string::npos) << petsc_text(error);
}

TEST_P(Refusal, OptionalSurrogateLeavesTheSolveAsItIs) {
    const std::vector<PetscReal> expected = [this] {
        OptionMap own;
        for (const auto& option : GetParam().options)
            if (option.first.rfind("-ksp_", 0) == 0) own.insert(option);
        const OptionScope scope(own);
        return DarcyKsp().solve();
    }();
    auto all = options();
    all["-surrogate_optional"] = "true";
    const OptionScope scope(all);
    DarcyKsp darcy(GetParam().has_coordinates, GetParam().has_dm);
    EXPECT_EQ(darcy.solve(), expected);
    const std::string view = darcy.view();
    EXPECT_NE(view.find("asked 1, used 0, rejected 1 (not better 0, failed 1"), std::string::npos)
        << view;
    EXPECT_NE(view.find(GetParam().parts.front()), std::string::npos) << view;
}

INSTANTIATE_TEST_SUITE_P(
    Petsc, Refusal,
    testing::Values(
        Refused{"NoModelNamed",
                {{"-surrogate_model", ""}},
                true,
                true,
                PETSC_ERR_ARG_WRONGSTATE,
                {"no model file", "-surrogate_model FILE"}},
        Refused{"NoSuchFile",
                {{"-surrogate_model", "no_such_model.safetensors"}},
                true,
                true,
                PETSC_ERR_FILE_OPEN,
                {"no_such_model.safetensors"}},
        Refused{"VecNotComposed",
                {},
                true,
                true,
                PETSC_ERR_ARG_WRONG,
                {"needs the field 'mobility'", "PetscObjectCompose((PetscObject)ksp, \"mobility\"",
                 "-surrogate_fields mobility="}},
        Refused{"MappedVecNotComposed",
                {{"-surrogate_fields", "mobility=permeability"}},
                true,
                true,
                PETSC_ERR_ARG_WRONG,
                {"no Vec 'permeability'"}},
        Refused{"MapOfAFieldThatTheCardLacks",
                {{"-surrogate_fields", "mobility=rhs,viscosity=rhs"}},
                true,
                true,
                PETSC_ERR_ARG_WRONG,
                {"'viscosity', which is not a field of the model's card"}},
        Refused{"NumberThatTheCardLacks",
                {{"-surrogate_fields", "mobility=rhs"}, {"-surrogate_set", "viscosity=3"}},
                true,
                true,
                PETSC_ERR_ARG_WRONG,
                {"-surrogate_set names 'viscosity', which is not an input with the role cloud"}},
        Refused{"ComponentThatTheVecLacks",
                {{"-surrogate_fields", "mobility=rhs:3"}},
                true,
                true,
                PETSC_ERR_ARG_WRONG,
                {"has 1 components a point, and component 3 is asked for"}},
        Refused{"NoCoordinates",
                {{"-surrogate_fields", "mobility=rhs"}},
                false,
                true,
                PETSC_ERR_ARG_WRONG,
                {"no coordinates", "-surrogate_box x0,x1,y0,y1"}},
        Refused{"NoDm",
                {{"-surrogate_fields", "mobility=rhs"}},
                true,
                false,
                PETSC_ERR_ARG_WRONG,
                {"neither the KSP nor its matrix and vectors have a DM", "KSPSetDM",
                 "\"coordinates\"", "-surrogate_coordinates_file FILE"}},
        Refused{"BoxOfOtherDimension",
                {{"-surrogate_fields", "mobility=rhs"}, {"-surrogate_box", "0,1,0,1,0,1"}},
                false,
                true,
                PETSC_ERR_ARG_WRONG,
                {"-surrogate_box has 6 numbers, the DMDA has 2 axes"}},
        Refused{"DiagonalScale",
                {{"-surrogate_fields", "mobility=rhs"}, {"-ksp_diagonal_scale", "true"}},
                true,
                true,
                PETSC_ERR_SUP,
                {"-ksp_diagonal_scale"}},
        Refused{"KspTypeThatStartsFromZero",
                {{"-surrogate_fields", "mobility=rhs"}, {"-ksp_type", "stcg"}},
                true,
                true,
                PETSC_ERR_SUP,
                {"KSP type stcg uses no initial guess"}}),
    [](const auto& row) { return std::string(row.param.name); });

class Settings : public testing::TestWithParam<std::array<const char*, 3>> {};

TEST_P(Settings, WrongValueIsAnErrorOfKspSetFromOptions) {
    PETSC_OK(surrogate_petsc_register());
    const auto& [key, value, part] = GetParam();
    const OptionScope scope(OptionMap{{"-ksp_guess_type", "surrogate"}, {key, value}});
    KSP ksp = nullptr;
    PETSC_OK(KSPCreate(PETSC_COMM_WORLD, &ksp));
    const PetscErrorCode error = KSPSetFromOptions(ksp);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG);
    EXPECT_NE(petsc_text(error).find(part), std::string::npos) << petsc_text(error);
    PETSC_OK(KSPDestroy(&ksp));
}

using Row = std::array<const char*, 3>;
INSTANTIATE_TEST_SUITE_P(
    Petsc, Settings,
    testing::Values(
        Row{"-surrogate_facter", "0.1",
            "unknown option -surrogate_facter; the options after -surrogate_ are model"},
        Row{"-surrogate_box", "0,1,0", "3 numbers; it takes x0,x1"},
        Row{"-surrogate_box", "0,1,1,1", "axis 1 goes from 1. to 1."},
        Row{"-surrogate_factor", "1.5", "-surrogate_factor is 1.5; it is above 0"},
        Row{"-surrogate_fields", "mobility", "'mobility' is not name=source"},
        Row{"-surrogate_fields", "=rhs", "'=rhs' is not name=source"},
        Row{"-surrogate_fields", "a=rhs:x", "'a=rhs:x' is not name=source"},
        Row{"-surrogate_fields", "a=rhs:-1", "'a=rhs:-1' is not name=source"},
        Row{"-surrogate_fields", "a=rhs,a=diagonal", "'a' is given twice"},
        Row{"-surrogate_set", "speed=fast", "'speed=fast' is not name=value"},
        Row{"-surrogate_set", "speed=inf", "'speed=inf' is not name=value"},
        Row{"-surrogate_set", "speed=1,speed=2", "'speed' is given twice"}));

TEST(KspGuessRefusal, KspThatTakesNoGuess) {
    // Set in code: with -ksp_type preonly PETSc reads no -ksp_guess_type.
    PETSC_OK(surrogate_petsc_register());
    const OptionScope scope(
        OptionMap{{"-surrogate_model", darcy_model}, {"-surrogate_fields", "mobility=rhs"}});
    DarcyKsp darcy;
    KSPGuess guess = nullptr;
    PETSC_OK(KSPGetGuess(darcy.ksp, &guess));
    PETSC_OK(KSPGuessSetType(guess, "surrogate"));
    PETSC_OK(KSPSetType(darcy.ksp, KSPPREONLY));
    PETSC_OK(KSPSetNormType(darcy.ksp, KSP_NORM_NONE));
    const PetscErrorCode error = KSPSolve(darcy.ksp, darcy.rhs, darcy.x);
    EXPECT_EQ(error, PETSC_ERR_SUP);
    EXPECT_NE(petsc_text(error).find("preonly uses no initial guess"), std::string::npos)
        << petsc_text(error);
}

TEST(KspGuessRefusal, WhatIsComposedIsNoVec) {
    PETSC_OK(surrogate_petsc_register());
    const OptionScope scope(
        OptionMap{{"-ksp_guess_type", "surrogate"}, {"-surrogate_model", darcy_model}});
    DarcyKsp darcy;
    PETSC_OK(PetscObjectCompose(PetscObject(darcy.ksp), "mobility", PetscObject(darcy.matrix)));
    const PetscErrorCode error = KSPSolve(darcy.ksp, darcy.rhs, darcy.x);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG);
    EXPECT_NE(petsc_text(error).find("'mobility' is not a Vec"), std::string::npos)
        << petsc_text(error);
}

}  // namespace
