// Query: one statement of the store, as a static object.
//
// Purpose: a statement is named by its object and nothing else: it is prepared when it is first
// used and found again by the object's address, so no two can be mixed up and none needs a number.
// Rejected: an enum of ids a file, whose ranges must not overlap. Ownership: constants. Thread
// rule: any.
#ifndef PAWL_STORE_SQL_QUERY_HPP
#define PAWL_STORE_SQL_QUERY_HPP

namespace pawl::sql {

class Query {
 public:
  // `text`: a literal. `marks`: what a use of it means besides, for Connection::take_marks().
  constexpr explicit Query(const char* text, unsigned marks = 0) : text_(text), marks_(marks) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  [[nodiscard]] constexpr const char* text() const { return text_; }
  [[nodiscard]] constexpr unsigned marks() const { return marks_; }

 private:
  const char* text_;
  unsigned marks_;
};

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_QUERY_HPP
