// SPDX-License-Identifier: Apache-2.0
// Gradients of the published implementation of FLARE, layer by layer from the loss backwards to the
// attention of the last block. Inputs of every layer are in the file, so that each layer's gradient
// depends on the layers behind it alone: last MLP, last norm, the block's MLP, its second norm and
// the projection of its attention.
#include "tests/kernels/mlp/golden_model.hpp"

namespace surrogate::kernels::test {
namespace {

/// Returns the number of tensors compared.
template <class T>
size_t compare(const Queue& queue, const std::string& name, double bound) {
    Model<T> model(name);
    const Tile<T> d = attention_output_gradient(queue, model);
    const std::string block = model.last_block();
    linear_gradient<T>(queue, model.points("layers64/" + block + ".y"), d,
                       model.linear_gradient_of(block + ".att.out_proj"));
    model.expect_gradients(bound);
    return model.n_compared();
}

class GoldenGradientOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(GoldenGradientOn);

const GoldenGradients files[] = {
    {"tiny", 24, 1.2e-5}, {"tiny_options", 15, 2.4e-5}, {"layers", 20, 2e-6}};

TEST(GoldenGradient, OfDoubleIsThatOfTheOfficialCode) {
    expect_golden<double>(Queue(), files, compare<double>);
}

TEST_P(GoldenGradientOn, OfFloatIsWithinItsTolerance) {
    expect_golden<float>(queue(), files, compare<float>);
}

}  // namespace
}  // namespace surrogate::kernels::test
