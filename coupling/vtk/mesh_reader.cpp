// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/mesh_reader.hpp"

#include <vtkInformation.h>
#include <vtkStreamingDemandDrivenPipeline.h>
#include <vtkXMLImageDataReader.h>
#include <vtkXMLPImageDataReader.h>
#include <vtkXMLPPolyDataReader.h>
#include <vtkXMLPStructuredGridReader.h>
#include <vtkXMLPUnstructuredGridReader.h>
#include <vtkXMLPolyDataReader.h>
#include <vtkXMLStructuredGridReader.h>
#include <vtkXMLUnstructuredGridReader.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/error.hpp"
#include "coupling/vtk/read_errors.hpp"

namespace surrogate::vtk {

namespace {

vtkSmartPointer<vtkXMLReader> make_reader(const MeshName& name) {
    const auto pick = [&](vtkXMLReader* serial, vtkXMLReader* parallel) {
        auto reader = vtkSmartPointer<vtkXMLReader>::Take(name.is_parallel ? parallel : serial);
        (name.is_parallel ? serial : parallel)->Delete();
        return reader;
    };
    switch (name.kind) {
        case GridKind::image:
            return pick(vtkXMLImageDataReader::New(), vtkXMLPImageDataReader::New());
        case GridKind::surface:
            return pick(vtkXMLPolyDataReader::New(), vtkXMLPPolyDataReader::New());
        case GridKind::structured:
            return pick(vtkXMLStructuredGridReader::New(), vtkXMLPStructuredGridReader::New());
        case GridKind::mesh: break;
    }
    return pick(vtkXMLUnstructuredGridReader::New(), vtkXMLPUnstructuredGridReader::New());
}

void check_can_open(const std::string& path) {
    errno = 0;
    const std::ifstream file(path, std::ios::binary);
    if (!file)
        throw Error(SURROGATE_IO, "cannot open the mesh '" + path + "': " +
                                      (errno != 0 ? std::strerror(errno) : "unknown reason"));
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
                    "' is no mesh file this program knows; it reads and writes .vtu, .vti, "
                    ".vtp, .vts, and in pieces .pvtu, .pvti, .pvtp, .pvts (other formats: `meshio "
                    "convert IN OUT.vtu`)");
}

void reading(const std::string& path, const std::function<void()>& step) {
    const ReadErrors errors;
    step();
    if (!errors.text().empty())
        throw Error(SURROGATE_BAD_FILE,
                    "cannot read the mesh '" + path + "'; VTK says: " + errors.text());
}

vtkSmartPointer<vtkXMLReader> open_mesh(const std::string& path, const MeshName& name) {
    check_can_open(path);
    auto reader = make_reader(name);
    reader->SetFileName(path.c_str());
    reading(path, [&] { reader->UpdateInformation(); });
    return reader;
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
