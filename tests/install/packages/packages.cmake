# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=<build tree> -DWORK=<scratch folder> -DCPACK=<cpack> -DVERSION=<0.1.0> -DSOVERSION=<0.1> -DNEEDS=<package>,..
#       -P packages.cmake
# Makes the Debian packages, looks at what they say of themselves, and lets dpkg install them into an empty root, which
# WORK/root is afterwards; another one is purged again. What they need of others is the machine's own.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${CPACK} --config ${BUILD}/CPackConfig.cmake -G DEB -B ${WORK}/packages OUTPUT_VARIABLE text
    ERROR_VARIABLE text RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "${text}")
endif()

# field(<package file> <name> <out>)
function(field file name out)
    execute_process(COMMAND dpkg-deb --field ${file} ${name} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
        COMMAND_ERROR_IS_FATAL ANY)
    set(${out} "${text}" PARENT_SCOPE)
endfunction()
set(problems "")
macro(expect what)
    if(NOT (${ARGN}))
        string(APPEND problems "${what}\n")
    endif()
endmacro()

set(library libsurrogate${SOVERSION})
string(REPLACE "," ";" needs "${NEEDS}")
set(files)
foreach(package ${library} surrogate-tools libsurrogate-dev)
    file(GLOB file ${WORK}/packages/${package}_${VERSION}_*.deb)
    if(NOT file)
        message(FATAL_ERROR "no ${package}_${VERSION}_*.deb: ${text}")
    endif()
    list(APPEND files ${file})
    field(${file} Version version)
    field(${file} Depends depends)
    field(${file} Installed-Size kilobytes)
    file(SIZE ${file} bytes)
    math(EXPR packed "${bytes} / 1000")
    message(NOTICE "${package}: ${packed} kB packed, ${kilobytes} KiB installed; depends: ${depends}")
    expect("${package}: version ${version}" version STREQUAL VERSION)
    # Programs and libraries stand on what dpkg-shlibdeps found, ours on each other in the same version.
    if(package STREQUAL library)
        foreach(need libc6 libstdc++6 libgomp1 ${needs})
            string(FIND ", ${depends}," ", ${need} " versioned)
            string(FIND ", ${depends}," ", ${need}," any_version)
            expect("${package} does not depend on ${need}: ${depends}" versioned GREATER -1 OR any_version GREATER -1)
        endforeach()
    else()
        string(FIND ", ${depends}," ", ${library} (= ${VERSION})," place)
        expect("${package} does not depend on ${library} (= ${VERSION}): ${depends}" place GREATER -1)
    endif()
endforeach()
file(GLOB all ${WORK}/packages/*.deb)
list(LENGTH all n_file)
message(NOTICE "${n_file} packages")

# install_to(<root>), with dpkg's own look at files that two packages claim. No ldconfig there: scripts are the machine's
# or none. The machine's packages are not in that root, so that what is needed of others is forced.
function(install_to root)
    file(MAKE_DIRECTORY ${root}/var/lib/dpkg/info ${root}/var/lib/dpkg/updates ${root}/bin)
    file(TOUCH ${root}/var/lib/dpkg/status ${root}/var/lib/dpkg/available)
    execute_process(COMMAND dpkg --root=${root} --force-not-root --force-bad-path --force-script-chrootless
        --force-depends --log=${root}.log --install ${files} RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
    if(failed)
        message(FATAL_ERROR "dpkg: ${text}")
    endif()
endfunction()
install_to(${WORK}/root)
execute_process(COMMAND dpkg-query --root=${WORK}/root -W "-f=\${db:Status-Abbrev}\${Package}\n" OUTPUT_VARIABLE state
    COMMAND_ERROR_IS_FATAL ANY)
foreach(package ${library} surrogate-tools libsurrogate-dev)
    expect("${package} is not installed: ${state}" state MATCHES "ii +${package}\n")
    expect("no licence of ${package}" EXISTS ${WORK}/root/usr/share/doc/${package}/copyright)
endforeach()

install_to(${WORK}/other)
execute_process(COMMAND dpkg --root=${WORK}/other --force-not-root --force-bad-path --force-script-chrootless
    --log=${WORK}/other.log --purge libsurrogate-dev surrogate-tools ${library} RESULT_VARIABLE failed OUTPUT_VARIABLE text
    ERROR_VARIABLE text)
expect("purge: ${text}" NOT failed)
file(GLOB_RECURSE left RELATIVE ${WORK}/other ${WORK}/other/usr/*)
expect("purged, and yet there: ${left}" NOT left)
if(problems)
    message(FATAL_ERROR "${problems}")
endif()
