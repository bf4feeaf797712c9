// The lock of a node: each connection of a store holds one, by which others see that it is there
// (docs/rules/fleet.md, F4b and F8). It ends with the connection.
#ifndef PAWL_STORE_POSTGRES_NODE_LOCK_HPP
#define PAWL_STORE_POSTGRES_NODE_LOCK_HPP

// A part of statements: the locks l of the node that the expression names.
#define PAWL_NODE_LOCKS(node)                                                      \
  "pg_locks l WHERE l.locktype='advisory' AND l.granted AND l.objsubid=1 AND "     \
  "l.database=(SELECT oid FROM pg_database WHERE datname=current_database()) AND " \
  "(l.classid::bigint<<32)|l.objid::bigint=" node

#define PAWL_IS_CONNECTED(node) "EXISTS(SELECT 1 FROM " PAWL_NODE_LOCKS(node) ")"

#endif  // PAWL_STORE_POSTGRES_NODE_LOCK_HPP
