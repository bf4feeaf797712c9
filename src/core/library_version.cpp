#include "pawl/version.h"

#define PAWL_TEXT_OF(number) #number
#define PAWL_VERSION_TEXT(major, minor, patch) \
  PAWL_TEXT_OF(major) "." PAWL_TEXT_OF(minor) "." PAWL_TEXT_OF(patch)

extern "C" const char* pawl_version() {
  return PAWL_VERSION_TEXT(PAWL_VERSION_MAJOR, PAWL_VERSION_MINOR, PAWL_VERSION_PATCH);
}

namespace pawl {

const char* version() { return pawl_version(); }

}  // namespace pawl
