// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/device_grid_program.hpp"

namespace surrogate::impl::sphere {

using kernels::DeviceActivation;
using kernels::Stream;
using kernels::sphere::DeviceGrid;
using kernels::sphere::DeviceKernels;

DeviceGridProgram::DeviceGridProgram(const SphereDomain& input, const SphereDomain& output,
                                     const PlanRequest& request, kernels::Operand operand)
    : device_(request.device->device()),
      kernels_(request.device->kernels<DeviceKernels>("sphere")),
      operand_(operand),
      comm_(output.context().comm()),
      input_(input),
      output_(output) {}

// ---- planning ----------------------------------------------------------------------------------

void DeviceGridProgram::connect(const DeviceColumns& columns) {
    columns_ = columns;
    comm_.agree([&] {
        kernels_.load(device_.properties(), operand_);
        make_tables();
    });
    image_rows_.emplace(input_, output_, image_bands(),
                        std::max(columns_.n_input, columns_.n_output));
    std::vector<Wanted> wanted;
    if (!is_alone())
        for (const Range held : held_rows()) wanted.push_back(wanted_of_all(comm_, held));
    comm_.agree([&] {
        if (!is_alone()) make_exchanges(wanted);
        add_memory();
        arena_.take(device_);
        ArenaWriter put(device_, arena_);
        put(points_in_, image_rows_->points_in());
        put(points_out_, image_rows_->points_out());
        fill_memory(put);
        put.finish();
        for (const RingExchange* exchange : ring_exchanges())
            exchanges_.push_back(exchange->exchange(ring_staging()));
        make_gathers();
    });
}

void DeviceGridProgram::add_image_points() {
    points_in_ = arena_.add(8 * n_point());
    points_out_ = arena_.add(8 * n_point());
}

/// Reserves memory for the rows that the largest exchange sends and receives.
void DeviceGridProgram::add_ring_staging() {
    int64_t given = 0, taken = 0;
    for (const RingExchange* exchange : ring_exchanges()) {
        given = std::max(given, exchange->given_bytes());
        taken = std::max(taken, exchange->taken_bytes());
    }
    given_ = arena_.add(given);
    taken_ = arena_.add(taken);
}

// ---- passes of an evaluation -------------------------------------------------------------------

void DeviceGridProgram::read(int64_t planes, Stream stream) const {
    kernels::sphere::ReadArgs read;
    read.n_point = n_point();
    read.points = arena_.at<int64_t>(points_in_);
    read.columns = columns_.inputs;
    read.n_column = columns_.n_input;
    read.to = arena_.at<float>(planes);
    read.findings = columns_.findings;
    read.outside = columns_.outside;
    kernels_.read(device_.properties(), read, stream);
}

void DeviceGridProgram::exchange_planes(const StencilStage& stage, int64_t own, int64_t held,
                                        DeviceSteps& steps) const {
    if (!stage.exchange) return;
    stage.exchange->enqueue(kernels_, device_, arena_, ring_staging(),
                            stage.rings(arena_.at<uint32_t>(own), stage.own()),
                            stage.rings(arena_.at<uint32_t>(held), stage.held), columns_.findings,
                            steps);
}

void DeviceGridProgram::exchange_keys(const AttentionStage& stage,
                                      const std::optional<RingExchange>& exchange,
                                      DeviceSteps& steps) const {
    if (!exchange) return;
    const RingMemory rings = stage.rings(arena_.at<void>(work_));
    exchange->enqueue(kernels_, device_, arena_, ring_staging(), rings, rings, columns_.findings,
                      steps);
}

const float* DeviceGridProgram::gather(const StencilStage& stage, const DeviceGrid& grid,
                                       int64_t held, int64_t width, Stream stream) const {
    kernels::sphere::GatherArgs gather;
    gather.stencil = stage.table.in(arena_);
    gather.grid = grid;
    gather.x = arena_.at<float>(held);
    gather.n_channel = stage.n_channel;
    gather.n_in_point = stage.n_held_point();
    gather.to = arena_.at<float>(work_);
    gather.width = width;
    kernels_.gather(device_.properties(), gather, stream);
    return gather.to;
}

void DeviceGridProgram::attend(const AttentionStage& stage, const kernels::DeviceLinear& layer,
                               Stream stream) const {
    const kernels::sphere::AttendArgs attend = stage.args(arena_, arena_.at<void>(work_));
    kernels_.attend(device_.properties(), attend, stream);
    run(linear(layer, stage.grid()).of_pieces(attend.to, stage.width() / 8).adds_to(x()), stream);
}

kernels::sphere::WriteArgs DeviceGridProgram::write_args(const StencilStage& stage,
                                                         int64_t held) const {
    kernels::sphere::WriteArgs write;
    write.stencil = stage.table.in(arena_);
    write.n_row = static_cast<int32_t>(own_image().size());
    write.t = arena_.at<float>(held);
    write.n_in_point = stage.n_held_point();
    write.points = arena_.at<int64_t>(points_out_);
    write.columns = columns_.outputs;
    write.n_column = columns_.n_output;
    write.findings = columns_.findings;
    return write;
}

DeviceActivation DeviceGridProgram::device_activation(kernels::Activation activation) {
    switch (activation) {
        case kernels::Activation::gelu: return DeviceActivation::gelu;
        case kernels::Activation::relu: return DeviceActivation::relu;
        default: return DeviceActivation::none;
    }
}

// ---- table of the plan -------------------------------------------------------------------------

LayerCost DeviceGridProgram::exchanged(LayerCost cost,
                                       const std::optional<RingExchange>& exchange) {
    if (exchange) cost.bytes_sent += exchange->given_bytes();
    if (exchange) ++cost.collectives;
    return cost;
}

std::vector<LayerCost> DeviceGridProgram::costs() const {
    std::vector<LayerCost> list = layer_costs();
    if (!image_rows_->travels()) return list;
    list.insert(list.begin(), {.name = "inputs to the bands",
                               .bytes_sent = 4 * input_.own().size() * columns_.n_input,
                               .collectives = 1});
    list.push_back({.name = "outputs to the solver",
                    .bytes_sent = 4 * n_point() * columns_.n_output,
                    .collectives = 1});
    return list;
}

std::vector<std::string> DeviceGridProgram::notes() const {
    std::vector<std::string> list = notes_;
    if (is_alone()) list.clear();
    list.push_back(memory_note());
    if (image_rows_->travels())
        list.push_back(
            "points are redistributed to their bands, and predictions to the solver, over the "
            "host");
    return list;
}

}  // namespace surrogate::impl::sphere
