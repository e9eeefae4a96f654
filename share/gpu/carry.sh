#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copies what the library needs of other projects into share/gpu/carried/, which git ignores, so that run.sh can build the
# library on a machine that has none of it and cannot fetch it:
#     sh share/gpu/carry.sh
# Headers of nlohmann-json, CLI11, xxHash and Highway; Highway's library; GoogleTest, static; Google Benchmark. From Debian's
# packages nlohmann-json3-dev libcli11-dev libxxhash-dev libhwy-dev libgtest-dev libbenchmark-dev.
set -eu
cd "$(dirname "$0")"
rm -rf carried
mkdir -p carried/include carried/lib/cmake
cp -r /usr/include/nlohmann /usr/include/CLI /usr/include/hwy carried/include
cp /usr/include/xxhash.h carried/include
libraries=/usr/lib/$(uname -m)-linux-gnu
cp -L "$libraries/libhwy.so.1" carried/lib

# package <name> <version> <target> <commands>: a package config for find_package(<name> CONFIG).
package() {
    mkdir -p "carried/lib/cmake/$1"
    {
        echo 'get_filename_component(prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)'
        echo "if(NOT TARGET $3)"
        echo "    $4"
        echo 'endif()'
    } >"carried/lib/cmake/$1/$1Config.cmake"
    cat >"carried/lib/cmake/$1/$1ConfigVersion.cmake" <<END
set(PACKAGE_VERSION $2)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
END
}
headers='INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include'
version() { dpkg-query -W -f='${Version}' "$1" | sed 's/[-+].*//'; }
package nlohmann_json "$(version nlohmann-json3-dev)" nlohmann_json::nlohmann_json \
    "add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
    set_target_properties(nlohmann_json::nlohmann_json PROPERTIES $headers)"
package CLI11 "$(version libcli11-dev)" CLI11::CLI11 \
    "add_library(CLI11::CLI11 INTERFACE IMPORTED)
    set_target_properties(CLI11::CLI11 PROPERTIES $headers)"
package hwy "$(version libhwy-dev)" hwy::hwy \
    "add_library(hwy::hwy SHARED IMPORTED)
    set_target_properties(hwy::hwy PROPERTIES IMPORTED_LOCATION \${prefix}/lib/libhwy.so.1 $headers
        INTERFACE_COMPILE_DEFINITIONS HWY_SHARED_DEFINE)"

if [ -e "$libraries/libbenchmark.so.1debian" ]; then
    cp -r /usr/include/benchmark carried/include
    cp -L "$libraries/libbenchmark.so.1debian" carried/lib
    package benchmark "$(version libbenchmark-dev)" benchmark::benchmark \
        "add_library(benchmark::benchmark SHARED IMPORTED)
    set_target_properties(benchmark::benchmark PROPERTIES IMPORTED_LOCATION \${prefix}/lib/libbenchmark.so.1debian $headers)"
fi

if [ -e "$libraries/libgtest.a" ]; then
    cp -r /usr/include/gtest carried/include
    cp "$libraries/libgtest.a" "$libraries/libgtest_main.a" carried/lib
    package GTest "$(version libgtest-dev)" GTest::gtest \
        "find_package(Threads REQUIRED)
    add_library(GTest::gtest STATIC IMPORTED)
    set_target_properties(GTest::gtest PROPERTIES IMPORTED_LOCATION \${prefix}/lib/libgtest.a $headers
        INTERFACE_LINK_LIBRARIES Threads::Threads)
    add_library(GTest::gtest_main STATIC IMPORTED)
    set_target_properties(GTest::gtest_main PROPERTIES IMPORTED_LOCATION \${prefix}/lib/libgtest_main.a $headers
        INTERFACE_LINK_LIBRARIES GTest::gtest)"
fi
du -sh carried
