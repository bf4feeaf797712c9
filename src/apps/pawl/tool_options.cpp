// Options whose values people write: durations, sizes, times, choices, payloads.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "apps/common/message.hpp"
#include "apps/pawl/tool.hpp"
#include "apps/pawl/units.hpp"

namespace pawl::tool {
namespace {

constexpr std::size_t kPayloadBytesMax = 1024 * 1024;  // the largest in any database

using Parse = std::optional<std::int64_t> (*)(std::string_view);

CLI::Option* add_parsed(CLI::App* app, const std::string& name, Parse parse, const char* form,
                        std::optional<std::int64_t>* out, const std::string& help) {
  return app->add_option_function<std::string>(
      name,
      [parse, form, name, out](const std::string& text) {
        *out = parse(text);
        if (!out->has_value()) throw CLI::ValidationError(name, "\"" + text + "\" is not " + form);
      },
      help);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words)
    all.append(all.empty() ? "" : ", ").append(word);
  return all;
}

std::string read_all(std::FILE* file, const std::string& name) {
  std::string text;
  char piece[4096];
  std::size_t size = 0;
  while (text.size() <= kPayloadBytesMax && (size = std::fread(piece, 1, sizeof piece, file)) > 0)
    text.append(piece, size);
  if (std::ferror(file) != 0) fail(kFailed, status_name(Status::kIo), "cannot read " + name);
  if (text.size() > kPayloadBytesMax)
    fail(kFailed, status_name(Status::kResourceExhausted),
         name + " has more than " + std::to_string(kPayloadBytesMax) + " bytes");
  return text;
}

}  // namespace

CLI::Option* add_duration(CLI::App* app, const std::string& name, std::optional<std::int64_t>* ms,
                          const std::string& help) {
  return add_parsed(app, name, parse_duration_ms, "a duration, as 90s, 15m, 2h or 1d", ms, help)
      ->type_name("DURATION");
}

CLI::Option* add_size(CLI::App* app, const std::string& name, std::optional<std::int64_t>* bytes,
                      const std::string& help) {
  return add_parsed(app, name, parse_size, "a size, as 4096, 64K, 64M or 10TB", bytes, help)
      ->type_name("SIZE");
}

CLI::Option* add_count(CLI::App* app, const std::string& name, std::optional<std::int64_t>* count,
                       const std::string& help) {
  return add_parsed(app, name, parse_number, "a number of 0 or more", count, help)->type_name("N");
}

CLI::Option* add_time(CLI::App* app, const std::string& name, std::int64_t now_ms, std::int64_t* ms,
                      const std::string& help) {
  return app
      ->add_option_function<std::string>(
          name,
          [name, now_ms, ms](const std::string& text) {
            const auto parsed = parse_time_ms(text, now_ms);
            if (!parsed.has_value())
              throw CLI::ValidationError(
                  name, "\"" + text +
                            "\" is not a time, as 2026-11-23, 2026-11-23T10:00, that with a Z for "
                            "UTC, 7d for so long ago, or ms since 1970");
            *ms = *parsed;
          },
          help)
      ->type_name("TIME");
}

CLI::Option* add_choice(CLI::App* app, const std::string& name,
                        const std::vector<std::string>& words, std::optional<std::size_t>* index,
                        const std::string& help) {
  const std::string all = joined(words);
  const auto choose = [name, all, index, words](const std::string& text) {
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) {
      const auto meant = programs::nearest(text, words);
      throw CLI::ValidationError(
          name, "\"" + text + "\" is none of " + all +
                    (meant.has_value() ? "; did you mean " + *meant + "?" : std::string()));
    }
    *index = static_cast<std::size_t>(found - words.begin());
  };
  return app->add_option_function<std::string>(name, choose, help + ": " + all)->type_name("WORD");
}

CLI::Option* add_payload(CLI::App* app, const std::string& name, std::string* text,
                         const std::string& help) {
  return app->add_option(name, *text, help + "; @FILE, or - for the standard input")
      ->type_name("TEXT");
}

std::string read_payload(const std::string& given) {
  if (given == "-") return read_all(stdin, "the standard input");
  if (given.empty() || given[0] != '@') return given;
  if (given.size() > 1 && given[1] == '@') return given.substr(1);
  const std::string path = given.substr(1);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) fail(kNotFound, status_name(Status::kCannotOpen), "cannot open " + path);
  return read_all(file.get(), path);
}

}  // namespace pawl::tool
