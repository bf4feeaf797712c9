// The driver of the flash that the program runs from, left in that flash, where no driver may be.
#include "port/bare_metal/qemu/core.hpp"
#undef PAWL_RAM_CODE
#define PAWL_RAM_CODE [[gnu::noinline]]
#include "port/bare_metal/qemu/cfi_flash.cpp"
