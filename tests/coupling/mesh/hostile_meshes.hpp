// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace surrogate::test {

/// A mesh file that the reader must reject.
struct HostileMesh {
    std::string name;
    std::vector<std::pair<std::string, std::string>> files;  ///< name and bytes; the first is read
    std::vector<std::string> says;                           ///< parts of the error text

    friend void PrintTo(const HostileMesh& mesh, std::ostream* out) { *out << mesh.name; }

    /// Writes all files into the folder and returns the path of the first.
    std::string write(const std::string& folder) const;
};

std::vector<HostileMesh> cell_meshes();    ///< connectivity, offsets, types, faces
std::vector<HostileMesh> head_meshes();    ///< counts, types, components, XML
std::vector<HostileMesh> block_meshes();   ///< appended, base64 and compressed data
std::vector<HostileMesh> extent_meshes();  ///< images and structured grids
std::vector<HostileMesh> pieces_meshes();  ///< files that name pieces
std::vector<HostileMesh> all_hostile_meshes();

/// An unstructured grid of two triangles as text, each part of which may be replaced.
struct VtuText {
    std::string n_points = "4", n_cells = "2";
    std::string points = "0 0 0 1 0 0 0 1 0 1 1 0";
    std::string points_attributes = R"(type="Float64" NumberOfComponents="3")";
    std::string connectivity = "0 1 2 1 3 2", offsets = "3 6", types = "5 5";
    std::string mobility = R"(<DataArray type="Float64" Name="mobility">4 5 6 7</DataArray>)";
    std::string cell_mobility = R"(<DataArray type="Float64" Name="mobility">4 5</DataArray>)";
    std::string more_cells;       ///< arrays beside connectivity, offsets and types
    std::string before_piece;     ///< FieldData or other elements
    std::string file_attributes;  ///< of VTKFile
    std::string prolog = R"(<?xml version="1.0"?>)";
    std::string tail;  ///< behind </UnstructuredGrid>: AppendedData
    std::string text() const;
};

/// Polydata of one vertex, line, triangle and strip on four points.
struct VtpText {
    std::string verts = "0", lines = "0 1", polys = "0 1 2", strips = "0 1 2 3";
    std::string n_verts = "1", line_offsets = "2", strip_offsets = "4";
    std::string text() const;
};

/// 2 x 2 points with one field.
struct VtiText {
    std::string whole = "0 1 0 1 0 0", extent = whole, spacing = "1 1 1";
    std::string mobility = R"(<DataArray type="Float64" Name="mobility">4 5 6 7</DataArray>)";
    std::string text() const;
};
struct VtsText {
    std::string whole = "0 1 0 1 0 0", extent = whole;
    std::string points = "0 0 0 1 0 0 0 1 0 1 1 0";
    std::string text() const;
};

/// A summary of pieces: kind is "UnstructuredGrid", "PolyData", "ImageData" or "StructuredGrid".
std::string summary_text(const std::string& kind, const std::string& attributes,
                         const std::string& pieces);

/// A word of a binary file, little-endian.
std::string word64(uint64_t value);

}  // namespace surrogate::test
