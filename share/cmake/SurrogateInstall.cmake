# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` adds beside the targets: package config, models, licence.
include(CMakePackageConfigHelpers)

set(surrogate_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/surrogate)
configure_package_config_file(${PROJECT_SOURCE_DIR}/share/cmake/surrogateConfig.cmake.in
    ${PROJECT_BINARY_DIR}/surrogateConfig.cmake INSTALL_DESTINATION ${surrogate_package_dir}
    PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/surrogateConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/surrogateConfig.cmake ${PROJECT_BINARY_DIR}/surrogateConfigVersion.cmake
    DESTINATION ${surrogate_package_dir})
install(EXPORT surrogate NAMESPACE surrogate:: FILE surrogateTargets.cmake DESTINATION ${surrogate_package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/models DESTINATION ${CMAKE_INSTALL_DATADIR}/surrogate)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
