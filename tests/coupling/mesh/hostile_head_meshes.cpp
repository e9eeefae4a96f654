// SPDX-License-Identifier: Apache-2.0
// XML that asks for what VTK's reader would try to give.
#include <functional>

#include "tests/coupling/mesh/hostile_meshes.hpp"

namespace surrogate::test {

namespace {

HostileMesh vtu(const std::string& name, std::vector<std::string> says,
                const std::function<void(VtuText&)>& change) {
    VtuText mesh;
    change(mesh);
    return {name, {{"mesh.vtu", mesh.text()}}, std::move(says)};
}

std::string repeated(const std::string& text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
    return text.replace(text.find(old), old.size(), by);
}

/// Another array at the points.
HostileMesh array(const std::string& name, const std::string& attributes,
                  std::vector<std::string> says) {
    return vtu(name, std::move(says), [&](VtuText& mesh) {
        mesh.mobility += "<DataArray Name=\"q\" " + attributes + ">1 2 3 4</DataArray>";
    });
}

HostileMesh points(const std::string& name, const std::string& n, std::vector<std::string> says) {
    return vtu(name, std::move(says), [&](VtuText& mesh) { mesh.n_points = n; });
}

HostileMesh cells(const std::string& name, const std::string& n, std::vector<std::string> says) {
    return vtu(name, std::move(says), [&](VtuText& mesh) { mesh.n_cells = n; });
}

std::vector<HostileMesh> count_meshes() {
    return {
        points("PointsNegative", "-4", {"NumberOfPoints=\"-4\" is not a count"}),
        points("PointsMoreThanTheFile", "1000000", {"NumberOfPoints=\"1000000\": a file of"}),
        points("PointsWithoutEnd", "1000000000000000", {"NumberOfPoints=", "cannot hold"}),
        points("PointsOverflow", "9223372036854775808", {"is not a count"}),
        points("PointsOfWords", "many", {"NumberOfPoints=\"many\" is not a count"}),
        points("PointsWithATail", "4abc", {"NumberOfPoints=\"4abc\" is not a count"}),
        points("PointsOneMoreThanCoordinates", "5", {"is shorter than its 5 values"}),
        cells("CellsNegative", "-2", {"NumberOfCells=\"-2\" is not a count"}),
        cells("CellsMoreThanTheFile", "100000", {"NumberOfCells=\"100000\": a file of"}),
        cells("CellsWithoutEnd", "1000000000000000", {"NumberOfCells=", "cannot hold"}),
        vtu("TuplesOfAFieldNegative", {"NumberOfTuples=\"-1\" is not a count"},
            [](VtuText& mesh) {
                mesh.before_piece = R"(<FieldData><DataArray type="Int8" Name="f")"
                                    R"( NumberOfTuples="-1">1</DataArray></FieldData>)";
            }),
        vtu("TuplesOfAFieldWithoutEnd", {"NumberOfTuples=", "cannot hold"},
            [](VtuText& mesh) {
                mesh.before_piece = R"(<FieldData><Array type="String" Name="f")"
                                    R"( NumberOfTuples="100000000000">1</Array></FieldData>)";
            }),
        vtu("ManyArraysOfNothing", {"cannot hold beside its other arrays"},
            [](VtuText& mesh) {
                mesh.n_points = "200";
                for (int i = 0; i < 40; ++i)
                    mesh.mobility += R"(<DataArray type="Int8" Name="a)" + std::to_string(i) +
                                     R"(" NumberOfComponents="5"/>)";
            }),
    };
}

std::vector<HostileMesh> array_meshes() {
    return {
        array("ComponentsNegative", R"(type="Float64" NumberOfComponents="-3")",
              {"array 'q' has NumberOfComponents=\"-3\""}),
        array("ComponentsWithoutEnd", R"(type="Float64" NumberOfComponents="1000000000")",
              {"array 'q' has NumberOfComponents=\"1000000000\""}),
        array("ComponentsMoreThanTheFile", R"(type="Float64" NumberOfComponents="1000")",
              {"array 'q' has 4 x 1000 values of Float64, which a file of"}),
        array("TypeOfArrayUnknown", R"(type="Float128")", {"array 'q' has the type 'Float128'"}),
        vtu("TypeOfTimeWithABlank", {"array 'TimeValue' has the type 'Float64 '"},
            [](VtuText& mesh) {
                mesh.before_piece = R"(<FieldData><DataArray type="Float64 " Name="TimeValue")"
                                    R"( NumberOfTuples="1">1</DataArray></FieldData>)";
            }),
        array("TypeOfArrayMissing", "", {"array 'q' has the type ''"}),
        array("FieldShort", R"(type="Float64" NumberOfComponents="2")",
              {"array 'q' is shorter than its 8 values"}),
        array("StringsShort", R"(type="String")",
              {"array 'q' holds 0 strings; 4 to 4 are expected"}),
        vtu("MoreStringsThanPoints", {"array 'q' holds 9 strings; 4 to 4 are expected"},
            [](VtuText& mesh) {
                mesh.mobility +=
                    R"(<Array Name="q" type="String">)" + repeated("65 0 ", 9) + "</Array>";
            }),
        vtu("CellFieldShortWithoutPointFields", {"array 'mobility' is shorter than its 2 values"},
            [](VtuText& mesh) {
                mesh.mobility = "";
                mesh.cell_mobility = R"(<DataArray type="Float64" Name="mobility">4</DataArray>)";
            }),
        vtu("PointsOfOneComponent", {"its points have 1 components, expected 3"},
            [](VtuText& mesh) { mesh.points_attributes = R"(type="Float64")"; }),
        vtu("PointsOfStrings", {"its points have the type String"},
            [](VtuText& mesh) {
                mesh.points_attributes = R"(type="String" NumberOfComponents="3")";
            }),
        vtu("CoordinatesShort", {"array '' is shorter than its 12 values"},
            [](VtuText& mesh) { mesh.points = "0 0 0 1 0 0"; }),
        vtu("OffsetsOfTwoComponents", {"array 'faceoffsets' of the cells has 2 components"},
            [](VtuText& mesh) {
                mesh.more_cells = R"(<DataArray type="Int64" Name="faceoffsets")"
                                  R"( NumberOfComponents="2">1 2 3 4</DataArray>)";
            }),
        vtu("ArrayByAnotherName", {"array 'q' has NumberOfComponents=\"1000000000\""},
            [](VtuText& mesh) {
                mesh.mobility +=
                    R"(<Innocent type="Float64" Name="q" NumberOfComponents="1000000000"/>)";
            }),
    };
}

std::vector<HostileMesh> xml_meshes() {
    return {
        vtu("ElementsNestTooDeep", {"nest more than 16 deep"},
            [](VtuText& mesh) {
                mesh.before_piece = repeated("<a>", 200000) + repeated("</a>", 200000);
            }),
        vtu("ElementsWithoutEnd", {"more than 300000 elements"},
            [](VtuText& mesh) { mesh.before_piece = repeated("<a/>", 300001); }),
        vtu("AttributesWithoutEnd", {"300 attributes"},
            [](VtuText& mesh) {
                mesh.before_piece = "<a";
                for (int i = 0; i < 300; ++i)
                    mesh.before_piece += " a" + std::to_string(i) + "=\"1\"";
                mesh.before_piece += "/>";
            }),
        vtu("ACommentOfAMegabyte", {"more than 65536 bytes without a whole tag"},
            [](VtuText& mesh) { mesh.before_piece = "<!--" + repeated("x", 1 << 20) + "-->"; }),
        vtu("AnAppendedTagOfAMegabyte", {"its tag <AppendedData has no end"},
            [](VtuText& mesh) {
                mesh.tail = "<AppendedData a='" + repeated("x", 1 << 20) + "'>_";
            }),
        vtu("NothingButASpaceOfAMegabyte", {"more than 65536 bytes without a whole tag"},
            [](VtuText& mesh) { mesh.prolog += repeated(" ", 1 << 20); }),
        vtu("ValuesOfAKeyWithoutEnd", {"an InformationKey has more than 1000 values"},
            [](VtuText& mesh) {
                mesh.mobility =
                    R"(<DataArray type="Float64" Name="mobility"><InformationKey)"
                    R"( name="L2_NORM_RANGE" location="vtkDataArray" length="100000">)" +
                    repeated("<Value index=\"0\">1</Value>", 100000) +
                    "</InformationKey>4 5 6 7</DataArray>";
            }),
        vtu("ArraysWithoutEnd", {"more than 10000 arrays in one list"},
            [](VtuText& mesh) {
                mesh.before_piece =
                    "<FieldData>" +
                    repeated(R"(<DataArray type="Int8" Name="f" NumberOfTuples="0"/>)", 10001) +
                    "</FieldData>";
            }),
        vtu("ABombOfEntities", {"has a document type declaration"},
            [](VtuText& mesh) {
                mesh.prolog += R"(<!DOCTYPE a [<!ENTITY a0 "lol">)";
                for (int i = 1; i < 10; ++i)
                    mesh.prolog += "<!ENTITY a" + std::to_string(i) + " \"" +
                                   repeated("&a" + std::to_string(i - 1) + ";", 10) + "\">";
                mesh.prolog += "]>";
                mesh.file_attributes = " x=\"&a9;\"";
            }),
        vtu("AnEntityOfAnotherFile", {"has a document type declaration"},
            [](VtuText& mesh) {
                mesh.prolog += R"(<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>)";
                mesh.cell_mobility = R"(<DataArray type="Float64" Name="m">&e;</DataArray>)";
            }),
        vtu("Utf16", {"does not begin like a text of 8-bit characters"},
            [](VtuText& mesh) { mesh.prolog = "\xff\xfe<" + std::string(1, '\0'); }),
        vtu("ACompressorThatVtkHasNot", {"its compressor is 'vtkMagicCompressor'"},
            [](VtuText& mesh) { mesh.file_attributes = R"( compressor="vtkMagicCompressor")"; }),
        {"AHeaderTypeThatVtkHasNot",
         {{"mesh.vtu", replaced(VtuText().text(), "UInt64", "UInt128")}},
         {"VTK says", "UInt128"}},
        {"HalfOfAFile", {{"mesh.vtu", VtuText().text().substr(0, 400)}}, {"VTK says"}},
        {"Empty", {{"mesh.vtu", ""}}, {"VTK says"}},
        {"AnotherGrid", {{"mesh.vtu", VtpText().text()}}, {"VTK says", "UnstructuredGrid"}},
        {"NoPiece",
         {{"mesh.vtu", "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid/></VTKFile>"}},
         {"VTK says", "NumberOfPoints"}},
    };
}

}  // namespace

std::vector<HostileMesh> head_meshes() {
    std::vector<HostileMesh> all;
    for (const auto& list : {count_meshes(), array_meshes(), xml_meshes()})
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

}  // namespace surrogate::test
