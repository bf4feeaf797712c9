/* version.h: the version of Pawl, for C and C++.
 *
 * Purpose: macros say what a program was compiled with, and a call says what it runs with: the two
 * differ when a newer shared library was installed. docs/releases.md says what the numbers promise.
 * These lines are the one place of the number: the build and all else read them.
 * Ownership: the text is a constant. Thread rule: any thread, at any time. Errors: none.
 */
#ifndef PAWL_VERSION_H
#define PAWL_VERSION_H

#define PAWL_VERSION_MAJOR 0
#define PAWL_VERSION_MINOR 1
#define PAWL_VERSION_PATCH 0

/* One number that rises with each release: 1.20.3 is 1020003. */
#define PAWL_VERSION (PAWL_VERSION_MAJOR * 1000000 + PAWL_VERSION_MINOR * 1000 + PAWL_VERSION_PATCH)

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that the program runs with: "1.20.3". Never null. */
const char* pawl_version(void);

#ifdef __cplusplus
} /* extern "C" */

namespace pawl {

// Does what pawl_version() does.
[[nodiscard]] const char* version();

}  // namespace pawl
#endif
#pragma GCC visibility pop

#endif
