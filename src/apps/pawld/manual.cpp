#include "apps/pawld/manual.hpp"

#include <algorithm>
#include <string_view>

namespace pawld {
namespace {

struct Use {
  std::string_view option;  // empty: none
  bool takes_file;
  std::string_view does;  // for --help
  std::string_view more;  // for the manual page, after `does`
};

constexpr Use kUses[] = {
    {"", true, "works until SIGTERM",
     "Programs that run then may finish until limits.stop of the configuration; what was not done "
     "runs again with the next start."},
    {"--check-config", true, "says what is wrong in the configuration",
     "One line for each problem, with file, line and column."},
    {"--replay-check", true, "says whether what is in flight can go on with it",
     "One line for each no-go. Writes nothing, and may run beside a pawld that works."},
    {"--help", false, "says this", ""},
    {"--version", false, "says which version this is", ""},
};

struct Code {
  std::string_view code;
  std::string_view means;
};

constexpr Code kCodes[] = {{"0", "stopped in order, good, go"},
                           {"1", "failed, no-go"},
                           {"2", "wrong use, not checked"},
                           {"78", "wrong configuration"}};

std::string words_of(const Use& use) {
  std::string words(use.option);
  if (use.takes_file) words.append(words.empty() ? "[FILE]" : " [FILE]");
  return words;
}

// In roff a minus is a hyphen, and a dot at the beginning of a line is a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && out.empty()) out.append("\\&");
    if (c == '\\')
      out.append("\\e");
    else if (c == '-')
      out.append("\\-");
    else
      out.push_back(c);
  }
  return out;
}

std::string tagged(std::string_view tag, std::string_view text) {
  return ".TP\n.B " + roff(tag) + "\n" + roff(text) + "\n";
}

std::string option_sections() {
  std::string page = ".SH OPTIONS\n";
  for (const Use& use : kUses) {
    std::string text(use.does);
    text.append(use.more.empty() ? "." : ". ").append(use.more);
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
    page += tagged(words_of(use), text);
  }
  page +=
      ".PP\n" + roff("FILE is the configuration, ") + roff(kDefaultFile) + " if it is not given.\n";
  page += ".SH EXIT STATUS\n";
  for (const Code& code : kCodes)
    page += tagged(code.code, code.means);
  return page;
}

std::string machine_sections() {
  std::string page = ".SH SIGNALS\n";
  page += tagged("SIGTERM, SIGINT", "Stop in order. A second one of a kind ends the process.");
  page += tagged("SIGHUP",
                 "Checks the file and logs what is wrong. A new one counts from the next start.");
  page += ".SH FILES\n";
  page += tagged(kDefaultFile, "The configuration.");
  page += tagged("/var/lib/pawl", "Of the service: its databases.");
  page += tagged("/usr/share/doc/pawl/examples/pawld/gateway.json", "A sample to begin with.");
  page += ".SH ENVIRONMENT\n";
  page += tagged("NOTIFY_SOCKET, WATCHDOG_USEC",
                 "As systemd sets them: it is said when pawld is ready, and at half of that time "
                 "that it is alive.");
  return page;
}

}  // namespace

std::string help_text() {
  std::string text;
  std::size_t widest = 0;
  for (const Use& use : kUses)
    widest = std::max(widest, words_of(use).size());
  for (const Use& use : kUses) {
    std::string words = words_of(use);
    words.resize(widest + 2, ' ');
    text.append("pawld ").append(words).append(use.does).append("\n");
  }
  text.append("\nFILE is the configuration, ").append(kDefaultFile);
  text.append(" if it is not given.\nExit code:");
  for (const Code& code : kCodes)
    text.append(code.code == kCodes[0].code ? " " : "; ")
        .append(code.code)
        .append(" ")
        .append(code.means);
  return text + "\n";
}

std::string manual_page() {
  return ".TH PAWLD 8 \"\" \"Pawl\" \"System Administration\"\n"
         ".SH NAME\npawld \\- runs programs and orchestrations from one file, over crashes\n"
         ".SH SYNOPSIS\n.B pawld\n[\\fIOPTION\\fR] [\\fIFILE\\fR]\n"
         ".SH DESCRIPTION\n"
         "Activities are programs, orchestrations (sequence, fan\\-out, watch\\-and\\-alarm, "
         "schedule) are data in one JSON file, and their state is one SQLite database, so what "
         "was under way goes on after a crash or a power cut.\n" +
         option_sections() + machine_sections() +
         ".SH SEE ALSO\n.BR pawl (1)\n.PP\nThe page docs/pawld.md of the documentation has the "
         "members of the configuration.\n";
}

}  // namespace pawld
