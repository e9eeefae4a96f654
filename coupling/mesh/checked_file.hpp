// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks for VTK's readers, as class templates over the readers; see checked_readers.hpp. An
// override throws where VTK would continue.

#include <sys/stat.h>
#include <vtkAbstractArray.h>
#include <vtkCellData.h>
#include <vtkDataArray.h>
#include <vtkDataSet.h>
#include <vtkPointData.h>
#include <vtkPointSet.h>
#include <vtkPoints.h>
#include <vtkXMLDataElement.h>
#include <vtkXMLPStructuredDataReader.h>
#include <vtkXMLStructuredDataReader.h>

#include <cmath>
#include <string>
#include <type_traits>

#include "coupling/mesh/array_checks.hpp"
#include "coupling/mesh/mesh_cells.hpp"
#include "coupling/mesh/mesh_parser.hpp"
#include "coupling/mesh/read_errors.hpp"
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

/// Common part of all readers: the parser, and errors that name the file.
template <class Reader>
class Checked : public Reader {
protected:
    static constexpr bool has_extents = std::is_base_of_v<vtkXMLStructuredDataReader, Reader> ||
                                        std::is_base_of_v<vtkXMLPStructuredDataReader, Reader>;

    [[noreturn]] void fail(const std::string& text) {
        if (this->Stream != nullptr) this->CloseStream();
        throw Error(SURROGATE_BAD_FILE,
                    "cannot read the mesh '" + std::string(this->FileName) + "': " + text);
    }

    /// Returns the parser that make_parser() created, or null.
    MeshParser* parser() { return static_cast<MeshParser*>(this->XMLParser); }

    int64_t file_bytes() const {
        struct stat found = {};
        return ::stat(this->FileName, &found) == 0 ? int64_t{found.st_size} : 0;
    }

    void make_parser(FileRole role) {
        MeshParser* made = MeshParser::New();
        made->look_at(has_extents, role, file_bytes());
        this->XMLParser = made;
    }

    /// Pieces may overlap and still leave gaps, in which VTK leaves uninitialized memory.
    void SetupOutputData() override {
        Reader::SetupOutputData();
        auto* grid = vtkDataSet::SafeDownCast(this->GetCurrentOutput());
        if (!has_extents || grid == nullptr || parser()->head().n_pieces() < 2) return;
        for (vtkDataSetAttributes* list : {static_cast<vtkDataSetAttributes*>(grid->GetPointData()),
                                           static_cast<vtkDataSetAttributes*>(grid->GetCellData())})
            for (int i = 0; i < list->GetNumberOfArrays(); ++i) empty(list->GetArray(i));
        auto* points = vtkPointSet::SafeDownCast(grid);
        if (points != nullptr && points->GetPoints() != nullptr)
            empty(points->GetPoints()->GetData());
    }

    static void empty(vtkDataArray* array) {
        if (array == nullptr) return;
        const bool is_real =
            array->GetDataType() == VTK_FLOAT || array->GetDataType() == VTK_DOUBLE;
        array->Fill(is_real ? std::nan("") : 0.0);
    }

    int ReadXMLInformation() override {
        const int is_fine = Reader::ReadXMLInformation();
        if (parser() != nullptr && parser()->head().has_failed()) fail(parser()->head().failure());
        if (is_fine == 0) fail("VTK says: " + ReadErrors::text());
        return is_fine;
    }
};

/// Checks a file with data.
template <class Reader>
class CheckedFile : public Checked<Reader> {
public:
    static CheckedFile* New() {
        auto* reader = new CheckedFile;
        reader->InitializeObjectBase();
        return reader;
    }

    /// Rejects files that are not regular. Called for pieces, in which VTK would search for the
    /// first element here, at any distance.
    int CanReadFile(const char* path) override {
        struct stat found = {};
        if (::stat(path, &found) != 0) return 0;
        if (!S_ISREG(found.st_mode)) this->fail("it is not a regular file");
        return 1;
    }

protected:
    void CreateXMLParser() override { this->make_parser(FileRole::data); }

    /// Checks a single file. In a mesh of several pieces, a corner out of range could be a point of
    /// another piece.
    void ReadXMLData() override {
        Reader::ReadXMLData();
        if (this->DataError != 0) this->fail("VTK says: " + ReadErrors::text());
        auto* mesh = vtkDataSet::SafeDownCast(this->GetCurrentOutput());
        if (this->DataError == 0 && mesh != nullptr) check_cells(this->FileName, mesh);
    }

    int ReadArrayForPoints(vtkXMLDataElement* element, vtkAbstractArray* array) override {
        require(element, array);
        return Reader::ReadArrayForPoints(element, array);
    }
    int ReadArrayForCells(vtkXMLDataElement* element, vtkAbstractArray* array) override {
        require(element, array);
        return Reader::ReadArrayForCells(element, array);
    }

    /// Checks every transfer of data into arrays, all of which use this function.
    int ReadArrayValues(vtkXMLDataElement* element, vtkIdType to, vtkAbstractArray* array,
                        vtkIdType from, vtkIdType n,
                        vtkXMLReader::FieldType type = vtkXMLReader::OTHER) override {
        require(element, array);
        const vtkIdType size = array->GetNumberOfValues();
        if (to < 0 || from < 0 || n < 0 || to > size || n > size - to)
            this->fail(name_of(element) + ": values " + std::to_string(to) + " to " +
                       std::to_string(to) + " + " + std::to_string(n) + " of " +
                       std::to_string(size) + "; do all pieces have the same arrays?");
        if (n == 0) return 1;
        if (n > this->parser()->head().room())
            this->fail(name_of(element) + " has " + std::to_string(n) +
                       " values, which the file cannot hold");
        fail_for(element, this->parser()->check_sizes(element));
        const bool is_text = array->GetDataType() == VTK_STRING;
        if (is_text)
            fail_for(element,
                     strings_problem(*this->parser(), element, from + n, size - to + from));
        const auto width = static_cast<uint64_t>(is_text ? 1 : array->GetDataTypeSize());
        const bool has_begin = static_cast<uint64_t>(from) * width < this->parser()->n_data();
        if (!has_begin || Reader::ReadArrayValues(element, to, array, from, n, type) == 0)
            this->fail(name_of(element) + " is shorter than its " + std::to_string(from + n) +
                       " values, or damaged");
        if (!is_offsets(element)) return 1;
        const std::string problem = offsets_problem(vtkDataArray::SafeDownCast(array), to, n,
                                                    this->parser()->head().room());
        if (!problem.empty()) this->fail(problem);
        return 1;
    }

private:
    void require(vtkXMLDataElement* element, vtkAbstractArray* array) {
        if (array == nullptr)
            this->fail(name_of(element) +
                       " is not in the first piece; all pieces have the same arrays");
    }

    /// Throws if `problem` is not empty.
    void fail_for(vtkXMLDataElement* element, const std::string& problem) {
        if (!problem.empty()) this->fail(name_of(element) + " " + problem);
    }
};

}  // namespace surrogate::vtk
