#include "parts/endpoint/places.hpp"

#include <new>

namespace pawl::http {

Status Places::start(std::uint32_t count) {
  places_.reset(new (std::nothrow) ConnectionPlace[count]);
  count_ = places_ == nullptr ? 0 : count;
  return places_ == nullptr ? Status::kResourceExhausted : Status::kOk;
}

ConnectionPlace* Places::take(int fd, std::int64_t deadline_ms) {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (places_[i].fd >= 0) continue;
    places_[i].fd = fd;
    await_head(places_[i], deadline_ms);
    return &places_[i];
  }
  return nullptr;
}

void Places::await_head(ConnectionPlace& place, std::int64_t deadline_ms) {
  place.standing = Standing::kNoHead;
  place.number = heads_++;
  place.deadline_ms = deadline_ms;
}

const ConnectionPlace* Places::admit(ConnectionPlace& place, Standing standing,
                                     std::int64_t deadline_ms) {
  const bool too_many = standing == Standing::kNoToken && taken(standing) >= share();
  const ConnectionPlace* const goes = too_many ? oldest(standing) : nullptr;
  place.standing = standing;
  place.deadline_ms = deadline_ms;
  return goes;
}

std::uint32_t Places::taken(Standing standing) const {
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < count_; ++i)
    if (places_[i].fd >= 0 && places_[i].standing == standing) ++found;
  return found;
}

bool Places::has_room() const {
  bool has_free = false;
  for (std::uint32_t i = 0; i < count_; ++i)
    has_free = has_free || places_[i].fd < 0;
  return has_free && taken(Standing::kNoHead) < share();
}

const ConnectionPlace* Places::oldest(Standing standing) const {
  const ConnectionPlace* found = nullptr;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const ConnectionPlace& one = places_[i];
    if (one.fd < 0 || one.standing != standing) continue;
    if (found == nullptr || one.number < found->number) found = &one;
  }
  return found;
}

const ConnectionPlace* Places::weakest() const {
  for (const Standing standing : {Standing::kNoHead, Standing::kNoToken, Standing::kProbe})
    if (const ConnectionPlace* const found = oldest(standing)) return found;
  return nullptr;
}

OptionalMs Places::next_deadline() const {
  OptionalMs next;
  for (std::uint32_t i = 0; i < count_; ++i)
    if (places_[i].fd >= 0) next.keep_earlier(places_[i].deadline_ms);
  return next;
}

}  // namespace pawl::http
