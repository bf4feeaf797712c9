#include "talker.hpp"

#include <sstream>
#include <string>

#include "agent.hpp"

namespace conversation {
namespace {

struct Memory {
  long turns = 0;
  long words = 0;
  std::string first;  // the first text that was said

  [[nodiscard]] std::string text() const {
    return std::to_string(turns) + " " + std::to_string(words) + " " + first;
  }
  bool load(const std::string& text) {
    *this = Memory();
    if (text.empty()) return true;
    std::istringstream in(text);
    if (!(in >> turns >> words)) return false;
    in.get();
    std::getline(in, first);
    return true;
  }
  void say(const std::string& text) {
    if (++turns == 1) first = text;
    std::istringstream in(text);
    for (std::string word; in >> word;)
      ++words;
  }
};

std::string say(Memory& memory, std::istringstream& in, std::string& last) {
  long number = 0;
  std::string text;
  in >> number;
  in.get();
  std::getline(in, text);
  if (number == memory.turns && !last.empty()) return last;  // the turn was said before
  if (number != memory.turns + 1) return "error at turn " + std::to_string(memory.turns);
  memory.say(text);
  last = "answer turn " + std::to_string(memory.turns) + ", " + std::to_string(memory.words) +
         " words since \"" + memory.first + "\"";
  return last;
}

}  // namespace

int run_talker() {
  Memory memory;
  std::string last;
  for (std::string line; example::read_line(&line);) {
    std::istringstream in(line);
    std::string command;
    std::string rest;
    in >> command;
    if (command == "say") {
      example::write_line(say(memory, in, last));
    } else if (command == "dump") {
      example::write_line("memory " + memory.text());
    } else if (command == "load") {
      in.get();
      std::getline(in, rest);
      example::write_line(memory.load(rest) ? "ready " + std::to_string(memory.turns)
                                            : "error not a memory");
    } else {
      example::write_line("error unknown command");
    }
  }
  return 0;
}

}  // namespace conversation
