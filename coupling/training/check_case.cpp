// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/check_case.hpp"

#include <optional>

#include "coupling/job/model_bytes.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/weighted_model.hpp"
#include "coupling/training/sample_domain.hpp"

namespace surrogate::tool {

namespace {

constexpr int64_t most_double_points =
    100000;  // the reference version takes about a minute for them

/// Returns the number of coordinates that the network reads from the domain; 0: none.
int64_t n_coordinate(const Model& model) {
    const auto ports = model.ports();
    return ports.front().location == SURROGATE_COORDINATES ? ports.front().n_channel : 0;
}

/// Holds one sample of a model, distributed over all ranks.
class CheckedSample {
public:
    CheckedSample(const Job& job, const Model& model, const TrainData& data, const Pair& pair)
        : job_(job),
          model_(model),
          file_(data.file(pair.file)),
          pair_(pair),
          is_weighted_(uses_point_weights(model)),
          domain_(data, job.rank(), job.size(), is_weighted_) {
        extents_ = file_.extents(pair.input.sample);
        job.agree([&] { domain_.read(pair); });
    }

    /// Creates the domain. Networks that read coordinates get the normalized numbers of `rows`,
    /// which a check case stores. Collective.
    void create_domain(const Context& context, const std::vector<double>& rows) {
        const int64_t n_axis = n_coordinate(model_);
        job_.agree([&] {
            if (n_axis == 0) return domain_.create(context, pair_);
            const auto n = static_cast<size_t>(domain_.n()), n_read = static_cast<size_t>(n_axis);
            const size_t n_channel = model_.inputs().size();
            std::vector<double> points;
            for (size_t i = 0; i < n; ++i)
                for (size_t axis = 0; axis < n_read; ++axis)
                    points.push_back(rows[i * n_channel + axis]);
            normalized_.emplace(context, matrix(points.data(), domain_.n(), n_axis),
                                domain_.ids().data());
        });
    }

    bool is_sphere() const { return file_.form().points == dataset::PointForm::sphere; }
    int64_t n_point() const { return file_.n_point(pair_.input.sample); }

    /// Returns the inputs of the network at this rank's points, one row per point: integers, or
    /// normalized numbers in single precision.
    std::vector<double> read(const ModelChannels& channels) const {
        const auto infos = model_.inputs();
        const auto n_channel = channels.inputs.size();
        std::vector<double> rows(static_cast<size_t>(domain_.n()) * n_channel);
        for (size_t c = 0; c < n_channel; ++c) {
            const std::vector<double> values = read_channel(channels.inputs[c]);
            for (size_t i = 0; i < static_cast<size_t>(domain_.n()); ++i) {
                const double value = values[channels.inputs[c].is_per_sample ? 0 : i];
                rows[i * n_channel + c] =
                    channels.inputs[c].is_integer
                        ? value
                        : static_cast<float>((value - infos[c].mean) / infos[c].std);
            }
        }
        return rows;
    }

    /// Computes the output of the network at this rank's points, or for the cloud. Collective.
    template <class T>
    std::vector<T> run(const std::vector<double>& rows, Options options) const {
        options.set("coordinates", "normalized");
        Plan plan(model_, normalized_ ? *normalized_ : domain_.domain(), options);
        std::vector<surrogate_named_array> inputs, outputs;
        const auto n_in = static_cast<int64_t>(model_.inputs().size());
        std::vector<T> real(rows.begin(), rows.end()), result;
        std::vector<std::vector<int64_t>> integers;  // by port
        int64_t in = 0;
        for (const auto& port : model_.ports()) {
            if (port.is_output != 0) {
                result.resize(static_cast<size_t>(n_row(port) * port.n_channel));
                outputs.push_back({port.name, matrix(result.data(), n_row(port), port.n_channel)});
                continue;
            }
            surrogate_array array = matrix(real.data() + in, domain_.n(), n_in);
            array.shape[1] = port.n_channel;
            if (port.kind == SURROGATE_INTEGER) {
                auto& values = integers.emplace_back();
                for (int64_t i = 0; i < domain_.n() * port.n_channel; ++i)
                    values.push_back(static_cast<int64_t>(rows[static_cast<size_t>(
                        i / port.n_channel * n_in + in + i % port.n_channel)]));
                array.data = values.data();
                array.stride[0] = port.n_channel;
                array.dtype = SURROGATE_INT64;
            }
            if (port.location != SURROGATE_COORDINATES) inputs.push_back({port.name, array});
            in += port.n_channel;
        }
        plan.run_network(inputs, outputs);
        return result;
    }

    /// Adds the tensor of a port, from the channels first .. of rows of all ranks, in the order of
    /// the file: (1, points, channels), on the sphere (1, channels, n_lat, n_lon), of a cloud
    /// (1, channels), of one integer per point (1, points). Collective; the result is on rank 0.
    template <class T, class From>
    void add(const std::string& prefix, const surrogate_port_info& port,
             const std::vector<From>& rows, size_t n_channel, size_t first,
             ModelBytes* bytes) const {
        const bool is_cloud = port.location == SURROGATE_ON_CLOUDS;  // every rank has its row
        const std::vector<From> all =
            job_.gather(is_cloud && !job_.is_root() ? std::vector<From>() : rows);
        const size_t n_row = all.size() / n_channel, n = static_cast<size_t>(port.n_channel);
        std::vector<T> values(n_row * n);
        for (size_t i = 0; i < n_row; ++i)
            for (size_t c = 0; c < n; ++c)
                values[is_sphere() ? c * n_row + i : i * n + c] =
                    static_cast<T>(all[i * n_channel + first + c]);
        std::vector<int64_t> shape = {1, n_point(), port.n_channel};
        if (is_cloud) shape = {1, port.n_channel};
        if (is_sphere()) shape = {1, port.n_channel, extents_[0], extents_[1]};
        if (port.kind == SURROGATE_INTEGER && n == 1) shape.pop_back();
        const char* const type = std::is_integral_v<T>         ? "I64"
                                 : sizeof(T) == sizeof(double) ? "F64"
                                                               : "F32";
        bytes->add(prefix + port.name, type, shape, values.data(), values.size() * sizeof(T));
    }

    /// Adds the weights of the points, if the network uses them. Collective; the result is on rank
    /// 0.
    void add_weights(ModelBytes* bytes) const {
        if (!is_weighted_) return;
        std::vector<double> own;
        job_.agree([&] { own = read_weights(file_, pair_.input, {}, domain_.range()); });
        const std::vector<double> all = job_.gather(own);
        bytes->add("check/input/weight", "F64", {n_point()}, all.data(),
                   all.size() * sizeof(double));
    }

private:
    std::vector<double> read_channel(const Channel& channel) const {
        if (channel.is_coordinate())
            return read_coordinate(file_, channel.axis, pair_.input, domain_.range());
        if (!channel.is_integer)
            return read_range(file_, channel.stored, pair_.input, {}, domain_.range());
        const auto labels = read_labels(file_, channel.stored, pair_.input, {}, domain_.range());
        return {labels.begin(), labels.end()};
    }
    int64_t n_row(const surrogate_port_info& port) const {
        return port.location == SURROGATE_ON_CLOUDS ? 1 : domain_.n();
    }

    const Job& job_;
    const Model& model_;
    const dataset::ReadFile& file_;
    const Pair& pair_;
    std::vector<int64_t> extents_;
    bool is_weighted_;
    SampleDomain domain_;
    std::optional<Domain> normalized_;  ///< of networks that read coordinates
};

/// Adds the tensors of the inputs. Collective; the result is on rank 0.
void add_inputs(const CheckedSample& sample, const Model& model, const std::vector<double>& rows,
                ModelBytes* bytes) {
    const size_t n_channel = model.inputs().size();
    size_t first = 0;
    for (const auto& port : model.ports()) {
        if (port.is_output != 0) continue;
        if (port.kind == SURROGATE_INTEGER)
            sample.add<int64_t>("check/input/", port, rows, n_channel, first, bytes);
        else
            sample.add<float>("check/input/", port, rows, n_channel, first, bytes);
        first += static_cast<size_t>(port.n_channel);
    }
}

/// Adds the output. Collective; the result is on rank 0.
template <class T>
void add_output(const CheckedSample& sample, const Model& model, const std::vector<T>& rows,
                const std::string& prefix, ModelBytes* bytes) {
    for (const auto& port : model.ports())
        if (port.is_output != 0)
            sample.add<T>(prefix, port, rows, static_cast<size_t>(port.n_channel), 0, bytes);
}

}  // namespace

void add_check_case(const Job& job, const Context& context, const TrainData& data,
                    const ModelChannels& channels, const Pair& pair, const std::string& path) {
    const Model model(context, path);
    CheckedSample sample(job, model, data, pair);
    std::vector<double> rows;
    ModelBytes bytes;
    job.agree([&] {
        rows = sample.read(channels);
        if (job.is_root()) bytes = ModelBytes::read(path);
    });
    sample.create_domain(context, rows);
    add_inputs(sample, model, rows, &bytes);
    sample.add_weights(&bytes);
    add_output(sample, model, sample.run<float>(rows, {}), "check/output/", &bytes);
    if (sample.n_point() <= most_double_points)
        add_output(sample, model,
                   sample.run<double>(rows, {{"precision", "fp64"}, {"backend", "ref"}}),
                   "check/output64/", &bytes);
    job.agree([&] {
        if (job.is_root()) write_output(path, bytes.bytes());
    });
}

}  // namespace surrogate::tool
