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
  // `text`: a literal.
  constexpr explicit Query(const char* text) : text_(text) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  [[nodiscard]] constexpr const char* text() const { return text_; }

 private:
  const char* text_;
};

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_QUERY_HPP
