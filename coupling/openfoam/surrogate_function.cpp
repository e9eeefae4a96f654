// SPDX-License-Identifier: Apache-2.0
#include "surrogate_function.hpp"

#include <addToRunTimeSelectionTable.H>

#include "host.hpp"

namespace Foam {
namespace functionObjects {

defineTypeNameAndDebug(surrogateFunction, 0);
addToRunTimeSelectionTable(functionObject, surrogateFunction, dictionary);

surrogateFunction::surrogateFunction(const word& name, const Time& time, const dictionary& dict)
    : fvMeshFunctionObject(name, time, dict) {
    read(dict);
    const std::string path = dict.get<fileName>("model").expand();
    call([&] {
        context_ = std::make_unique<::surrogate::Context>(host_context());
        model_ = std::make_unique<::surrogate::Model>(*context_, path);
        domain_ = std::make_unique<::surrogate::Domain>(*context_, cells_of(mesh_));
        plan_ = std::make_unique<::surrogate::Plan>(*model_, *domain_);
    });
    add_outputs();
}

bool surrogateFunction::read(const dictionary& dict) {
    names_ = dict.subOrEmptyDict("names");
    compare_ = dict.getOrDefault<word>("compare", "none");
    if (compare_ != "none" && compare_ != "fields" && compare_ != "withoutMeans")
        FatalIOErrorInFunction(dict)
            << "compare " << compare_ << ": none, fields or withoutMeans" << exit(FatalIOError);
    return fvMeshFunctionObject::read(dict);
}

bool surrogateFunction::execute() {
    call([&] {
        if (mesh_.changing()) {
            const surrogate_points points = cells_of(mesh_);
            ::surrogate::check(surrogate_domain_update_points(domain_->get(), &points));
        }
        for (const surrogate_field_info& field : model_->inputs())
            if (field.role == SURROGATE_FIELD)
                plan_->bind_input(field.name, column_of(mesh_, names_, field.name));
        for (const surrogate_field_info& field : model_->outputs()) {
            scalarField& cells = output(field.name).primitiveFieldRef();
            plan_->bind_output(field.name, ::surrogate::column(cells.data(), cells.size()));
        }
        plan_->run();
    });
    for (const surrogate_field_info& field : model_->outputs())
        output(field.name).correctBoundaryConditions();
    compare();
    return true;
}

}  // namespace functionObjects
}  // namespace Foam
