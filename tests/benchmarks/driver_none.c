/* SPDX-License-Identifier: Apache-2.0
 * A new driver on a machine without a device: cuInit returns CUDA_ERROR_NO_DEVICE. */
int cuDriverGetVersion(int* version) {
    *version = 99000;
    return 0;
}
int cuInit(unsigned flags) {
    (void)flags;
    return 100;
}
