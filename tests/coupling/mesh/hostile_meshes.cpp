// SPDX-License-Identifier: Apache-2.0
#include "tests/coupling/mesh/hostile_meshes.hpp"

#include <fstream>

namespace surrogate::test {

namespace {

std::string array(const std::string& attributes, const std::string& values) {
    return "<DataArray " + attributes + ">" + values + "</DataArray>";
}

std::string ids(const std::string& name, const std::string& values) {
    return array(R"(type="Int64" Name=")" + name + '"', values);
}

const std::string coordinates = R"(type="Float64" NumberOfComponents="3")";

std::string file(const std::string& prolog, const std::string& kind, const std::string& attributes,
                 const std::string& content) {
    return prolog + R"(<VTKFile type=")" + kind +
           R"(" version="1.0" byte_order="LittleEndian" header_type="UInt64")" + attributes + ">" +
           content + "</VTKFile>";
}

std::string cells(const std::string& list, const std::string& corners, const std::string& ends) {
    return "<" + list + ">" + ids("connectivity", corners) + ids("offsets", ends) + "</" + list +
           ">";
}

}  // namespace

std::string HostileMesh::write(const std::string& folder) const {
    for (const auto& [file, bytes] : files)
        std::ofstream(folder + "/" + file, std::ios::binary) << bytes;
    return folder + "/" + files.front().first;
}

std::string VtuText::text() const {
    return file(prolog, "UnstructuredGrid", file_attributes,
                "<UnstructuredGrid>" + before_piece + "<Piece NumberOfPoints=\"" + n_points +
                    "\" NumberOfCells=\"" + n_cells + "\"><PointData>" + mobility +
                    "</PointData><CellData>" + cell_mobility + "</CellData><Points>" +
                    array(points_attributes, points) + "</Points><Cells>" +
                    ids("connectivity", connectivity) + ids("offsets", offsets) +
                    array(R"(type="UInt8" Name="types")", types) + more_cells +
                    "</Cells></Piece></UnstructuredGrid>" + tail);
}

std::string VtpText::text() const {
    return file("", "PolyData", "",
                "<PolyData><Piece NumberOfPoints=\"4\" NumberOfVerts=\"" + n_verts +
                    R"(" NumberOfLines="1" NumberOfPolys="1" NumberOfStrips="1"><PointData>)" +
                    array(R"(type="Float64" Name="mobility")", "4 5 6 7") +
                    "</PointData><CellData>" +
                    array(R"(type="Float64" Name="mobility")", "4 5 6 7") + "</CellData><Points>" +
                    array(coordinates, "0 0 0 1 0 0 0 1 0 1 1 0") + "</Points>" +
                    cells("Verts", verts, "1") + cells("Lines", lines, line_offsets) +
                    cells("Strips", strips, strip_offsets) + cells("Polys", polys, "3") +
                    "</Piece></PolyData>");
}

std::string VtiText::text() const {
    return file("", "ImageData", "",
                "<ImageData WholeExtent=\"" + whole + R"(" Origin="0 0 0" Spacing=")" + spacing +
                    "\"><Piece Extent=\"" + extent + "\"><PointData>" + mobility +
                    "</PointData></Piece></ImageData>");
}

std::string VtsText::text() const {
    return file("", "StructuredGrid", "",
                "<StructuredGrid WholeExtent=\"" + whole + "\"><Piece Extent=\"" + extent +
                    "\"><PointData>" + array(R"(type="Float64" Name="mobility")", "4 5 6 7") +
                    "</PointData><Points>" + array(coordinates, points) +
                    "</Points></Piece></StructuredGrid>");
}

std::string summary_text(const std::string& kind, const std::string& attributes,
                         const std::string& pieces) {
    const bool is_image = kind == "ImageData";
    const std::string field = R"(<PDataArray type="Float64" Name="mobility"/>)";
    return file(
        "", "P" + kind, "",
        "<P" + kind + " GhostLevel=\"0\" " + attributes + "><PPointData>" + field +
            "</PPointData>" +
            (is_image || kind == "StructuredGrid" ? "" : "<PCellData>" + field + "</PCellData>") +
            (is_image ? "" : "<PPoints><PDataArray " + coordinates + "/></PPoints>") + pieces +
            "</P" + kind + ">");
}

std::string word64(uint64_t value) {
    std::string bytes(8, '\0');
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
    return bytes;
}

std::vector<HostileMesh> all_hostile_meshes() {
    std::vector<HostileMesh> all;
    for (const auto& list :
         {cell_meshes(), head_meshes(), block_meshes(), extent_meshes(), pieces_meshes()})
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

}  // namespace surrogate::test
