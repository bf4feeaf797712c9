// FlashFiles: three files in the sectors of a flash: the database, its log, and one more.
//
// Purpose: what SQLite asks of a file, and no more. A write is durable after sync(). Writes become
// durable in the order in which they were made: a power cut keeps a first part of the writes that
// were not synced. Creating, removing or shortening a file happens as a whole or not at all, and is
// durable at once.
// Form: sector 0 is the directory; each file has a range of sectors of its own after it.
// Ownership: the sectors belong to the caller and outlive this. Thread rule: one thread.
#ifndef PAWL_PORT_BARE_METAL_FLASH_FILES_HPP
#define PAWL_PORT_BARE_METAL_FLASH_FILES_HPP

#include <cstddef>
#include <cstdint>

#include "port/bare_metal/flash_sectors.hpp"

namespace pawl::bare_metal {

// A file, named by its place in the directory.
enum class FilePlace : std::uint8_t { kDatabase, kLog, kOther, kNone };

class FlashFiles {
 public:
  static constexpr std::size_t kNameBytesMax = 63;
  // Size of the third file's range. Pawl makes no such file; it is for an application's own few
  // bytes.
  static constexpr std::uint32_t kOtherSectors = 4;

  // `database_path` is the name of the database; the log's name is the same with "-wal".
  // kInvalidArgument: the name is empty or too long, or the log leaves no room for a database;
  // kUnsupported: the flash was formatted with another size of the log; kCorrupt, kIo, kFull.
  Status mount(FlashSectors& sectors, const char* database_path, std::uint32_t log_sectors,
               Diagnostic& diagnostic);

  // kNone: no file can have this name. A file that does not exist has a place all the same.
  [[nodiscard]] FilePlace find(const char* path) const;
  [[nodiscard]] bool exists(FilePlace place) const { return entry(place).exists != 0; }
  [[nodiscard]] std::int64_t size(FilePlace place) const { return entry(place).size; }
  // Makes the file empty if it does not exist; durable with the next sync().
  void create(FilePlace place, const char* path);
  // Makes the file with these bytes, as a whole or not at all. kAlreadyExists; kFull: the file's
  // range has fewer bytes.
  Status create_whole(FilePlace place, const void* data, std::size_t size);
  Status remove(FilePlace place);
  Status truncate(FilePlace place, std::int64_t size);

  // Bytes read; fewer than `size` only at the end of the file.
  Result<std::size_t> read(FilePlace place, void* out, std::size_t size, std::int64_t offset);
  // kFull: the file's range ends before the last byte, or no sector is free.
  Status write(FilePlace place, const void* data, std::size_t size, std::int64_t offset);
  Status sync();

  // Bytes that the database can still grow by.
  [[nodiscard]] std::int64_t free_bytes() const;

 private:
  static constexpr std::size_t kPlaces = 3;
  struct Entry {
    std::uint32_t exists = 0;
    std::uint32_t size = 0;  // bytes
    char name[kNameBytesMax + 1] = {};
  };
  struct Directory {
    static constexpr std::uint32_t kMagic = 0x44774150;  // "PAwD"
    std::uint32_t magic = kMagic;
    std::uint32_t log_sectors = 0;
    Entry entries[kPlaces];
  };
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  [[nodiscard]] const Entry& entry(FilePlace place) const {
    return directory_.entries[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] Entry& entry(FilePlace place) {
    return directory_.entries[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] const Range& range(FilePlace place) const {
    return ranges_[static_cast<std::size_t>(place)];
  }
  void lay_out(std::uint32_t log_sectors);
  Status write_directory();
  void forget_beyond(FilePlace place);
  Status flush();
  Status load(std::uint32_t sector, FilePlace place, std::uint32_t index);
  Status write_piece(FilePlace place, const unsigned char* data, std::size_t size,
                     std::uint32_t offset);
  Status fill_with_zeros(FilePlace place, std::uint32_t until);

  FlashSectors* sectors_ = nullptr;
  Directory directory_;
  bool directory_is_dirty_ = false;
  Range ranges_[kPlaces];
  // The sector that was last written in part: a frame of the log begins where the one before ended.
  static constexpr std::uint32_t kNoSector = 0xffffffff;
  std::uint32_t buffered_ = kNoSector;
  bool buffer_is_dirty_ = false;
  alignas(8) unsigned char buffer_[kSectorBytes] = {};
};

}  // namespace pawl::bare_metal

#endif  // PAWL_PORT_BARE_METAL_FLASH_FILES_HPP
