// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_COUPLING_OPENFOAM_RECORD_FUNCTION_HPP
#define SURROGATE_COUPLING_OPENFOAM_RECORD_FUNCTION_HPP

#include <fvMeshFunctionObject.H>

#include <memory>
#include <string>
#include <surrogate/surrogate_dataset.hpp>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

namespace Foam {
namespace functionObjects {

/// Writes a data set for `surrogate train`, on a mesh that does not change:
///
///     functions { data { type surrogateRecord; libs (surrogateFoam); file "lid_1.h5"; fields (U.x
///     U.y p); samples 20;
///                        withoutMean (p); executeControl timeStep; executeInterval 5; writeControl
///                        none; } }
///
///   file         is renamed into place after the last sample is written
///   fields       names of volScalarFields, and components of volVectorFields
///   samples      number of samples; later executions write nothing
///   withoutMean  fields from which the mean by volume is subtracted, such as the pressure of a
///                closed box
///
/// Without `writeControl none` OpenFOAM executes a function object in every step, independent of
/// its executeInterval. The coordinates x, y, z are the centers of the cells. Errors as in type
/// surrogate.
class recordFunction : public fvMeshFunctionObject {
public:
    TypeName("surrogateRecord");

    recordFunction(const word& name, const Time& time, const dictionary& dict);

    bool execute() override;
    bool write() override { return true; }

private:
    void describe();
    void write_field(const std::string& name);

    wordList fields_, without_mean_;
    label n_sample_;
    label sample_ = 0;
    std::unique_ptr<::surrogate::Context> context_;
    std::unique_ptr<::surrogate::Domain> domain_;
    std::unique_ptr<::surrogate::NewDataset> set_;
};

}  // namespace functionObjects
}  // namespace Foam

#endif
