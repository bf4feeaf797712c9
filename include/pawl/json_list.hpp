// The loop of PAWL_JSON and its like over their arguments: OP(Type, first) && OP(Type, second) &&
// ..
//
// Purpose: the preprocessor has no loop. Included by pawl/json.hpp only.
#ifndef PAWL_JSON_LIST_HPP
#define PAWL_JSON_LIST_HPP

#define PAWL_JSON_1(op, Type, f) op(Type, f)
#define PAWL_JSON_2(op, Type, f, ...) op(Type, f) && PAWL_JSON_1(op, Type, __VA_ARGS__)
#define PAWL_JSON_3(op, Type, f, ...) op(Type, f) && PAWL_JSON_2(op, Type, __VA_ARGS__)
#define PAWL_JSON_4(op, Type, f, ...) op(Type, f) && PAWL_JSON_3(op, Type, __VA_ARGS__)
#define PAWL_JSON_5(op, Type, f, ...) op(Type, f) && PAWL_JSON_4(op, Type, __VA_ARGS__)
#define PAWL_JSON_6(op, Type, f, ...) op(Type, f) && PAWL_JSON_5(op, Type, __VA_ARGS__)
#define PAWL_JSON_7(op, Type, f, ...) op(Type, f) && PAWL_JSON_6(op, Type, __VA_ARGS__)
#define PAWL_JSON_8(op, Type, f, ...) op(Type, f) && PAWL_JSON_7(op, Type, __VA_ARGS__)
#define PAWL_JSON_9(op, Type, f, ...) op(Type, f) && PAWL_JSON_8(op, Type, __VA_ARGS__)
#define PAWL_JSON_10(op, Type, f, ...) op(Type, f) && PAWL_JSON_9(op, Type, __VA_ARGS__)
#define PAWL_JSON_11(op, Type, f, ...) op(Type, f) && PAWL_JSON_10(op, Type, __VA_ARGS__)
#define PAWL_JSON_12(op, Type, f, ...) op(Type, f) && PAWL_JSON_11(op, Type, __VA_ARGS__)
#define PAWL_JSON_13(op, Type, f, ...) op(Type, f) && PAWL_JSON_12(op, Type, __VA_ARGS__)
#define PAWL_JSON_14(op, Type, f, ...) op(Type, f) && PAWL_JSON_13(op, Type, __VA_ARGS__)
#define PAWL_JSON_15(op, Type, f, ...) op(Type, f) && PAWL_JSON_14(op, Type, __VA_ARGS__)
#define PAWL_JSON_16(op, Type, f, ...) op(Type, f) && PAWL_JSON_15(op, Type, __VA_ARGS__)
#define PAWL_JSON_17(op, Type, f, ...) op(Type, f) && PAWL_JSON_16(op, Type, __VA_ARGS__)
#define PAWL_JSON_18(op, Type, f, ...) op(Type, f) && PAWL_JSON_17(op, Type, __VA_ARGS__)
#define PAWL_JSON_19(op, Type, f, ...) op(Type, f) && PAWL_JSON_18(op, Type, __VA_ARGS__)
#define PAWL_JSON_20(op, Type, f, ...) op(Type, f) && PAWL_JSON_19(op, Type, __VA_ARGS__)
#define PAWL_JSON_21(op, Type, f, ...) op(Type, f) && PAWL_JSON_20(op, Type, __VA_ARGS__)
#define PAWL_JSON_22(op, Type, f, ...) op(Type, f) && PAWL_JSON_21(op, Type, __VA_ARGS__)
#define PAWL_JSON_23(op, Type, f, ...) op(Type, f) && PAWL_JSON_22(op, Type, __VA_ARGS__)
#define PAWL_JSON_24(op, Type, f, ...) op(Type, f) && PAWL_JSON_23(op, Type, __VA_ARGS__)
#define PAWL_JSON_PICK(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, \
                       a18, a19, a20, a21, a22, a23, a24, name, ...)                               \
  name
#define PAWL_JSON_LIST(op, Type, ...)                                                           \
  PAWL_JSON_PICK(__VA_ARGS__, PAWL_JSON_24, PAWL_JSON_23, PAWL_JSON_22, PAWL_JSON_21,           \
                 PAWL_JSON_20, PAWL_JSON_19, PAWL_JSON_18, PAWL_JSON_17, PAWL_JSON_16,          \
                 PAWL_JSON_15, PAWL_JSON_14, PAWL_JSON_13, PAWL_JSON_12, PAWL_JSON_11,          \
                 PAWL_JSON_10, PAWL_JSON_9, PAWL_JSON_8, PAWL_JSON_7, PAWL_JSON_6, PAWL_JSON_5, \
                 PAWL_JSON_4, PAWL_JSON_3, PAWL_JSON_2, PAWL_JSON_1, 0)                         \
  (op, Type, __VA_ARGS__)

#endif  // PAWL_JSON_LIST_HPP
