// Notices: reports of one batch. They are kept while the batch is written, then logged and counted
// after its commit. Notices beyond the room for them are counted as lost. Thread rule: the loop's
// thread.
#ifndef PAWL_RUNTIME_NOTICES_HPP
#define PAWL_RUNTIME_NOTICES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "core/text.hpp"
#include "core/vector.hpp"
#include "core/version.hpp"
#include "runtime/loop_context.hpp"

namespace pawl {

// The kinds of notices.
namespace notice {

// Texts are views into Memory::texts.
struct OfSession {
  SessionChange::Kind kind = SessionChange::Kind::kClaimed;
  SessionChange::Eviction eviction = SessionChange::Eviction::kNone;
  bool resumed = false;
  bool used = false;  // work of the session was handed over in the same commit
  SessionKey key = 0;
  Epoch epoch = 0;
  std::int64_t age_ms = 0;
  std::int64_t activities = 0;
  std::int64_t idle_ms = 0;
  std::string_view session;
  std::string_view opened_by;  // id of an instance
  std::string_view from;
  std::string_view to;
  std::string_view owner_label;
  std::string_view label_kind;
  std::string_view reason;
};
struct Poisoned {
  InstanceKey instance = 0;
  EventId event = 0;
  std::string_view text;
};
struct UnregisteredActivity {
  InstanceKey instance = 0;
  EventId event = 0;
  std::string_view name;
  std::string_view tag;
};
struct UnregisteredOrchestration {
  InstanceKey instance = 0;
  std::int64_t behaviour = 0;
  std::string_view name;
  std::string_view version;
};
struct DamagedRow {
  std::int64_t key = 0;
  std::string_view table;
  std::string_view instance;
  std::string_view text;
};

}  // namespace notice

class Notices final : public ChangeSink {
 public:
  // Room for the notices of one batch, and their texts.
  struct Memory;

  Notices(LoopContext& loop, Memory& memory) : loop_(loop), memory_(memory) {}

  void begin();
  void committed();

  // After the commit of a renewal: logs the unregistered orchestrations that no other worker has
  // begun meanwhile.
  void look_at_unregistered();

  // Did the batch at hand end a session, or may it have?
  [[nodiscard]] bool has_ended_sessions() const;
  // May activities in hand have lost their session in the batch at hand?
  [[nodiscard]] bool has_lost_sessions() const;
  // The name of a session that the batch at hand reports about; empty: it reports nothing about it.
  [[nodiscard]] std::string_view session_of(SessionKey key) const;

  void on_session_change(const SessionChange& change) override;
  void on_poison(InstanceKey instance, EventId event, std::string_view why) override;
  void on_unregistered(std::string_view activity, std::string_view tag, InstanceKey instance,
                       EventId event) override;
  void on_refused(const RefusedCommand& refusal) override;
  void on_damage(RowRef row, std::string_view instance, std::string_view text) override;
  void on_unregistered_instance(std::string_view name, std::string_view version,
                                std::int64_t behaviour, InstanceKey instance) override;

 private:
  using Name = FixedText<kNameBytesMax>;
  using OfSession = notice::OfSession;
  using Poisoned = notice::Poisoned;
  using UnregisteredActivity = notice::UnregisteredActivity;
  using UnregisteredOrchestration = notice::UnregisteredOrchestration;
  using DamagedRow = notice::DamagedRow;
  static constexpr std::size_t kUnregisteredNamesMax = 64;  // each name is logged once

  using Notice = std::variant<OfSession, Poisoned, UnregisteredActivity, UnregisteredOrchestration,
                              RefusedCommand, DamagedRow>;

  // An unregistered orchestration that another living worker may have: kept over batches.
  struct Unregistered {
    InstanceKey instance = 0;
    std::int64_t behaviour = 0;
    Name name;
    FixedText<kVersionBytesMax> version;
  };

  // Keeps the notice and its texts, each cut to its limit. False: there is no room; the notice is
  // counted as lost, and no part of it is kept.
  template <typename Kind>
  bool add(const Kind& notice, std::initializer_list<std::string_view Kind::*> texts);
  // Counts the notice. False: this name was logged before, or there are too many names.
  bool is_new_name(std::string_view name, std::string_view detail);
  bool note_use(const SessionChange& use);
  void report(const OfSession& notice);
  void report(const Poisoned& notice);
  void report(const UnregisteredActivity& notice);
  void report(const UnregisteredOrchestration& notice);
  void report(const RefusedCommand& notice);
  void report(const DamagedRow& notice);
  void log_use(const OfSession& notice);
  void log_unregistered(const Unregistered& notice);
  void forget_name(std::string_view name, std::string_view detail);
  [[nodiscard]] Name id_of(InstanceKey instance) const;
  [[nodiscard]] bool has_session_change(std::initializer_list<SessionChange::Kind> kinds) const;

  LoopContext& loop_;
  Memory& memory_;
  std::size_t count_ = 0;
  std::size_t text_bytes_ = 0;
  std::uint64_t lost_ = 0;
  SessionEnds ended_;  // RuntimeStats::session_ends, with those of the batch at hand
  std::uint64_t names_[kUnregisteredNamesMax] = {};  // hashes
  std::size_t name_count_ = 0;
  std::size_t names_committed_ = 0;
  FixedVector<Unregistered, 4> unregistered_;  // other workers may have these
  std::uint64_t unregistered_met_ = 0;         // counted in the batch at hand
};

struct Notices::Memory {
  static constexpr std::size_t kTextBytesMean = 256;  // for one notice
  // The texts of one notice of the largest kind, each cut to Diagnostic::kCapacity.
  static constexpr std::size_t kTextBytesLeast = 7 * Diagnostic::kCapacity;
  Notice* notices = nullptr;
  std::size_t notices_max = 0;
  char* texts = nullptr;
  std::size_t text_bytes_max = 0;
  template <typename AnyArena>
  void allocate(AnyArena& arena, const Options& options) {
    notices_max = options.limits.notices_max;
    text_bytes_max = std::max(notices_max * kTextBytesMean, kTextBytesLeast);
    notices = arena.template array<Notice>(notices_max);
    texts = arena.buffer(text_bytes_max);
  }
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_NOTICES_HPP
