#include "replay/trace_log.hpp"

#include <cstring>

#include "replay/run.hpp"

namespace pawl {

void TraceLog::clear() {
  count = 0;
  text_size = 0;
  lost = 0;
}

void TraceLog::add(LogLevel level, std::string_view text, Origin origin) {
  const std::string_view kept = cut_text(text, kTextBytesMax);
  if (count == capacity || kept.size() > text_capacity - text_size) {
    ++lost;
    return;
  }
  if (!kept.empty()) std::memcpy(texts + text_size, kept.data(), kept.size());
  origins[count] = origin;
  traces[count++] = {level, {texts + text_size, kept.size()}};
  text_size += kept.size();
}

void TraceLog::withdraw() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (origins[i].position <= origins[i].branch->effective) traces[kept++] = traces[i];
  count = kept;
}

}  // namespace pawl
