// SPDX-License-Identifier: Apache-2.0
// Extents of grids, and files that name pieces.
#include "tests/coupling/mesh/hostile_meshes.hpp"

namespace surrogate::test {

namespace {

HostileMesh vti(const std::string& name, const std::string& whole, const std::string& extent,
                std::vector<std::string> says) {
    VtiText mesh;
    mesh.whole = whole;
    mesh.extent = extent;
    return {name, {{"mesh.vti", mesh.text()}}, std::move(says)};
}

HostileMesh vts(const std::string& name, const std::string& whole, const std::string& extent,
                std::vector<std::string> says) {
    VtsText mesh;
    mesh.whole = whole;
    mesh.extent = extent;
    return {name, {{"mesh.vts", mesh.text()}}, std::move(says)};
}

std::string sources(std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names) text += std::string("<Piece Source=\"") + name + "\"/>";
    return text;
}

/// Three pieces, of which the second is as given.
HostileMesh second_piece(const std::string& name, const VtuText& second,
                         std::vector<std::string> says) {
    return {
        name,
        {{"mesh.pvtu", summary_text("UnstructuredGrid", "", sources({"a.vtu", "b.vtu", "c.vtu"}))},
         {"a.vtu", VtuText().text()},
         {"b.vtu", second.text()},
         {"c.vtu", VtuText().text()}},
        std::move(says)};
}

/// A summary whose pieces other than good.vtu are as they are on this machine.
HostileMesh named(const std::string& name, std::initializer_list<const char*> names,
                  std::vector<std::string> says) {
    return {name,
            {{"mesh.pvtu", summary_text("UnstructuredGrid", "", sources(names))},
             {"good.vtu", VtuText().text()}},
            std::move(says)};
}

/// An image of which the only piece says that it has the extent `stated`.
HostileMesh image_piece(const std::string& name, const std::string& whole,
                        const std::string& stated, std::vector<std::string> says) {
    return {name,
            {{"mesh.pvti",
              summary_text("ImageData",
                           "WholeExtent=\"" + whole + R"(" Origin="0 0 0" Spacing="1 1 1")",
                           "<Piece Extent=\"" + stated + R"(" Source="a.vti"/>)")},
             {"a.vti", VtiText().text()}},
            std::move(says)};
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
    return text.replace(text.find(old), old.size(), by);
}

HostileMesh changed_summary(const std::string& name, const std::string& old, const std::string& by,
                            std::vector<std::string> says) {
    HostileMesh mesh = named(name, {"good.vtu", "good.vtu", "good.vtu"}, std::move(says));
    mesh.files.front().second = replaced(mesh.files.front().second, old, by);
    return mesh;
}

}  // namespace

std::vector<HostileMesh> extent_meshes() {
    const std::string all = "-2147483648 2147483647 0 1 0 0";
    const std::string huge = "0 99999 0 99999 0 0", far = "0 2000000000 0 1 0 0";
    VtiText no_array;
    no_array.whole = no_array.extent = "0 9999 0 9999 0 9999";
    no_array.mobility = "";
    VtsText short_points;
    short_points.points = "0 0 0";
    return {
        vti("ExtentThatOverflows", all, all,
            {"WholeExtent=", "expected grid indices of at most 1073741823"}),
        vti("ExtentFarOutside", far, far, {"WholeExtent=", "expected grid indices of at most"}),
        vti("ExtentMoreThanTheFile", huge, huge,
            {"array 'mobility' has 10000000000 x 1 values of Float64"}),
        vti("ExtentOfWords", "a b c", "a b c", {"WholeExtent=\"a b c\" is not six integers"}),
        vti("ExtentOfFive", "0 1 0 1 0", "0 1 0 1 0", {"is not six integers"}),
        vti("ExtentOfSeven", "0 1 0 1 0 0 0", "0 1 0 1 0 0", {"is not six integers"}),
        vti("ExtentBackwards", "5 1 0 1 0 0", "5 1 0 1 0 0", {"ends before it begins"}),
        vti("PieceSmallerThanTheWhole", "0 9 0 9 0 0", "0 1 0 1 0 0",
            {"its pieces have 4 of the 100 points of the WholeExtent"}),
        vti("PieceOutsideOfTheWhole", "0 1 0 1 0 0", "5 6 0 1 0 0",
            {"Extent=\"5 6 0 1 0 0\" is not within the WholeExtent"}),
        vti("PieceThatOverflows", "0 1 0 1 0 0", all,
            {"Extent=", "expected grid indices of at most"}),
        vti("VolumeThatOverflows", "0 999999 0 999999 0 999999", "0 1 0 1 0 0",
            {"has more than 1e15 points"}),
        {"ImageWithoutArrays",
         {{"mesh.vti", no_array.text()}},
         {"has 1000000000000 points and no array of them"}},
        {"ImageWithoutExtent",
         {{"mesh.vti", replaced(VtiText().text(), "WholeExtent", "Extent")}},
         {"VTK says"}},
        {"PieceWithoutExtent",
         {{"mesh.vti", replaced(VtiText().text(), "Piece Extent", "Piece Size")}},
         {"a piece has no Extent"}},
        vts("GridThatOverflows", all, all, {"expected grid indices of at most"}),
        vts("GridMoreThanTheFile", huge, huge, {"which a file of"}),
        {"GridPointsShort",
         {{"mesh.vts", short_points.text()}},
         {"array '' is shorter than its 12 values"}},
    };
}

std::vector<HostileMesh> pieces_meshes() {
    VtuText corner, deep, many, other_type, fewer;
    corner.connectivity = "0 1 5 1 3 2";  // a point of the next piece
    for (int i = 0; i < 1000; ++i) deep.before_piece += "<a>";
    many.n_points = "1000000000";
    other_type.mobility = R"(<DataArray type="Float32" Name="mobility">4 5 6 7</DataArray>)";
    fewer.mobility = R"(<DataArray type="Float64" Name="mobility">4</DataArray>)";
    VtpText polygon;
    polygon.polys = "0 1 77";
    const std::string strings = R"(<PDataArray type="String" Name="mobility"/>)";
    HostileMesh string_image = image_piece("ImageOfStringsWithoutEnd", "0 99999 0 99999 0 0",
                                           "0 99999 0 99999 0 0", {"has 10000000000 strings"});
    string_image.files[0].second = replaced(string_image.files[0].second, "Float64", "String");
    return {
        second_piece("CornerOfAnotherPiece", corner,
                     {"b.vtu", "cell 0 names point 5, the mesh has 4 points"}),
        second_piece("PieceNestsTooDeep", deep, {"b.vtu", "nest more than 16 deep"}),
        second_piece("PieceOfAMillionPoints", many, {"b.vtu", "NumberOfPoints=", "cannot hold"}),
        second_piece("PieceOfAnotherType", other_type,
                     {"array 'mobility' of piece 1 has 1 components of the type float, not"}),
        second_piece("PieceWithAShortField", fewer, {"b.vtu", "array 'mobility' is shorter"}),
        named("PieceThatIsNotThere", {"good.vtu", "none.vtu", "good.vtu"}, {"VTK says", "piece 1"}),
        named("NoPieceIsThere", {"a", "b", "c"}, {"VTK says", "piece"}),
        named("PieceIsADevice", {"/dev/zero", "good.vtu", "good.vtu"}, {"not a regular file"}),
        named("PieceIsAFolder", {"/tmp", "good.vtu", "good.vtu"}, {"not a regular file"}),
        named("PieceIsTheSummary", {"mesh.pvtu", "mesh.pvtu", "mesh.pvtu"},
              {"VTK says", "Cannot find UnstructuredGrid"}),
        named("PieceIsNoMesh", {"../../../../../../etc/passwd", "good.vtu", "good.vtu"},
              {"VTK says", "XML"}),
        changed_summary("SummaryComponentsWithoutEnd", R"(Name="mobility")",
                        R"(Name="mobility" NumberOfComponents="1000000000")",
                        {"array 'mobility' has NumberOfComponents"}),
        changed_summary("SummaryOfOtherComponents", R"(Name="mobility")",
                        R"(Name="mobility" NumberOfComponents="7")",
                        {"array 'mobility' of piece", "has 1 components of the type double"}),
        changed_summary("SummaryPointsOfOneComponent", R"(NumberOfComponents="3")",
                        R"(NumberOfComponents="1")", {"its points have 1 components"}),
        changed_summary("SummaryWithAMegabyteOfComment", "<PPointData>",
                        "<!--" + std::string(1 << 20, 'x') + "--><PPointData>",
                        {"more than 65536 bytes without a whole tag"}),
        changed_summary("SummaryTypeUnknown", "\"Float64\" Name", "\"Float1\" Name",
                        {"has the type 'Float1'"}),
        {"PolygonsOfAPiece",
         {{"mesh.pvtp", summary_text("PolyData", "", sources({"a.vtp", "b.vtp", "a.vtp"}))},
          {"a.vtp", VtpText().text()},
          {"b.vtp", polygon.text()}},
         {"b.vtp", "cell 2 names point 77, the mesh has 4 points"}},
        image_piece("ImagePiecesDoNotCover", "0 9 0 9 0 0", "0 1 0 1 0 0",
                    {"its pieces have 4 of the 100 points"}),
        image_piece("ImagePieceSmallerThanStated", "0 9 0 9 0 0", "0 9 0 9 0 0", {""}),
        image_piece("ImagePieceElsewhere", "5 6 0 1 0 0", "5 6 0 1 0 0", {""}),
        image_piece("ImageExtentThatOverflows", "-2147483648 2147483647 0 1 0 0",
                    "-2147483648 2147483647 0 1 0 0", {"expected grid indices of at most"}),
        string_image,
        {"GridPieceSmallerThanStated",
         {{"mesh.pvts", summary_text("StructuredGrid", "WholeExtent=\"0 9 0 9 0 0\"",
                                     R"(<Piece Extent="0 9 0 9 0 0" Source="a.vts"/>)")},
          {"a.vts", VtsText().text()}},
         {""}},
    };
}

}  // namespace surrogate::test
