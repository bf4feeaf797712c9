// Goal: the session of an activity is stored in the meta of its event, and an activity without one
// stores nothing. The tests have the names that test/build/seed_tests.txt lists. The "work item" of
// that list is a row that points to this event.
#include <gtest/gtest.h>

#include <string>

#include "codec/event.hpp"

namespace pawl {
namespace {

class SessionMeta : public ::testing::Test {
 protected:
  static std::string encode(const Event& event) {
    char out[kMetaBytesMax];
    std::size_t size = 0;
    EXPECT_EQ(encode_meta(event, out, sizeof out, &size), Status::kOk);
    return {out, size};
  }
  Event decode(std::string_view meta, EventKind kind = EventKind::kActivity) {
    const JsonMemory memory(block_, sizeof block_);
    Event event;
    event.kind = kind;
    EXPECT_EQ(decode_meta(meta, &event, text_, sizeof text_), Status::kOk);
    return event;
  }
  static Event activity(std::string_view session) {
    Event event;
    event.kind = EventKind::kActivity;
    event.name = "run";
    event.session = session;
    return event;
  }

 private:
  unsigned char block_[kJsonMemoryBytes];
  char text_[kMetaBytesMax];
};

constexpr char kOld[] = R"({"name":"run","hash":"00000000000000ab"})";

TEST_F(SessionMeta, test_activity_scheduled_session_id_serde) {
  EXPECT_EQ(decode(encode(activity("bed-7"))).session, "bed-7");
}

TEST_F(SessionMeta, test_activity_scheduled_session_id_none_omitted) {
  EXPECT_EQ(encode(activity("")).find("session"), std::string::npos);
}

TEST_F(SessionMeta, test_activity_scheduled_missing_session_id_deserializes) {
  const Event event = decode(kOld);
  EXPECT_EQ(event.name, "run");
  EXPECT_EQ(event.session, "");
}

TEST_F(SessionMeta, session_id_none_omitted_in_json) {
  EXPECT_EQ(encode(activity("")), R"({"name":"run"})");
}

TEST_F(SessionMeta, session_id_present_in_json) {
  EXPECT_EQ(encode(activity("X")), R"({"name":"run","session":"X"})");
}

TEST_F(SessionMeta, old_event_without_session_id_deserializes) {
  EXPECT_EQ(decode(kOld).session, "");
}

TEST_F(SessionMeta, session_events_serialize_roundtrip) {
  for (const EventKind kind : {EventKind::kSessionOpen, EventKind::kSessionClose}) {
    Event event;
    event.kind = kind;
    event.name = "X";
    event.policy = kind == EventKind::kSessionOpen ? "exclusive=1" : "";
    const std::string text = encode(event);
    const Event back = decode(text, kind);
    EXPECT_EQ(back.name, "X") << text;
    EXPECT_EQ(back.policy, event.policy) << text;
  }
}

}  // namespace
}  // namespace pawl
