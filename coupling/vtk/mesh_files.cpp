// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/mesh_files.hpp"

#include <vtkNew.h>
#include <vtkObjectFactory.h>
#include <vtkXMLParser.h>

#include <fstream>

#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/mesh_reader.hpp"

namespace surrogate::vtk {

namespace {

// The parser of VTK's own readers, so that a name is what they take it for. It calls for each
// element and keeps no tree: depth does not matter.
// clang-format off
class Names : public vtkXMLParser {
public:
    static Names* New();
    vtkTypeMacro(Names, vtkXMLParser)
    std::string element, attribute;
    std::vector<std::string> found;

protected:
    void StartElement(const char* name, const char** attributes) override {
        if (name != element) return;
        for (; attributes[0] != nullptr; attributes += 2)
            if (attributes[0] == attribute) found.emplace_back(attributes[1]);
    }
    void EndElement(const char*) override {}
    void ReportXmlParseError() override {}
};
// clang-format on
vtkStandardNewMacro(Names)

    /// Relative names are those of the file's folder.
    std::vector<std::string> names_in(const std::string& path, const char* element,
                                      const char* attribute) {
    if (!has_bounded_xml(path)) return {};
    std::ifstream file(path, std::ios::binary);
    const vtkNew<Names> names;
    names->element = element;
    names->attribute = attribute;
    names->SetStream(&file);
    names->Parse();
    for (std::string& name : names->found)
        if (name.rfind('/', 0) != 0) name = directory_of(path) + name;
    return names->found;
}

}  // namespace

std::vector<std::string> files_of_mesh(const std::string& path) {
    std::vector<std::string> files = {path};
    if (parse_mesh_name(path).is_parallel)
        for (std::string& piece : names_in(path, "Piece", "Source"))
            files.push_back(std::move(piece));
    return files;
}

std::vector<std::string> files_of_series(const std::string& path) {
    return names_in(path, "DataSet", "file");
}

}  // namespace surrogate::vtk
