/* version.h: which Pawl this is, for C and C++.
 *
 * Purpose: what a program was compiled with, by macros, and what it runs with, by a call: the two differ
 * when a newer shared library was installed. docs/releases.md says what the numbers promise.
 * These lines are the one place of the number: the build reads them, and all else takes it from there.
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

/* Of the library that the program runs with: "1.20.3". Never null. */
const char* pawl_version(void);

#ifdef __cplusplus
} /* extern "C" */

namespace pawl {

// As pawl_version().
[[nodiscard]] const char* version();

}  // namespace pawl
#endif
#pragma GCC visibility pop

#endif
