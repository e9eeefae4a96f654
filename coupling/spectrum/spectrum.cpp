// SPDX-License-Identifier: Apache-2.0
#include "coupling/spectrum/spectrum.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/text.hpp"
#include "coupling/spectrum/flare_cut.hpp"
#include "coupling/spectrum/mixing_spectrum.hpp"
#include "coupling/spectrum/spectrum_input.hpp"
#ifdef SURROGATE_HAVE_VTK
#include "coupling/figure/chart.hpp"
#include "coupling/mesh/mesh_files.hpp"
#endif

namespace surrogate::tool {

namespace {

using Eigen::MatrixXd;
using Values = std::vector<double>;

constexpr double counted = 1e-6;  ///< threshold of the count of eigenvalues, as in the paper
/// Rounding error of the sums in double precision; smaller values are not drawn.
constexpr double rounding = 1e-15;

/// The eigenvalues of one sample, block and head.
struct HeadSpectrum {
    int64_t sample, block, head;
    Values values;
};

void check_outputs(const SpectrumArguments& arguments) {
    std::vector<InputFile> inputs = {{"the model", arguments.model}};
#ifdef SURROGATE_HAVE_VTK
    if (!arguments.mesh.empty())
        for (const std::string& file : vtk::files_of_mesh(arguments.mesh))
            inputs.push_back({"the mesh or a piece of it", file});
#endif
    std::vector<OutputFile> outputs;
    for (const auto& [option, file] :
         {std::pair("--csv", arguments.csv), std::pair("--plot", arguments.plot)}) {
        if (file.empty()) continue;
        OutputFile output{option_text(option, file), file};
        output.earlier = arguments.overwrite ? Earlier::replaced : Earlier::stays;
        output.may_be_device = true;
        outputs.push_back(output);
    }
    check_outputs(inputs, outputs);
#ifndef SURROGATE_HAVE_VTK
    if (!arguments.plot.empty())
        throw Failure(Exit::bad_usage,
                      "--plot is drawn by VTK, and this program was built without VTK");
#endif
}

/// Returns the input of the block for one sample, in the precision of the plan. Collective.
template <class T>
MatrixXd stream_of(const Job& job, Plan& plan, const MatrixXd& x, int64_t n_channel) {
    using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
    Matrix in = x.cast<T>(), out(n_channel, x.cols());
    job.agree([&] {
        plan.run_network({{"x", matrix(in.data(), x.cols(), x.rows())}},
                         {{"y", matrix(out.data(), x.cols(), n_channel)}});
    });
    return out.template cast<double>();
}

/// Computes all samples of one block; the result is on rank 0. Collective.
std::vector<HeadSpectrum> spectrum_of_block(const Job& job, const Context& context,
                                            const FlareCut& cut, const SpectrumInput& input,
                                            int64_t block, const Options& options, bool is_double) {
    const FlareShape& shape = cut.shape();
    const FlareKeys keys(cut, block);
    const Model model = cut.stream_before(context, block);
    Plan plan(model, input.domain, options);
    std::vector<HeadSpectrum> all;
    for (size_t s = 0; s < input.samples.size(); ++s) {
        const MatrixXd& x = input.samples[s];
        const MatrixXd stream = is_double ? stream_of<double>(job, plan, x, shape.channel_dim)
                                          : stream_of<float>(job, plan, x, shape.channel_dim);
        const auto heads = mixing_spectrum(job, context, keys, shape, keys.keys(stream));
        for (size_t h = 0; h < heads.size(); ++h)
            all.push_back({static_cast<int64_t>(s), block, static_cast<int64_t>(h), heads[h]});
    }
    return all;
}

std::string csv_of(const std::vector<HeadSpectrum>& all) {
    std::string text = "sample,block,head,number,eigenvalue\n";
    for (const HeadSpectrum& one : all)
        for (size_t i = 0; i < one.values.size(); ++i) {
            char line[120];
            std::snprintf(line, sizeof line, "%lld,%lld,%lld,%zu,%.17g\n",
                          static_cast<long long>(one.sample), static_cast<long long>(one.block),
                          static_cast<long long>(one.head), i + 1, one.values[i]);
            text += line;
        }
    return text;
}

/// Returns means over the elements of `all` for which `belongs` returns true.
template <class Belongs>
Values mean_of(const std::vector<HeadSpectrum>& all, const Belongs& belongs) {
    Values mean;
    double n = 0;
    for (const HeadSpectrum& one : all) {
        if (!belongs(one)) continue;
        mean.resize(one.values.size());
        for (size_t i = 0; i < mean.size(); ++i) mean[i] += one.values[i];
        ++n;
    }
    for (double& value : mean) value /= n;
    return mean;
}

/// Returns one line per block and head, with means over the samples.
std::string table_of(const std::vector<HeadSpectrum>& all) {
    std::vector<std::vector<std::string>> rows = {
        {"block", "head", "second", "above 1e-6", "effective rank", "trace"}};
    for (const HeadSpectrum& one : all) {
        if (one.sample != 0) continue;
        const Values mean = mean_of(all, [&](const HeadSpectrum& other) {
            return other.block == one.block && other.head == one.head;
        });
        double trace = 0;
        for (const double w : mean) trace += w;
        const auto n =
            std::count_if(mean.begin(), mean.end(), [](double w) { return w > counted; });
        rows.push_back({std::to_string(one.block), std::to_string(one.head),
                        mean.size() > 1 ? number(mean[1]) : "-", std::to_string(n),
                        number(effective_rank(mean)), number(trace)});
    }
    return table(rows);
}

#ifdef SURROGATE_HAVE_VTK
vtk::Curve curve_of(const std::string& name, const Values& values) {
    vtk::Curve curve{name, {}, {}};
    for (size_t i = 0; i < values.size(); ++i) {
        curve.x.push_back(static_cast<double>(i + 1));
        curve.y.push_back(values[i] > rounding ? values[i]
                                               : std::numeric_limits<double>::quiet_NaN());
    }
    return curve;
}

/// Returns an image with one curve per block, means over heads and samples; for one block, one
/// curve per head.
std::string picture_of(const SpectrumArguments& arguments, const std::vector<HeadSpectrum>& all) {
    const bool is_one = arguments.block.has_value();
    vtk::Chart chart{"eigenvalues of the mixing, " + one_line(arguments.model, 60) +
                         (is_one ? ", block " + std::to_string(*arguments.block) : ""),
                     "number",
                     "eigenvalue",
                     {}};
    const auto key_of = [&](const HeadSpectrum& one) { return is_one ? one.head : one.block; };
    int64_t n = 0;
    for (const HeadSpectrum& one : all) n = std::max(n, key_of(one) + 1);
    for (int64_t key = 0; key < n; ++key) {
        const Values mean =
            mean_of(all, [&](const HeadSpectrum& one) { return key_of(one) == key; });
        if (!mean.empty())
            chart.curves.push_back(
                curve_of((is_one ? "head " : "block ") + std::to_string(key), mean));
    }
    const auto bytes = vtk::draw_chart(chart);
    return {bytes.begin(), bytes.end()};
}
#endif

void write_files(const SpectrumArguments& arguments, const std::vector<HeadSpectrum>& all) {
    if (!arguments.csv.empty()) write_output(arguments.csv, csv_of(all));
#ifdef SURROGATE_HAVE_VTK
    if (!arguments.plot.empty()) write_output(arguments.plot, picture_of(arguments, all));
#endif
}

Options plan_options(const SpectrumArguments& arguments) {
    Options options{{"precision", arguments.precision}, {"coordinates", "normalized"}};
    if (arguments.precision == "fp64") options.set("backend", "ref");
    if (!arguments.threads.empty()) options.set("threads", arguments.threads);
    return options;
}

}  // namespace

void spectrum(const Job& job, const SpectrumArguments& arguments) {
    const bool is_double = arguments.precision == "fp64";
    if (!is_double && arguments.precision != "fp32")
        throw Failure(Exit::bad_usage, "--precision is '" + one_line(arguments.precision) +
                                           "', expected fp64 or fp32");
    job.agree([&] {
        if (job.is_root()) check_outputs(arguments);
    });
    const Options options = plan_options(arguments);
    const Context context = job.make_context();
    const Model model(context, arguments.model);
    const FlareCut cut(job, model, arguments.model);
    const int64_t n_block = cut.shape().num_blocks;
    if (arguments.block && (*arguments.block >= n_block || *arguments.block < 0))
        throw Failure(Exit::bad_usage, "--block is " + std::to_string(*arguments.block) +
                                           "; the model has the blocks 0 .. " +
                                           std::to_string(n_block - 1));
    const SpectrumInput input = read_spectrum_input(job, context, model, arguments);
    std::vector<HeadSpectrum> all;
    for (int64_t block = 0; block < n_block; ++block) {
        if (arguments.block && block != *arguments.block) continue;
        const auto more = spectrum_of_block(job, context, cut, input, block, options, is_double);
        all.insert(all.end(), more.begin(), more.end());
    }
    job.agree([&] {
        if (job.is_root()) write_files(arguments, all);
    });
    if (!job.is_root()) return;
    const auto n_sample = input.samples.size();
    print(one_line(arguments.model) + ": " + std::to_string(cut.shape().num_latents) +
          " latents, " + grouped(input.n_point) + " points, " + std::to_string(n_sample) +
          (n_sample == 1 ? " sample" : " samples") + "\n" + table_of(all));
}

}  // namespace surrogate::tool
