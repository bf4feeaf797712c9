#include "port/bare_metal/flash_sectors.hpp"

#include <cstring>
#include <new>

#include "core/crc32c.hpp"

namespace pawl::bare_metal {
namespace {

constexpr std::size_t kHeadBytes = kProgramBytes;
constexpr std::uint32_t kSlotBytes = kSectorBytes + kHeadBytes;
constexpr std::uint32_t kBlockMagic = 0x42774150;  // "PAwB"
constexpr std::uint32_t kFormat = 1;

// The head as it lies in the flash. Numbers have the machine's byte order; nothing else reads them.
struct BlockHead {
  std::uint32_t magic = kBlockMagic;
  std::uint32_t format = kFormat;
  std::uint32_t block_bytes = 0;
  std::uint32_t block_count = 0;
  std::uint32_t erases = 0;
  std::uint32_t unused[2] = {};
  std::uint32_t crc = 0;
};
static_assert(sizeof(BlockHead) == kHeadBytes, "one unit");

template <class Head>
std::uint32_t crc_of(const Head& head) {
  return crc32c(&head, offsetof(Head, crc));
}

std::uint32_t slots_in(const NorFlash::Geometry& geometry) {
  return (geometry.block_bytes - static_cast<std::uint32_t>(kHeadBytes)) / kSlotBytes;
}

bool is_allowed(const NorFlash::Geometry& geometry) {
  constexpr std::uint32_t kSlotsMax = 65'535;
  return geometry.block_bytes >= 4'096 && geometry.block_bytes <= 1'048'576 &&
         geometry.block_bytes % kProgramBytes == 0 &&
         geometry.block_count >= FlashSectors::kBlocksMin &&
         geometry.block_count <= kSlotsMax / slots_in(geometry);
}

}  // namespace

struct FlashSectors::SlotHead {
  static constexpr std::uint32_t kMagic = 0x53774150;  // "PAwS"
  std::uint32_t magic = kMagic;
  std::uint32_t sector = 0;
  std::uint64_t sequence = 0;
  std::uint32_t data_crc = 0;
  std::uint32_t unused[2] = {};
  std::uint32_t crc = 0;
};

std::uint32_t FlashSectors::capacity(const NorFlash::Geometry& geometry) {
  return is_allowed(geometry) ? (geometry.block_count - kSpareBlocks) * slots_in(geometry) : 0;
}

std::size_t FlashSectors::required_memory(const NorFlash::Geometry& geometry) {
  return sizeof(Block) * geometry.block_count + sizeof(Slot) * capacity(geometry);
}

// ---- mount ----

Status FlashSectors::mount(NorFlash& flash, void* memory, std::size_t bytes, bool may_format,
                           Diagnostic& diagnostic) {
  static_assert(sizeof(SlotHead) == kHeadBytes, "one unit");
  *this = FlashSectors();
  flash_ = &flash;
  geometry_ = flash.geometry();
  if (!is_allowed(geometry_)) {
    diagnostic.format("flash: %lu blocks of %lu bytes are not allowed",
                      static_cast<unsigned long>(geometry_.block_count),
                      static_cast<unsigned long>(geometry_.block_bytes));
    return Status::kUnsupported;
  }
  if (memory == nullptr || bytes < required_memory(geometry_)) {
    diagnostic.format("flash: %zu bytes of memory do not do, it needs %zu", bytes,
                      required_memory(geometry_));
    return Status::kResourceExhausted;
  }
  slots_a_block_ = slots_in(geometry_);
  sector_count_ = capacity(geometry_);
  blocks_ = ::new (memory) Block[geometry_.block_count];
  slots_ = ::new (static_cast<void*>(blocks_ + geometry_.block_count)) Slot[sector_count_];
  for (std::uint32_t sector = 0; sector < sector_count_; ++sector)
    slots_[sector] = kNoSlot;
  PAWL_TRY(look_at_blocks(may_format, diagnostic));
  for (std::uint32_t block = 0; block < geometry_.block_count; ++block) {
    const Status status = blocks_[block].ours ? look_at_slots(block) : renew(block);
    if (status != Status::kOk) {
      diagnostic.format("flash: block %lu cannot be read or erased",
                        static_cast<unsigned long>(block));
      return status;
    }
  }
  find_open_block();
  return Status::kOk;
}

// Finds all blocks of Pawl's before any block is erased.
Status FlashSectors::look_at_blocks(bool may_format, Diagnostic& diagnostic) {
  std::uint32_t ours = 0;
  for (std::uint32_t block = 0; block < geometry_.block_count; ++block) {
    BlockHead head;
    PAWL_TRY(flash_->read(block * geometry_.block_bytes, &head, sizeof(head)));
    if (head.magic != kBlockMagic || head.crc != crc_of(head)) continue;
    if (head.format != kFormat || head.block_bytes != geometry_.block_bytes ||
        head.block_count != geometry_.block_count) {
      diagnostic.format("flash: formatted as %lu blocks of %lu bytes, format %lu",
                        static_cast<unsigned long>(head.block_count),
                        static_cast<unsigned long>(head.block_bytes),
                        static_cast<unsigned long>(head.format));
      return Status::kUnsupported;
    }
    blocks_[block].ours = true;
    blocks_[block].erases = head.erases;
    ++ours;
  }
  if (ours > 0 || may_format) return Status::kOk;
  diagnostic.format("flash: no block is Pawl's, and it may not be formatted");
  return Status::kForeignDatabase;
}

Status FlashSectors::head_of(std::uint32_t slot, SlotHead* head, bool* valid) {
  PAWL_TRY(flash_->read(address_of(slot) + kSectorBytes, head, sizeof(*head)));
  *valid =
      head->magic == SlotHead::kMagic && head->crc == crc_of(*head) && head->sector < sector_count_;
  return Status::kOk;
}

Status FlashSectors::look_at_slots(std::uint32_t block) {
  for (std::uint32_t i = 0; i < slots_a_block_; ++i) {
    const std::uint32_t slot = block * slots_a_block_ + i;
    SlotHead head;
    bool valid = false;
    PAWL_TRY(head_of(slot, &head, &valid));
    if (!valid) continue;
    if (head.sequence > sequence_) sequence_ = head.sequence;
    const Slot other = slots_[head.sector];
    if (other != kNoSlot) {
      SlotHead other_head;
      PAWL_TRY(head_of(other, &other_head, &valid));
      if (other_head.sequence > head.sequence) continue;
    }
    point_to(head.sector, slot);
  }
  return count_used(block);
}

// A power cut leaves a slot with bytes and no head, so a slot is blank only if all its bytes are.
Status FlashSectors::count_used(std::uint32_t block) {
  std::uint32_t used = slots_a_block_;
  bool blank = true;
  while (used > 0 && blank) {
    PAWL_TRY(is_blank(address_of(block * slots_a_block_ + used - 1), kSlotBytes, &blank));
    if (blank) --used;
  }
  blocks_[block].used = static_cast<std::uint16_t>(used);
  return Status::kOk;
}

Status FlashSectors::is_blank(std::uint32_t address, std::size_t size, bool* blank) {
  unsigned char piece[kProgramBytes];
  *blank = true;
  for (std::size_t at = 0; at < size && *blank; at += sizeof(piece)) {
    PAWL_TRY(flash_->read(address + static_cast<std::uint32_t>(at), piece, sizeof(piece)));
    for (const unsigned char byte : piece)
      *blank = *blank && byte == 0xff;
  }
  return Status::kOk;
}

// The open block is the one that is neither blank nor full. There is more than one only if a power
// cut ended a program operation that left no trace; any of them will do.
void FlashSectors::find_open_block() {
  for (std::uint32_t block = 0; block < geometry_.block_count && open_ == kNoBlock; ++block) {
    if (blocks_[block].used > 0 && blocks_[block].used < slots_a_block_) open_ = block;
  }
}

// ---- reading and writing ----

std::uint32_t FlashSectors::address_of(std::uint32_t slot) const {
  return slot / slots_a_block_ * geometry_.block_bytes + static_cast<std::uint32_t>(kHeadBytes) +
         slot % slots_a_block_ * kSlotBytes;
}

Status FlashSectors::read(std::uint32_t sector, void* out) {
  if (sector >= sector_count_) return Status::kInvalidArgument;
  const Slot slot = slots_[sector];
  if (slot == kNoSlot) return Status::kNotFound;
  SlotHead head;
  bool valid = false;
  PAWL_TRY(head_of(slot, &head, &valid));
  PAWL_TRY(flash_->read(address_of(slot), out, kSectorBytes));
  return valid && head.sector == sector && crc32c(out, kSectorBytes) == head.data_crc
             ? Status::kOk
             : Status::kCorrupt;
}

Status FlashSectors::write(std::uint32_t sector, const void* data) {
  if (sector >= sector_count_) return Status::kInvalidArgument;
  PAWL_TRY(make_room());
  return append(sector, data, crc32c(data, kSectorBytes));
}

// Runs before anything else is written, so that copies that a power cut interrupted are finished
// first: until then each block they went to holds nothing but copies. If power cuts have spoiled
// all free slots, such a block is given up, and the copying begins anew.
Status FlashSectors::make_room() {
  for (std::uint32_t round = 0; round < 2 * geometry_.block_count; ++round) {
    const std::uint32_t wanted = has_open_slot() ? kFreeBlocksKept : kFreeBlocksKept + 1;
    if (free_blocks() >= wanted) break;
    const std::uint32_t victim = choose_victim();
    if (victim == kNoBlock) return Status::kFull;
    if (blocks_[victim].live <= free_slots()) {
      PAWL_TRY(collect(victim));
    } else {
      PAWL_TRY(give_up_copies());
    }
  }
  return Status::kOk;
}

std::uint32_t FlashSectors::free_slots() const {
  const std::uint32_t in_open = has_open_slot() ? slots_a_block_ - blocks_[open_].used : 0;
  const std::uint32_t all = in_open + free_blocks() * slots_a_block_;
  const std::uint32_t left_out = is_first_write_ ? 1 : 0;
  return all < left_out ? 0 : all - left_out;
}

// The block with the fewest live slots, and among equals the one erased least. kNoBlock: every slot
// is live.
std::uint32_t FlashSectors::choose_victim() const {
  std::uint32_t victim = kNoBlock;
  for (std::uint32_t i = 0; i < geometry_.block_count; ++i) {
    const Block& block = blocks_[i];
    if (block.used == 0 || block.live == slots_a_block_ || (i == open_ && has_open_slot()))
      continue;
    const bool is_better =
        victim == kNoBlock || block.live < blocks_[victim].live ||
        (block.live == blocks_[victim].live && block.erases < blocks_[victim].erases);
    if (is_better) victim = i;
  }
  return victim;
}

// Erases a block whose live sectors all exist once more elsewhere, as the version before.
Status FlashSectors::give_up_copies() {
  for (std::uint32_t block = 0; block < geometry_.block_count; ++block) {
    if (blocks_[block].used == 0) continue;
    bool is_whole = false;
    PAWL_TRY(point_before(block, false, &is_whole));
    if (!is_whole) continue;
    PAWL_TRY(point_before(block, true, &is_whole));
    return renew(block);
  }
  return Status::kFull;
}

// `is_whole`: each live sector of this block has its newest other version elsewhere, with the same
// bytes. `apply`: the sectors point to those versions from now on.
Status FlashSectors::point_before(std::uint32_t block, bool apply, bool* is_whole) {
  *is_whole = true;
  for (std::uint32_t i = 0; i < slots_a_block_ && *is_whole; ++i) {
    const std::uint32_t slot = block * slots_a_block_ + i;
    SlotHead head;
    bool valid = false;
    PAWL_TRY(head_of(slot, &head, &valid));
    if (!valid || slots_[head.sector] != slot) continue;
    std::uint32_t before = kNoSlot;
    PAWL_TRY(find_before(head, block, &before));
    *is_whole = before != kNoSlot;
    if (*is_whole && apply) point_to(head.sector, before);
  }
  return Status::kOk;
}

Status FlashSectors::find_before(const SlotHead& newest, std::uint32_t except_block,
                                 std::uint32_t* found) {
  SlotHead best;
  *found = kNoSlot;
  for (std::uint32_t slot = 0; slot < geometry_.block_count * slots_a_block_; ++slot) {
    if (slot / slots_a_block_ == except_block) continue;
    SlotHead head;
    bool valid = false;
    PAWL_TRY(head_of(slot, &head, &valid));
    if (!valid || head.sector != newest.sector) continue;
    if (*found != kNoSlot && head.sequence < best.sequence) continue;
    best = head;
    *found = slot;
  }
  if (*found != kNoSlot && best.data_crc != newest.data_crc) *found = kNoSlot;
  return Status::kOk;
}

bool FlashSectors::has_open_slot() const {
  return open_ != kNoBlock && blocks_[open_].used < slots_a_block_;
}

void FlashSectors::forget(std::uint32_t sector) {
  if (sector >= sector_count_ || slots_[sector] == kNoSlot) return;
  --blocks_[slots_[sector] / slots_a_block_].live;
  slots_[sector] = kNoSlot;
  --in_use_;
}

void FlashSectors::point_to(std::uint32_t sector, std::uint32_t slot) {
  forget(sector);
  slots_[sector] = static_cast<Slot>(slot);
  ++blocks_[slot / slots_a_block_].live;
  ++in_use_;
}

std::uint32_t FlashSectors::free_blocks() const {
  std::uint32_t count = 0;
  for (std::uint32_t block = 0; block < geometry_.block_count; ++block)
    count += blocks_[block].used == 0 ? 1U : 0U;
  return count;
}

std::uint32_t FlashSectors::erases_max() const {
  std::uint32_t most = 0;
  for (std::uint32_t block = 0; block < geometry_.block_count; ++block)
    most = blocks_[block].erases > most ? blocks_[block].erases : most;
  return most;
}

Status FlashSectors::append(std::uint32_t sector, const void* data, std::uint32_t data_crc) {
  if (!has_open_slot()) PAWL_TRY(open_block());
  if (is_first_write_) {
    // A program operation that was cut before its first bit reads as blank, and a half-programmed
    // bit may read as either value. So the first slot after mount() is skipped, not programmed
    // over.
    is_first_write_ = false;
    ++blocks_[open_].used;
    if (!has_open_slot()) PAWL_TRY(open_block());
  }
  Block& block = blocks_[open_];
  const std::uint32_t slot = open_ * slots_a_block_ + block.used;
  ++block.used;
  SlotHead head;
  head.sector = sector;
  head.sequence = sequence_ + 1;
  head.data_crc = data_crc;
  head.crc = crc_of(head);
  PAWL_TRY(flash_->program(address_of(slot), data, kSectorBytes));
  PAWL_TRY(flash_->program(address_of(slot) + kSectorBytes, &head, sizeof(head)));
  sequence_ = head.sequence;
  point_to(sector, slot);
  return Status::kOk;
}

// Opens the free block that was erased least. The choice depends on the flash alone: after a power
// cut the same block is opened, and the slot that is skipped is the one that was cut.
Status FlashSectors::open_block() {
  std::uint32_t found = kNoBlock;
  for (std::uint32_t block = 0; block < geometry_.block_count; ++block) {
    if (blocks_[block].used > 0) continue;
    if (found == kNoBlock || blocks_[block].erases < blocks_[found].erases) found = block;
  }
  if (found == kNoBlock) return Status::kFull;
  open_ = found;
  return Status::kOk;
}

// Copies the live sectors of a block, and erases it.
Status FlashSectors::collect(std::uint32_t victim) {
  alignas(8) unsigned char bytes[kSectorBytes];
  for (std::uint32_t i = 0; i < slots_a_block_; ++i) {
    const std::uint32_t slot = victim * slots_a_block_ + i;
    SlotHead head;
    bool valid = false;
    PAWL_TRY(head_of(slot, &head, &valid));
    if (!valid || slots_[head.sector] != slot) continue;
    PAWL_TRY(flash_->read(address_of(slot), bytes, kSectorBytes));
    // The old checksum stays: damaged bytes stay damaged, and their reader notices it.
    PAWL_TRY(append(head.sector, bytes, head.data_crc));
  }
  return renew(victim);
}

// The head says that the erase was completed: a block without a head is erased again.
Status FlashSectors::renew(std::uint32_t block) {
  BlockHead head;
  head.block_bytes = geometry_.block_bytes;
  head.block_count = geometry_.block_count;
  // The lost count of a block without a head is at most the highest count of all blocks.
  const std::uint32_t most = erases_max();
  head.erases = blocks_[block].ours ? blocks_[block].erases + 1 : (most > 0 ? most : 1);
  head.crc = crc_of(head);
  if (open_ == block) open_ = kNoBlock;
  blocks_[block].used = static_cast<std::uint16_t>(slots_a_block_);  // full until it has a head
  PAWL_TRY(flash_->erase(block));
  PAWL_TRY(flash_->program(block * geometry_.block_bytes, &head, sizeof(head)));
  blocks_[block].ours = true;
  blocks_[block].erases = head.erases;
  blocks_[block].used = 0;
  return Status::kOk;
}

}  // namespace pawl::bare_metal
