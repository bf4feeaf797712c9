// The part of GoogleTest that test/port/port_conformance.hpp uses, for a board that cannot have
// GoogleTest. Each typed case registers itself for the one Host of the program, ConformanceHost,
// which is declared before. A check that fails writes its place and its text; it shows no values.
#ifndef PAWL_TEST_BARE_METAL_GTEST_HPP
#define PAWL_TEST_BARE_METAL_GTEST_HPP

#include "port/bare_metal/qemu/board.hpp"

namespace testing {

class Test {};

struct Case {
  Case(const char* its_name, void (*its_run)()) : name(its_name), run(its_run), next(first) {
    first = this;
  }
  const char* name;
  void (*run)();
  Case* next;
  inline static Case* first = nullptr;
  inline static unsigned failures = 0;
  inline static bool is_skipped = false;
};

template <typename Body>
void run_body() {
  Body().body();
}

// Takes what a check says beside its text.
class Words {
 public:
  template <typename Word>
  const Words& operator<<(const Word&) const {
    return *this;
  }
};
struct Nothing {
  void operator&(const Words&) const {}
};

inline Words fail(int line, const char* text) {
  ++Case::failures;
  pawl::qemu::say("  line %d: %s", line, text);
  return {};
}
inline Words skip() {
  Case::is_skipped = true;
  return {};
}

template <typename A, typename B>
bool eq(const A& a, const B& b) {
  return a == b;
}
template <typename A, typename B>
bool ne(const A& a, const B& b) {
  return a != b;
}
template <typename A, typename B>
bool lt(const A& a, const B& b) {
  return a < b;
}
template <typename A, typename B>
bool ge(const A& a, const B& b) {
  return a >= b;
}

}  // namespace testing

#define PAWL_CHECKED(holds, text, otherwise) \
  switch (0)                                 \
  case 0:                                    \
  default:                                   \
    if (holds)                               \
      ;                                      \
    else                                     \
      otherwise ::testing::Nothing() & ::testing::fail(__LINE__, text)

#define EXPECT_EQ(a, b) PAWL_CHECKED((::testing::eq((a), (b))), #a " == " #b, )
#define EXPECT_NE(a, b) PAWL_CHECKED((::testing::ne((a), (b))), #a " != " #b, )
#define EXPECT_LT(a, b) PAWL_CHECKED((::testing::lt((a), (b))), #a " < " #b, )
#define EXPECT_GE(a, b) PAWL_CHECKED((::testing::ge((a), (b))), #a " >= " #b, )
#define EXPECT_TRUE(a) PAWL_CHECKED((a), #a, )
#define EXPECT_FALSE(a) PAWL_CHECKED(!(a), "not " #a, )
#define ASSERT_EQ(a, b) PAWL_CHECKED((::testing::eq((a), (b))), #a " == " #b, return )
#define ASSERT_NE(a, b) PAWL_CHECKED((::testing::ne((a), (b))), #a " != " #b, return )
#define ASSERT_GE(a, b) PAWL_CHECKED((::testing::ge((a), (b))), #a " >= " #b, return )
#define ASSERT_GT(a, b) PAWL_CHECKED((::testing::lt((b), (a))), #a " > " #b, return )
#define ASSERT_TRUE(a) PAWL_CHECKED((a), #a, return )
#define ADD_FAILURE() ::testing::fail(__LINE__, "failure")
#define GTEST_SKIP() return ::testing::Nothing() & ::testing::skip()

#define TYPED_TEST_SUITE_P(suite) static_assert(true, "")
#define TYPED_TEST_P(suite, name)                                                        \
  template <typename TypeParam>                                                          \
  class name : public suite<TypeParam> {                                                 \
   public:                                                                               \
    void body();                                                                         \
  };                                                                                     \
  static ::testing::Case case_##name(#name, ::testing::run_body<name<ConformanceHost>>); \
  template <typename TypeParam>                                                          \
  void name<TypeParam>::body()
#define REGISTER_TYPED_TEST_SUITE_P(...) static_assert(true, "")

#endif  // PAWL_TEST_BARE_METAL_GTEST_HPP
