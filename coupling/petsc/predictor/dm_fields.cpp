// SPDX-License-Identifier: Apache-2.0
#include "dm_fields.hpp"

#include <petscdmda.h>
#include <petscdmplex.h>

namespace surrogate::petsc {

namespace {

PetscErrorCode names_of_da(DM dm, std::vector<std::string>* names) {
    PetscFunctionBegin;
    PetscInt n_component = 0;
    PetscCall(DMDAGetInfo(dm, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                          &n_component, nullptr, nullptr, nullptr, nullptr, nullptr));
    for (PetscInt component = 0; component < n_component; ++component) {
        const char* name = nullptr;
        PetscCall(DMDAGetFieldName(dm, component, &name));
        names->emplace_back(name ? name : "");
    }
    PetscFunctionReturn(0);
}

PetscErrorCode names_of_section(PetscSection section, std::vector<std::string>* names) {
    PetscFunctionBegin;
    PetscInt n_field = 0;
    PetscCall(PetscSectionGetNumFields(section, &n_field));
    for (PetscInt field = 0; field < n_field; ++field) {
        const char* name = nullptr;
        PetscInt n_component = 0;
        PetscCall(PetscSectionGetFieldName(section, field, &name));
        PetscCall(PetscSectionGetFieldComponents(section, field, &n_component));
        const std::string stem = name ? name : "";
        for (PetscInt k = 0; k < n_component; ++k)
            names->push_back(n_component == 1 || k > 2 ? stem : stem + "." + "xyz"[k]);
    }
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode component_names(DM dm, std::vector<std::string>* names) {
    PetscFunctionBegin;
    names->clear();
    if (!dm) PetscFunctionReturn(0);
    PetscBool is_da = PETSC_FALSE, is_plex = PETSC_FALSE;
    PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(dm), DMDA, &is_da));
    PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(dm), DMPLEX, &is_plex));
    if (is_da) PetscCall(names_of_da(dm, names));
    if (is_plex) {
        PetscSection section = nullptr;  // borrowed
        PetscCall(DMGetLocalSection(dm, &section));
        if (section) PetscCall(names_of_section(section, names));
    }
    PetscFunctionReturn(0);
}

std::string list_of(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

}  // namespace surrogate::petsc
