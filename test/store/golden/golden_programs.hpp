// The programs whose instances wait in the golden database, and the two ends of its journey.
//
// Method: generate() runs them on a simulated machine until each waits where it shall, stops
// everything in order and hands out the bytes of the file; finish() puts bytes on another machine,
// another kernel, and checks that all end as they must. What is checked depends on what the first
// machine recorded, so code that reads old histories differently fails. These programs never
// change: the file is older than the code.
#ifndef PAWL_TEST_GOLDEN_PROGRAMS_HPP
#define PAWL_TEST_GOLDEN_PROGRAMS_HPP

#include <string>

namespace pawl::golden {

// The bytes of a database of the format of this build; empty after a failure, which is a failed
// expectation.
std::string generate();

// Opens a copy of `bytes` and lets all instances end; failures are failed expectations.
void finish(const std::string& bytes);

// Opens a copy of `bytes`, which an engine of behaviour 1 wrote, and cancels an instance: it goes on
// by the rules of that behaviour. Failures are failed expectations.
void cancel_one_begun_before(const std::string& bytes);

}  // namespace pawl::golden

#endif  // PAWL_TEST_GOLDEN_PROGRAMS_HPP
