#include "pawl/name.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace pawl {
namespace {

TEST(Name, OwnsTheBytesItWasMadeFrom) {
  Name name = "sensor-" + std::to_string(7);  // the string ends its life on this line
  const std::string other(100, 'x');          // may reuse its memory
  EXPECT_EQ(name.view(), "sensor-7");
  const Name copy = name;
  name = "a";
  EXPECT_EQ(copy.view(), "sensor-7");
  EXPECT_EQ(name.view(), "a");
  EXPECT_NE(name, copy);
  name = copy;
  EXPECT_EQ(name, copy);
  name = *&name;
  EXPECT_EQ(name.view(), "sensor-7");
}

TEST(Name, IsMadeOfAnyText) {
  const char* const c_text = "c";
  const char with_zero[] = {'a', '\0', 'b'};
  EXPECT_EQ(Name(c_text).empty(), false);
  EXPECT_TRUE(Name().empty());
  EXPECT_TRUE(Name("").empty());
  EXPECT_EQ(Name(std::string_view(with_zero, 3)), std::string_view(with_zero, 3));
  const std::optional<Name> version = "1.0.0";
  EXPECT_EQ(*version, "1.0.0");
  static_assert(!std::is_convertible_v<int, Name>);
}

TEST(Name, OfANullPointerIsEmpty) {
  const char* const unset = nullptr;
  EXPECT_TRUE(Name(unset).empty());
  static_assert(!std::is_constructible_v<Name, std::nullptr_t>);
}

// A name that is too long stays too long, so that every call refuses it and its beginning is not
// taken for the name.
TEST(Name, ThatIsTooLongStaysTooLong) {
  const Name longest(std::string(kNameBytesMax, 'n'));
  EXPECT_EQ(longest.view().size(), kNameBytesMax);
  for (const std::size_t size : {kNameBytesMax + 1, kNameBytesMax + 2, std::size_t{70'000}}) {
    const Name name(std::string(size, 'n'));
    EXPECT_EQ(name.view().size(), kNameBytesMax + 1);
    const Name copy = name;
    EXPECT_EQ(copy.view().size(), kNameBytesMax + 1);
    EXPECT_NE(InstanceId(std::string(size, 'n')), InstanceId(longest.view()));
  }
}

TEST(Name, ComparesWithWhateverIsAText) {
  const Name name = "bed-7";
  const std::string_view same = "bed-7";
  const std::string other = "bed-8";
  EXPECT_TRUE(name == same && same == name && name == "bed-7" && "bed-7" == name);
  EXPECT_TRUE(name != other && other != name && name != "bed-8" && "bed-8" != name);
  EXPECT_FALSE(name != same || same != name || name == other || other == name);
}

TEST(Path, OwnsTheBytesItWasMadeFrom) {
  const std::string folder(100, 'f');
  Path path = folder + "/x.db";       // the string ends its life on this line
  const std::string other(200, 'x');  // may reuse its memory
  EXPECT_EQ(path.view(), folder + "/x.db");
  EXPECT_STREQ(path.c_str(), (folder + "/x.db").c_str());
  const Path copy = path;
  path = "y.db";
  EXPECT_EQ(copy.view(), folder + "/x.db");
  EXPECT_STREQ(path.c_str(), "y.db");
  path = *&path;
  EXPECT_EQ(path.size(), 4U);
  std::optional<Path> maybe = "a";
  maybe = folder;
  EXPECT_EQ(maybe->view(), folder);
}

TEST(Path, ThatIsNoneIsEmpty) {
  const char* const unset = nullptr;
  for (const Path& path : {Path(), Path(""), Path(unset)}) {
    EXPECT_TRUE(path.empty() && path.fits());
    EXPECT_STREQ(path.c_str(), "");
  }
  static_assert(!std::is_constructible_v<Path, std::nullptr_t>);
}

// A path that does not fit keeps no text that could be taken for another path.
TEST(Path, ThatDoesNotFitSaysSo) {
  const Path longest(std::string(Path::kBytesMax, 'p'));
  EXPECT_TRUE(longest.fits());
  EXPECT_EQ(longest.view().size(), Path::kBytesMax);
  for (const std::string& text : {std::string(Path::kBytesMax + 1, 'p'), std::string("a\0b", 3)}) {
    const Path path(text);
    const Path copy = path;
    for (const Path& one : {path, copy}) {
      EXPECT_FALSE(one.fits());
      EXPECT_FALSE(one.empty());
      EXPECT_EQ(one.size(), text.size());
      EXPECT_TRUE(one.view().empty());
      EXPECT_STREQ(one.c_str(), "");
    }
  }
}

TEST(BorrowedText, IsMadeOfNoTemporaryThatOwnsItsBytes) {
  static_assert(std::is_constructible_v<BorrowedText, const char(&)[4]>);
  static_assert(std::is_constructible_v<BorrowedText, const char*>);
  static_assert(std::is_constructible_v<BorrowedText, std::string_view>);
  static_assert(std::is_constructible_v<BorrowedText, std::string&>);
  static_assert(std::is_constructible_v<BorrowedText, const Name&>);
  static_assert(!std::is_constructible_v<BorrowedText, std::string>);
  static_assert(!std::is_constructible_v<BorrowedText, const std::string>);
  static_assert(!std::is_constructible_v<BorrowedText, Name>);
  const std::string text = "kept";
  const BorrowedText borrowed = text;
  EXPECT_EQ(borrowed.view().data(), text.data());
}

TEST(InstanceId, IsMadeOfATextOnlyWhereItIsSaid) {
  static_assert(!std::is_convertible_v<const char*, InstanceId>);
  static_assert(!std::is_convertible_v<std::string, InstanceId>);
  static_assert(!std::is_convertible_v<Name, InstanceId>);
  static_assert(!std::is_default_constructible_v<InstanceId>);
  static_assert(std::is_convertible_v<const InstanceId&, std::string_view>);
  static_assert(!std::is_convertible_v<InstanceId, std::string_view>, "its bytes would be gone");
  const InstanceId id("bed-" + std::to_string(7));
  const std::string_view text = id;
  EXPECT_EQ(text, "bed-7");
  EXPECT_EQ(InstanceId("bed-7"), id);
}

}  // namespace
}  // namespace pawl
