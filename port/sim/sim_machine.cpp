#include "port/sim/sim_machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace pawl::sim {

File::~File() {
  for (const Region& region : regions)
    ::close(region.fd);
}

// splitmix64: the whole state is one number, so a seed replays a run.
std::uint64_t MachineImpl::next_random() {
  random_state += 0x9E3779B97F4A7C15u;
  std::uint64_t mixed = (random_state ^ (random_state >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

void MachineImpl::new_boot_id() {
  for (std::uint8_t& byte : boot_id.bytes)
    byte = static_cast<std::uint8_t>(next_random());
}

Status MachineImpl::fault() {
  if (fails_in == 0) return Status::kOk;
  if (fails_in > 1) {
    --fails_in;
    return Status::kOk;
  }
  if (!fails_for_ever) fails_in = 0;
  return failure;
}

std::int64_t MachineImpl::stored_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, file] : files)
    bytes += file->data.size();
  return static_cast<std::int64_t>(bytes);
}

void MachineImpl::remember_unsynced(File& file, Unsynced what) const {
  if (!power_cut_losses) return;
  if (file.unsynced.empty()) file.durable = file.data;
  file.unsynced.push_back(std::move(what));
}

// Each write that was not synced is kept, lost, or cut at a sector, independently of the others: a
// disk promises no order between syncs.
void MachineImpl::lose_unsynced(File& file) {
  constexpr std::size_t kSectorBytes = 512;
  if (file.unsynced.empty()) return;
  file.data = std::move(file.durable);
  for (const Unsynced& one : file.unsynced) {
    const std::uint64_t fate = next_random() % 3;
    if (fate == 0) continue;
    const auto at = static_cast<std::size_t>(one.offset);
    if (one.truncates) {
      if (at < file.data.size()) file.data.resize(at);
      continue;
    }
    std::size_t kept = one.bytes.size();
    if (fate == 1) {
      kept = static_cast<std::size_t>(next_random() % (kept / kSectorBytes + 1)) * kSectorBytes;
    }
    if (kept == 0) continue;
    if (file.data.size() < at + kept) file.data.resize(at + kept);
    std::memcpy(file.data.data() + at, one.bytes.data(), kept);
  }
  file.unsynced.clear();
  file.durable.clear();
}

void MachineImpl::file_changed(const std::string& path) {
  for (NodeImpl* node : nodes)
    node->threads.file_changed(path);
}

void MachineImpl::clock_changed() {
  for (NodeImpl* node : nodes)
    node->threads.clock_changed();
}

Machine::Machine(std::uint64_t seed) : impl_(new MachineImpl) {
  impl_->random_state = seed;
  impl_->new_boot_id();
}

Machine::~Machine() { delete impl_; }

void Machine::advance(std::int64_t ms) { impl_->boot_ms += ms; }

void Machine::suspend(std::int64_t ms) {
  impl_->boot_ms += ms;
  impl_->clock_changed();  // Linux cancels the timers of the wall clock on resume too
}

void Machine::set_wall(std::int64_t wall_ms) {
  impl_->wall_ahead_ms = wall_ms - impl_->boot_ms;
  impl_->clock_changed();
}

void Machine::set_synced(bool synced) { impl_->synced = synced; }
std::int64_t Machine::boot_ms() const { return impl_->boot_ms; }
std::int64_t Machine::wall_ms() const { return impl_->boot_ms + impl_->wall_ahead_ms; }

void Machine::reboot(std::int64_t off_ms, bool rtc, std::int64_t wall_without_rtc_ms) {
  const std::int64_t wall = rtc ? wall_ms() + off_ms : wall_without_rtc_ms;
  // A copy, since kill() takes the node out of the list.
  const std::vector<NodeImpl*> running = impl_->nodes;
  for (NodeImpl* node : running)
    node->kill();
  for (auto& [path, file] : impl_->files)
    impl_->lose_unsynced(*file);
  impl_->boot_ms = 0;
  impl_->wall_ahead_ms = wall;
  if (!rtc) impl_->synced = false;
  impl_->new_boot_id();
}

void Machine::set_boot_id_known(bool known) { impl_->boot_id_known = known; }

void Machine::fail_write(std::uint64_t nth, Status status, bool for_ever) {
  impl_->fails_in = status == Status::kOk ? 0 : nth;
  impl_->failure = status;
  impl_->fails_for_ever = for_ever;
}

std::uint64_t Machine::writes() const { return impl_->writes; }
std::uint64_t Machine::syncs() const { return impl_->syncs; }

Status Machine::damage(const char* path, std::int64_t offset) {
  const auto found = impl_->files.find(path);
  if (found == impl_->files.end()) return Status::kNotFound;
  std::vector<std::uint8_t>& data = found->second->data;
  if (offset < 0 || static_cast<std::uint64_t>(offset) >= data.size()) {
    return Status::kInvalidArgument;
  }
  std::uint8_t& byte = data[static_cast<std::size_t>(offset)];
  byte = static_cast<std::uint8_t>(~byte);
  return Status::kOk;
}

void Machine::set_sync_ms(std::int64_t ms) { impl_->sync_ms = ms; }
void Machine::set_disk_bytes(std::int64_t bytes) { impl_->disk_bytes = bytes; }
std::int64_t Machine::stored_bytes() const { return impl_->stored_bytes(); }
void Machine::set_power_cut_losses(bool losses) {
  impl_->power_cut_losses = losses;
  if (losses) return;
  for (auto& [path, file] : impl_->files)
    file->unsynced.clear();
}

NodeImpl::NodeImpl(MachineImpl& on)
    : machine(on), pid(on.next_pid++), start_time(on.boot_ms / 10 + 1) {
  machine.nodes.push_back(this);
}

void NodeImpl::kill() {
  if (killed) return;
  killed = true;
  auto& all = machine.nodes;
  all.erase(std::remove(all.begin(), all.end(), this), all.end());
  storage.release_all();
  for (NodeImpl* other : all)
    other->threads.process_died(pid);
}

Node::Node(Machine& machine) : impl_(new NodeImpl(*machine.impl())) {}

Node::~Node() {
  impl_->kill();
  delete impl_;
}

port::Port Node::port() {
  port::Port set;
  set.clock = &impl_->clock;
  set.storage = &impl_->storage;
  set.threads = &impl_->threads;
  set.folders = &impl_->folders;
  return set;
}

void Node::kill() { impl_->kill(); }
bool Node::killed() const { return impl_->killed; }
void Node::hold_jobs(bool hold) { impl_->jobs_held = hold; }
unsigned Node::run_jobs() { return impl_->threads.run_jobs(); }
void Node::set_readable(int fd, bool is_readable) { impl_->threads.set_readable(fd, is_readable); }
std::uint64_t Node::sleeps() const { return impl_->sleeps; }
void Node::set_locks_testable(bool testable) { impl_->locks_testable = testable; }

std::int64_t NodeClock::boot_ms() { return node_.machine.boot_ms; }
std::int64_t NodeClock::wall_ms() { return node_.machine.boot_ms + node_.machine.wall_ahead_ms; }
bool NodeClock::synced() { return node_.machine.synced; }

port::BootId NodeClock::boot_id() {
  port::BootId id;
  if (!node_.machine.boot_id_known) return id;
  id = node_.machine.boot_id;
  id.known = true;
  return id;
}

void NodeClock::random(void* out, std::size_t size) {
  auto* bytes = static_cast<std::uint8_t*>(out);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(node_.machine.next_random());
  }
}

}  // namespace pawl::sim
