// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_COUPLING_OPENFOAM_HOST_HPP
#define SURROGATE_COUPLING_OPENFOAM_HOST_HPP

#include <fvMesh.H>

#include <string>
#include <surrogate/surrogate_mpi.hpp>

namespace Foam {

/// Runs `work`; an error of the library's, the same on all ranks, becomes a FatalError.
template <class Work>
void call(const Work& work) {
    try {
        work();
    } catch (const ::surrogate::Error& error) {
        FatalErrorInFunction << error.what() << exit(FatalError);
    }
}

/// A context over the ranks of a parallel run, or of this one, without MPI; its runs agree on
/// errors. A FatalError if this is not the version of OpenFOAM whose headers it was compiled with;
/// says so if nobody has tried that version. Collective.
::surrogate::Context host_context();

/// This rank's cells by their centres, without ids: these are not known to a decomposed case.
surrogate_points cells_of(const fvMesh& mesh);

/// Returns the name of a card field in the dictionary `names`; without an entry the field's own
/// name.
word host_name(const dictionary& names, const std::string& card_name);

/// The numbers of a volScalarField, or with ".x", ".y", ".z" of a component of a volVectorField,
/// where they lie; ghost values are not among them. A FatalError that lists the fields if there is
/// none.
surrogate_array column_of(const fvMesh& mesh, const dictionary& names,
                          const std::string& card_name);

}  // namespace Foam

#endif
