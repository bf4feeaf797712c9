#include "port/bare_metal/flash_files.hpp"

#include <cstring>

namespace pawl::bare_metal {
namespace {

constexpr std::uint32_t kDirectorySector = 0;
constexpr std::uint32_t kSector = kSectorBytes;

std::uint32_t sectors_of(std::uint32_t bytes) { return (bytes + kSector - 1) / kSector; }

}  // namespace

// ---- the directory ----

Status FlashFiles::mount(FlashSectors& sectors, const char* database_path,
                         std::uint32_t log_sectors, Diagnostic& diagnostic) {
  static_assert(sizeof(Directory) <= kSectorBytes, "one sector");
  *this = FlashFiles();
  sectors_ = &sectors;
  const std::size_t name_bytes = std::strlen(database_path);
  const std::uint32_t others = 1 + kOtherSectors + log_sectors;
  if (name_bytes == 0 || name_bytes > kNameBytesMax || log_sectors == 0 ||
      others >= sectors.sector_count()) {
    diagnostic.format("flash: \"%s\" with a log of %lu of %lu sectors is not possible",
                      database_path, static_cast<unsigned long>(log_sectors),
                      static_cast<unsigned long>(sectors.sector_count()));
    return Status::kInvalidArgument;
  }
  lay_out(log_sectors);
  const Status found = sectors.read(kDirectorySector, buffer_);
  if (found == Status::kOk) {
    std::memcpy(&directory_, buffer_, sizeof(directory_));
  } else if (found == Status::kNotFound) {
    directory_.log_sectors = log_sectors;
    PAWL_TRY(write_directory());
  } else {
    diagnostic.format("flash: its directory cannot be read");
    return found;
  }
  if (directory_.magic != Directory::kMagic || directory_.log_sectors != log_sectors) {
    diagnostic.format("flash: formatted for a log of %lu sectors, not %lu",
                      static_cast<unsigned long>(directory_.log_sectors),
                      static_cast<unsigned long>(log_sectors));
    return Status::kUnsupported;
  }
  std::memcpy(entry(FilePlace::kDatabase).name, database_path, name_bytes + 1);
  for (const FilePlace place : {FilePlace::kDatabase, FilePlace::kLog, FilePlace::kOther})
    forget_beyond(place);
  return Status::kOk;
}

void FlashFiles::lay_out(std::uint32_t log_sectors) {
  const std::uint32_t first_other = kDirectorySector + 1;
  const std::uint32_t first_log = first_other + kOtherSectors;
  const std::uint32_t first_database = first_log + log_sectors;
  ranges_[static_cast<std::size_t>(FilePlace::kOther)] = {first_other, kOtherSectors};
  ranges_[static_cast<std::size_t>(FilePlace::kLog)] = {first_log, log_sectors};
  ranges_[static_cast<std::size_t>(FilePlace::kDatabase)] = {
      first_database, sectors_->sector_count() - first_database};
}

// The buffered bytes go first, of whichever file, so that the directory never names bytes that are
// not in the flash.
Status FlashFiles::write_directory() {
  PAWL_TRY(flush());
  alignas(8) unsigned char bytes[kSectorBytes] = {};
  std::memcpy(bytes, &directory_, sizeof(directory_));
  PAWL_TRY(sectors_->write(kDirectorySector, bytes));
  directory_is_dirty_ = false;
  return Status::kOk;
}

// Frees the sectors beyond the file's end. Only after the directory has the new size: until then a
// power cut brings back the longer file.
void FlashFiles::forget_beyond(FilePlace place) {
  const Range& all = range(place);
  const std::uint32_t used = exists(place) ? sectors_of(entry(place).size) : 0;
  for (std::uint32_t index = used; index < all.count; ++index)
    sectors_->forget(all.first + index);
  if (buffered_ >= all.first + used && buffered_ < all.first + all.count) {
    buffered_ = kNoSector;
    buffer_is_dirty_ = false;
  }
}

FilePlace FlashFiles::find(const char* path) const {
  constexpr char kLogEnding[] = "-wal";
  if (path == nullptr) return FilePlace::kNone;
  const char* const database = entry(FilePlace::kDatabase).name;
  const std::size_t size = std::strlen(database);
  const Entry& other = entry(FilePlace::kOther);
  if (std::strncmp(path, database, size) == 0) {
    if (path[size] == '\0') return FilePlace::kDatabase;
    if (std::strcmp(path + size, kLogEnding) == 0) return FilePlace::kLog;
  }
  if (std::strlen(path) > kNameBytesMax) return FilePlace::kNone;
  const bool is_free = other.exists == 0 || std::strcmp(other.name, path) == 0;
  return is_free ? FilePlace::kOther : FilePlace::kNone;
}

void FlashFiles::create(FilePlace place, const char* path) {
  if (exists(place)) return;
  Entry& made = entry(place);
  made.exists = 1;
  made.size = 0;
  if (place == FilePlace::kOther) std::memcpy(made.name, path, std::strlen(path) + 1);
  directory_is_dirty_ = true;
}

// The file's sectors belong to no file until the directory names it.
Status FlashFiles::create_whole(FilePlace place, const void* data, std::size_t size) {
  if (exists(place)) return Status::kAlreadyExists;
  if (size > std::size_t{range(place).count} * kSectorBytes) return Status::kFull;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (std::size_t at = 0; at < size; at += kSectorBytes) {
    alignas(8) unsigned char sector[kSectorBytes] = {};
    const std::size_t left = size - at;
    std::memcpy(sector, bytes + at, left < kSectorBytes ? left : kSectorBytes);
    PAWL_TRY(sectors_->write(range(place).first + static_cast<std::uint32_t>(at / kSectorBytes),
                             sector));
  }
  entry(place).exists = 1;
  entry(place).size = static_cast<std::uint32_t>(size);
  const Status status = write_directory();
  if (status != Status::kOk) entry(place).exists = 0;
  return status;
}

Status FlashFiles::remove(FilePlace place) {
  if (!exists(place)) return Status::kNotFound;
  const Entry before = entry(place);
  entry(place).exists = 0;
  entry(place).size = 0;
  const Status status = write_directory();
  if (status != Status::kOk) {
    entry(place) = before;
    return status;
  }
  forget_beyond(place);
  return Status::kOk;
}

Status FlashFiles::truncate(FilePlace place, std::int64_t size) {
  if (size < 0) return Status::kInvalidArgument;
  const std::uint32_t before = entry(place).size;
  if (size > before) {
    if (static_cast<std::uint64_t>(size) > std::uint64_t{range(place).count} * kSectorBytes)
      return Status::kFull;
    return fill_with_zeros(place, static_cast<std::uint32_t>(size));
  }
  if (size == before) return Status::kOk;
  entry(place).size = static_cast<std::uint32_t>(size);
  const Status status = write_directory();
  if (status != Status::kOk) {
    entry(place).size = before;
    return status;
  }
  forget_beyond(place);
  return Status::kOk;
}

// ---- bytes ----

Result<std::size_t> FlashFiles::read(FilePlace place, void* out, std::size_t size,
                                     std::int64_t offset) {
  if (offset < 0) return Status::kInvalidArgument;
  auto* const bytes = static_cast<unsigned char*>(out);
  const std::uint32_t end = entry(place).size;
  if (offset >= end) return std::size_t{0};
  const std::size_t wanted = size < end - static_cast<std::uint32_t>(offset)
                                 ? size
                                 : end - static_cast<std::uint32_t>(offset);
  std::size_t got = 0;
  while (got < wanted) {
    const std::uint32_t at = static_cast<std::uint32_t>(offset) + static_cast<std::uint32_t>(got);
    const std::uint32_t sector = range(place).first + at / kSector;
    const std::size_t within = at % kSector;
    const std::size_t piece =
        wanted - got < kSectorBytes - within ? wanted - got : kSectorBytes - within;
    if (piece == kSectorBytes && sector != buffered_) {
      PAWL_TRY(sectors_->read(sector, bytes + got));
    } else {
      PAWL_TRY(load(sector, place, at / kSector));
      std::memcpy(bytes + got, buffer_ + within, piece);
    }
    got += piece;
  }
  return got;
}

Status FlashFiles::write(FilePlace place, const void* data, std::size_t size, std::int64_t offset) {
  const std::uint64_t room = std::uint64_t{range(place).count} * kSectorBytes;
  if (offset < 0) return Status::kInvalidArgument;
  if (static_cast<std::uint64_t>(offset) + size > room) return Status::kFull;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  const auto begin = static_cast<std::uint32_t>(offset);
  if (size > 0 && begin > entry(place).size) PAWL_TRY(fill_with_zeros(place, begin));
  std::size_t done = 0;
  while (done < size) {
    const std::uint32_t at = begin + static_cast<std::uint32_t>(done);
    const std::size_t left_in_sector = kSectorBytes - at % kSectorBytes;
    const std::size_t piece = size - done < left_in_sector ? size - done : left_in_sector;
    PAWL_TRY(write_piece(place, bytes + done, piece, at));
    done += piece;
  }
  return Status::kOk;
}

// Writes a piece that lies within one sector.
Status FlashFiles::write_piece(FilePlace place, const unsigned char* data, std::size_t size,
                               std::uint32_t offset) {
  const std::uint32_t sector = range(place).first + offset / kSector;
  if (size == kSectorBytes && sector != buffered_) {
    PAWL_TRY(flush());
    PAWL_TRY(sectors_->write(sector, data));
  } else {
    PAWL_TRY(load(sector, place, offset / kSector));
    std::memcpy(buffer_ + offset % kSector, data, size);
    buffer_is_dirty_ = true;
  }
  const std::uint32_t end = offset + static_cast<std::uint32_t>(size);
  if (end > entry(place).size) {
    entry(place).size = end;
    directory_is_dirty_ = true;
  }
  return Status::kOk;
}

Status FlashFiles::fill_with_zeros(FilePlace place, std::uint32_t until) {
  constexpr unsigned char kZeros[kSectorBytes] = {};
  while (entry(place).size < until) {
    const std::uint32_t at = entry(place).size;
    const std::uint32_t left_in_sector = kSector - at % kSector;
    const std::uint32_t piece = until - at < left_in_sector ? until - at : left_in_sector;
    PAWL_TRY(write_piece(place, kZeros, piece, at));
  }
  return Status::kOk;
}

// Loads a sector into the buffer. Bytes beyond the end of the file read as zeros.
Status FlashFiles::load(std::uint32_t sector, FilePlace place, std::uint32_t index) {
  if (sector == buffered_) return Status::kOk;
  PAWL_TRY(flush());
  buffered_ = kNoSector;
  const std::uint32_t begin = index * kSector;
  const std::uint32_t size = entry(place).size;
  const std::size_t there = size <= begin ? 0 : size - begin;
  if (there > 0) PAWL_TRY(sectors_->read(sector, buffer_));
  if (there < kSectorBytes) std::memset(buffer_ + there, 0, kSectorBytes - there);
  buffered_ = sector;
  return Status::kOk;
}

Status FlashFiles::flush() {
  if (!buffer_is_dirty_) return Status::kOk;
  PAWL_TRY(sectors_->write(buffered_, buffer_));
  buffer_is_dirty_ = false;
  return Status::kOk;
}

Status FlashFiles::sync() {
  PAWL_TRY(flush());
  return directory_is_dirty_ ? write_directory() : Status::kOk;
}

std::int64_t FlashFiles::free_bytes() const {
  const std::uint32_t used = sectors_of(entry(FilePlace::kDatabase).size);
  return std::int64_t{range(FilePlace::kDatabase).count - used} * kSector;
}

}  // namespace pawl::bare_metal
