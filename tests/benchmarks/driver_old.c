/* SPDX-License-Identifier: Apache-2.0
 * A driver for CUDA 11.8, with the functions that the runtime calls before it rejects the driver.
 */
int cuDriverGetVersion(int* version) {
    *version = 11080;
    return 0;
}
int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}
