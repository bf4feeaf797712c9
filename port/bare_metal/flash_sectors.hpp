// FlashSectors: rewritable sectors of 1 KiB on a NOR flash.
//
// Purpose: a sector is written as a whole or not at all, whenever the power goes, and is durable
// when write() returns. A new version goes to the next free slot of a block; the old one is erased
// with its block, later, when all live sectors of that block were copied.
// Form of a block: a head of 32 bytes, then slots. A slot is the sector's bytes, then a head of 32
// bytes with its number, a sequence number and checksums. The head is programmed after the bytes:
// only a slot with a valid head counts, and of several slots of one sector the highest sequence
// number.
// Ownership: flash and memory belong to the caller and outlive this. Thread rule: one thread.
#ifndef PAWL_PORT_BARE_METAL_FLASH_SECTORS_HPP
#define PAWL_PORT_BARE_METAL_FLASH_SECTORS_HPP

#include <cstddef>
#include <cstdint>

#include "port/bare_metal/nor_flash.hpp"

namespace pawl::bare_metal {

inline constexpr std::size_t kSectorBytes = 1024;

class FlashSectors {
 public:
  // Blocks that the capacity leaves out: for copies, and for slots that a power cut has spoiled.
  static constexpr std::uint32_t kSpareBlocks = 5;
  static constexpr std::uint32_t kBlocksMin = 2 * kSpareBlocks + 1;

  // Sectors that such a flash has room for; 0: the geometry is not allowed (allowed: blocks of 4
  // KiB to 1 MiB, at least kBlocksMin of them, at most 65,535 slots).
  [[nodiscard]] static std::uint32_t capacity(const NorFlash::Geometry& geometry);
  // Bytes that mount() needs for such a flash.
  [[nodiscard]] static std::size_t required_memory(const NorFlash::Geometry& geometry);

  // Reads the heads of all slots, and erases blocks that a power cut left without a head. A flash
  // without any block of Pawl's is formatted if `may_format`.
  // kUnsupported: the geometry is not allowed, or is not the one that the flash was formatted with;
  // kForeignDatabase: no block is Pawl's; kResourceExhausted: too little memory; kIo.
  // The memory is aligned as std::uint64_t is.
  Status mount(NorFlash& flash, void* memory, std::size_t bytes, bool may_format,
               Diagnostic& diagnostic);

  // kNotFound: never written, or forgotten; kCorrupt: the bytes are not those that were written.
  Status read(std::uint32_t sector, void* out);
  // kFull: as many sectors are in use as there is room for. After an error the old bytes remain.
  Status write(std::uint32_t sector, const void* data);
  // Frees the sector's room. Not durable: after the next mount() the sector may exist again.
  void forget(std::uint32_t sector);

  [[nodiscard]] std::uint32_t sector_count() const { return sector_count_; }
  [[nodiscard]] std::uint32_t sectors_in_use() const { return in_use_; }
  // Highest erase count of a block since the flash was formatted.
  [[nodiscard]] std::uint32_t erases_max() const;

 private:
  using Slot = std::uint16_t;
  static constexpr Slot kNoSlot = 0xffff;
  static constexpr std::uint32_t kNoBlock = 0xffffffff;
  static constexpr std::uint32_t kFreeBlocksKept = 2;
  struct Block {
    std::uint32_t erases = 0;
    std::uint16_t used = 0;  // slots from the front that are not blank
    std::uint16_t live = 0;
    bool ours = false;
  };
  struct SlotHead;

  [[nodiscard]] std::uint32_t address_of(std::uint32_t slot) const;
  [[nodiscard]] std::uint32_t free_blocks() const;
  Status look_at_blocks(bool may_format, Diagnostic& diagnostic);
  Status look_at_slots(std::uint32_t block);
  Status count_used(std::uint32_t block);
  Status is_blank(std::uint32_t address, std::size_t size, bool* blank);
  Status head_of(std::uint32_t slot, SlotHead* head, bool* valid);
  void find_open_block();
  [[nodiscard]] bool has_open_slot() const;
  Status make_room();
  Status renew(std::uint32_t block);
  Status open_block();
  Status collect(std::uint32_t victim);
  [[nodiscard]] std::uint32_t free_slots() const;
  [[nodiscard]] std::uint32_t choose_victim() const;
  Status give_up_copies();
  Status point_before(std::uint32_t block, bool apply, bool* is_whole);
  Status find_before(const SlotHead& newest, std::uint32_t except_block, std::uint32_t* found);
  Status append(std::uint32_t sector, const void* data, std::uint32_t data_crc);
  void point_to(std::uint32_t sector, std::uint32_t slot);

  NorFlash* flash_ = nullptr;
  NorFlash::Geometry geometry_;
  std::uint32_t slots_a_block_ = 0;
  std::uint32_t sector_count_ = 0;
  std::uint32_t in_use_ = 0;
  std::uint32_t open_ = kNoBlock;
  std::uint64_t sequence_ = 0;  // number of the newest slot
  bool is_first_write_ = true;  // since mount()
  Slot* slots_ = nullptr;       // where each sector lies
  Block* blocks_ = nullptr;
};

}  // namespace pawl::bare_metal

#endif  // PAWL_PORT_BARE_METAL_FLASH_SECTORS_HPP
