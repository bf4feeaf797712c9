// pawl-micro: the cost of single parts, under Google Benchmark.
//
// Use it for a change of one part. pawl-bench measures what a user gets.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "codec/event.hpp"
#include "core/arena.hpp"
#include "core/buddy.hpp"
#include "core/crc32c.hpp"
#include "core/hash.hpp"
#include "replay/engine.hpp"
#include "session_world.hpp"

namespace {

// Skips a benchmark whose operation fails, since it measures nothing.
void require(benchmark::State& state, bool well, std::string_view what) {
  if (!well) state.SkipWithError(std::string(what).c_str());
}

// ---- codec ----

pawl::Event activity_event() {
  pawl::Event event;
  event.id = 7;
  event.kind = pawl::EventKind::kActivity;
  event.name = "read_sensor";
  event.session = "/dev/serial/by-id/usb-bed-7";
  event.payload = R"({"channel":3,"samples":16})";
  return event;
}

void encode_meta(benchmark::State& state) {
  const pawl::Event event = activity_event();
  std::array<char, pawl::kMetaBytesMax> out;
  for (auto _ : state) {
    std::size_t size = 0;
    const pawl::Status status = pawl::encode_meta(event, out.data(), out.size(), &size);
    require(state, status == pawl::Status::kOk, "encode_meta");
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(encode_meta);

void decode_meta(benchmark::State& state) {
  const pawl::Event event = activity_event();
  std::array<char, pawl::kMetaBytesMax> meta;
  std::array<char, pawl::kMetaBytesMax> text;
  std::array<unsigned char, pawl::kJsonMemoryBytes> memory;
  std::size_t size = 0;
  require(state, pawl::encode_meta(event, meta.data(), meta.size(), &size) == pawl::Status::kOk,
          "encode_meta");
  for (auto _ : state) {
    const pawl::JsonMemory json(memory.data(), memory.size());
    pawl::Event decoded;
    decoded.kind = event.kind;
    const pawl::Status status =
        pawl::decode_meta({meta.data(), size}, &decoded, text.data(), text.size());
    require(state, status == pawl::Status::kOk, "decode_meta");
    benchmark::DoNotOptimize(decoded);
  }
}
BENCHMARK(decode_meta);

void checksum(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state)
    benchmark::DoNotOptimize(pawl::crc32c(bytes.data(), bytes.size(), 0));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(checksum)->Arg(64)->Arg(4096);

void hash(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state)
    benchmark::DoNotOptimize(pawl::Hash64().add(std::string_view(bytes)).value());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(hash)->Arg(64)->Arg(4096);

// ---- arenas ----

void arena(benchmark::State& state) {
  std::array<unsigned char, 4096> block;
  pawl::Arena arena(block.data(), block.size());
  for (auto _ : state) {
    const pawl::Arena::Mark mark = arena.mark();
    for (int i = 0; i < 16; ++i)
      benchmark::DoNotOptimize(arena.make<std::array<std::uint64_t, 8>>());
    arena.rewind(mark);
  }
  state.SetItemsProcessed(state.iterations() * 16);
}
BENCHMARK(arena);

// Requests like those of SQLite: small pieces of several sizes that live side by side.
void buddy(benchmark::State& state) {
  constexpr std::array<std::size_t, 8> kSizes = {72, 24, 400, 136, 64, 1032, 200, 32};
  const auto block = std::make_unique<std::array<unsigned char, 64 * 1024>>();
  pawl::BuddyPool pool(block->data(), block->size());
  for (auto _ : state) {
    std::array<void*, kSizes.size()> pieces;
    for (std::size_t i = 0; i < kSizes.size(); ++i)
      pieces[i] = pool.allocate(kSizes[i]);
    for (void* piece : pieces)
      pool.release(piece);
  }
  require(state, pool.failures() == 0, "the pool is too small");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kSizes.size()));
}
BENCHMARK(buddy);

// ---- replay ----

pawl::Poll chain(pawl::OrchestrationContext& ctx) {
  while (true) {
    PAWL_AWAIT(done, ctx.schedule_activity("step", "x"));
    if (!done.ok()) return ctx.fail(done.error());
  }
}

class Replay {
 public:
  Replay()
      : pool_(pool_block_->data(), pool_block_->size()),
        arena_(arena_block_->data(), arena_block_->size()),
        engine_(arena_, limits()),
        history_(pool_) {
    input_.code = chain;
    input_.instance_id = "chain-1";
    input_.orchestration_name = "chain";
    input_.messages = &message_;
    input_.message_count = 1;
    message_.kind = pawl::MessageKind::kStart;
    message_.execution = 1;
  }
  // Runs the next step; false if it fails.
  bool turn() {
    const pawl::TurnResult result = engine_.run_turn(history_, input_, diagnostic_);
    message_.kind = pawl::MessageKind::kActivityDone;
    message_.ref = history_.last_id();
    return result.status == pawl::Status::kOk;
  }
  // The next turn brings the result of this activity.
  void answer(pawl::EventId activity) { message_.ref = activity; }
  [[nodiscard]] pawl::History& history() { return history_; }

 private:
  static pawl::EngineLimits limits() {
    pawl::EngineLimits limits;
    limits.events_max = 8192;
    return limits;
  }
  using Block = std::array<unsigned char, 4 * 1024 * 1024>;
  std::unique_ptr<Block> pool_block_ = std::make_unique<Block>();
  std::unique_ptr<Block> arena_block_ = std::make_unique<Block>();
  pawl::BuddyPool pool_;
  pawl::Arena arena_;
  pawl::Engine engine_;
  pawl::History history_;
  pawl::TurnInput input_;
  pawl::Message message_;
  pawl::Diagnostic diagnostic_;
};

// A warm turn that has to run `range` earlier steps again. The turn itself is undone each time.
void replay_turn(benchmark::State& state) {
  Replay replay;
  bool well = true;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    well = well && replay.turn();
  const pawl::History::Mark mark = replay.history().mark();
  const pawl::EventId waits_for = replay.history().last_id();
  for (auto _ : state) {
    well = well && replay.turn();
    replay.history().rewind(mark);
    replay.answer(waits_for);
  }
  require(state, well, "a turn failed");
  state.counters["earlier steps"] = static_cast<double>(state.range(0));
}
BENCHMARK(replay_turn)->Arg(1)->Arg(100)->Arg(1000);

// ---- sessions ----

// Fetch and acknowledgement of one activity by a worker that owns `range` sessions. SQLite is in
// the memory of the simulated machine, without flushes.
void session_fetch(benchmark::State& state) {
  pawl::test::World world;
  pawl::test::Worker worker(world);
  worker.options.max_sessions_per_worker = static_cast<std::uint32_t>(state.range(0));
  worker.join("node");
  const auto sessions = static_cast<std::uint64_t>(state.range(0));
  const auto schedule = [&](std::uint64_t i) {
    world.schedule("work", "session-" + std::to_string(i % sessions));
  };
  const auto take = [&] {
    const std::optional<pawl::test::Job> job = worker.fetch();
    return job && worker.ack(*job) == pawl::Status::kOk;
  };
  bool well = true;
  for (std::uint64_t i = 0; i < sessions; ++i) {
    schedule(i);
    well = take() && well;
  }
  std::uint64_t at = 0;
  for (auto _ : state) {
    state.PauseTiming();
    schedule(at += 7);
    state.ResumeTiming();
    well = take() && well;
  }
  require(state, well, "no work came");
}
BENCHMARK(session_fetch)->Arg(1)->Arg(1000)->Iterations(2000);

}  // namespace
