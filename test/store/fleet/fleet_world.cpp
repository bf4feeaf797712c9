#include "fleet_world.hpp"

#include <algorithm>

namespace pawl::fleet_test {

namespace {

constexpr Ms kKeepAliveMs = 120'000;  // after so long a server ends a connection that is silent
constexpr Ms kSlowAnswerMs = 8'000;
constexpr Ms kStuckMs = 10'000;
constexpr Ms kSnapshotsMs = 40'000;
constexpr std::size_t kTimersMax = 20;
// Rows. Those that ended go first, but not while a process may ask for a batch in doubt.
constexpr std::size_t kWorkersMax = 40;

bool is_exclusive(int session) { return session < kExclusive; }

}  // namespace

void Violations::add(const Violations& other) {
  overlap += other.overlap;
  twice += other.twice;
  wrong_word += other.wrong_word;
  lost += other.lost;
  early += other.early;
  fast += other.fast;
  apart += other.apart;
  back += other.back;
  reused += other.reused;
  stuck += other.stuck;
  foreign += other.foreign;
  disorder += other.disorder;
}

void Activity::add(const Activity& other) {
  batches += other.batches;
  moves += other.moves;
  failovers += other.failovers;
  doubts += other.doubts;
  segments += other.segments;
  credits += other.credits;
  timers += other.timers;
  results += other.results;
  losses_reported += other.losses_reported;
  holders_ended += other.holders_ended;
  refused_servers += other.refused_servers;
  refused_batches += other.refused_batches;
  siblings_taken += other.siblings_taken;
}

Worker* Rows::find(Incarnation incarnation) {
  for (Worker& worker : workers)
    if (worker.incarnation == incarnation) return &worker;
  return nullptr;
}

// ---- machinery ----

FleetWorld::FleetWorld(std::uint64_t seed, const Scenario& scenario, RemovableRules::Set without)
    : random_(seed), scenario_(scenario), rules_(without) {
  lost_ms_ =
      scenario
          .lost_ms[static_cast<std::size_t>(pick(0, static_cast<Ms>(scenario.lost_ms.size()) - 1))];
  keep_snapshot({});
  for (Node& node : nodes_)
    node.slot = node.node_id = static_cast<int>(&node - nodes_.data());
  for (int number = 0; number < kNodes; ++number)
    start_machine(number);
  at(20'000, [this] { trouble(); });
}

void FleetWorld::run() {
  while (!events_.empty() && events_.front().at < scenario_.length_ms) {
    std::pop_heap(events_.begin(), events_.end());
    const Event next = std::move(events_.back());
    events_.pop_back();
    now_ = next.at;
    next.run();
  }
}

void FleetWorld::at(Ms delay, std::function<void()> run) {
  events_.push_back({now_ + delay, ++order_, std::move(run)});
  std::push_heap(events_.begin(), events_.end());
}

Ms FleetWorld::pick(Ms from, Ms to) {
  return from + static_cast<Ms>(random_() % static_cast<std::uint64_t>(to - from + 1));
}

Ms FleetWorld::one_of(std::initializer_list<Ms> values) {
  return *(values.begin() + pick(0, static_cast<Ms>(values.size()) - 1));
}

Node* FleetWorld::alive(int slot, int life) {
  Node& node = nodes_[static_cast<std::size_t>(slot)];
  return node.is_up && node.life == life ? &node : nullptr;
}

int FleetWorld::machine_number(int slot) const {
  return scenario_.has_siblings && slot == kNodes - 1 ? slot - 1 : slot;
}

bool FleetWorld::share_machine(const Node& a, const Node& b) const {
  return machine_number(a.slot) == machine_number(b.slot);
}

Machine& FleetWorld::machine_of(const Node& node) {
  return machines_[static_cast<std::size_t>(machine_number(node.slot))];
}

const Machine& FleetWorld::machine_of(const Node& node) const {
  return machines_[static_cast<std::size_t>(machine_number(node.slot))];
}

bool FleetWorld::reaches(const Node& node) const {
  return node.is_up && server_is_up_ && now_ >= node.cut_until && now_ >= node.frozen_until;
}

Fate FleetWorld::draw_fate() {
  const Ms drawn = pick(0, 999);
  if (drawn < scenario_.halves_permille) return Fate::kHalf;
  if (drawn >= scenario_.halves_permille + scenario_.doubts_permille) return Fate::kUsual;
  constexpr Fate kDoubts[] = {Fate::kNeverArrives, Fate::kNoAnswer, Fate::kLands, Fate::kLate};
  return kDoubts[pick(0, 3)];
}

// ---- the server ----

void FleetWorld::arrive(const BatchPtr& batch) {
  if (!server_is_up_ || batch->server != server_) return;
  if (holder_.has_value()) {
    waiting_.push_back(batch);
    return;
  }
  Node* node = alive(batch->slot, batch->life);
  const bool is_connected = node != nullptr && node->connection == batch->connection;
  if (batch->fate == Fate::kHalf) {
    hold(batch, nullptr);
    if (is_connected) break_connection(*node, kKeepAliveMs);
    return;
  }
  Rows draft = rows_;
  batch->verdict = execute(draft, *batch);
  const bool is_good = batch->verdict == Verdict::kGood;
  if (is_good && batch->fate == Fate::kLands) {
    hold(batch, &draft);
    if (is_connected) break_connection(*node, 10);
    return;
  }
  if (is_good) commit(std::move(draft), batch);
  if (!is_good && !is_connected) ++activity_.refused_batches;
  if (batch->fate == Fate::kNoAnswer && is_connected) break_connection(*node, 10);
  const bool is_slow = chance(scenario_.slow_answers_percent);
  at(pick(2, is_slow ? kSlowAnswerMs : scenario_.trip_max_ms), [this, batch] { answer(batch); });
}

Verdict FleetWorld::check(Rows& draft, const Batch& batch) {
  if (!rules_.same_segment(draft.mark.segment, batch.segment)) return Verdict::kOtherSegment;
  if (batch.kind == Kind::kRegister) return Verdict::kGood;
  const Worker* worker = draft.find(batch.incarnation);
  std::optional<fleet::BatchRow> row;
  if (worker != nullptr) row = worker->batch;
  switch (rules_.check_batch({batch.number, batch.acknowledged}, row)) {
    case fleet::BatchVerdict::kCommitsLost: return Verdict::kLost;
    case fleet::BatchVerdict::kEnded: return Verdict::kEnded;
    case fleet::BatchVerdict::kRefused: return Verdict::kDisorder;
    case fleet::BatchVerdict::kGood: break;
  }
  return Verdict::kGood;
}

Ms FleetWorld::give_time(Rows& draft, Batch& batch) {
  if (!batch.takes.begins_segment)
    return rules_.batch_time(draft.mark.store_ms, batch.timed.count_ms);
  const fleet::NewSegment begun =
      rules_.begin_segment(draft.mark, batch.timed.count_ms, {server_clock(), batch.wall_ms});
  draft.mark.segment = rules_.segment_after(draft.mark.segment, timeline_);
  for (Timer& timer : draft.timers)
    timer.due_ms = fleet::due_after_gap(timer.due_ms, begun);
  batch.is_credited = begun.credit_ms > 0;
  return begun.store_ms;
}

Verdict FleetWorld::execute(Rows& draft, Batch& batch) {
  const Verdict checked = check(draft, batch);
  if (checked != Verdict::kGood) return checked;
  const bool is_new_timeline = draft.timeline != timeline_;
  draft.timeline = timeline_;
  batch.batch_ms = give_time(draft, batch);
  batch.segment = draft.mark.segment;
  draft.moves_held_until_ms =
      fleet::moves_held_until(draft.moves_held_until_ms, is_new_timeline, batch.batch_ms, kLeaseMs);
  if (!batch.body(draft, batch.batch_ms, batch)) return Verdict::kNothing;
  if (batch.batch_ms < draft.mark.store_ms) ++violations_.back;
  draft.mark.store_ms = batch.batch_ms;
  draft.mark.server_ms = server_clock();
  draft.mark.trusted_wall_ms = batch.wall_ms;
  // Here StoreTime, which holds the lock, reads the mark and then its clock.
  batch.anchor =
      rules_.anchor_after(batch.timed, batch.batch_ms, batch.segment, batch.clock.read(now_));
  if (Worker* worker = draft.find(batch.incarnation)) {
    const std::int64_t number = std::max(batch.number, worker->batch.number);
    worker->batch.number = worker->batch.committed = number;
    worker->answer = rules_.answer_of(batch.timed, {batch.seen_request, batch.segment}, requests_)
                         .value_or(worker->answer);
    worker->segment = batch.anchor.segment;
    worker->k_ms = batch.anchor.store_ms - batch.anchor.boot_ms;
    worker->compared_boot_ms = batch.anchor.compared_boot_ms;
  }
  return Verdict::kGood;
}

void FleetWorld::commit(Rows&& draft, const BatchPtr& batch) {
  rows_ = std::move(draft);
  ++activity_.batches;
  if (batch->takes.begins_segment) ++activity_.segments;
  if (batch->is_credited) ++activity_.credits;
  if (batch->takes.is_siblings) ++activity_.siblings_taken;
  Attempt& attempt = attempts_[static_cast<std::size_t>(batch->attempt)];
  attempt.state = AttemptState::kCommitted;
  if (attempt.word == false) ++violations_.wrong_word;
  look_at_timers(*batch);
  keep_snapshot(batch->attempt);
}

// Rules: F1, F2, F3, F4a, F4b, F4c, F5b.
void FleetWorld::look_at_timers(const Batch& batch) {
  for (const int id : batch.fired) {
    const TimerTruth& truth = timers_[static_cast<std::size_t>(id)];
    const Ms drift_ms = 2 * truth.duration_ms * fleet::kDriftPpm / 1'000'000;
    ++activity_.timers;
    if (now_ - truth.made_at < truth.duration_ms - drift_ms - fleet::kApartMs) ++violations_.early;
  }
}

void FleetWorld::keep_snapshot(std::optional<int> attempt) {
  if (lost_ms_ == 0) return;  // no failover goes back behind the last commit
  snapshots_.push_back({now_, attempt, rows_});
  while (snapshots_.size() > 1 && snapshots_[1].at < now_ - kSnapshotsMs)
    snapshots_.pop_front();
}

void FleetWorld::hold(const BatchPtr& batch, const Rows* draft) {
  holder_.emplace();
  holder_->name = {++backends_, server_clock()};
  if (draft != nullptr) {
    holder_->batch = batch;
    holder_->draft = *draft;
  }
  const std::int64_t backend = backends_;
  at(draft != nullptr ? one_of({0, 500, 2'500}) : kKeepAliveMs,
     [this, backend] { let_go(backend, true); });
}

// The holder's transaction ends. One whose commit is under way cannot be ended before.
void FleetWorld::let_go(std::int64_t backend, bool commits) {
  if (!holder_.has_value() || holder_->name.backend != backend) return;
  if (!commits && holder_->batch != nullptr) return;
  if (!commits) ++activity_.holders_ended;
  Holder ended = std::move(*holder_);
  holder_.reset();
  if (ended.batch != nullptr) commit(std::move(ended.draft), ended.batch);
  std::deque<BatchPtr> waiting;
  waiting.swap(waiting_);
  for (const BatchPtr& batch : waiting)
    arrive(batch);
}

void FleetWorld::fail_over() {
  if (!server_is_up_) return;
  ++activity_.failovers;
  server_is_up_ = false;
  ++server_;
  holder_.reset();
  waiting_.clear();
  connections_.clear();
  while (lost_ms_ > 0 && snapshots_.size() > 1 && snapshots_.back().at > now_ - lost_ms_) {
    if (snapshots_.back().attempt.has_value())
      attempts_[static_cast<std::size_t>(*snapshots_.back().attempt)].state = AttemptState::kLost;
    snapshots_.pop_back();
  }
  if (lost_ms_ > 0) rows_ = snapshots_.back().rows;
  least_ahead_ms_.clear();  // the rows may be of an earlier segment again, whose time was ahead
  other_server_.until = chance(50) ? now_ + kKeepAliveMs : now_;
  other_server_.facts = {chance(50), timeline_, kSchemaVersion};
  ++timeline_;
  server_step_ms_ += one_of({-30'000, -2'000, 0, 2'000, 30'000, 300'000});
  for (Node& node : nodes_)
    if (node.is_up) break_connection(node, 0);
  at(one_of({1'000, 8'000, 40'000, 90'000}), [this] { server_is_up_ = true; });
}

// ---- a node: its connection ----

void FleetWorld::start_machine(int number) {
  Machine& machine = machines_[static_cast<std::size_t>(number)];
  machine.boot = ++boots_;
  machine.wall_error_ms = chance(20) ? -5'000'000 : pick(-20, 20);
  const Ms ppm = scenario_.has_opposed_clocks
                     ? (number % 2 == 0 ? -fleet::kDriftPpm : fleet::kDriftPpm)
                     : pick(-fleet::kDriftPpm, fleet::kDriftPpm);
  machine.clock = {pick(0, scenario_.boot_clock_max_ms), now_, ppm};
  for (Node& node : nodes_)
    if (machine_number(node.slot) == number) start_process(node);
}

void FleetWorld::start_process(Node& old) {
  Node node;
  node.slot = old.slot;
  node.life = ++lives_;
  node.node_id = old.node_id;
  node.connection = old.connection + 1;
  node.is_up = true;
  old = node;
  at(100, [this, slot = node.slot, life = node.life] { tick(slot, life); });
}

// Rules: F17.
void FleetWorld::connect(Node& node) {
  fleet::ServerFacts facts{false, timeline_,
                           now_ < unknown_schema_until_ ? kSchemaVersion + 1 : kSchemaVersion};
  bool is_store = facts.schema_version == kSchemaVersion;
  // The name may lead to the old primary. One that still takes itself for the primary is fenced
  // from those that have not seen the new one.
  const bool may_lead_astray = other_server_.facts.is_replica || node.seen_timeline == timeline_;
  if (now_ < other_server_.until && may_lead_astray && chance(30)) {
    facts = other_server_.facts;
    is_store = false;
  }
  if (!rules_.counts(facts, node.seen_timeline)) {
    ++activity_.refused_servers;
    return;
  }
  if (!is_store) {
    ++violations_.foreign;
    return;
  }
  node.is_connected = true;
  node.seen_timeline = timeline_;
  if (node.incarnation != 0) connections_[node.incarnation] = node.connection;
}

void FleetWorld::break_connection(Node& node, Ms server_notices) {
  const int connection = node.connection++;
  node.is_connected = false;
  node.wait.reset();
  node.request.reset();
  node.free_since_boot_ms.clear();
  if (node.flight != nullptr) {
    // The row of a registration that was not acknowledged is of no use to any process.
    if (node.flight->kind != Kind::kRegister) node.doubt = node.flight;
    if (node.flight->kind == Kind::kRegister) process_lives_[node.flight->incarnation] = false;
    node.flight.reset();
    ++activity_.doubts;
  }
  at(server_notices, [this, incarnation = node.incarnation, connection] {
    const auto held = connections_.find(incarnation);
    if (held != connections_.end() && held->second == connection) connections_.erase(held);
  });
}

bool FleetWorld::may_send(const Node& node) const {
  return reaches(node) && node.is_connected && node.flight == nullptr && node.doubt == nullptr;
}

BatchPtr FleetWorld::make_batch(const Node& node, Kind kind, Body body) {
  BatchPtr batch = std::make_shared<Batch>();
  batch->slot = node.slot;
  batch->life = node.life;
  batch->connection = node.connection;
  batch->server = server_;
  batch->kind = kind;
  batch->fate = draw_fate();
  batch->incarnation = node.incarnation;
  batch->number = node.last_number + 1;
  batch->acknowledged = node.acknowledged;
  batch->segment = rows_.mark.segment;
  batch->clock = machine_of(node).clock;
  batch->takes = node.takes;
  batch->seen_request = node.seen_request;
  batch->wall_ms = now_ + machine_of(node).wall_error_ms;
  batch->body = std::move(body);
  const Ms boot_ms = boot(node);
  batch->lease_is_unbroken = rules_.keeps_exclusive(node.own_lease_end_boot_ms, boot_ms);
  batch->timed.sent_boot_ms = batch->timed.compared_boot_ms = boot_ms;
  std::optional<fleet::TimeAnchor> from = node.takes.anchor;
  if (!from.has_value() && node.anchor.has_value() &&
      rules_.is_good(*node.anchor, batch->segment, boot_ms))
    from = node.anchor;
  if (!from.has_value()) return batch;
  batch->timed.count_ms = rules_.own_count(*from, boot_ms, server_clock());
  if (!node.takes.begins_segment) batch->timed.compared_boot_ms = from->compared_boot_ms;
  return batch;
}

bool FleetWorld::send(Node& node, Kind kind, Body body) {
  if (!may_send(node) || !has_time(node)) return false;
  const BatchPtr batch = make_batch(node, kind, std::move(body));
  if (batch->timed.count_ms.has_value()) look_at_count(node, batch->timed.count_ms.value());
  batch->attempt = static_cast<int>(attempts_.size());
  attempts_.emplace_back();
  node.flight = batch;
  const Ms trip_ms = pick(2, scenario_.trip_max_ms);
  if (batch->fate == Fate::kNeverArrives || batch->fate == Fate::kLate)
    at(trip_ms, [this, batch] {
      Node* sender = alive(batch->slot, batch->life);
      if (sender != nullptr && sender->connection == batch->connection)
        break_connection(*sender, 10);
    });
  if (batch->fate == Fate::kNeverArrives) return true;
  at(batch->fate == Fate::kLate ? trip_ms + pick(1'000, 10'000) : trip_ms,
     [this, batch] { arrive(batch); });
  return true;
}

// Rules: F1, F3, F4a, F4b, F4c, F4d, F5a.
void FleetWorld::look_at_count(const Node& node, Ms count_ms) {
  const Ms ahead_ms = count_ms - now_ - now_ * fleet::kDriftPpm / 1'000'000;
  if (ahead_ms - least_ahead_ms_.value_or(ahead_ms) > fleet::kApartMs) {
    ++violations_.fast;
    least_ahead_ms_ = ahead_ms;
  }
  least_ahead_ms_.keep_earlier(ahead_ms);
  for (const Node& other : nodes_) {
    if (&other == &node || !other.is_up || !other.anchor.has_value()) continue;
    if (!rules_.is_good(*other.anchor, rows_.mark.segment, boot(other))) continue;
    if (is_client(other) && rules_.needs_comparing(*other.anchor, boot(other))) continue;
    const Ms apart_ms = fleet::own_count(*other.anchor, boot(other)) - count_ms;
    if (apart_ms > fleet::kApartMs || apart_ms < -fleet::kApartMs) ++violations_.apart;
  }
}

void FleetWorld::answer(const BatchPtr& batch) {
  Node* node = alive(batch->slot, batch->life);
  if (node == nullptr || node->flight != batch || node->connection != batch->connection) return;
  if (now_ < node->frozen_until)
    return at(node->frozen_until - now_ + 1, [this, batch] { answer(batch); });
  node->flight.reset();
  node->wait.reset();
  hear(*node, batch);
}

void FleetWorld::hear(Node& node, const BatchPtr& batch) {
  if (batch->verdict == Verdict::kGood) return hear_good(node, batch);
  say(*batch, false);
  if (batch->kind == Kind::kRegister) process_lives_[batch->incarnation] = false;
  switch (batch->verdict) {
    case Verdict::kLost:
      ++activity_.losses_reported;
      node.known_attempt.reset();
      return forget(node);
    case Verdict::kDisorder: ++violations_.disorder; return forget(node);
    case Verdict::kEnded: return forget(node);
    case Verdict::kNothing:
      if (batch->kind == Kind::kResult)
        node.running[static_cast<std::size_t>(batch->work.session)].reset();
      if (batch->kind == Kind::kStart)
        node.owned[static_cast<std::size_t>(batch->work.session)].reset();
      return;
    default: return;
  }
}

// The effects of a batch that is known to be committed, on its node.
void FleetWorld::hear_good(Node& node, const BatchPtr& batch) {
  say(*batch, true);
  if (node.known_attempt.has_value() &&
      attempts_[static_cast<std::size_t>(*node.known_attempt)].state == AttemptState::kLost)
    ++violations_.lost;
  node.known_attempt = batch->attempt;
  const Ms boot_ms = boot(node);
  node.anchor = batch->anchor;
  if (batch->takes.begins_segment || batch->takes.anchor.has_value()) node.request.reset();
  for (const std::int64_t number : batch->issued) {
    const std::pair<int, Incarnation> to{batch->attempt, batch->incarnation};
    if (!issued_.emplace(number, to).second) ++violations_.reused;
  }
  if (batch->kind == Kind::kRegister) {
    node.incarnation = batch->incarnation;
    node.last_number = node.acknowledged = 0;
    node.renew_at_boot_ms = boot_ms;
    connections_[node.incarnation] = node.connection;
    return;
  }
  node.last_number = node.acknowledged = batch->number;
  if (batch->claimed.has_value() && is_exclusive(*batch->claimed) &&
      chance(scenario_.failovers_after_claims_percent))
    at(pick(100, 10'000), [this, slot = node.slot] {
      fail_over();
      cut(nodes_[static_cast<std::size_t>(slot)], 100'000);
    });
  const std::size_t session = static_cast<std::size_t>(batch->work.session);
  if (batch->kind == Kind::kRenew) {
    node.own_lease_end_boot_ms = rules_.own_lease_end(batch->timed.sent_boot_ms, boot_ms);
    node.owned = batch->owned;
  } else if (batch->kind == Kind::kStart) {
    begin_work(node, batch->work);
  } else if (batch->kind == Kind::kResult) {
    ++activity_.results;
    if (node.running[session].has_value() && node.running[session]->token == batch->work.token)
      node.running[session].reset();
  }
}

// Rules: F10a, F10b, F10c.
void FleetWorld::say(const Batch& batch, bool done) {
  if (batch.kind == Kind::kRegister) return;
  Attempt& attempt = attempts_[static_cast<std::size_t>(batch.attempt)];
  attempt.word = done;
  const bool is_wrong =
      done ? attempt.state == AttemptState::kOpen : attempt.state == AttemptState::kCommitted;
  if (is_wrong) ++violations_.wrong_word;
}

void FleetWorld::resolve(Node& node) {
  const BatchPtr batch = node.doubt;
  if (holder_.has_value()) watch(node);
  Worker* worker = rows_.find(batch->incarnation);
  std::optional<fleet::BatchRow> row;
  if (worker != nullptr) row = worker->batch;
  switch (rules_.outcome_of(batch->number, row, !holder_.has_value())) {
    case fleet::BatchOutcome::kUnknown: return;
    case fleet::BatchOutcome::kCommitted: node.doubt.reset(); return hear_good(node, batch);
    case fleet::BatchOutcome::kRefuse:
      worker->batch.number = batch->number;
      keep_snapshot({});
      if (chance(10)) return;  // the answer to this is lost, too
      node.last_number = batch->number;
      break;
    case fleet::BatchOutcome::kNotCommitted:
      if (row.has_value() && row->number >= batch->number) node.last_number = batch->number;
      break;
  }
  node.doubt.reset();
  say(*batch, false);
}

// Rules: F16.
void FleetWorld::watch(Node& node) {
  node.wait = fleet::watch_lock(node.wait, holder_->name, boot(node));
  if (node.wait->since_boot_ms == boot(node)) node.is_stuck = false;
  if (rules_.must_end_holder(*node.wait, boot(node))) return let_go(holder_->name.backend, false);
  if (node.is_stuck || boot(node) - node.wait->since_boot_ms < kStuckMs) return;
  node.is_stuck = true;
  ++violations_.stuck;
}

// ---- a node: its time ----

// The others are void, and compare before they count again. A Client answers nothing, and nodes of
// one boot have nothing to compare.
// Rules: F4e.
bool FleetWorld::is_asked(const Worker* worker, const Node& asking) const {
  return worker != nullptr && !worker->batch.has_ended && !worker->is_client &&
         worker->segment == rows_.mark.segment && worker->boot != machine_of(asking).boot;
}

bool FleetWorld::is_client(const Node& node) const {
  return scenario_.has_client && node.slot == kNodes - 1;
}

bool FleetWorld::others_connected(const Node& node) {
  for (const auto& [incarnation, connection] : connections_) {
    const Worker* worker = rows_.find(incarnation);
    if (incarnation != node.incarnation && is_asked(worker, node)) return true;
  }
  return false;
}

bool FleetWorld::all_answered(const Node& node) {
  if (!node.request.has_value()) return false;
  for (const auto& [incarnation, connection] : connections_) {
    const Worker* worker = rows_.find(incarnation);
    if (incarnation == node.incarnation || !is_asked(worker, node)) continue;
    if (!fleet::has_answered(*node.request, worker->answer, rows_.mark.segment)) return false;
  }
  return true;
}

// The anchor of another process of this boot, whether it lives or not.
// Rules: F4e.
std::optional<fleet::TimeAnchor> FleetWorld::sibling_of(const Node& node) {
  std::optional<fleet::TimeAnchor> latest;
  for (const Worker& worker : rows_.workers) {
    if (worker.life == node.life || worker.segment != rows_.mark.segment) continue;
    if (!rules_.is_sibling(worker.boot, machine_of(node).boot)) continue;
    if (latest.has_value() && latest->compared_boot_ms >= worker.compared_boot_ms) continue;
    latest = fleet::TimeAnchor{0, worker.k_ms, worker.segment, worker.compared_boot_ms};
  }
  return latest;
}

// Whether the node may make a batch now, and the anchor that it takes on with it. If not, it does
// what brings it there.
// Rules: F4a, F4b, F4c, F4e.
bool FleetWorld::has_time(Node& node) {
  node.takes = NewAnchor();
  const std::int64_t segment = rows_.mark.segment;
  const Ms boot_ms = boot(node);
  const bool is_good = node.anchor.has_value() && rules_.is_good(*node.anchor, segment, boot_ms);
  if (!rules_.has(Rule::kF1) && segment != 0) {
    node.anchor = fleet::TimeAnchor{boot_ms, rows_.mark.store_ms, segment, boot_ms};
    return true;
  }
  if (is_good && !rules_.needs_comparing(*node.anchor, boot_ms)) {
    node.request.reset();
    return true;
  }
  const std::optional<fleet::TimeAnchor> good = is_good ? node.anchor : std::nullopt;
  const std::optional<fleet::TimeAnchor> sibling = sibling_of(node);
  if (sibling.has_value() &&
      rules_.may_take_sibling(*sibling, segment, boot_ms, !is_good && !is_client(node))) {
    node.takes.anchor = fleet::anchor_from_sibling(*sibling, good, boot_ms);
    node.takes.is_siblings = true;
    return true;
  }
  const bool may_go_on = is_good && !is_client(node);
  const bool others = segment != 0 && others_connected(node);
  switch (segment == 0
              ? fleet::ComparisonStep::kBeginSegment
              : rules_.comparison_step({node.request, others, all_answered(node)}, boot_ms)) {
    case fleet::ComparisonStep::kAsk: ask(node, is_good); return may_go_on;
    case fleet::ComparisonStep::kWait: return may_go_on;
    case fleet::ComparisonStep::kBeginSegment: node.takes.begins_segment = true; break;
    case fleet::ComparisonStep::kTakeMark:
      node.takes.anchor = fleet::anchor_from_mark(
          rows_.mark, good, node.request.has_value() ? node.request->asked_boot_ms : boot_ms,
          boot_ms);
      break;
  }
  return true;
}

// A new anchor counts from a commit on, so the node commits as soon as there is one.
void FleetWorld::compare(Node& node) {
  if (!may_send(node) || !has_time(node)) return;
  if (!node.takes.anchor.has_value() && !node.takes.begins_segment) return;
  if (node.incarnation == 0) return enroll(node);
  static_cast<void>(send(node, Kind::kMark, [](Rows&, Ms, Batch&) { return true; }));
}

void FleetWorld::ask(Node& node, bool has_anchor) {
  if (Worker* own = rows_.find(node.incarnation); own != nullptr && !has_anchor) own->segment = 0;
  const Ms boot_ms = boot(node);
  const Ms first_ms = node.request.has_value() ? node.request->first_asked_boot_ms : boot_ms;
  node.request = fleet::MarkRequest{++requests_, first_ms, boot_ms};
  for (const Node& other : nodes_) {
    if (&other == &node || !other.is_up || !other.is_connected || other.incarnation == 0) continue;
    if (is_client(other)) continue;
    at(pick(5, 100), [this, slot = other.slot, life = other.life, number = requests_] {
      Node* asked = alive(slot, life);
      if (asked == nullptr || now_ < asked->frozen_until) return;
      asked->seen_request = std::max(asked->seen_request, number);
      answer_request(slot, life, 4);
    });
  }
  // Its own batch brings the others up to its own count.
  if (node.incarnation != 0)
    at(1, [this, slot = node.slot, life = node.life] { answer_request(slot, life, 1); });
  for (const Ms delay : {100, 300, 600, 900})
    at(delay, [this, slot = node.slot, life = node.life] {
      Node* asking = alive(slot, life);
      if (asking != nullptr && asking->request.has_value()) compare(*asking);
    });
}

void FleetWorld::answer_request(int slot, int life, int tries) {
  Node* node = alive(slot, life);
  if (node == nullptr || node->incarnation == 0 || tries == 0) return;
  if (send(*node, Kind::kMark, [](Rows&, Ms, Batch&) { return true; })) return;
  at(150, [this, slot, life, tries] { answer_request(slot, life, tries - 1); });
}

// ---- a node: its work ----

void FleetWorld::tick(int slot, int life) {
  Node* node = alive(slot, life);
  if (node == nullptr) return;
  if (now_ < node->frozen_until)
    return at(node->frozen_until - now_ + 1, [this, slot, life] { tick(slot, life); });
  at(pick(scenario_.tick_ms / 4, scenario_.tick_ms), [this, slot, life] { tick(slot, life); });
  look_at_leases(*node);
  if (!reaches(*node)) return;
  if (!node->is_connected) connect(*node);
  if (!node->is_connected) return;
  observe(*node);
  if (node->doubt != nullptr) return resolve(*node);
  if (node->flight != nullptr) {
    if (holder_.has_value()) watch(*node);
    return;
  }
  work(*node);
}

// Rules: F14.
void FleetWorld::look_at_leases(Node& node) {
  if (rules_.may_run_exclusive(node.own_lease_end_boot_ms, boot(node))) return;
  for (int session = 0; session < kExclusive; ++session)
    node.running[static_cast<std::size_t>(session)].reset();
}

void FleetWorld::observe(Node& node) {
  for (const Worker& worker : rows_.workers) {
    const bool is_held = connections_.count(worker.incarnation) != 0;
    if (is_held || worker.batch.has_ended)
      node.free_since_boot_ms.erase(worker.incarnation);
    else
      node.free_since_boot_ms.emplace(worker.incarnation, boot(node));
  }
}

void FleetWorld::work(Node& node) {
  if (node.incarnation == 0) return enroll(node);
  if (boot(node) >= node.renew_at_boot_ms) return renew(node);
  if (node.anchor.has_value() && rules_.needs_comparing(*node.anchor, boot(node))) compare(node);
  for (int session = 0; session < kSessions; ++session) {
    const std::optional<Work>& work = node.running[static_cast<std::size_t>(session)];
    if (work.has_value() && work->has_ended) return hand_in(node, session);
  }
  if (scenario_.is_quiet) {
    const bool is_due =
        std::any_of(rows_.timers.begin(), rows_.timers.end(), [this, &node](const Timer& timer) {
          return node.anchor.has_value() &&
                 timer.due_ms <= fleet::own_count(*node.anchor, boot(node));
        });
    if (is_due || chance(10)) use_timers(node);
    return;
  }
  const Ms what = pick(0, 9);
  if (what < 3) return claim(node);
  if (what < 7) return start(node);
  if (what < 9) return use_timers(node);
  static_cast<void>(send(node, Kind::kCall, [](Rows&, Ms, Batch&) { return true; }));
}

// Rules: F13.
void FleetWorld::enroll(Node& node) {
  const Incarnation incarnation = next_incarnation_++;
  const int slot = node.slot;
  const bool is_sent = send(node, Kind::kRegister, [this, slot](Rows& rows, Ms, Batch& batch) {
    const Node& asking = nodes_[static_cast<std::size_t>(slot)];
    if (asking.life != batch.life || !take_node_id(rows, asking)) return false;
    Worker worker;
    worker.is_client = is_client(asking);
    worker.incarnation = batch.incarnation;
    worker.life = asking.life;
    worker.node_id = asking.node_id;
    worker.boot = machine_of(asking).boot;
    const auto ended = std::find_if(rows.workers.begin(), rows.workers.end(),
                                    [](const Worker& row) { return row.batch.has_ended; });
    if (rows.workers.size() >= kWorkersMax && ended != rows.workers.end())
      rows.workers.erase(ended);
    rows.workers.push_back(worker);
    batch.number = 0;
    return true;
  });
  if (!is_sent) return;
  node.flight->incarnation = incarnation;
  process_lives_[incarnation] = true;
}

bool FleetWorld::take_node_id(Rows& rows, const Node& node) {
  for (Worker& worker : rows.workers) {
    if (worker.node_id != node.node_id || worker.batch.has_ended) continue;
    const bool is_same_boot = worker.boot == machine_of(node).boot;
    fleet::SameNode other;
    other.is_proved_dead = is_same_boot && !process_lives_[worker.incarnation];
    const auto seen = node.free_since_boot_ms.find(worker.incarnation);
    if (seen != node.free_since_boot_ms.end()) other.connection_free_since_boot_ms = seen->second;
    if (!rules_.may_take_node_id(other, is_same_boot, boot(node))) return false;
    worker.batch.has_ended = true;
    if (rules_.has(Rule::kF13)) continue;
    for (Session& session : rows.sessions)
      if (session.owner == worker.incarnation) session.owner.reset();
  }
  return true;
}

// Rules: F6.
void FleetWorld::renew(Node& node) {
  if (send(node, Kind::kRenew, [](Rows& rows, Ms batch_ms, Batch& batch) {
        extend(rows, batch_ms, batch);
        return true;
      }))
    node.renew_at_boot_ms = boot(node) + kRenewMs;
}

// Rules: F15b.
void FleetWorld::extend(Rows& rows, Ms batch_ms, Batch& batch) {
  for (int i = 0; i < kSessions; ++i) {
    Session& session = rows.sessions[static_cast<std::size_t>(i)];
    batch.owned[static_cast<std::size_t>(i)].reset();
    if (session.owner != batch.incarnation) continue;
    if (is_exclusive(i) && batch.claimed != i && !batch.lease_is_unbroken) {
      session.owner.reset();
      continue;
    }
    session.locked_until_ms = batch_ms + kLeaseMs;
    batch.owned[static_cast<std::size_t>(i)] = session.epoch;
  }
}

std::optional<fleet::OwnerView> FleetWorld::view_of(Rows& rows, const Session& session,
                                                    const Node& node) {
  if (!session.owner.has_value()) return {};
  fleet::OwnerView view;
  const Worker* worker = rows.find(*session.owner);
  view.is_dead = worker == nullptr || worker->batch.has_ended;
  view.is_proved_dead = worker != nullptr && worker->boot == machine_of(node).boot &&
                        !process_lives_[worker->incarnation];
  view.locked_until_ms = session.locked_until_ms;
  const auto seen = node.free_since_boot_ms.find(*session.owner);
  if (seen != node.free_since_boot_ms.end()) view.connection_free_since_boot_ms = seen->second;
  return view;
}

// Rules: F7, F8, F15a.
void FleetWorld::claim(Node& node) {
  const int slot = node.slot;
  static_cast<void>(send(node, Kind::kRenew, [this, slot](Rows& rows, Ms batch_ms, Batch& batch) {
    Node& asking = nodes_[static_cast<std::size_t>(slot)];
    if (asking.life != batch.life) return false;
    if (!claim_one(rows, batch_ms, batch, asking)) return false;
    extend(rows, batch_ms, batch);
    return true;
  }));
}

bool FleetWorld::claim_one(Rows& rows, Ms batch_ms, Batch& batch, Node& node) {
  const int first = static_cast<int>(pick(0, kSessions - 1));
  for (int i = 0; i < kSessions; ++i) {
    const int index = (first + i) % kSessions;
    Session& session = rows.sessions[static_cast<std::size_t>(index)];
    if (session.owner == batch.incarnation) continue;
    if (!rules_.may_become_owner(is_exclusive(index), view_of(rows, session, node),
                                 {batch_ms, boot(node), rows.moves_held_until_ms}))
      continue;
    session.owner = batch.incarnation;
    session.epoch = rules_.next_number(rows.next_epoch, timeline_);
    rows.next_epoch = session.epoch + 1;
    session.token.reset();
    batch.issued = {-session.epoch};  // tokens are numbers above 0
    ++activity_.moves;
    batch.claimed = index;
    return true;
  }
  return false;
}

// Rules: F11, F14.
void FleetWorld::start(Node& node) {
  const int first = static_cast<int>(pick(0, kSessions - 1));
  for (int i = 0; i < kSessions; ++i) {
    const int index = (first + i) % kSessions;
    const std::optional<Epoch> epoch = node.owned[static_cast<std::size_t>(index)];
    const bool may_run =
        !is_exclusive(index) || rules_.may_run_exclusive(node.own_lease_end_boot_ms, boot(node));
    if (may_run && epoch.has_value() && !node.running[static_cast<std::size_t>(index)].has_value())
      return start_item(node, index, *epoch);
  }
}

void FleetWorld::start_item(Node& node, int index, Epoch epoch) {
  static_cast<void>(send(node, Kind::kStart, [this, index, epoch](Rows& rows, Ms, Batch& batch) {
    Session& session = rows.sessions[static_cast<std::size_t>(index)];
    batch.work.session = index;
    if (session.owner != batch.incarnation || session.epoch != epoch) return false;
    session.token = rules_.next_number(rows.next_token, timeline_);
    rows.next_token = *session.token + 1;
    session.token_epoch = session.epoch;
    batch.work = {index, *session.token, session.epoch, session.item, false};
    batch.issued = {*session.token};
    return true;
  }));
}

void FleetWorld::begin_work(Node& node, const Work& work) {
  if (is_exclusive(work.session) &&
      !rules_.may_run_exclusive(node.own_lease_end_boot_ms, boot(node)))
    return;
  node.running[static_cast<std::size_t>(work.session)] = work;
  look_for_overlap(node, work.session);
  at(scenario_.has_long_work ? pick(30'000, 200'000) : pick(1'000, 45'000),
     [this, slot = node.slot, life = node.life, work] {
       finish(slot, life, work.session, work.token);
     });
}

void FleetWorld::finish(int slot, int life, int session, LockToken token) {
  Node* node = alive(slot, life);
  if (node == nullptr) return;
  std::optional<Work>& work = node->running[static_cast<std::size_t>(session)];
  if (!work.has_value() || work->token != token) return;
  if (now_ < node->frozen_until)  // it goes on for a while when the machine does
    return at(node->frozen_until - now_ + 500,
              [this, slot, life, session, token] { finish(slot, life, session, token); });
  work->has_ended = true;
}

// Rules: F9.
void FleetWorld::hand_in(Node& node, int index) {
  const Work work = *node.running[static_cast<std::size_t>(index)];
  static_cast<void>(send(node, Kind::kResult, [this, work](Rows& rows, Ms, Batch& batch) {
    Session& session = rows.sessions[static_cast<std::size_t>(work.session)];
    batch.work = work;
    if (!rules_.accepts(session.token, session.token_epoch, session.epoch, work.token, work.epoch))
      return false;
    if (session.item > work.item) ++violations_.twice;
    session.item = std::max(session.item, work.item + 1);
    if (session.token == work.token) session.token.reset();
    return true;
  }));
}

void FleetWorld::use_timers(Node& node) {
  // A duration counts from when its batch was made.
  const Ms made_at = now_;
  static_cast<void>(
      send(node, Kind::kTimers, [this, made_at](Rows& rows, Ms batch_ms, Batch& batch) {
        std::vector<Timer> left;
        for (const Timer& timer : rows.timers) {
          if (timer.due_ms <= batch_ms)
            batch.fired.push_back(timer.id);
          else
            left.push_back(timer);
        }
        rows.timers = left;
        if (rows.timers.size() >= kTimersMax) return !batch.fired.empty();
        const Ms duration_ms = one_of({10'000, 60'000, 900'000});
        timers_.push_back({made_at, duration_ms});
        rows.timers.push_back({batch_ms + duration_ms, static_cast<int>(timers_.size()) - 1});
        return true;
      }));
}

void FleetWorld::forget(Node& node) {
  process_lives_[node.incarnation] = false;
  connections_.erase(node.incarnation);
  node.incarnation = 0;
  node.owned = {};
  node.running = {};
  node.own_lease_end_boot_ms.clear();
}

bool FleetWorld::is_acting(const Node& node, int session) const {
  const std::optional<Work>& work = node.running[static_cast<std::size_t>(session)];
  return node.is_up && now_ >= node.frozen_until && work.has_value() && !work->has_ended;
}

void FleetWorld::look_for_overlap(const Node& node, int session) {
  if (!is_exclusive(session) || !is_acting(node, session)) return;
  for (const Node& other : nodes_)
    if (&other != &node && is_acting(other, session)) ++violations_.overlap;
}

// ---- trouble ----

void FleetWorld::trouble() {
  at(pick(1, 2 * scenario_.trouble_every_ms), [this] { trouble(); });
  const Trouble& parts = scenario_.trouble;
  Node& node = nodes_[static_cast<std::size_t>(pick(0, kNodes - 1))];
  Ms drawn =
      pick(0, parts.cut + parts.freeze + parts.crash + parts.reboot + parts.failover + parts.step +
                  parts.clone + parts.dark + parts.long_cut + parts.alone + parts.upgrade - 1);
  const auto is = [&drawn](int part) { return (drawn -= part) < 0; };
  if (is(parts.cut)) {
    const Ms duration = pick(scenario_.cut_min_ms, scenario_.cut_max_ms);
    const bool is_whole = scenario_.has_siblings && chance(50);
    for (Node& one : nodes_)
      if (&one == &node || (is_whole && share_machine(one, node))) cut(one, duration);
  } else if (is(parts.freeze)) {
    freeze(node);
  } else if (is(parts.crash)) {
    crash(node);
  } else if (is(parts.reboot)) {
    reboot(node, one_of({5'000, 30'000}));
  } else if (is(parts.failover)) {
    fail_over();
    if (scenario_.cuts_at_failover) cut(node, 100'000);
  } else if (is(parts.step)) {
    server_step_ms_ += one_of({-3'600'000, -50'000, 50'000, 90'000, 3'600'000});
  } else if (is(parts.clone)) {
    clone();
  } else if (is(parts.dark)) {
    for (int slot = 0; slot < kNodes; ++slot)
      reboot(nodes_[static_cast<std::size_t>(slot)], one_of({100'000, 300'000}));
  } else if (is(parts.long_cut)) {
    for (int slot = 0; slot < kNodes; ++slot)
      cut(nodes_[static_cast<std::size_t>(slot)], 150'000 + pick(0, 5'000));
    if (chance(50)) reboot(node, 100'000);
  } else if (is(parts.alone)) {
    for (int slot = 0; slot < kNodes; ++slot) {
      Node& other = nodes_[static_cast<std::size_t>(slot)];
      if (!share_machine(other, node)) reboot(other, 4'000);
    }
    cut(node, 40'000);
    server_step_ms_ += 3'600'000;
  } else {
    upgrade();
  }
}

void FleetWorld::cut(Node& node, Ms duration) {
  if (!node.is_up) return;
  node.cut_until = std::max(node.cut_until, now_ + duration);
  break_connection(node, one_of({10, 10'000}));
}

// Rules: A1.
void FleetWorld::freeze(Node& node) {
  if (!node.is_up || now_ < node.frozen_until) return;
  const Ms duration = one_of({1'000, 10'000, 70'000, 200'000});
  if (!rules_.has(Rule::kA1)) machine_of(node).clock.since += duration;
  for (Node& one : nodes_)
    if (one.is_up && share_machine(one, node)) freeze_process(one, duration);
}

void FleetWorld::freeze_process(Node& node, Ms duration) {
  node.frozen_until = std::max(node.frozen_until, now_ + duration);
  if (duration > 3'000 && chance(70))
    at(3'000, [this, slot = node.slot, life = node.life, connection = node.connection] {
      Node* frozen = alive(slot, life);
      if (frozen != nullptr && frozen->connection == connection) break_connection(*frozen, 0);
    });
  at(duration, [this, slot = node.slot, life = node.life] { thaw(slot, life); });
}

void FleetWorld::thaw(int slot, int life) {
  Node* node = alive(slot, life);
  if (node == nullptr) return;
  look_at_leases(*node);
  for (int session = 0; session < kExclusive; ++session)
    look_for_overlap(*node, session);
}

void FleetWorld::end_process(Node& node) {
  if (node.incarnation != 0) process_lives_[node.incarnation] = false;
  node.flight.reset();
  node.doubt.reset();
  break_connection(node, 0);
  node.is_up = false;
  node.running = {};
}

void FleetWorld::crash(Node& node) {
  if (!node.is_up) return;
  end_process(node);
  at(2'000 + pick(0, 1'000), [this, slot = node.slot, life = node.life] {
    Node& ended = nodes_[static_cast<std::size_t>(slot)];
    if (ended.life == life) start_process(ended);
  });
}

void FleetWorld::reboot(Node& node, Ms again_in) {
  if (!node.is_up) return;
  for (Node& one : nodes_) {
    if (!share_machine(one, node)) continue;
    if (one.is_up) end_process(one);
    one.life = ++lives_;  // if it has crashed, it does not start before its machine
  }
  at(again_in + pick(0, 1'000),
     [this, number = machine_number(node.slot)] { start_machine(number); });
}

void FleetWorld::clone() {
  Node& copy = nodes_[kNodes];
  if (copy.is_up) return;
  Node& original = nodes_[static_cast<std::size_t>(pick(0, kNodes - 1))];
  copy.node_id = original.node_id;
  start_machine(kNodes);
  if (chance(50)) cut(original, 30'000);
  at(120'000, [this, life = copy.life] {
    if (Node* node = alive(kNodes, life)) end_process(*node);
  });
}

void FleetWorld::upgrade() {
  unknown_schema_until_ = now_ + 30'000;
  for (Node& node : nodes_)
    if (node.is_up) break_connection(node, 10);
}

}  // namespace pawl::fleet_test
