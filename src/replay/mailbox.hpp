// Mailbox: the messages of one turn that no wait has received yet.
//
// Purpose: holds raised events, offers and queue messages, in order of their numbers, from the
// turn's input and from deliveries that were given back. Ownership: storage from an Arena; texts
// belong to the input or to the history. Thread rule: the Runtime's thread.
#ifndef PAWL_REPLAY_MAILBOX_HPP
#define PAWL_REPLAY_MAILBOX_HPP

#include <cstddef>
#include <cstdint>

#include "replay/history.hpp"

namespace pawl {

class Mailbox {
 public:
  struct Entry {
    Message message;
    bool is_stored = false;   // a row of the input; else history gave it back
    bool is_waiting = false;  // not delivered
  };

  void attach(Entry* entries, Message* given_back, MessageId* kept, std::size_t capacity);
  void clear();
  // False: full.
  [[nodiscard]] bool add(const Message& message, bool is_stored);
  // Takes the message of a void delivery back: it waits again. False: full. Messages of earlier
  // turns may take half of the room, so that those stored afterwards never exceed all of it.
  [[nodiscard]] bool give_back(const Event& wait, const Event& delivery);
  // Delivers each waiting message, the oldest first, to the oldest open wait of its kind and name.
  Status deliver(History& history, std::int64_t stamp_ms, std::uint32_t events_max,
                 Diagnostic& diagnostic, std::uint32_t* delivered);
  // Answers each try that got no message with a recorded "none".
  static Status answer_tries(History& history, std::int64_t stamp_ms, std::uint32_t events_max,
                             Diagnostic& diagnostic, std::uint32_t* answered);
  // Sorts what is left at the end of the turn. Returns how many messages are dropped: offers, and
  // events unless `keeps_events`; none if the turn goes on (`is_cut`).
  std::uint32_t settle(bool is_cut, bool keeps_events);

  [[nodiscard]] const Message* given_back() const { return given_back_; }
  [[nodiscard]] std::size_t given_back_count() const { return given_back_count_; }
  [[nodiscard]] const MessageId* kept() const { return kept_; }
  [[nodiscard]] std::size_t kept_count() const { return kept_count_; }

 private:
  Entry* entries_ = nullptr;  // in the order of their numbers
  Message* given_back_ = nullptr;
  MessageId* kept_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
  std::size_t old_count_ = 0;  // how many of them were given back from earlier turns
  std::size_t given_back_count_ = 0;
  std::size_t kept_count_ = 0;
};

}  // namespace pawl

#endif  // PAWL_REPLAY_MAILBOX_HPP
