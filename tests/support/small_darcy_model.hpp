// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/support/golden_writer.hpp"

namespace surrogate::test {

/// The network of flare/tiny as a model of DarcyCase's points: coordinate and mobility to pressure.
/// Emulation of a trained model takes seconds a run, of this one milliseconds. Returns the path.
inline std::string small_darcy_model() {
    ModelWriter writer = writer_of(GoldenFile(SURROGATE_TEST_DATA "/flare/tiny.safetensors"));
    writer.card["inputs"] = {{{"name", "x"},
                              {"role", "coordinate"},
                              {"axis", 0},
                              {"unit", ""},
                              {"mean", 0.5},
                              {"std", 0.3},
                              {"min", 0},
                              {"max", 1}},
                             {{"name", "mobility"},
                              {"role", "field"},
                              {"unit", "m^2/(Pa s)"},
                              {"mean", 7.5},
                              {"std", 4.5},
                              {"min", 3},
                              {"max", 12}}};
    writer.card["outputs"] = {
        {{"name", "pressure"}, {"unit", "Pa"}, {"mean", 0.01}, {"std", 0.004}}};
    return written(writer, "small_darcy");
}

}  // namespace surrogate::test
