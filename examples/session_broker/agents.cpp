#include "agents.hpp"

#include <fstream>
#include <sstream>
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
  std::string summary;
  std::getline(std::ifstream("summary"), summary);
  std::vector<std::string> transcript;
  {
    std::ifstream file(kTranscript);
    for (std::string line; std::getline(file, line);)
      transcript.push_back(line);
  }
  for (std::string line; example::read_line(&line);) {
    std::istringstream in(line);
    std::string command;
    std::size_t number = 0;
    in >> command >> number;
    in.get();
    std::string text;
    std::getline(in, text);
    if (command == "summary") {
      example::write_line(std::to_string(transcript.size()) + " messages, the last: " +
                          (transcript.empty() ? "none" : transcript.back()));
    } else if (command == "prompt" && number > 0) {
      if (number > transcript.size()) {
        transcript.push_back(text);
        std::ofstream(kTranscript, std::ios::app) << text << std::endl;
      }
      example::write_line(answer(kind, number, summary, text));
    } else {
      example::write_line("I do not understand.");
    }
  }
  return 0;
}

}  // namespace session_broker
