// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/mesh_reader.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <vtkInformation.h>
#include <vtkStreamingDemandDrivenPipeline.h>
#include <vtkXMLReader.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>

#include "coupling/mesh/checked_readers.hpp"
#include "coupling/mesh/mesh_parser.hpp"
#include "coupling/mesh/read_errors.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {

void check_can_open(const std::string& path) {
    struct stat found = {};
    errno = 0;
    if (::stat(path.c_str(), &found) != 0 || ::access(path.c_str(), R_OK) != 0)
        throw Error(SURROGATE_IO, "cannot open the mesh '" + path + "': " + std::strerror(errno));
    if (!S_ISREG(found.st_mode))  // reading a pipe could block
        throw Error(SURROGATE_IO, "cannot read the mesh '" + path + "': it is not a regular file");
}

}  // namespace

MeshName parse_mesh_name(const std::string& path) {
    const std::string extension = extension_of(path);
    for (const GridKind kind :
         {GridKind::mesh, GridKind::image, GridKind::surface, GridKind::structured}) {
        if (extension == std::string(".").append(extension_of(kind))) return {kind, false};
        if (extension == std::string(".p").append(extension_of(kind))) return {kind, true};
    }
    throw Error(SURROGATE_NOT_SUPPORTED,
                "'" + path +
                    "' has an unsupported mesh format, expected .vtu, .vti, "
                    ".vtp, .vts, and in pieces .pvtu, .pvti, .pvtp, .pvts (other formats: `meshio "
                    "convert IN OUT.vtu`)");
}

void reading(const std::string& path, const std::function<void()>& step) {
    const ReadErrors errors;
    try {
        step();
    } catch (const std::bad_alloc&) {
        throw Error(SURROGATE_NO_MEMORY, "no memory to read the mesh '" + path + "'");
    }
    if (!ReadErrors::text().empty())
        throw Error(SURROGATE_BAD_FILE,
                    "cannot read the mesh '" + path + "'; VTK says: " + ReadErrors::text());
}

vtkSmartPointer<vtkXMLReader> open_mesh(const std::string& path, const MeshName& name) {
    check_can_open(path);
    auto reader = make_checked_reader(name);
    reader->SetFileName(path.c_str());
    reading(path, [&] { reader->UpdateInformation(); });
    return reader;
}

bool has_bounded_xml(const std::string& path) {
    struct stat found = {};
    if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
    std::ifstream file(path, std::ios::binary);
    const auto parser = vtkSmartPointer<MeshParser>::Take(MeshParser::New());
    parser->look_at(false, FileRole::summary, found.st_size);
    parser->SetStream(&file);
    const ReadErrors quiet;  // invalid XML is reported by the reader
    parser->Parse();
    return !parser->head().has_failed();
}

Extent whole_extent(vtkXMLReader* reader, const std::string& path) {
    Extent whole;
    vtkInformation* info = reader->GetOutputInformation(0);
    if (!info->Has(vtkStreamingDemandDrivenPipeline::WHOLE_EXTENT()))
        throw Error(SURROGATE_BAD_FILE, "'" + path + "' has no whole extent");
    info->Get(vtkStreamingDemandDrivenPipeline::WHOLE_EXTENT(), whole.data());
    return whole;
}

}  // namespace surrogate::vtk
