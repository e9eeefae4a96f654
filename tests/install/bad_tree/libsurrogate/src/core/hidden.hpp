// SPDX-License-Identifier: Apache-2.0
namespace surrogate::kernels::one {
struct Kernels;
}
