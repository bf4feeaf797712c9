# Programs and libraries as Debian has them for another of its architectures: its baseline, and linked dynamically.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=toolchains/debian.cmake -DPAWL_DEBIAN_ARCH=armhf ...    armhf or arm64
#
# Needs what toolchains/armhf.cmake and toolchains/arm64.cmake need. PAWL_TARGET_ROOT: one more folder to look in, with what
# was installed for that architecture.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PAWL_DEBIAN_ARCH PAWL_TARGET_ROOT)
set(pawl_triplet_armhf arm-linux-gnueabihf)
set(pawl_triplet_arm64 aarch64-linux-gnu)
set(pawl_processor_armhf armv7l)
set(pawl_processor_arm64 aarch64)
set(pawl_emulator_armhf qemu-arm-static)
set(pawl_emulator_arm64 qemu-aarch64-static)
set(pawl_triplet ${pawl_triplet_${PAWL_DEBIAN_ARCH}})
if(NOT pawl_triplet)
  message(FATAL_ERROR "PAWL_DEBIAN_ARCH is \"${PAWL_DEBIAN_ARCH}\"; it has to be armhf or arm64")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${pawl_processor_${PAWL_DEBIAN_ARCH}})
set(CMAKE_LIBRARY_ARCHITECTURE ${pawl_triplet})
set(CMAKE_C_COMPILER ${pawl_triplet}-gcc)
set(CMAKE_CXX_COMPILER ${pawl_triplet}-g++)

get_filename_component(pawl_root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(pawl_sysroot ${pawl_root}/build/packages/${PAWL_DEBIAN_ARCH})
set(CMAKE_CROSSCOMPILING_EMULATOR ${pawl_emulator_${PAWL_DEBIAN_ARCH}} -L /usr/${pawl_triplet}
  -E LD_LIBRARY_PATH=${pawl_sysroot}/usr/lib/${pawl_triplet})
set(CMAKE_FIND_ROOT_PATH ${PAWL_TARGET_ROOT} ${pawl_sysroot} /usr/${pawl_triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
