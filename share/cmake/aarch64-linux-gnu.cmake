# SPDX-License-Identifier: Apache-2.0
# Toolchain of Debian's cross compiler for arm64; programs run under qemu-user:
#   cmake --toolchain share/cmake/aarch64-linux-gnu.cmake ..
# Packages: g++-aarch64-linux-gnu qemu-user libhwy-dev:arm64, after `dpkg --add-architecture arm64`.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
