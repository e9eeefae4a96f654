// SPDX-License-Identifier: Apache-2.0
#include "host.hpp"

#include <Pstream.H>
#include <foamVersion.H>
#include <volFields.H>

#include <utility>

namespace Foam {

namespace {

/// Returns "velocity" and 1 for "velocity.y"; -1 for a name that is not a component.
std::pair<std::string, int> component_of(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos || dot + 2 != name.size()) return {name, -1};
    const std::size_t axis = std::string("xyz").find(name[dot + 1]);
    if (axis == std::string::npos) return {name, -1};
    return {name.substr(0, dot), static_cast<int>(axis)};
}

}  // namespace

::surrogate::Context host_context() {
    if (foamVersion::api != OPENFOAM)
        FatalErrorInFunction << "surrogate: these function objects were compiled for OpenFOAM v"
                             << OPENFOAM << ", and this is v" << foamVersion::api
                             << "; rebuild them for this version" << exit(FatalError);
    constexpr int tried = 1912;
    if (foamVersion::api != tried)
        WarningInFunction << "surrogate: OpenFOAM version is " << foamVersion::api
                          << ", expected the tested version " << tried << "; check the results"
                          << endl;
    const ::surrogate::Options options = {{"agree", "true"}};
    return Pstream::parRun() ? ::surrogate::mpi_context(MPI_COMM_WORLD, options)
                             : ::surrogate::Context(options);
}

surrogate_points cells_of(const fvMesh& mesh) {
    const auto* const centres = reinterpret_cast<const scalar*>(mesh.C().primitiveField().cdata());
    return {::surrogate::matrix(centres, mesh.nCells(), 3), nullptr, nullptr, nullptr};
}

word host_name(const dictionary& names, const std::string& card_name) {
    const word own(card_name, false);
    return names.getOrDefault<word>(own, own);
}

surrogate_array column_of(const fvMesh& mesh, const dictionary& names,
                          const std::string& card_name) {
    const auto [vector_name, axis] = component_of(card_name);
    const word scalar_name = host_name(names, card_name),
               host_vector = host_name(names, vector_name);
    const int64_t n = mesh.nCells();
    if (const auto* const field = mesh.findObject<volScalarField>(scalar_name))
        return ::surrogate::column(field->primitiveField().cdata(), n);
    const auto* const vectors = mesh.findObject<volVectorField>(host_vector);
    if (axis >= 0 && vectors != nullptr) {
        const auto* const rows = reinterpret_cast<const scalar*>(vectors->primitiveField().cdata());
        return ::surrogate::column(rows + axis, n, 3);
    }
    FatalErrorInFunction << "surrogate: there is no field '"
                         << (axis >= 0 ? host_vector : scalar_name).c_str() << "' for '"
                         << card_name.c_str() << "' of the model's card. The volScalarFields are "
                         << mesh.sortedNames<volScalarField>() << ", the volVectorFields "
                         << mesh.sortedNames<volVectorField>()
                         << ". Set the field's name in the entry names." << exit(FatalError);
    return {};
}

}  // namespace Foam
