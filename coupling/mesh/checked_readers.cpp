// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/checked_readers.hpp"

#include <vtkXMLImageDataReader.h>
#include <vtkXMLPImageDataReader.h>
#include <vtkXMLPPolyDataReader.h>
#include <vtkXMLPStructuredGridReader.h>
#include <vtkXMLPolyDataReader.h>
#include <vtkXMLStructuredGridReader.h>

#include "coupling/mesh/checked_grid.hpp"

namespace surrogate::vtk {

namespace {

template <class Serial, class Parallel>
vtkSmartPointer<vtkXMLReader> pick(bool is_parallel) {
    if (!is_parallel) return vtkSmartPointer<vtkXMLReader>::Take(Serial::New());
    return vtkSmartPointer<vtkXMLReader>::Take(CheckedSummary<Parallel, Serial>::New());
}

}  // namespace

vtkSmartPointer<vtkXMLReader> make_checked_reader(const MeshName& name) {
    const bool is_parallel = name.is_parallel;
    switch (name.kind) {
        case GridKind::image:
            return pick<CheckedFile<vtkXMLImageDataReader>, vtkXMLPImageDataReader>(is_parallel);
        case GridKind::surface:
            return pick<CheckedFile<vtkXMLPolyDataReader>, vtkXMLPPolyDataReader>(is_parallel);
        case GridKind::structured:
            return pick<CheckedFile<vtkXMLStructuredGridReader>, vtkXMLPStructuredGridReader>(
                is_parallel);
        case GridKind::mesh: break;
    }
    if (!is_parallel) return vtkSmartPointer<vtkXMLReader>::Take(CheckedGrid::New());
    return vtkSmartPointer<vtkXMLReader>::Take(CheckedGridSummary::New());
}

}  // namespace surrogate::vtk
