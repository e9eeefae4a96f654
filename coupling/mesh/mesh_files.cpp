// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_files.hpp"

#include <vtkNew.h>
#include <vtkObjectFactory.h>
#include <vtkXMLParser.h>

#include <algorithm>
#include <fstream>

#include "coupling/mesh/mesh_reader.hpp"
#include "coupling/mesh/read_errors.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

struct Parsed {
    std::vector<std::pair<std::string, std::string>> names;
    bool is_collection = false;  // the file states that it is a series
    std::string fault;           // error of the XML; "": none
};

// Uses the parser of VTK's readers, so that names are interpreted in the same manner. It calls back
// for each element and keeps no tree, so any depth is allowed.
// clang-format off
class Names : public vtkXMLParser {
public:
    static Names* New();
    vtkTypeMacro(Names, vtkXMLParser)
    std::string element, attribute, second;
    std::vector<std::pair<std::string, std::string>> found;
    std::vector<std::string> first_names;  // of the root and its first child
    std::string root_type;

protected:
    void StartElement(const char* name, const char** attributes) override {
        if (first_names.size() < 2) first_names.emplace_back(name);
        if (first_names.size() == 1) root_type = text_of(attributes, "type");
        if (name != element) return;
        const char* const value = find(attributes, attribute);
        if (value != nullptr) found.emplace_back(value, text_of(attributes, second));
    }
    void EndElement(const char*) override {}

private:
    static const char* find(const char** attributes, const std::string& key) {
        for (; attributes[0] != nullptr; attributes += 2)
            if (attributes[0] == key) return attributes[1];
        return nullptr;
    }
    static std::string text_of(const char** attributes, const std::string& key) {
        const char* const value = find(attributes, key);
        return value == nullptr ? "" : value;
    }
};
// clang-format on
vtkStandardNewMacro(Names);

/// Reads the values of an attribute, which are names of files, with the values of a second
/// attribute. Relative names refer to the file's folder.
Parsed names_in(const std::string& path, const char* element, const char* attribute,
                const char* second) {
    if (!has_bounded_xml(path)) return {{}, false, "its XML is not a series"};
    std::ifstream file(path, std::ios::binary);
    const vtkNew<Names> names;
    names->element = element;
    names->attribute = attribute;
    names->second = second;
    names->SetStream(&file);
    const ReadErrors errors;
    const bool is_whole = names->Parse() != 0;
    for (auto& [name, value] : names->found)
        if (name.rfind('/', 0) != 0) name = directory_of(path) + name;
    const std::vector<std::string> series = {"VTKFile", "Collection"};
    // Line and column in "Error parsing XML in stream at line 1, column 80, ..".
    std::string text = ReadErrors::text();
    text.erase(0, std::min(text.find("line "), text.size()));
    return {names->found, names->first_names == series && names->root_type == "Collection",
            is_whole       ? ""
            : text.empty() ? "its XML is not complete"
                           : text};
}

}  // namespace

std::vector<std::string> files_of_mesh(const std::string& path) {
    std::vector<std::string> files = {path};
    if (parse_mesh_name(path).is_parallel)
        for (auto& [piece, none] : names_in(path, "Piece", "Source", "").names)
            files.push_back(std::move(piece));
    return files;
}

std::vector<std::pair<std::string, std::string>> entries_of_series(const std::string& path) {
    Parsed parsed = names_in(path, "DataSet", "file", "timestep");
    if (!parsed.fault.empty())
        throw Error(SURROGATE_BAD_FILE,
                    "'" + path + "' is damaged or cut off: " + printable(parsed.fault));
    if (!parsed.is_collection)
        throw Error(SURROGATE_BAD_FILE,
                    "'" + path +
                        "' is not a series: expected <VTKFile type=\"Collection\"> with a "
                        "<Collection> in it");
    return std::move(parsed.names);
}

}  // namespace surrogate::vtk
