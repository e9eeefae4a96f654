// SPDX-License-Identifier: Apache-2.0
// Creation of the fields that a model writes, and their comparison with the solver's.
#include <zeroGradientFvPatchFields.H>

#include "host.hpp"
#include "surrogate_function.hpp"

namespace Foam {
namespace functionObjects {

volScalarField& surrogateFunction::output(const std::string& card_name) const {
    return mesh_.lookupObjectRef<volScalarField>(word("predicted_" + card_name, false));
}

void surrogateFunction::add_outputs() {
    for (const surrogate_field_info& field : model_->outputs()) {
        const auto* const own = mesh_.findObject<volScalarField>(host_name(names_, field.name));
        const word name("predicted_" + std::string(field.name), false);
        const IOobject place(name, time_.timeName(), mesh_, IOobject::NO_READ,
                             IOobject::AUTO_WRITE);
        mesh_.objectRegistry::store(new volScalarField(
            place, mesh_, dimensionedScalar(own ? own->dimensions() : dimless, Zero),
            zeroGradientFvPatchScalarField::typeName));
    }
}

void surrogateFunction::compare() const {
    if (compare_ == "none") return;
    for (const surrogate_field_info& field : model_->outputs()) {
        const auto* const own = mesh_.findObject<volScalarField>(host_name(names_, field.name));
        if (own == nullptr) continue;
        const volScalarField& predicted = output(field.name);
        const scalarField& volume = mesh_.V();
        scalar shift = 0, mean = 0;
        if (compare_ == "withoutMeans") {
            mean = gSum(volume * own->primitiveField()) / gSum(volume);
            shift = gSum(volume * predicted.primitiveField()) / gSum(volume) - mean;
        }
        const scalar off =
            gSum(volume * magSqr(predicted.primitiveField() - shift - own->primitiveField()));
        const scalar all = gSum(volume * magSqr(own->primitiveField() - mean));
        Info << "surrogate: " << predicted.name() << " is "
             << 100 * Foam::sqrt(off / max(all, VSMALL)) << " % from " << own->name() << endl;
    }
}

}  // namespace functionObjects
}  // namespace Foam
