// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/summary.hpp"

#include <bit>
#include <charconv>

namespace surrogate::vtk {

namespace {

const char* type_name(GridKind kind) {
    switch (kind) {
        case GridKind::image: return "PImageData";
        case GridKind::surface: return "PPolyData";
        case GridKind::structured: return "PStructuredGrid";
        case GridKind::mesh: break;
    }
    return "PUnstructuredGrid";
}

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&': result += "&amp;"; break;
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '"': result += "&quot;"; break;
            case '\t': result += "&#9;"; break;  // readers convert a plain tab to a space
            case '\n': result += "&#10;"; break;
            case '\r': result += "&#13;"; break;
            default: result += c;
        }
    }
    return result;
}

/// Returns ` key="value"`.
std::string attribute(const char* key, const std::string& value) {
    return std::string(" ") + key + "=\"" + escaped(value) + "\"";
}

/// Returns a text that is read back as the same double, independent of the host's locale.
std::string number(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class Values>
std::string list(const Values& values) {
    std::string text;
    for (const auto value : values) text += number(value) + ' ';
    text.pop_back();
    return text;
}

std::string file_head(const std::string& type) {
    return "<?xml version=\"1.0\"?>\n<VTKFile" + attribute("type", type) + " version=\"1.0\"" +
           attribute("byte_order",
                     std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian") +
           " header_type=\"UInt64\">\n";
}

/// Returns the element of an array. The unit is stored as in VTK's writers:
/// vtkDataArray::UNITS_LABEL().
std::string array_line(const ArrayInfo& array) {
    const std::string begin = "      <PDataArray" + attribute("type", array.type) +
                              attribute("Name", array.name) +
                              attribute("NumberOfComponents", std::to_string(array.n_components));
    if (array.unit.empty()) return begin + "/>\n";
    return begin + ">\n        <InformationKey name=\"UNITS_LABEL\" location=\"vtkDataArray\">" +
           escaped(array.unit) + "</InformationKey>\n      </PDataArray>\n";
}

std::string array_lines(const char* element, const std::vector<ArrayInfo>& arrays) {
    std::string text = std::string("    <") + element;
    for (const ArrayInfo& array : arrays)
        if (array.is_global_ids) text += attribute("GlobalIds", array.name);
    text += ">\n";
    for (const ArrayInfo& array : arrays) text += array_line(array);
    return text + "    </" + element + ">\n";
}

std::string grid_attributes(const SummaryInfo& info) {
    std::string text;
    if (has_extents(info.kind)) text += attribute("WholeExtent", list(info.whole_extent));
    text += " GhostLevel=\"0\"";
    if (info.kind != GridKind::image) return text;
    return text + attribute("Origin", list(info.origin)) +
           attribute("Spacing", list(info.spacing)) + attribute("Direction", list(info.direction));
}

std::string piece_line(GridKind kind, const PieceInfo& piece) {
    const std::string extent = has_extents(kind) ? attribute("Extent", list(piece.extent)) : "";
    return "    <Piece" + extent + attribute("Source", piece.file) + "/>\n";
}

}  // namespace

bool has_extents(GridKind kind) {
    return kind == GridKind::image || kind == GridKind::structured;
}

std::string summary_text(const SummaryInfo& info) {
    const std::string type = type_name(info.kind);
    std::string text = file_head(type) + "  <" + type + grid_attributes(info) + ">\n" +
                       array_lines("PPointData", info.point_arrays) +
                       array_lines("PCellData", info.cell_arrays);
    if (info.kind != GridKind::image)
        text += "    <PPoints>\n      <PDataArray" + attribute("type", info.coordinate_type) +
                " Name=\"Points\" NumberOfComponents=\"3\"/>\n    </PPoints>\n";
    for (const PieceInfo& piece : info.pieces) text += piece_line(info.kind, piece);
    return text + "  </" + type + ">\n</VTKFile>\n";
}

std::string pvd_text(const std::vector<SeriesStep>& steps) {
    std::string text = file_head("Collection") + "  <Collection>\n";
    for (const SeriesStep& step : steps)
        text += "    <DataSet" + attribute("timestep", number(step.time_s)) +
                " group=\"\" part=\"0\"" + attribute("file", step.file) + "/>\n";
    return text + "  </Collection>\n</VTKFile>\n";
}

std::string extension_of(GridKind kind) {
    switch (kind) {
        case GridKind::image: return "vti";
        case GridKind::surface: return "vtp";
        case GridKind::structured: return "vts";
        case GridKind::mesh: break;
    }
    return "vtu";
}

}  // namespace surrogate::vtk
