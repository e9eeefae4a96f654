# SPDX-License-Identifier: Apache-2.0
# Run by CPack between installing and packing: the license and the list of versions of each package, where Debian looks for
# them, and the Python package where Debian's Python looks for it. CPACK_SURROGATE_<COMPONENT> is the package's name.
cmake_policy(VERSION 3.25)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)   # of SOURCE_DATE_EPOCH, if that is set
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} upper)
    set(package ${CPACK_SURROGATE_${upper}})
    set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share/doc/${package})
    file(WRITE ${folder}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: libsurrogate

Files: *
Copyright: the authors of libsurrogate
License: Apache-2.0
 On Debian systems the text of the Apache License 2.0 is
 /usr/share/common-licenses/Apache-2.0.
")
    file(WRITE ${folder}/changelog "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What has changed: /usr/share/doc/surrogate/CHANGELOG.md of surrogate-tools.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
    file(GLOB manuals ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share/man/man*/*.[1-9])
    execute_process(COMMAND gzip -n9 ${folder}/changelog ${manuals} COMMAND_ERROR_IS_FATAL ANY)
    file(CHMOD ${folder}/copyright ${folder}/changelog.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/tools${CPACK_PACKAGING_INSTALL_PREFIX})
set(installed ${root}/share/surrogate/python/surrogate/_installed.py)
file(READ ${installed} text)
string(REPLACE "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/tools" "" text "${text}")
file(WRITE ${installed} "${text}")
file(MAKE_DIRECTORY ${root}/lib/python3/dist-packages)
file(CREATE_LINK ../../../share/surrogate/python/surrogate ${root}/lib/python3/dist-packages/surrogate SYMBOLIC)
