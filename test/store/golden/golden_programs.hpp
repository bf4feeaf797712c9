// The programs whose instances wait in the golden database, and how it is made and finished.
//
// Method: generate() runs the programs on a simulated machine until each waits where it should,
// stops everything in order and returns the bytes of the file. finish() puts the bytes on another
// machine, with another kernel, and checks that all end as they must. The checks depend on what the
// first machine recorded, so code that reads old histories differently fails. These programs never
// change: the file is older than the code.
#ifndef PAWL_TEST_GOLDEN_PROGRAMS_HPP
#define PAWL_TEST_GOLDEN_PROGRAMS_HPP

#include <string>

namespace pawl::golden {

// Returns the bytes of a database in the format of this build; empty after a failure, which is a
// failed expectation.
std::string generate();

// Opens a copy of `bytes` and lets all instances end. Failures are failed expectations.
void finish(const std::string& bytes);

// Opens a copy of `bytes`, which an engine of behaviour 1 wrote, and cancels an instance: it
// continues by the rules of that behaviour. Failures are failed expectations.
void cancel_one_begun_before(const std::string& bytes);

// Converts `bytes`, a database of an earlier form, with upgrade_database(). Failures are failed
// expectations.
std::string converted(const std::string& bytes);

}  // namespace pawl::golden

#endif  // PAWL_TEST_GOLDEN_PROGRAMS_HPP
