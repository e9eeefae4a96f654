// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/predict.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "coupling/tool/mesh_fields.hpp"
#include "coupling/tool/progress.hpp"
#include "coupling/tool/shared_rows.hpp"
#include "coupling/tool/text.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/mesh_file.hpp"

namespace surrogate::tool {

namespace {

using vtk::MeshFile;

vtk::MeshName mesh_name(const std::string& path) {
    try {
        return vtk::parse_mesh_name(path);
    } catch (const std::exception& error) {
        throw Failure(Exit::bad_usage, error.what());
    }
}

/// The output has the kind of the input; in pieces or in one file is free.
void check_names(const PredictArguments& arguments) {
    const auto in = mesh_name(arguments.mesh), out = mesh_name(arguments.out);
    const std::string kind = vtk::extension_of(in.kind);
    if (in.kind != out.kind)
        throw Failure(Exit::bad_usage, "'" + arguments.mesh + "' is written as ." + kind +
                                           " or .p" + kind + ", not as '" + arguments.out + "'");
    if (arguments.mesh == arguments.out)
        throw Failure(Exit::bad_usage,
                      "--out is the mesh itself; it is not overwritten, choose another name");
}

/// The arrays as the first rank that has a part of the mesh knows them; a rank without one has
/// none.
MeshArrays agree_arrays(const Job& job, const MeshFile& mesh) {
    const bool has_rows = mesh.n_rows(SURROGATE_POINT) > 0;
    const int64_t none = -job.size();
    const int64_t first = -job.max(has_rows ? -int64_t{job.rank()} : none);
    if (first == job.size()) throw Failure(Exit::bad_usage, "the mesh has no points");
    MeshArrays arrays{mesh.arrays(SURROGATE_POINT), mesh.arrays(SURROGATE_CELL),
                      mesh.has_float_coordinates()};
    std::vector<std::vector<std::byte>> to_rank(static_cast<size_t>(job.size()));
    if (job.rank() == first) {
        const std::string text = arrays.packed();
        const auto* begin = reinterpret_cast<const std::byte*>(text.data());
        for (auto& bytes : to_rank) bytes.assign(begin, begin + text.size());
    }
    const auto received = job.exchange(to_rank)[static_cast<size_t>(first)];
    return MeshArrays::unpacked({reinterpret_cast<const char*>(received.data()), received.size()});
}

/// A piece of a parallel file may lack an array that others have.
void check_piece(const MeshFile& mesh, const FieldPlan& plan) {
    if (mesh.n_rows(plan.location) == 0) return;
    const auto arrays = mesh.arrays(plan.location);
    for (const FieldSource& source : plan.inputs)
        if (std::none_of(arrays.begin(), arrays.end(), [&](const auto& array) {
                return array.name == source.array.name &&
                       array.n_components == source.array.n_components;
            }))
            throw Failure(Exit::bad_usage, "a piece of the mesh has no array '" +
                                               source.array.name + "' of " +
                                               std::to_string(source.array.n_components) +
                                               " components, though others have");
}

std::vector<double> picked(const std::vector<double>& all, const std::vector<int64_t>& rows,
                           size_t n_column = 1) {
    std::vector<double> result;
    result.reserve(rows.size() * n_column);
    for (const int64_t row : rows) {
        const auto begin = all.begin() + row * static_cast<std::ptrdiff_t>(n_column);
        result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(n_column));
    }
    return result;
}

/// What this rank evaluates: the chosen rows, each point of the mesh on one rank.
struct Sample {
    std::vector<double> x;                    ///< [n][3]
    std::vector<int64_t> ids;                 ///< [n] or empty
    std::vector<std::vector<double>> fields;  ///< as FieldPlan::inputs, each [n]
    int64_t n() const { return static_cast<int64_t>(x.size() / 3); }
};

RowKeys read_keys(const Job& job, const MeshFile& mesh, const FieldPlan& plan) {
    RowKeys keys;
    job.agree([&] {
        keys.x = mesh.positions(plan.location);
        for (const FieldSource& source : plan.inputs)
            keys.values.push_back(mesh.values(plan.location, source.array.name, source.component));
        keys.ids = mesh.global_ids(plan.location);
        keys.is_ghost = mesh.is_ghost(plan.location);
        keys.is_hidden = mesh.is_hidden(plan.location);
    });
    const int64_t n = mesh.n_rows(plan.location);
    keys.is_ghost.resize(static_cast<size_t>(n));
    keys.is_hidden.resize(static_cast<size_t>(n));
    // Ids on some pieces only would not tell points of others apart.
    const bool lacks_ids = n > 0 && keys.ids.empty();
    keys.has_ids = job.max(int64_t{lacks_ids ? 1 : 0}) == 0;
    return keys;
}

Sample make_sample(const RowKeys& keys, const SharedRows& rows) {
    Sample sample;
    sample.x = picked(keys.x, rows.chosen(), 3);
    for (const auto& values : keys.values) sample.fields.push_back(picked(values, rows.chosen()));
    if (keys.has_ids)
        for (const int64_t row : rows.chosen())
            sample.ids.push_back(keys.ids[static_cast<size_t>(row)]);
    return sample;
}

template <class T>
std::vector<std::vector<T>> as_type(const std::vector<std::vector<double>>& lists) {
    std::vector<std::vector<T>> result;
    for (const auto& list : lists) result.emplace_back(list.begin(), list.end());
    return result;
}

/// The outputs at the sample's points, in the type of the mesh's arrays, returned as double.
template <class T>
std::vector<std::vector<double>> evaluate(const Job& job, const Model& model, const Domain& domain,
                                          const PredictArguments& arguments,
                                          const FieldPlan& fields, const Sample& sample,
                                          Progress& progress) {
    auto in = as_type<T>(sample.fields);
    std::vector<std::vector<T>> out(fields.outputs.size(),
                                    std::vector<T>(static_cast<size_t>(sample.n())));
    std::optional<Plan> plan;
    job.agree([&] {
        Options options;
        for (const auto& [key, value] : arguments.options) options.set(key, value);
        plan.emplace(model, domain, options);
        for (size_t i = 0; i < in.size(); ++i)
            plan->bind_input(fields.inputs[i].field.name, column(in[i].data(), sample.n()));
        for (size_t i = 0; i < out.size(); ++i)
            plan->bind_output(fields.outputs[i].first.name, column(out[i].data(), sample.n()));
    });
    progress.stage("evaluating the model");
    job.agree([&] { plan->run(); });  // a rank that fails takes part in all exchanges of the run
    std::vector<std::vector<double>> result;
    for (const auto& values : out) result.emplace_back(values.begin(), values.end());
    return result;
}

/// "mobility  1.3 % outside [3, 12]", for every input of the card that has a range.
std::string range_report(const Job& job, const Model& model, const Sample& sample) {
    Lines lines;
    const double n_all = static_cast<double>(std::max<int64_t>(1, job.sum(sample.n())));
    size_t next_field = 0;
    for (const auto& info : model.inputs()) {
        const bool is_field = info.role == SURROGATE_FIELD;
        const double* values = is_field ? sample.fields[next_field++].data()
                                        : sample.x.data() + static_cast<size_t>(info.axis);
        int64_t n_outside = 0;
        for (int64_t i = 0; i < sample.n(); ++i) {
            const double value = values[is_field ? i : 3 * i];
            n_outside += value >= info.min && value <= info.max ? 0 : 1;
        }
        n_outside = job.sum(n_outside);
        if (std::isinf(info.min) && std::isinf(info.max)) continue;
        const double percent = 100.0 * static_cast<double>(n_outside) / n_all;
        const std::string unit = info.unit;
        lines.add(info.name, number(percent) + " % outside [" + number(info.min) + ", " +
                                 number(info.max) + "]" + (unit.empty() ? "" : " " + unit));
    }
    std::string text = lines.text();
    if (!text.empty()) text.pop_back();  // the last newline
    return text;
}

/// Adds `before` (rows on lower ranks) where a rank holds whole pieces.
std::vector<int64_t> absolute_rows(const Job& job, const MeshFile& mesh, int location) {
    const std::vector<int64_t> mine = {mesh.n_rows(location)};
    std::vector<std::vector<std::byte>> counts(static_cast<size_t>(job.size()));
    for (auto& bytes : counts) {
        bytes.resize(sizeof(int64_t));
        std::memcpy(bytes.data(), mine.data(), sizeof(int64_t));
    }
    const auto received = job.exchange(counts);
    int64_t before = 0;
    for (int rank = 0; rank < job.rank(); ++rank) {
        int64_t n = 0;
        std::memcpy(&n, received[static_cast<size_t>(rank)].data(), sizeof n);
        before += n;
    }
    std::vector<int64_t> rows = mesh.file_rows(location);
    if (mesh.rows_are_relative())
        for (int64_t& row : rows) row += before;
    return rows;
}

vtk::ArrayInfo array_info(const FieldPlan& plan, size_t i) {
    return {plan.outputs[i].second, plan.is_float ? "Float32" : "Float64", 1,
            plan.outputs[i].first.unit, false};
}

/// One file: rank 0 gathers the values and holds the whole mesh.
void write_one(const Job& job, const PredictArguments& arguments, MeshFile& mesh,
               const FieldPlan& plan, const std::vector<std::vector<double>>& outputs) {
    if (job.size() == 1) {
        job.agree([&] {
            for (size_t i = 0; i < outputs.size(); ++i)
                mesh.add(plan.location, array_info(plan, i), outputs[i]);
            mesh.write(arguments.out);
        });
        return;
    }
    const auto rows = job.gather(absolute_rows(job, mesh, plan.location));
    std::vector<std::vector<double>> gathered;
    for (const auto& values : outputs) gathered.push_back(job.gather(values));
    job.agree([&] {
        if (!job.is_root()) return;
        MeshFile whole(arguments.mesh, 0, 1);
        for (size_t i = 0; i < gathered.size(); ++i) {
            std::vector<double> all(static_cast<size_t>(whole.n_rows(plan.location)), std::nan(""));
            for (size_t k = 0; k < rows.size(); ++k)
                all.at(static_cast<size_t>(rows[k])) = gathered[i][k];
            whole.add(plan.location, array_info(plan, i), all);
        }
        whole.write(arguments.out);
    });
}

/// "out/out_0003.vtu" of out.pvtu and rank 3
std::string piece_file(const std::string& out, int rank, const std::string& extension) {
    char text[32];
    std::snprintf(text, sizeof text, "_%04d.", rank);
    const std::string stem = vtk::stem_of(out);
    return stem + "/" + stem + text + extension;
}

/// One piece a rank that has points, and the summary by the first of them, which knows the arrays.
void write_pieces(const Job& job, const PredictArguments& arguments, MeshFile& mesh,
                  const FieldPlan& plan, const std::vector<std::vector<double>>& outputs) {
    const std::string folder = vtk::directory_of(arguments.out);
    const std::string extension = vtk::extension_of(mesh.kind());
    const bool has_piece = mesh.n_rows(SURROGATE_POINT) > 0;
    job.agree([&] {
        vtk::make_directory(folder + vtk::stem_of(arguments.out));
        if (!has_piece) return;
        for (size_t i = 0; i < outputs.size(); ++i)
            mesh.add(plan.location, array_info(plan, i), outputs[i]);
        mesh.write(folder + piece_file(arguments.out, job.rank(), extension));
    });
    const int64_t first = -job.max(has_piece ? -int64_t{job.rank()} : -int64_t{job.size()});
    std::vector<std::vector<std::byte>> to_rank(static_cast<size_t>(job.size()));
    if (has_piece) {
        const vtk::PieceInfo piece = mesh.piece("");
        auto& bytes = to_rank[static_cast<size_t>(first)];
        bytes.resize(sizeof piece.extent);
        std::memcpy(bytes.data(), piece.extent.data(), bytes.size());
    }
    const auto extents = job.exchange(to_rank);
    job.agree([&] {
        if (job.rank() != first) return;
        vtk::SummaryInfo summary = mesh.summary();
        for (int rank = 0; rank < job.size(); ++rank) {
            const auto& bytes = extents[static_cast<size_t>(rank)];
            if (bytes.empty()) continue;
            vtk::PieceInfo piece{piece_file(arguments.out, rank, extension), {}};
            std::memcpy(piece.extent.data(), bytes.data(), bytes.size());
            summary.pieces.push_back(piece);
        }
        vtk::write_atomically(arguments.out, vtk::summary_text(summary));
    });
}

void say(const Job& job, const PredictArguments& arguments, const std::string& text) {
    if (job.is_root() && !arguments.quiet) std::printf("%s\n", text.c_str());
}

void report(const Job& job, const PredictArguments& arguments, const FieldPlan& plan,
            const SharedRows& rows, int64_t n_local, const Sample& sample) {
    const char* what = plan.location == SURROGATE_POINT ? "points" : "cell centres";
    const int64_t n_held = job.sum(n_local), n_points = job.sum(sample.n());
    const int64_t largest = job.max(sample.n());
    say(job, arguments,
        arguments.mesh + ": " + std::to_string(n_points) + " " + what + " on " +
            std::to_string(job.size()) + (job.size() == 1 ? " rank" : " ranks, at most ") +
            (job.size() == 1 ? "" : std::to_string(largest) + " on one"));
    if (n_held > n_points)
        say(job, arguments,
            "  " + std::to_string(n_held - n_points) +
                " copies (pieces share them, or ghosts) "
                "counted once");
    if (rows.n_split() > 0)
        say(job, arguments,
            "  " + std::to_string(rows.n_split()) +
                " of them lie at another's place and hold "
                "other values: separate points; global ids in the mesh would tell");
    if (plan.other_would_do) say(job, arguments, "  evaluated at points; --at cells would do too");
}

}  // namespace

void predict(Job& job, const PredictArguments& arguments) {
    Progress progress(6, arguments.quiet || !job.is_root());
    check_names(arguments);  // the same on every rank, as the choice of fields below

    progress.stage("reading the model");
    std::optional<Context> context;
    std::optional<Model> model;
    job.agree([&] {
        context.emplace(job.make_context());
        model.emplace(*context, arguments.model);
    });

    progress.stage("reading the mesh");
    std::optional<MeshFile> mesh;
    job.agree([&] { mesh.emplace(arguments.mesh, job.rank(), job.size()); });
    const MeshArrays arrays = agree_arrays(job, *mesh);
    const FieldPlan plan =
        plan_fields({arguments.mesh, arguments.maps, arguments.at, arguments.ignore_units}, arrays,
                    model->inputs(), model->outputs());
    job.agree([&] { check_piece(*mesh, plan); });

    progress.stage("matching shared points");
    const int64_t n_local = mesh->n_rows(plan.location);
    const RowKeys keys = read_keys(job, *mesh, plan);
    const SharedRows rows(job, keys, n_local);
    const Sample sample = make_sample(keys, rows);

    progress.stage("planning");
    std::optional<Domain> domain;
    job.agree([&] {
        domain.emplace(*context, matrix(sample.x.data(), sample.n(), 3),
                       keys.has_ids ? sample.ids.data() : nullptr);
    });
    const auto evaluated =
        plan.is_float ? evaluate<float>(job, *model, *domain, arguments, plan, sample, progress)
                      : evaluate<double>(job, *model, *domain, arguments, plan, sample, progress);
    std::vector<std::vector<double>> outputs;
    for (const auto& values : evaluated) outputs.push_back(rows.spread(job, values));

    progress.stage("writing the mesh");
    if (vtk::parse_mesh_name(arguments.out).is_parallel)
        write_pieces(job, arguments, *mesh, plan, outputs);
    else
        write_one(job, arguments, *mesh, plan, outputs);
    const std::string ranges = range_report(job, *model, sample);
    progress.finish();
    report(job, arguments, plan, rows, n_local, sample);
    if (!ranges.empty())
        say(job, arguments, "share of points outside the training data:\n" + ranges);
    say(job, arguments, "wrote " + arguments.out);
}

}  // namespace surrogate::tool
