#include "agents.hpp"

#include <fstream>
#include <vector>

#include "agent.hpp"

namespace session_broker {
namespace {

constexpr char kTranscript[] = "transcript";

std::string answer(const std::string& kind, std::size_t number, const std::string& summary,
                   const std::string& text) {
  const std::string said = kind == "poet"
                               ? text + ", " + text + "! (verse " + std::to_string(number) + ")"
                               : std::to_string(number) + ". " + text;
  return summary.empty() ? said : said + " [knows: " + summary + "]";
}

}  // namespace

int run_agent(const std::string& kind) {
  std::vector<std::string> transcript;
  {
    std::ifstream file(kTranscript);
    for (std::string line; std::getline(file, line);)
      transcript.push_back(line);
  }
  for (std::string line; example::read_line(&line);) {
    if (line == "summary") {
      example::write_line(std::to_string(transcript.size()) + " messages, the last: " +
                          (transcript.empty() ? "none" : transcript.back()));
      continue;
    }
    const std::size_t space = line.find(' ');
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first + 1);
    if (line.compare(0, space, "prompt") != 0 || second == std::string::npos) {
      example::write_line("I do not understand.");
      continue;
    }
    const std::size_t number = std::strtoul(line.c_str() + space, nullptr, 10);
    const std::string text = line.substr(second + 1);
    if (number > transcript.size()) {
      transcript.push_back(text);
      std::ofstream(kTranscript, std::ios::app) << text << std::endl;
    }
    example::write_line(answer(kind, number, line.substr(first + 1, second - first - 1), text));
  }
  return 0;
}

}  // namespace session_broker
