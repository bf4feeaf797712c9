// Whole stories on a gateway, whose workers are killed often.
#ifndef PAWL_TEST_RUNTIME_STORY_HPP
#define PAWL_TEST_RUNTIME_STORY_HPP

#include "world.hpp"

namespace pawl::testing {

class Story : public GatewayTest {
 protected:
  Story() : GatewayTest(23) { kills_are_many(); }
};

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_STORY_HPP
