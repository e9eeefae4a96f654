// SPDX-License-Identifier: Apache-2.0
#include "record_function.hpp"

#include <addToRunTimeSelectionTable.H>
#include <volFields.H>

#include "host.hpp"

namespace Foam {
namespace functionObjects {

defineTypeNameAndDebug(recordFunction, 0);
addToRunTimeSelectionTable(functionObject, recordFunction, dictionary);

namespace {

const char* const axis_names[3] = {"x", "y", "z"};

}  // namespace

recordFunction::recordFunction(const word& name, const Time& time, const dictionary& dict)
    : fvMeshFunctionObject(name, time, dict),
      fields_(dict.get<wordList>("fields")),
      without_mean_(dict.getOrDefault<wordList>("withoutMean", wordList())),
      n_sample_(dict.get<label>("samples")) {
    const std::string path = dict.get<fileName>("file").expand();
    call([&] {
        context_ = std::make_unique<::surrogate::Context>(host_context());
        domain_ = std::make_unique<::surrogate::Domain>(*context_, cells_of(mesh_));
        set_ = std::make_unique<::surrogate::NewDataset>(*context_, path);
        describe();
    });
}

void recordFunction::describe() {
    set_->set("title", "Fields of OpenFOAM");
    set_->add_axis("sample", n_sample_);
    set_->add_axis("point", domain_->n_global());
    const char* const of_axis[3] = {"X", "Y", "Z"};
    for (int i = 0; i < 3; ++i)
        set_->add(axis_names[i], {"point"}, "m", nullptr, SURROGATE_FLOAT64, of_axis[i]);
    for (const word& field : fields_)
        set_->add(field.c_str(), {"sample", "point"}, nullptr, nullptr, SURROGATE_FLOAT32);
    set_->begin();
    set_->set_points(*domain_);
    const surrogate_points cells = cells_of(mesh_);
    const auto* const centres = static_cast<const scalar*>(cells.x.data);
    for (int i = 0; i < 3; ++i)
        set_->write(axis_names[i], 0, ::surrogate::column(centres + i, cells.x.shape[0], 3));
}

void recordFunction::write_field(const std::string& name) {
    surrogate_array column = column_of(mesh_, dictionary(), name);
    scalarField less_mean;
    if (without_mean_.found(word(name, false))) {
        less_mean.resize(mesh_.nCells());
        for (label i = 0; i < mesh_.nCells(); ++i)
            less_mean[i] = static_cast<const scalar*>(column.data)[i * column.stride[0]];
        const scalarField& volume = mesh_.V();
        less_mean -= gSum(volume * less_mean) / gSum(volume);
        column = ::surrogate::column(less_mean.cdata(), less_mean.size());
    }
    set_->write(name.c_str(), int64_t(sample_) * domain_->n_global(), column);
}

bool recordFunction::execute() {
    if (sample_ == n_sample_) return true;
    if (mesh_.changing())
        FatalErrorInFunction
            << "surrogateRecord: the mesh changes; a data set of one point cloud needs a fixed mesh"
            << exit(FatalError);
    call([&] {
        for (const word& field : fields_) write_field(field);
        if (++sample_ == n_sample_) set_->finish();
    });
    return true;
}

}  // namespace functionObjects
}  // namespace Foam
