// Goal: events are stored as promised: kinds have their names, a meta text is read back as it was
// written, and checksums cover every column. Meta of any bytes is decoded or refused.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "codec/event.hpp"

namespace pawl {
namespace {

class Meta {
 public:
  std::string encode(const Event& event) {
    char out[kMetaBytesMax];
    std::size_t size = 0;
    EXPECT_EQ(encode_meta(event, out, sizeof(out), &size), Status::kOk);
    return {out, size};
  }
  // The bytes end where their allocation ends, so a sanitizer sees a read beyond them.
  Status decode(std::string_view meta, Event* event) {
    const std::unique_ptr<char[]> exact(new char[meta.size()]);
    if (!meta.empty()) std::memcpy(exact.get(), meta.data(), meta.size());
    const JsonMemory memory(block_, sizeof(block_));
    return decode_meta({exact.get(), meta.size()}, event, text_, sizeof(text_));
  }

 private:
  unsigned char block_[kJsonMemoryBytes];
  char text_[kMetaBytesMax];
};

void expect_same_meta(const Event& a, const Event& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.session, b.session);
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.horizon, b.horizon);
  EXPECT_EQ(a.argument_hash, b.argument_hash);
  EXPECT_EQ(a.path_hash, b.path_hash);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.base, b.base);
}

Event activity() {
  Event event;
  event.kind = EventKind::kActivity;
  event.name = "read_moisture";
  event.session = "bed-7";
  event.argument_hash = 0x00000000000000abU;
  event.path_hash = 0xfedcba9876543210U;
  return event;
}

// Each test is a process of its own, so these calls are its first uses of cJSON. If one thread
// installs cJSON's hooks while the other reads them, the thread sanitizer sees it in either order.
TEST(Threads, TheFirstToEncodeAndTheFirstToDecodeDoNotMeet) {
  const Event event = activity();
  std::string encoded;
  Event decoded;
  decoded.kind = EventKind::kActivity;
  Status status = Status::kCorrupt;
  Meta there;
  Meta back;
  std::thread encodes([&] { encoded = there.encode(event); });
  std::thread decodes([&] { status = back.decode(R"({"name":"read"})", &decoded); });
  encodes.join();
  decodes.join();
  EXPECT_NE(encoded.find("read_moisture"), std::string::npos);
  EXPECT_EQ(status, Status::kOk);
  EXPECT_EQ(decoded.name, "read");
}

TEST(Names, OfKindsAreTheirOwn) {
  std::set<std::string> names;
  int known = 0;
  for (int i = 0; i < 256; ++i) {
    const std::string name = event_kind_name(static_cast<EventKind>(i));
    if (name == "unknown") continue;
    ++known;
    names.insert(name);
  }
  EXPECT_EQ(known, 32);
  EXPECT_EQ(names.size(), 32U);
  EXPECT_STREQ(error_kind_name(ErrorKind::kSessionLost), "session_lost");
  EXPECT_STREQ(error_kind_name(static_cast<ErrorKind>(200)), "unknown");
  EXPECT_STREQ(message_kind_name(MessageKind::kTimerFired), "timer_fired");
  EXPECT_STREQ(end_kind_name(EndKind::kContinuedAsNew), "continued_as_new");
}

TEST(Names, CommandsAndCompletionsAreDisjoint) {
  EXPECT_FALSE(is_command(EventKind::kStarted));
  EXPECT_TRUE(is_command(EventKind::kActivity));
  EXPECT_TRUE(is_command(EventKind::kClose));
  EXPECT_FALSE(is_command(EventKind::kActivityDone));
  EXPECT_TRUE(is_completion(EventKind::kDelivery));
  EXPECT_FALSE(is_completion(EventKind::kReturn));
}

TEST(Names, ValidOnes) {
  EXPECT_FALSE(is_valid_name(""));
  EXPECT_TRUE(is_valid_name("Ventil Süd/7"));
  EXPECT_FALSE(is_valid_name("tab\t"));
  EXPECT_FALSE(is_valid_name(std::string_view("nul\0", 4)));
  EXPECT_TRUE(is_valid_name(std::string(256, 'a')));
  for (const char* const id : {".", "..", " a", "a ", " "}) {
    EXPECT_TRUE(is_valid_name(id)) << id;
    EXPECT_FALSE(is_valid_id(id) || is_valid_root_id(id)) << id;
  }
  for (const char* const id : {"...", ".a", "a b", "a"})
    EXPECT_TRUE(is_valid_id(id) && is_valid_root_id(id)) << id;
  EXPECT_FALSE(is_valid_name(std::string(257, 'a')));
}

// A terminal obeys control characters (in ASCII, above it, or as a single byte), line separators,
// and characters that change the direction of text. Names that are stored with those above ASCII
// are still read.
TEST(Names, WhatATerminalObeysIsNoName) {
  for (const char* name : {"a\x1b[31m", "a\x7f", "a\nb"}) {
    EXPECT_FALSE(is_valid_name(name));
    EXPECT_FALSE(is_stored_name(name));
  }
  for (const char* name : {"a\xc2\x9b"
                           "31m",
                           "a\xc2\x80", "a\xc2\x9f",
                           "a\x9b"
                           "31m",
                           "\xff", "cut \xc3", "\xe2\x80\xae", "\xe2\x80\x8e", "\xe2\x80\xa8",
                           "\xe2\x81\xa6", "\xd8\x9c"}) {
    EXPECT_FALSE(is_valid_name(name)) << name;
    EXPECT_TRUE(is_stored_name(name)) << name;
  }
  EXPECT_TRUE(is_valid_name("\xc2\xa0"));
  EXPECT_TRUE(is_valid_name("\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"));
  EXPECT_TRUE(is_valid_name("\xf0\x9f\x94\xa7"));
}

// An event with a name that an older version allowed is written and read unchanged.
TEST(Names, ThatAreStoredStay) {
  Event event;
  event.kind = EventKind::kActivity;
  event.name = "old\xc2\x9b";
  event.session = "\xe2\x80\xae";
  char meta[kMetaBytesMax];
  std::size_t size = 0;
  ASSERT_EQ(encode_meta(event, meta, sizeof meta, &size), Status::kOk);
  Event read;
  read.kind = EventKind::kActivity;
  char memory_block[kJsonMemoryBytes];
  JsonMemory memory(memory_block, sizeof memory_block);
  char text[kMetaBytesMax];
  ASSERT_EQ(decode_meta({meta, size}, &read, text, sizeof text), Status::kOk);
  EXPECT_EQ(read.name, event.name);
  EXPECT_EQ(read.session, event.session);
}

TEST(CutText, BetweenCharacters) {
  EXPECT_EQ(cut_text("short", 10), "short");
  EXPECT_EQ(cut_text("abcdef", 3), "abc");
  EXPECT_EQ(cut_text("a\xc3\xbc", 2), "a");
  EXPECT_EQ(cut_text("\xe2\x82\xac", 2), "");
}

TEST(Meta, ReadsInAShell) {
  Meta meta;
  EXPECT_EQ(
      meta.encode(activity()),
      R"({"name":"read_moisture","session":"bed-7","hash":"00000000000000ab","path":"fedcba9876543210"})");
  EXPECT_EQ(meta.encode(Event()), "{}");
}

TEST(Meta, ThereAndBack) {
  Meta meta;
  Event event = activity();
  event.version = "1.0-\"beta\"\\";
  event.number = -5;
  event.base = TimerBase::kUtc;
  event.error = ErrorKind::kTerminated;
  event.end = EndKind::kContinuedAsNew;
  event.horizon = UINT32_MAX;
  Event back;
  back.kind = event.kind;
  ASSERT_EQ(meta.decode(meta.encode(event), &back), Status::kOk);
  expect_same_meta(event, back);
}

TEST(Meta, NumbersOf64BitsAreExact) {
  Meta meta;
  constexpr std::int64_t kEdge = std::int64_t{1} << 53;
  for (const std::int64_t number :
       {INT64_MIN, INT64_MIN + 1, -kEdge - 1, -kEdge, -kEdge + 1, std::int64_t{-1}, std::int64_t{1},
        kEdge - 1, kEdge, kEdge + 1, INT64_MAX - 1, INT64_MAX, std::int64_t{4102444800000}}) {
    Event event;
    event.kind = EventKind::kTimer;
    event.number = number;
    Event back;
    back.kind = event.kind;
    const std::string text = meta.encode(event);
    ASSERT_EQ(meta.decode(text, &back), Status::kOk) << text;
    EXPECT_EQ(back.number, number) << text;
  }
}

TEST(Meta, LargestFits) {
  const std::string name(256, '"');
  Event event = activity();
  event.name = name;
  event.session = name;
  event.version = name;
  event.number = INT64_MIN;
  event.horizon = UINT32_MAX;
  event.error = ErrorKind::kTerminated;
  event.end = EndKind::kFailed;
  event.base = TimerBase::kUtc;
  Meta meta;
  Event back;
  back.kind = event.kind;
  ASSERT_EQ(meta.decode(meta.encode(event), &back), Status::kOk);
  expect_same_meta(event, back);
}

TEST(Meta, RefusesWhatDoesNotFitOrIsNoName) {
  char out[16];
  std::size_t size = 0;
  EXPECT_EQ(encode_meta(activity(), out, sizeof(out), &size), Status::kResourceExhausted);
  EXPECT_EQ(encode_meta(activity(), out, 0, &size), Status::kResourceExhausted);
  Event event = activity();
  event.name = "line\n";
  char large[kMetaBytesMax];
  EXPECT_EQ(encode_meta(event, large, sizeof(large), &size), Status::kInvalidArgument);
}

TEST(Meta, IgnoresMembersOfANewerWriter) {
  Meta meta;
  Event event;
  event.kind = EventKind::kActivity;
  EXPECT_EQ(meta.decode(R"({"flag":{"a":[1,2,"x}"]},"name":"n","extra":null})", &event),
            Status::kOk);
  EXPECT_EQ(event.name, "n");
}

TEST(Meta, NamesWhatIsCorrupt) {
  const char* const texts[] = {
      "",
      " ",
      "{",
      "}",
      "[]",
      "null",
      "{}",
      R"({"name":""})",
      R"({"name":7})",
      R"({"name":"a"} x)",
      R"({"name":"a\u0000b"})",
      R"({"name":"a","number":1.5})",
      R"({"name":"a","number":1e300})",
      R"({"name":"a","number":"12x"})",
      R"({"name":"a","number":"9223372036854775808"})",
      R"({"name":"a","number":true})",
      R"({"name":"a","hash":"12"})",
      R"({"name":"a","hash":"000000000000000g"})",
      R"({"name":"a","hash":18446744073709551615})",
      R"({"name":"a","error":23})",
      R"({"name":"a","error":-1})",
      R"({"name":"a","base":2})",
      R"({"name":"a","end":4})",
      R"({"name":"a","horizon":4294967296})",
      R"({"name":"a","x":[[[[[[]]]]]]})",
      R"({"name":"a","x)",
      R"({"name":"a","x\)",
      R"({"name":"a",)",
  };
  Meta meta;
  for (const char* const text : texts) {
    Event event;
    event.kind = EventKind::kActivity;
    event.number = 42;
    EXPECT_EQ(meta.decode(text, &event), Status::kCorrupt) << text;
    EXPECT_EQ(event.number, 42) << "changed by " << text;
  }
  Event event;
  event.kind = EventKind::kEnded;
  EXPECT_EQ(meta.decode("{}", &event), Status::kCorrupt);
  EXPECT_EQ(meta.decode(std::string_view("{}\0", 3), &event), Status::kCorrupt);
}

TEST(Meta, DeepAndLongTextsNeverReachTheParser) {
  Meta meta;
  Event event;
  event.kind = EventKind::kTimer;
  EXPECT_EQ(meta.decode(std::string(2000, '['), &event), Status::kCorrupt);
  EXPECT_EQ(meta.decode("{\"x\":\"" + std::string(4000, 'x') + "\"}", &event), Status::kCorrupt);
}

TEST(Meta, NeedsItsMemory) {
  Event event;
  event.kind = EventKind::kTimer;
  char text[kMetaBytesMax];
  EXPECT_EQ(decode_meta("{}", &event, text, sizeof(text)), Status::kResourceExhausted);
  unsigned char small[16];
  const JsonMemory memory(small, sizeof(small));
  EXPECT_EQ(decode_meta("{}", &event, text, sizeof(text)), Status::kCorrupt);
}

TEST(Meta, SurvivesRandomBytes) {
  std::mt19937 random(1);
  Meta meta;
  const std::string seedling = meta.encode(activity());
  const char* const pieces[] = {"{", "}", "[",   "]", "\"",        "\\",       "\\u00",
                                ":", ",", "1e9", "-", "\"name\":", "\"hash\":"};
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 2 == 0 ? seedling : std::string();
    for (auto edits = random() % 6 + 1; edits > 0; --edits) {
      const std::size_t at = text.empty() ? 0 : random() % text.size();
      switch (random() % 4) {
        case 0: text.insert(at, pieces[random() % (sizeof(pieces) / sizeof(pieces[0]))]); break;
        case 1: text.insert(at, 1, static_cast<char>(random())); break;
        case 2: text.erase(at, random() % 8); break;
        default:
          if (!text.empty()) text[at] = static_cast<char>(random());
      }
    }
    Event event;
    event.kind = static_cast<EventKind>(random() % 52);
    const Status status = meta.decode(text, &event);
    ASSERT_TRUE(status == Status::kOk || status == Status::kCorrupt) << text;
    if (status == Status::kOk && is_valid_name(event.name)) {
      const std::string again = meta.encode(event);
      Event back;
      back.kind = event.kind;
      ASSERT_EQ(meta.decode(again, &back), Status::kOk) << text << " then " << again;
    }
  }
}

TEST(Crc, CoversEveryColumn) {
  Event event = activity();
  event.id = 3;
  event.payload = "payload";
  std::set<std::uint32_t> sums;
  const auto add = [&](InstanceKey instance, ExecutionId execution, const Event& row,
                       std::string_view meta) {
    sums.insert(event_crc(instance, execution, {}, row, meta));
  };
  add(1, 1, event, "{}");
  add(2, 1, event, "{}");
  add(1, 2, event, "{}");
  add(1, 1, event, "{} ");
  const auto changed = [&](void (*change)(Event*)) {
    Event copy = event;
    change(&copy);
    add(1, 1, copy, "{}");
  };
  changed([](Event* row) { row->id = 4; });
  changed([](Event* row) { row->kind = EventKind::kTimer; });
  changed([](Event* row) { row->branch = 1; });
  changed([](Event* row) { row->ordinal = 1; });
  changed([](Event* row) { row->ref = 1; });
  changed([](Event* row) { row->time_ms = -1; });
  changed([](Event* row) { row->payload = "Payload"; });
  // A byte moves from meta to payload.
  event.payload = "}payload";
  add(1, 1, event, "{");
  sums.insert(event_crc(1, 1, 0, event, "{"));
  sums.insert(event_crc(1, 1, 7, event, "{"));
  EXPECT_EQ(sums.size(), 14U);
}

TEST(Crc, OfMessages) {
  Message message;
  message.kind = MessageKind::kActivityDone;
  message.payload = "p";
  std::set<std::uint32_t> sums = {message_crc(1, message), message_crc(2, message)};
  message.id = 9;
  sums.insert(message_crc(1, message));
  EXPECT_EQ(sums.size(), 2U) << "the id is not part of it";
  message.execution = 1;
  sums.insert(message_crc(1, message));
  message.ref = 1;
  sums.insert(message_crc(1, message));
  message.error = ErrorKind::kTimeout;
  sums.insert(message_crc(1, message));
  message.name = "n";
  sums.insert(message_crc(1, message));
  message.name = "np";
  message.payload = "";
  sums.insert(message_crc(1, message));
  EXPECT_EQ(sums.size(), 7U);
}

// These checksums are stored in databases, so they never change.
TEST(Crc, IsPinned) {
  Event event = activity();
  event.id = 2;
  event.payload = "in";
  EXPECT_EQ(event_crc(1, 1, {}, event, "{}"), 3395583199U);
  EXPECT_EQ(message_crc(1, Message()), 2535721570U);
}

}  // namespace
}  // namespace pawl
