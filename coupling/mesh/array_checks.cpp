// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/array_checks.hpp"

#include <vtkDataArray.h>
#include <vtkXMLDataElement.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "coupling/mesh/mesh_parser.hpp"
#include "coupling/mesh/read_errors.hpp"
#include "coupling/mesh/xml_numbers.hpp"

namespace surrogate::vtk {

namespace {

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
}

}  // namespace

std::string name_of(vtkXMLDataElement* array) {
    const char* name = array->GetAttribute("Name");
    return "array '" + printable(name == nullptr ? "" : name) + "'";
}

bool is_offsets(vtkXMLDataElement* array) {
    const char* name = array->GetAttribute("Name");
    const char* list = array->GetParent() == nullptr ? "" : array->GetParent()->GetName();
    if (name == nullptr || std::strcmp(name, "offsets") != 0) return false;
    for (const char* cells : {"Cells", "Verts", "Lines", "Strips", "Polys"})
        if (std::strcmp(list, cells) == 0) return true;
    return false;
}

std::string offsets_problem(vtkDataArray* offsets, vtkIdType begin, vtkIdType n, int64_t most) {
    double before = 0;
    for (vtkIdType cell = 0; offsets != nullptr && cell < n; ++cell) {
        const double end = offsets->GetComponent(begin + cell, 0);
        const bool is_ordered = end >= before;
        if (!is_ordered || end > static_cast<double>(most))
            return "cell " + std::to_string(cell) + " ends at corner " + text_of(end) +
                   (is_ordered ? ", more than the file can hold"
                               : ", before it begins at " + text_of(before));
        before = end;
    }
    return "";
}

std::string strings_problem(MeshParser& parser, vtkXMLDataElement* array, vtkIdType least,
                            vtkIdType most) {
    vtkIdType n_found = 0;
    char block[4096];
    const char* offset = array->GetAttribute("offset");
    const char* format = array->GetAttribute("format");
    const int is_ascii = format == nullptr || std::strcmp(format, "binary") != 0;
    for (uint64_t at = 0; at < parser.n_data();) {
        const size_t n =
            offset != nullptr
                ? parser.ReadAppendedData(integer_of(offset).value_or(0), block, at, sizeof block)
                : parser.ReadInlineData(array, is_ascii, block, at, sizeof block);
        n_found += std::count(block, block + n, '\0');
        at += n;
        if (n < sizeof block) break;
    }
    if (n_found >= least && n_found <= most) return "";
    return "holds " + std::to_string(n_found) + " strings; " + std::to_string(least) + " to " +
           std::to_string(most) + " are expected";
}

}  // namespace surrogate::vtk
