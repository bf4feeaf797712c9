// The agent: a program of its own that knows nothing of Pawl. A real one would be a model or
// an assistant; this one counts words, remembers what was said first, and so shows whether
// it has forgotten.
#ifndef CONVERSATION_TALKER_HPP
#define CONVERSATION_TALKER_HPP

namespace conversation {

// load MEMORY -> ready TURNS; say NUMBER TEXT -> answer TEXT; dump -> memory MEMORY; else: error
// TEXT. Until its input ends.
int run_talker();

}  // namespace conversation

#endif  // CONVERSATION_TALKER_HPP
