# SPDX-License-Identifier: Apache-2.0
# find_package(CUDAToolkit REQUIRED). FindCUDAToolkit of CMake 3.25.0 and 3.25.1 (Debian 12) ends with "set_property
# could not find TARGET CUDA::nvToolsExt" where the toolkit has no nvToolsExt, as CUDA 13: it warns of that library in
# projects that ask for CMake 3.25. For this call we ask for less.
set(surrogate_cmake_minimum ${CMAKE_MINIMUM_REQUIRED_VERSION})
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${surrogate_cmake_minimum})
