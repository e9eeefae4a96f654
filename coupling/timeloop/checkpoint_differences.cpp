// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "coupling/timeloop/checkpoint_content.hpp"

namespace surrogate::timeloop {

namespace {

/// Collects lines "<what>: <found> in the file, <expected> here".
class Lines {
public:
    void compare(const std::string& what, const std::string& found, const std::string& expected) {
        if (found != expected) add(what + ": " + found + " in the file, " + expected + " here");
    }
    void compare(const std::string& what, int64_t found, int64_t expected) {
        compare(what, std::to_string(found), std::to_string(expected));
    }
    void add(const std::string& line) { text += "\n  " + line; }

    std::string text;
};

std::string quoted(const std::string& name) {
    return "'" + name + "'";
}

std::string hex(uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "%016" PRIx64, number);
    return text;
}

const char* type_name(const Rows& rows) {
    if (rows.dtype == SURROGATE_INT64) return "int64";
    return rows.dtype == SURROGATE_FLOAT32 ? "float32" : "float64";
}

/// Calls same(found, expected) for each pair with one name, and adds a line for each part without a
/// partner.
template <class Part, class Name, class Same>
void compare_parts(const std::string& what, const std::vector<Part>& found,
                   const std::vector<Part>& expected, const Name& name, const Same& same,
                   Lines* lines) {
    const auto find = [&](const std::vector<Part>& parts, const std::string& wanted) {
        return std::find_if(parts.begin(), parts.end(),
                            [&](const Part& part) { return name(part) == wanted; });
    };
    for (const Part& part : expected) {
        const auto match = find(found, name(part));
        if (match == found.end())
            lines->add(what + " " + quoted(name(part)) + ": not in the file");
        else
            same(*match, part);
    }
    for (const Part& part : found)
        if (find(expected, name(part)) == expected.end())
            lines->add(what + " " + quoted(name(part)) + ": only in the file");
}

void compare_points(const PointsContent& found, const PointsContent& expected, Lines* lines) {
    const auto kind = [](const PointsContent& points) {
        return points.is_sphere ? "grid " + points.grid + " of " + std::to_string(points.n_lat) +
                                      " x " + std::to_string(points.n_lon)
                                : std::string("scattered points");
    };
    const auto ids = [](const PointsContent& points) {
        return points.id.n_column > 0 ? "with ids" : "without ids";
    };
    lines->compare(found.group, kind(found), kind(expected));
    lines->compare(found.group + ": number of points", found.n_global, expected.n_global);
    lines->compare(found.group + ": coordinates", found.x.n_column, expected.x.n_column);
    lines->compare(found.group, ids(found), ids(expected));
    const auto compare_types = [&](const char* part, const Rows& in_file, const Rows& here) {
        if (in_file.n_column > 0 && here.n_column > 0)
            lines->compare(found.group + "/" + part + ": type", type_name(in_file),
                           type_name(here));
    };
    compare_types("x", found.x, expected.x);
    compare_types("id", found.id, expected.id);
}

void compare_fields(const FieldContent& found, const FieldContent& expected, Lines* lines) {
    const std::string what = "field " + quoted(found.name) + ": ";
    lines->compare(what + "unit", quoted(found.unit), quoted(expected.unit));
    lines->compare(what + "type", type_name(found.rows), type_name(expected.rows));
    lines->compare(what + "components", found.rows.n_column, expected.rows.n_column);
    lines->compare(what + "points", found.points, expected.points);
}

}  // namespace

std::string differences(const CheckpointContent& found, const CheckpointContent& expected) {
    Lines lines;
    lines.compare("model", found.family + " " + hex(found.model_hash),
                  expected.family + " " + hex(expected.model_hash));
    compare_parts(
        "integral", found.integrals, expected.integrals,
        [](const ExpectedIntegral& part) { return part.name; },
        [](const ExpectedIntegral&, const ExpectedIntegral&) {}, &lines);
    compare_parts(
        "group", found.points, expected.points,
        [](const PointsContent& part) { return part.group; },
        [&](const PointsContent& a, const PointsContent& b) { compare_points(a, b, &lines); },
        &lines);
    compare_parts(
        "field", found.fields, expected.fields, [](const FieldContent& part) { return part.name; },
        [&](const FieldContent& a, const FieldContent& b) { compare_fields(a, b, &lines); },
        &lines);
    return lines.text;
}

}  // namespace surrogate::timeloop
