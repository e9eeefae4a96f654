// SPDX-License-Identifier: Apache-2.0
// Read by device_resources.cmake, never compiled.
__global__ void spilled(float*, int);
__global__ void __launch_bounds__(128) bounded(float*, int);
