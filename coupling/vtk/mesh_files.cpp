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
    std::string element, attribute, second;
    std::vector<std::pair<std::string, std::string>> found;

protected:
    void StartElement(const char* name, const char** attributes) override {
        if (name != element) return;
        const char* values[2] = {nullptr, ""};
        for (; attributes[0] != nullptr; attributes += 2) {
            if (attributes[0] == attribute) values[0] = attributes[1];
            if (attributes[0] == second) values[1] = attributes[1];
        }
        if (values[0] != nullptr) found.emplace_back(values[0], values[1]);
    }
    void EndElement(const char*) override {}
    void ReportXmlParseError() override {}
};
// clang-format on
vtkStandardNewMacro(Names)

    /// Values of the attribute, names of files, with those of the second one. Relative names are those
    /// of the file's folder.
    std::vector<std::pair<std::string, std::string>> names_in(const std::string& path,
                                                              const char* element,
                                                              const char* attribute,
                                                              const char* second) {
    if (!has_bounded_xml(path)) return {};
    std::ifstream file(path, std::ios::binary);
    const vtkNew<Names> names;
    names->element = element;
    names->attribute = attribute;
    names->second = second;
    names->SetStream(&file);
    names->Parse();
    for (auto& [name, value] : names->found)
        if (name.rfind('/', 0) != 0) name = directory_of(path) + name;
    return names->found;
}

}  // namespace

std::vector<std::string> files_of_mesh(const std::string& path) {
    std::vector<std::string> files = {path};
    if (parse_mesh_name(path).is_parallel)
        for (auto& [piece, none] : names_in(path, "Piece", "Source", ""))
            files.push_back(std::move(piece));
    return files;
}

std::vector<std::pair<std::string, std::string>> entries_of_series(const std::string& path) {
    return names_in(path, "DataSet", "file", "timestep");
}

}  // namespace surrogate::vtk
