// The agent: a program of its own that knows nothing of Pawl. A real one would be a model or an
// assistant. This one counts words and remembers what was said first, which shows whether it has
// forgotten.
#ifndef CONVERSATION_TALKER_HPP
#define CONVERSATION_TALKER_HPP

namespace conversation {

// Answers lines until its input ends: load MEMORY -> ready TURNS; say NUMBER TEXT -> answer TEXT;
// dump -> memory MEMORY; otherwise: error TEXT.
int run_talker();

}  // namespace conversation

#endif  // CONVERSATION_TALKER_HPP
