// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_COUPLING_OPENFOAM_HOST_HPP
#define SURROGATE_COUPLING_OPENFOAM_HOST_HPP

#include <fvMesh.H>

#include <string>
#include <surrogate/surrogate_mpi.hpp>

namespace Foam {

/// Runs `work`. An error of the library, which is the same on all ranks, becomes a FatalError.
template <class Work>
void call(const Work& work) {
    try {
        work();
    } catch (const ::surrogate::Error& error) {
        FatalErrorInFunction << error.what() << exit(FatalError);
    }
}

/// Returns a context over the ranks of a parallel run, or of this process, without MPI; its runs
/// agree on errors. Raises a FatalError if the version of OpenFOAM differs from the version of the
/// headers. Warns about an untested version. Collective.
::surrogate::Context host_context();

/// Returns this rank's cells by their centers, without ids, because a decomposed case has no global
/// ids.
surrogate_points cells_of(const fvMesh& mesh);

/// Returns the name of a card field in the dictionary `names`; the field's own name without an
/// entry.
word host_name(const dictionary& names, const std::string& card_name);

/// Returns the numbers of a volScalarField, or with ".x", ".y", ".z" of a component of a
/// volVectorField, without a copy and without ghost values. Raises a FatalError with a list of the
/// fields if there is none.
surrogate_array column_of(const fvMesh& mesh, const dictionary& names,
                          const std::string& card_name);

}  // namespace Foam

#endif
