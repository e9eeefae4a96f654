// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_COUPLING_OPENFOAM_SURROGATE_FUNCTION_HPP
#define SURROGATE_COUPLING_OPENFOAM_SURROGATE_FUNCTION_HPP

#include <fvMeshFunctionObject.H>
#include <volFields.H>

#include <memory>
#include <surrogate/surrogate_mpi.hpp>

namespace Foam {
namespace functionObjects {

/// Runs a model on the cells of OpenFOAM after every time step:
///
///     functions { nn { type surrogate; libs (surrogateFoam); model "cavity.safetensors"; names {
///     velocity U; } } }
///
///   model    the model file, read by rank 0
///   names    what the card's fields are called here; a field without an entry has the card's name.
///            The components of a vector field are `velocity.x`, `velocity.y`, `velocity.z` of the
///            card
///   compare  none (default); fields, withoutMeans: prints the relative L2 norm of prediction less
///            the solver's field of that name, for pressures each less its mean
///
/// Inputs are volScalarFields and volVectorFields, which are read without a copy. The output
/// `pressure` becomes the volScalarField `predicted_pressure`, which OpenFOAM writes with its own
/// fields. Units are the units of OpenFOAM, which are not compared with the card's. After a change
/// of the mesh the plan is updated. An error is a FatalError on all ranks, with the text of the
/// first failing rank.
class surrogateFunction : public fvMeshFunctionObject {
public:
    TypeName("surrogate");

    surrogateFunction(const word& name, const Time& time, const dictionary& dict);

    bool read(const dictionary& dict) override;
    bool execute() override;
    bool write() override { return true; }  // the fields are AUTO_WRITE

private:
    volScalarField& output(const std::string& card_name) const;
    void add_outputs();
    void compare() const;

    dictionary names_;
    word compare_;
    std::unique_ptr<::surrogate::Context> context_;
    std::unique_ptr<::surrogate::Model> model_;
    std::unique_ptr<::surrogate::Domain> domain_;
    std::unique_ptr<::surrogate::Plan> plan_;
};

}  // namespace functionObjects
}  // namespace Foam

#endif
