// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/single_layers.hpp"

namespace surrogate::impl::sphere {

template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Attention& config,
                                      const Weights<T>& weights) {
    return std::make_unique<AttentionProgram<T>>(request, config, weights);
}

template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Convolution& config,
                                      const Weights<T>& weights) {
    return std::make_unique<ConvolutionProgram<T>>(request, config, weights);
}

template <class T>
std::unique_ptr<Program> make_program(const ProgramRequest& request, const Resample& config,
                                      const Weights<T>&) {
    return std::make_unique<ResampleProgram<T>>(request, config);
}

#define SURROGATE_PROGRAM(Config)                                                        \
    template std::unique_ptr<Program> make_program(const ProgramRequest&, const Config&, \
                                                   const Weights<float>&);               \
    template std::unique_ptr<Program> make_program(const ProgramRequest&, const Config&, \
                                                   const Weights<double>&);
SURROGATE_PROGRAM(Attention)
SURROGATE_PROGRAM(Convolution)
SURROGATE_PROGRAM(Resample)
#undef SURROGATE_PROGRAM

}  // namespace surrogate::impl::sphere
