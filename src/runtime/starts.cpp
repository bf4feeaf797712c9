// Starts of the Runtime's own thread: the instance and its first turn in one commit.
//
// Nothing is stored before the turn has run, so a process that dies in it leaves nothing behind: nobody
// was told that the start was accepted, and no activity of it was handed over. Only a crash cannot be
// charged to a row that is not there; the note of it makes all workers store starts first for an hour,
// and what then crashes again is charged (docs/performance.md).
#include "check.hpp"
#include "client_core.hpp"
#include "runtime_core.hpp"

namespace pawl {

// For as many of the requests that the batch will take as there is memory for. One that has no turn here
// is stored as a message, as other starts are.
void RuntimeCore::collect_starts(Turn* turns, std::size_t capacity, std::size_t* count) {
  if (loop_.overslept || loop_.agenda.wants(Job::kRegister) || loop_.draining ||
      !loop_.options.run_orchestrations || loop_.single_item_batches_left > 0 ||
      loop_.batch.starts_apart)
    return;
  loop_.now = loop_.provider->pawl_now();
  std::size_t found = 0;
  for (std::size_t i = 0; i < requests_.size() && i < loop_.options.batch && found < capacity;
       ++i) {
    const Request& request = requests_.at(i);
    // Those behind it are taken when it is done, however many ticks that needs.
    if (request.kind == Request::Kind::kDelete || request.kind == Request::Kind::kPrune) break;
    if (request.kind != Request::Kind::kStart) continue;
    Turn& turn = turns[found];
    turn = Turn();
    turn.request = i;
    const Arena::Mark mark = loop_.arena.mark();
    if (prepare_start(request, &turn)) {
      ++found;
    } else {
      loop_.arena.rewind(mark);
    }
  }
  *count += found;
}

bool RuntimeCore::prepare_start(const Request& request, Turn* turn) {
  // What it may need to run must be left for those before it.
  if (loop_.arena.capacity() - loop_.arena.used() < loop_.arena.capacity() / 2) return false;
  if (loop_.registry.find_orchestration(request.name, request.version) == nullptr ||
      !is_unknown(request.id))
    return false;
  auto* const item = loop_.arena.make<OrchestrationItem>();
  Message* const start = loop_.arena.make<Message>();
  if (item == nullptr || start == nullptr) return false;
  // Stands for the key of the row in the warm cache.
  turn->key = -1 - static_cast<InstanceKey>(turn->request);
  turn->is_start = true;
  turn->item = item;
  item->key = turn->key;
  item->execution = 1;
  if (item->id.assign(request.id) != Status::kOk ||
      item->name.assign(request.name) != Status::kOk ||
      item->version.assign(request.version) != Status::kOk)
    return false;
  start->kind = MessageKind::kStart;
  start->execution = 1;
  start->name = request.name;
  start->payload = request.text;
  item->messages = start;
  item->message_count = 1;
  turn->warm = warm_.pin(turn->key);
  if (turn->warm == nullptr) return false;
  turn->warm->history.clear();
  turn->warm->execution = item->execution;
  turn->warm->revision = item->revision;
  turn->before = turn->warm->history.mark();
  turn->verdict = Turn::Verdict::kCommit;
  return true;
}

// Looked at again in the batch; but an instance that is known may be one that crashes.
bool RuntimeCore::is_unknown(std::string_view instance_id) {
  InstanceStatus row;
  return loop_.provider->read_status(instance_id, &row, parts_.status_buffer,
                                     status_buffer_bytes(loop_.options.payload_bytes_max)) ==
         Status::kNotFound;
}

// A turn that cannot be committed is forgotten: it is run again once its start is stored.
Status RuntimeCore::write_start(const Request& request, Turn* turn) {
  NewInstance instance;
  instance.id = request.id;
  instance.name = request.name;
  instance.version = request.version;
  instance.input = request.text;
  instance.with_turn = turn != nullptr && turn->verdict == Turn::Verdict::kCommit;
  InstanceKey key = 0;
  const Status created = loop_.provider->create_instance(instance, &key);
  if (turn == nullptr) return created;
  if (created != Status::kOk || !instance.with_turn) {
    turn->verdict = Turn::Verdict::kSkip;
    return created;
  }
  turn->key = key;
  turn->item->key = key;
  turn->commit.key = key;
  return created;
}

}  // namespace pawl
