// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vtkXMLDataReader.h>

#include "coupling/mesh/checked_file.hpp"
#include "coupling/mesh/mesh_geometry.hpp"

namespace surrogate::vtk {

/// Checks a file that names pieces.
template <class Reader, class PieceReader>
class CheckedSummary : public Checked<Reader> {
public:
    static CheckedSummary* New() {
        auto* reader = new CheckedSummary;
        reader->InitializeObjectBase();
        return reader;
    }

protected:
    void CreateXMLParser() override { this->make_parser(FileRole::summary); }
    vtkXMLDataReader* CreatePieceReader() override { return PieceReader::New(); }

    /// Reads and checks the piece first. VTK then finds it read, and copies existing data.
    int ReadPieceData() override {
        vtkXMLDataReader* piece = this->PieceReaders[this->Piece];
        const std::string name = "piece " + std::to_string(this->Piece);
        if (piece == nullptr) this->fail(name + " cannot be read");
        if constexpr (has_extents) {
            piece->UpdateExtent(this->SubExtent);
            require_extent(name);
        } else {
            piece->UpdatePiece(0, 1, this->UpdateGhostLevel);
        }
        auto* points = vtkPointSet::SafeDownCast(this->GetPieceInputAsDataSet(this->Piece));
        if (points != nullptr && points->GetPoints() == nullptr)
            this->fail(name + " has no points");
        return copy_piece();
    }

    virtual int copy_piece() { return Reader::ReadPieceData(); }

    void CopyArrayForPoints(vtkAbstractArray* in, vtkAbstractArray* out) override {
        check_copy(in, out);
        Reader::CopyArrayForPoints(in, out);
    }
    void CopyArrayForCells(vtkAbstractArray* in, vtkAbstractArray* out) override {
        check_copy(in, out);
        Reader::CopyArrayForCells(in, out);
    }

private:
    static constexpr bool has_extents = Checked<Reader>::has_extents;

    void require_extent(const std::string& name) {
        Extent found = {};
        this->GetPieceInputExtent(this->Piece, found.data());
        for (size_t axis = 0; axis < 6; axis += 2)
            if (this->SubExtent[axis] < found[axis] || this->SubExtent[axis + 1] > found[axis + 1])
                this->fail(name + " is smaller than the Extent that is given for it");
    }

    /// Checks an array, because VTK copies as many values as the summary states, and copies bytes.
    void check_copy(vtkAbstractArray* in, vtkAbstractArray* out) {
        if (in == nullptr || out == nullptr) return;
        if (in->GetNumberOfComponents() == out->GetNumberOfComponents() &&
            in->GetDataTypeSize() == out->GetDataTypeSize() &&
            (in->GetDataType() == VTK_STRING) == (out->GetDataType() == VTK_STRING))
            return;
        this->fail("array '" + printable(out->GetName() == nullptr ? "" : out->GetName()) +
                   "' of piece " + std::to_string(this->Piece) + " has " + text_of(in) + ", not " +
                   text_of(out));
    }
    static std::string text_of(vtkAbstractArray* array) {
        return std::to_string(array->GetNumberOfComponents()) + " components of the type " +
               array->GetDataTypeAsString();
    }
};

}  // namespace surrogate::vtk
