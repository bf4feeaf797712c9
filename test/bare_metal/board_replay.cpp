// The worked examples of test/replay/scenarios.hpp on the board: the engine runs on an instance's
// rows in the flash database, and each turn is one transaction there.
//
// An instance that was begun before a power cut has a whole number of turns in its history, and
// goes on after them. The history of an ended instance is compared event by event with the expected
// one.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/arena.hpp"
#include "core/buddy.hpp"
#include "event_text.hpp"
#include "port/bare_metal/qemu/board.hpp"
#include "program.hpp"
#include "replay/engine.hpp"
#include "replay/program.hpp"
#include "scenarios.hpp"
#include "store/store_factory.hpp"

namespace pawl::metal_test {
namespace {

using test::Scenario;
using test::ScenarioTurn;

constexpr std::size_t kMessagesMax = 16;

alignas(8) unsigned char for_histories[64 * 1024];
alignas(8) unsigned char for_engine[128 * 1024];
alignas(8) unsigned char for_messages[8 * 1024];

// The scenario's number of a message is its payload; the storage has numbers of its own.
std::int64_t number_in(std::string_view payload) {
  return std::strtol(std::string(payload).c_str(), nullptr, 10);
}
std::int64_t number_of(const Event& delivery) { return number_in(delivery.payload); }

class HistoryEvents final : public EventSource {
 public:
  explicit HistoryEvents(const History& history) : history_(history) {}
  [[nodiscard]] const Event& event(EventId id) const override { return history_.event(id); }
  [[nodiscard]] bool is_open(EventId command) const override {
    return history_.awaits_completion(command);
  }

 private:
  const History& history_;
};

class Loader final : public EventSink {
 public:
  explicit Loader(History& history) : history_(history) {}
  Status on_event(const Event& event) override { return history_.append(event, why_); }

 private:
  History& history_;
  Diagnostic why_;
};

class Run {
 public:
  Run(Store& store, Engine& engine, BuddyPool& pool, const Scenario& scenario)
      : store_(store),
        engine_(engine),
        pool_(pool),
        scenario_(scenario),
        program_(test::parse(scenario.program)) {}

  // False: a line of output says what is wrong.
  bool go() {
    test::set_program(&program_);
    std::size_t done = 0;
    if (!open() || !turns_done(&done)) return false;
    const std::size_t before = done;
    for (; done < scenario_.turns.size(); ++done)
      if (!turn(scenario_.turns[done], done == 0)) return false;
    History history(pool_);
    if (!load(history)) return false;
    if (test::horizon_of_end(history) != scenario_.end_at) return wrong("end", "another horizon");
    if (before < done && test::reads_of_last_run() != scenario_.reads)
      return wrong("reads", test::reads_of_last_run());
    qemu::say("%s: %zu turns, %zu of them by an earlier boot", scenario_.name, done, before);
    return true;
  }

 private:
  bool wrong(const char* what, const std::string& is) const {
    qemu::say("%s: %s:", scenario_.name, what);
    for (std::size_t at = 0; at < is.size(); at += 200)
      qemu::say("%s", is.substr(at, 200).c_str());
    return false;
  }
  bool fine(const char* what, Status status) const {
    if (status == Status::kOk) return true;
    return wrong(what,
                 std::string(status_name(status)) + " " + std::string(store_.diagnostic().text()));
  }

  bool open() {
    Incarnation ignored = 0;
    const Status found =
        store_.instance().deliveries.find_instance(scenario_.name, &key_, &ignored);
    // An ended instance is found, but not handed over for a turn.
    if (found == Status::kStale) {
      InstanceStatus status;
      char output[128];
      const Status read =
          store_.instance().directory.get_status(scenario_.name, &status, output, sizeof(output));
      key_ = status.key;
      return fine("get_status", read);
    }
    if (found != Status::kNotFound) return fine("find_instance", found);
    NewInstance instance;
    instance.id = scenario_.name;
    instance.name = "flow";
    instance.version = "1.0";
    instance.input = "in";
    BatchInfo info;
    return fine("begin", store_.batch().begin(0, &info)) &&
           fine("create", store_.instance().deliveries.start_orchestration(instance, &key_)) &&
           fine("commit", store_.batch().commit());
  }

  bool load(History& history) {
    Loader loader(history);
    return fine("read_history", store_.instance().history.read_history(key_, 1, 0, loader));
  }

  // An earlier boot may have been cut, but only between two turns.
  bool turns_done(std::size_t* done) {
    History history(pool_);
    if (!load(history)) return false;
    const std::string is = test::facts(history, 1, number_of);
    std::string waiting;
    if (!history.ended() && !read_waiting(&waiting)) return false;
    std::string must;
    for (*done = 0; *done <= scenario_.turns.size(); ++*done) {
      if (*done > 0) must += scenario_.turns[*done - 1].events;
      const char* const waits = *done > 0 ? scenario_.turns[*done - 1].waiting : "";
      if (is == must && (history.ended() || waiting == waits)) return true;
    }
    return wrong("not a whole number of turns", is + waiting);
  }

  bool fetch(OrchestrationItem* item) {
    Arena arena(for_messages, sizeof(for_messages));
    return fine("fetch", store_.instance().history.fetch_orchestration_item(
                             key_, store_.place().pawl_now(), {kMessagesMax}, arena, item));
  }
  bool read_waiting(std::string* waiting) {
    BatchInfo info;
    OrchestrationItem item;
    if (!fine("begin", store_.batch().begin(0, &info)) || !fetch(&item)) return false;
    for (std::size_t i = 0; i < item.waiting_count; ++i)
      *waiting += item.messages[i].payload;
    return fine("commit", store_.batch().commit());
  }

  // Sends the messages of clients; results of activities and timers arrive with the turn.
  bool send(const std::vector<Message>& messages) {
    for (const Message& message : messages) {
      bool room = true;
      Status status = Status::kOk;
      if (message.kind == MessageKind::kCancel)
        status = store_.instance().deliveries.cancel_instance(scenario_.name, message.payload);
      if (message.id != 0) {
        const std::string number = std::to_string(message.id);
        NewMessage posted;
        posted.id = scenario_.name;
        posted.kind = message.kind;
        posted.name = message.name;
        posted.payload = number;
        posted.count_max = kMessagesMax;
        posted.bytes_max = 1024;
        SentOffer offer;
        status = message.kind == MessageKind::kOffer
                     ? store_.instance().deliveries.offer_event(posted, &room, &offer)
                     : store_.instance().deliveries.send_message(posted, &room);
      }
      if (!room || !fine("send", status)) return false;
    }
    return true;
  }

  // Waiting messages first, then the turn's in the scenario's order; stored ones keep their stored
  // form.
  static std::vector<Message> in_order(const OrchestrationItem& item,
                                       const std::vector<Message>& wanted) {
    std::vector<Message> all(item.messages, item.messages + item.waiting_count);
    for (const Message& message : wanted) {
      const Message* stored = nullptr;
      for (std::size_t i = item.waiting_count; i < item.message_count; ++i) {
        const Message& one = item.messages[i];
        const bool same = message.id == 0 || number_in(one.payload) == message.id;
        if (one.kind == message.kind && same) stored = &one;
      }
      all.push_back(stored == nullptr ? message : *stored);
    }
    return all;
  }

  // One transaction: messages come, the turn takes them, and its events are stored.
  bool turn(const ScenarioTurn& turn, bool is_first) {
    BatchInfo info;
    OrchestrationItem item;
    History history(pool_);
    if (!load(history)) return false;
    const std::vector<Message> wanted = test::messages_of(history, turn.messages);
    if (!fine("begin", store_.batch().begin(0, &info)) || !send(wanted) || !fetch(&item))
      return false;
    const std::vector<Message> messages = in_order(item, wanted);
    TurnInput input;
    input.code = test::run_program;
    input.instance_id = scenario_.name;
    input.orchestration_name = "flow";
    input.version = "1.0";
    input.stamp_ms = info.stamp_ms;
    input.verify = true;
    input.messages = messages.data();
    input.message_count = messages.size();
    Diagnostic why;
    const TurnResult result = engine_.run_turn(history, input, why);
    if (result.status != Status::kOk) return wrong("turn", std::string(why.text()));
    return store(history, item, result, messages, is_first) &&
           compare(turn, history, result, messages);
  }

  bool store(const History& history, const OrchestrationItem& item, const TurnResult& result,
             const std::vector<Message>& messages, bool is_first) {
    std::vector<MessageId> taken;
    for (const Message& message : messages) {
      const MessageId* const kept_end = result.kept + result.kept_count;
      if (message.id != 0 && std::find(result.kept, kept_end, message.id) == kept_end)
        taken.push_back(message.id);
    }
    const HistoryEvents events(history);
    TurnCommit commit;
    commit.key = key_;
    commit.id = scenario_.name;
    commit.revision = item.revision;
    commit.execution = item.execution;
    commit.messages = {taken.data(), taken.size()};
    commit.kept = {result.kept, result.kept_count};
    commit.given_back = {result.given_back, result.given_back_count};
    commit.events = &events;
    commit.first_new = result.first_new;
    commit.last_new = history.last_id();
    if (is_first) commit.begun.behaviour = Engine::kBehaviour;
    if (history.ended()) {
      commit.end = history.event(history.end_id()).end;
      commit.output = history.event(history.end_id()).payload;
    }
    return fine("ack", store_.instance().turns.ack_orchestration_item(commit)) &&
           fine("commit", store_.batch().commit());
  }

  bool compare(const ScenarioTurn& turn, const History& history, const TurnResult& result,
               const std::vector<Message>& messages) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < result.given_back_count; ++i)
      numbers.push_back(number_in(result.given_back[i].payload));
    for (const Message& message : messages)
      for (std::size_t i = 0; i < result.kept_count; ++i)
        if (message.id == result.kept[i]) numbers.push_back(number_in(message.payload));
    std::sort(numbers.begin(), numbers.end());
    std::string waiting;
    for (const std::int64_t number : numbers)
      waiting += std::to_string(number);
    const std::string events = test::facts(history, result.first_new, number_of);
    if (events != turn.events) return wrong(turn.messages, events);
    if (waiting != turn.waiting) return wrong("waiting", waiting);
    if (result.passes != turn.passes) return wrong("passes", std::to_string(result.passes));
    return result.withdrawn == turn.withdrawn ||
           wrong("withdrawn", std::to_string(result.withdrawn));
  }

  Store& store_;
  Engine& engine_;
  BuddyPool& pool_;
  const Scenario& scenario_;
  const test::Program program_;
  InstanceKey key_ = 0;
};

bool run_all(Store& store) {
  BuddyPool pool(for_histories, sizeof(for_histories));
  Arena arena(for_engine, sizeof(for_engine));
  EngineLimits limits;
  limits.payload_bytes_max = 1024;
  Engine engine(arena, limits);
  if (!engine.ready()) {
    qemu::say("the engine needs more than %zu bytes", sizeof(for_engine));
    return false;
  }
  // The storage's clock runs from the first batch on.
  BatchInfo info;
  if (store.batch().begin(0, &info) != Status::kOk || store.batch().commit() != Status::kOk)
    return false;
  std::size_t failures = 0;
  for (const Scenario& scenario : test::scenarios()) {
    if (!Run(store, engine, pool, scenario).go()) {
      ++failures;
      store.batch().rollback();
    }
  }
  qemu::say("%zu scenarios, %zu failures", test::scenarios().size(), failures);
  return failures == 0;
}

}  // namespace
}  // namespace pawl::metal_test

int main() {
  using namespace pawl;
  ProcessOptions of_process = ProcessOptions::smallest();
  of_process.sqlite_memory = SqliteMemory::kOwn;
  if (!metal_test::start_board(of_process)) return 1;
  alignas(StoreFactory::kAlign) static unsigned char place[40 * 1024];
  if (sizeof(place) < StoreFactory::engine_of(nullptr).bytes) {
    qemu::say("a storage takes %zu bytes", StoreFactory::engine_of(nullptr).bytes);
    return 1;
  }
  Store* const store = StoreFactory::engine_of(nullptr).make(place);
  StoreOptions options;
  options.path = "pawl.db";
  options.cache_pages = 16;
  options.statement_bytes = of_process.statement_bytes;
  options.checkpoint_pages = 40;
  Diagnostic why;
  const port::Port port = metal_test::board_port();
  if (store->open(options, port, why) != Status::kOk) {
    qemu::say("open: %.*s", PAWL_TEXT(why.text()));
    return 1;
  }
  bool passed = metal_test::run_all(*store);
  store->close();
  StoreFactory::engine_of(nullptr).destroy(store);
  passed = metal_test::report() && passed;
  if (passed) qemu::say("replay: every scenario as it must be");
  return passed ? 0 : 1;
}
