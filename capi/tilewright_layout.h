/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_LAYOUT_H
#define TILEWRIGHT_LAYOUT_H
/**
 * @file tilewright_layout.h
 * Layouts and drawings of them. tilewright.h includes this file; its conventions hold here too.
 */

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup layout Layouts: CuTe's shape:stride algebra at run time
 *  A layout is a function from coordinates to indices, written shape:stride. `(4,3):(1,8)` has 4 *
 *  3 coordinates (i,j), and (i,j) has index i * 1 + j * 8. Each extent with its stride is a mode. A
 *  mode can contain modes, as in `((2,3),4):((1,8),2)`; its coordinate can then be one number or a
 *  tuple. If one number stands for several modes, it numbers their coordinates with the leftmost
 *  mode fastest (colexicographic order). In this layout 3, (3,0) and ((1,1),0) are three forms of
 *  one coordinate, which has index 9. Every layout is thus also a function of one number, and can
 *  be a mode of another layout.
 *
 *  A layout can begin with a swizzle and an offset: `Sw<3,3,3> o 0 o (64,64):(64,1)`. Strides can
 *  be scaled basis elements: `2@1` is 2 at element 1 of a tuple. `2@0@1`, which is read from right
 *  to left, is 2 at element 0 of element 1 of a tuple. The layout then returns coordinates, not
 *  indices: `(0,0) o (1024,512):(1@1,1@0)` at (2,3) is (3,2).
 *
 *  Layouts, tuples and tilers are values: no function changes one, and the caller owns each one
 *  that a function returns.
 *
 *  Each function lists its own return values. Beside what each lists, functions return
 *  - TW_ERROR_OVERFLOW if a number of the result exceeds 64 bits;
 *  - TW_ERROR_CAPACITY if the result has more leaves than TW_LAYOUT_MAX_LEAVES or is nested deeper
 *    than TW_LAYOUT_MAX_DEPTH;
 *  - TW_ERROR_UNSUPPORTED for a kind of operand that they do not support, such as basis strides in
 *    place of integer strides.
 *
 *  The "Example:" lines below show the texts of the operands and of the result; the tests run every
 *  one. If a function has several results, the example shows them in one text. For a part of a
 *  layout this text is "offset + layout"; for other results the function's comment explains it.
 *  @{ */

typedef struct tw_tuple tw_tuple;   /**< Nested integers: a shape, a coordinate, an order. */
typedef struct tw_tiler tw_tiler;   /**< How to cut a layout: a layout, or a list of tilers. */
typedef struct tw_linear tw_linear; /**< A linear layout over bits, as in Triton. */

/** Limits of a layout: its number of leaves, and its depth of nesting. */
enum { TW_LAYOUT_MAX_LEAVES = 32, TW_LAYOUT_MAX_DEPTH = 16 };

/** Parses a layout: `shape:stride`, or `shape` alone for the compact column-major layout. Strides
 *  may be integers or scaled basis elements such as `2@1`. A layout with basis strides (a
 *  coordinate tensor) may begin with an origin, as in `(0,0) o shape:stride`.
 *  @param text zero-terminated. @param[out] layout owned by the caller; release it with
 *  tw_layout_destroy().
 *  @retval TW_ERROR_PARSE the text is invalid; the message says where and what was expected.
 *  @retval TW_ERROR_CAPACITY the layout has too many leaves or is nested too deeply.
 *  @retval TW_ERROR_OVERFLOW a number is too large. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_parse(const char *text, tw_layout **layout);

/** Makes a flat layout. @param rank 1 to TW_LAYOUT_MAX_LEAVES. @param shape rank extents, each at
 *  least 1. @param stride rank strides, or NULL for compact column-major strides.
 *  @param[out] layout owned by the caller; release it with tw_layout_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_create(int32_t rank, const int64_t *shape, const int64_t *stride,
                                  tw_layout **layout);

/** Destroys a layout. @param layout may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_layout_destroy(tw_layout *layout);

/** Writes the text of a layout, zero-terminated. @param layout not NULL. @param[out] buffer may be
 *  NULL if capacity is 0. @param capacity bytes of buffer. @param[out] length bytes of the whole
 *  text, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_format(const tw_layout *layout, char *buffer, size_t capacity,
                                  size_t *length);

/** Number of coordinates: the product of the shape.
 *  Example: size("((2,3),4):((1,8),2)") = "24" @param layout not NULL. @param[out] size the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_size(const tw_layout *layout, int64_t *size);

/** Size of the smallest range of consecutive integers that contains all indices of a layout without
 *  a swizzle: the sum of (extent - 1) * |stride|, plus 1. The function ignores a swizzle, which can
 *  move indices out of this range.
 *  Example: cosize("(4,3):(1,100)") = "204"
 *  @param layout not NULL. @param[out] cosize the result.
 *  @retval TW_ERROR_UNSUPPORTED the layout returns coordinates (basis strides), not integers.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_cosize(const tw_layout *layout, int64_t *cosize);

/** Number of top-level modes; 1 for a layout that is a single `extent:stride`.
 *  Example: rank("((2,3),4):((1,8),2)") = "2"
 *  @param layout not NULL. @param[out] rank the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_rank(const tw_layout *layout, int32_t *rank);

/** Depth of nesting: 0 for a single `extent:stride`, 1 for a flat tuple.
 *  Example: depth("((2,3),4):((1,8),2)") = "2"
 *  @param layout not NULL. @param[out] depth the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_depth(const tw_layout *layout, int32_t *depth);

/** Number of leaves: the integers in the shape.
 *  Example: leaves("((2,3),4):((1,8),2)") = "3" @param layout not NULL.
 *  @param[out] leaves the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_leaves(const tw_layout *layout, int32_t *leaves);

/** One top-level mode of a layout, as a layout.
 *  Example: mode("((2,3),4):((1,8),2)", 0) = "(2,3):(1,8)"
 *  @param layout not NULL. @param mode from 0 to rank - 1.
 *  @param[out] out owned by the caller; release it with tw_layout_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_mode(const tw_layout *layout, int32_t mode, tw_layout **out);

/** Maps a coordinate to its index. Unlike tw_layout_at() it refuses numbers past the end of their
 *  extents.
 *  Example: crd2idx("((2,3),4):((1,8),2)", 5, 3) = "23"
 *  @param layout with integer strides. @param coord one linear coordinate (count 1), one for each
 *  top-level mode (count = rank), or one for each leaf (count = leaves).
 *  @param count numbers in coord. @param[out] index the result.
 *  @retval TW_ERROR_UNSUPPORTED the layout returns coordinates: use tw_layout_crd2crd().
 *  @retval TW_ERROR_INVALID_ARGUMENT count matches none of these, or a number is outside its
 *  extent.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_crd2idx(const tw_layout *layout, const int64_t *coord, int32_t count,
                                   int64_t *index);

/** Maps a coordinate to a coordinate, for a layout with basis strides such as that of a tensor map.
 *  Example: crd2crd("(0,0) o (1024,512):(1@1,1@0)", 2, 3) = "(3,2)"
 *  @param layout not NULL. @param coord as in tw_layout_crd2idx(). @param count numbers in coord.
 *  @param[out] out one number for each basis element `@0`, `@1`, ...
 *  @param capacity numbers that out can hold. @param[out] written number of numbers in the result.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written tells how many numbers there are.
 *  @retval TW_ERROR_INVALID_ARGUMENT as tw_layout_crd2idx() returns it.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_crd2crd(const tw_layout *layout, const int64_t *coord, int32_t count,
                                   int64_t *out, int32_t capacity, int32_t *written);

/** Maps a linear coordinate to a flat coordinate, one number for each leaf. The name is CuTe's: the
 *  argument is a linear coordinate, not an index. For an index see tw_layout_find().
 *  Example: idx2crd("((2,3),4):((1,8),2)", 13) = "(1,0,2)" @param layout not NULL.
 *  @param linear from 0 to size - 1. @param[out] coord the numbers. @param capacity numbers that
 *  coord can hold, at least leaves.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL capacity is less than leaves.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_idx2crd(const tw_layout *layout, int64_t linear, int64_t *coord,
                                   int32_t capacity);

/** Maps an index to the smallest linear coordinate that has it.
 *  Example: find("(4,3):(1,8)", 9) = "5" @param layout with integer strides.
 *  @param index any number. @param[out] linear the coordinate.
 *  @retval TW_ERROR_NOT_FOUND no coordinate has this index.
 *  @retval TW_ERROR_UNSUPPORTED the modes overlap too much for the search.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_find(const tw_layout *layout, int64_t index, int64_t *linear);

/** One tile of a tensor: CuTe's local_tile. Extents that are not multiples of the tile are rounded
 *  up to whole tiles.
 *  Example: local_tile("(6,8):(1,6)", "(2,4)", "(1,1)") = "26 + (2,4):(1,6)"
 *  @param layout of rank at least `rank`. @param rank number of modes that are tiled, from the
 *  left. @param tile extents of the tile, each at least 1. @param coord which tile, one number for
 *  each tiled mode. @param[out] out the tile's layout, owned by the caller. @param[out] offset the
 *  index of the tile's first element, which must be added to the indices of out. If the layout has
 *  basis strides, a swizzle or an offset, out contains the tile's offset, and the parameter
 *  receives 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_local_tile(const tw_layout *layout, int32_t rank, const int64_t *tile,
                                      const int64_t *coord, tw_layout **out, int64_t *offset);

/** @name Tuples: shapes, coordinates, orders
 *  A tuple is a nested list of integers. It is parsed from a text or made from an array. In a
 *  coordinate or a tiler, `_` in place of a number means that the whole mode is kept.
 *  @{ */

/** The value of `_` in a tuple or tiler that is made from an array. */
#define TW_UNDERSCORE INT64_MIN

/** Parses a tuple: `4`, `(2,(3,4))`, `(_,2)`.
 *  @param text zero-terminated. @param[out] tuple owned by the caller; release it with
 *  tw_tuple_destroy().
 *  @retval TW_ERROR_PARSE the text is invalid; the message says where and what was expected.
 *  @retval TW_ERROR_CAPACITY the tuple has too many numbers or is nested too deeply.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_parse(const char *text, tw_tuple **tuple);

/** Makes a flat tuple. @param count 1 to TW_LAYOUT_MAX_LEAVES. @param values count numbers.
 *  @param[out] tuple owned by the caller; release it with tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_create(int32_t count, const int64_t *values, tw_tuple **tuple);

/** Destroys a tuple. @param tuple may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_tuple_destroy(tw_tuple *tuple);

/** Writes the text of a tuple, zero-terminated. @param tuple not NULL. @param[out] buffer may be
 *  NULL if capacity is 0. @param capacity bytes of buffer. @param[out] length bytes of the whole
 *  text, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_format(const tw_tuple *tuple, char *buffer, size_t capacity,
                                 size_t *length);

/** Lists the numbers from left to right, without their nesting. @param tuple not NULL.
 *  @param[out] values the numbers. @param capacity numbers that values can hold.
 *  @param[out] written number of numbers in the result.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written tells how many numbers there are.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_values(const tw_tuple *tuple, int64_t *values, int32_t capacity,
                                 int32_t *written);

/** Product of the numbers. Example: product("(2,(3,4))") = "24"
 *  @param tuple not NULL. @param[out] product the result.
 *  @retval TW_ERROR_OVERFLOW the product exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_product(const tw_tuple *tuple, int64_t *product);

/** Tests whether two tuples have the same nesting. Example: congruent("(2,(3,4))", "(1,(1,1))") =
 *  "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_congruent(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Tests whether b's nesting refines a's: where a has a number, b may have any number or tuple.
 *  Example: weakly_congruent("(2,12)", "(2,(3,4))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_weakly_congruent(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Tests whether every coordinate of shape a is also a coordinate of shape b. This is so if b has,
 *  in place of each number of a, either that number or a tuple with that product.
 *  Example: compatible("(2,12)", "(2,(3,4))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_compatible(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Tests whether every number of a coordinate is below the corresponding number of a shape. This is
 *  the predicate for partial tiles: it compares a coordinate of a divided identity tensor with the
 *  tensor's shape.
 *  Example: elem_less("(3,(1,4))", "(4,(2,4))") = "0"
 *  @param coord not NULL. @param shape of the same nesting. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the nestings differ.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_elem_less(const tw_tuple *coord, const tw_tuple *shape, int32_t *yes);

/** Products of all numbers to the left: the compact column-major strides of a shape.
 *  Example: prefix_product("(2,(3,4))") = "(1,(2,6))"
 *  @param shape not NULL. @param[out] out owned by the caller; release it with tw_tuple_destroy().
 *  @retval TW_ERROR_OVERFLOW a product exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_prefix_product(const tw_tuple *shape, tw_tuple **out);

/** Sum of the products of corresponding numbers, such as a coordinate times strides.
 *  Example: inner_product("(1,(2,3))", "(4,(5,6))") = "32"
 *  @param a not NULL. @param b of the same nesting. @param[out] product the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the nestings differ.
 *  @retval TW_ERROR_OVERFLOW the sum exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_inner_product(const tw_tuple *a, const tw_tuple *b, int64_t *product);

/** Divides a shape: by an integer, beginning with the leftmost number; or by a shape, number by
 *  number.
 *  Example: shape_div("(4,(3,2))", "12") = "(1,(1,2))"
 *  Example: shape_div("(4,(3,2))", "6") = ERROR_NOT_A_LAYOUT (neither of 4 and 6 divides the other)
 *  @param a not NULL. @param b not NULL. @param[out] out owned by the caller; release it with
 *  tw_tuple_destroy().
 *  @retval TW_ERROR_NOT_A_LAYOUT neither of two numbers divides the other.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_shape_div(const tw_tuple *a, const tw_tuple *b, tw_tuple **out);

/** Number of tiles that cover a shape. Example: ceil_div("(84,168)", "(5,16)") = "(17,11)"
 *  @param shape not NULL. @param tile not NULL; modes that it lacks keep their extents.
 *  @param[out] out owned by the caller; release it with tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or tile has more modes than shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_ceil_div(const tw_tuple *shape, const tw_tuple *tile, tw_tuple **out);
/** @} */

/** @name Tilers: how to cut a layout
 *  A tiler is of one of two kinds:
 *  - A layout, such as `8:2`. It cuts another layout as a whole, as a function of one number.
 *  - A list of tilers in angle brackets, one for each mode. It cuts another layout mode by mode. An
 *    entry n means `n:1`, and `_` leaves the corresponding mode uncut. Such a list is a ::tw_tiler,
 *    not a ::tw_tuple.
 *  @{ */

/** Parses a tiler: `8:2`, `<8,(2,4):(4,1),_>`, `<4,<2,2>>`.
 *  @param text zero-terminated. @param[out] tiler owned by the caller; release it with
 *  tw_tiler_destroy().
 *  @retval TW_ERROR_PARSE the text is invalid; the message says where and what was expected.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_parse(const char *text, tw_tiler **tiler);

/** Makes `<extents[0],extents[1],...>`. @param rank 1 to TW_LAYOUT_MAX_LEAVES.
 *  @param extents rank numbers, each at least 1, or TW_UNDERSCORE.
 *  @param[out] tiler owned by the caller; release it with tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_create(int32_t rank, const int64_t *extents, tw_tiler **tiler);

/** Makes a tiler from a layout. @param layout with integer strides, without swizzle or offset;
 *  copied.
 *  @param[out] tiler owned by the caller; release it with tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_from_layout(const tw_layout *layout, tw_tiler **tiler);

/** Makes `<entries[0],entries[1],...>`. @param rank 1 to TW_LAYOUT_MAX_LEAVES.
 *  @param entries rank tilers; copied. @param[out] tiler owned by the caller; release it with
 *  tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument or an entry is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_by_mode(int32_t rank, const tw_tiler *const *entries, tw_tiler **tiler);

/** Destroys a tiler. @param tiler may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_tiler_destroy(tw_tiler *tiler);

/** Writes the text of a tiler, zero-terminated. @param tiler not NULL. @param[out] buffer may be
 *  NULL if capacity is 0. @param capacity bytes of buffer. @param[out] length bytes of the whole
 *  text, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_format(const tw_tiler *tiler, char *buffer, size_t capacity,
                                 size_t *length);
/** @} */

/** @name Layouts from shapes
 *  @{ */

/** The compact layout whose leftmost mode is contiguous: column-major.
 *  Example: make_layout_left("(4,(2,3))") = "(4,(2,3)):(1,(4,8))"
 *  @param shape extents, each at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_left(const tw_tuple *shape, tw_layout **out);

/** The compact layout whose rightmost mode is contiguous: row-major.
 *  Example: make_layout_right("(4,(2,3))") = "(4,(2,3)):(6,(3,1))"
 *  @param shape extents, each at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_right(const tw_tuple *shape, tw_layout **out);

/** The layout whose strides increase with the numbers of an order. It is compact if these numbers
 *  all differ. As in CuTe, modes with equal numbers get the same stride.
 *  Example: make_ordered_layout("(4,3,2)", "(2,0,1)") = "(4,3,2):(6,1,3)"
 *  Example: make_ordered_layout("(4,3,2)", "(0,1,1)") = "(4,3,2):(1,4,4)"
 *  @param shape extents, each at least 1. @param order with the shape's nesting, or coarser: a
 *  number then orders a whole mode, whose leaves are column-major. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_ordered(const tw_tuple *shape, const tw_tuple *order,
                                        tw_layout **out);

/** A compact layout whose modes have the same order as those of another layout; strides of 0 remain
 *  0.
 *  Example: make_layout_like("(2,16,2):(1,8,4)") = "(2,16,2):(1,4,2)"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_like(const tw_layout *layout, tw_layout **out);

/** The layout that returns each coordinate unchanged. Predicates are made from it: see
 *  tw_tuple_elem_less(). Example: make_identity_layout("(4,(2,3))") =
 *  "(4,(2,3)):(1@0,(1@0@1,1@1@1))"
 *  @param shape extents, each at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_identity(const tw_tuple *shape, tw_layout **out);

/** A thread-value layout: maps (thread, value) to the index in a tile. `threads` arranges the
 *  threads in the tile; each thread has a block of values that `values` arranges.
 *  The example's result shows the tile's shape (16,128), a space, and the layout.
 *  Example: make_layout_tv("(4,32):(32,1)", "(4,4):(4,1)") = "(16,128)
 *  ((32,4),(4,4)):((64,4),(16,1))"
 *  @param threads compact. @param values compact. @param[out] tile the tile's shape, owned by the
 *  caller.
 *  @param[out] out the layout, owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT threads and values do not number the tile's elements one to one.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_tv(const tw_layout *threads, const tw_layout *values,
                                   tw_tuple **tile, tw_layout **out);

/** Spreads `size` positions, for example threads, over a shape. The result maps a position to its
 *  linear coordinate in the shape. The function goes through the leaves of the shape from the left
 *  and keeps a remaining number of positions, which is `size` at first. It places g positions along
 *  a leaf, where g is the greatest common divisor of the leaf's extent and the remaining number,
 *  and then divides the remaining number by g. If more than 1 remains after the last leaf, the
 *  result has fewer than `size` positions. In the example 1 position is placed along the leaf 9 and
 *  8 along the leaf 32. A step along the leaf 32 is 9 linear coordinates, so the result is 8:9.
 *  Example: domain_distribute("(9,32,2)", "8") = "8:9"
 *  @param shape extents, each at least 1. @param size at least 1. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_domain_distribute(const tw_tuple *shape, int64_t size, tw_layout **out);
/** @} */

/** @name Queries of a layout
 *  @{ */

/** The shape. Example: shape("((2,3),4):((1,8),2)") = "((2,3),4)"
 *  @param layout not NULL. @param[out] shape owned by the caller; release it with
 *  tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_shape(const tw_layout *layout, tw_tuple **shape);

/** The strides. Example: stride("((2,3),4):((1,8),2)") = "((1,8),2)"
 *  @param layout not NULL. @param[out] stride owned by the caller; release it with
 *  tw_tuple_destroy().
 *  @retval TW_ERROR_UNSUPPORTED the strides are basis elements: read them from the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_stride(const tw_layout *layout, tw_tuple **stride);

/** The swizzle Sw<bits,base,shift> and the offset in front of a layout; 0 if there is none.
 *  Example: swizzle("Sw<3,4,3> o 128 o (8,128):(128,1)") = "3 4 3 128"
 *  @param layout not NULL. @param[out] bits B, 0 without a swizzle. @param[out] base M.
 *  @param[out] shift S. @param[out] offset added before the swizzle.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_swizzle(const tw_layout *layout, int32_t *bits, int32_t *base,
                                   int32_t *shift, int64_t *offset);

/** The index of a coordinate. Where the shape has a tuple, the coordinate may have one number.
 *  Unlike in tw_layout_crd2idx(), a coordinate that is one number may exceed the size: the last
 *  mode then continues to count, as in CuTe.
 *  Example: at("((2,3),4):((1,8),2)", "(5,3)") = "23"
 *  Example: at("(4,3):(1,8)", "13") = "25"
 *  Example: at("((2,3),4):((1,8),2)", "(5,(3))") = ERROR_INVALID_ARGUMENT (the coordinate has a
 *  tuple where the shape has the number 4)
 *  @param layout not NULL. @param coord without `_`. @param[out] index of the coordinate.
 *  @retval TW_ERROR_UNSUPPORTED the layout returns coordinates: use tw_layout_at_coord().
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_at(const tw_layout *layout, const tw_tuple *coord, int64_t *index);

/** The same as tw_layout_at(), for a layout that returns coordinates.
 *  Example: at_coord("(0,0) o (1024,512):(1@1,1@0)", "(2,3)") = "(3,2)"
 *  @param layout not NULL. @param coord without `_`. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_at_coord(const tw_layout *layout, const tw_tuple *coord, tw_tuple **out);

/** Tests whether each index has only one coordinate. Example: is_injective("(4,4):(1,3)") = "0"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED the modes overlap too much for the test.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_injective(const tw_layout *layout, int32_t *yes);

/** Tests whether every integer between the smallest and the largest index is an index.
 *  Example: is_surjective("(4,4):(1,3)") = "1"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED the layout returns coordinates (basis strides), or it has more than
 *  2^20 coordinates and a swizzle that may move indices into gaps or out of the range that they
 *  would have without the swizzle.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_surjective(const tw_layout *layout, int32_t *yes);

/** Tests whether the indices are size(layout) consecutive integers, in any order.
 *  Example: is_contiguous("(4,4):(4,1)") = "1"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED as for tw_layout_is_surjective().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_contiguous(const tw_layout *layout, int32_t *yes);

/** The length of the longest vectors, in elements, with which the whole layout can be accessed. The
 *  elements of each vector are contiguous, and each vector begins at an index that is a multiple of
 *  the length.
 *  Example: max_alignment("(3,(32,2)):(128,(4,1))") = "2"
 *  @param layout of integer strides. @param[out] elements the number.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is negative. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_alignment(const tw_layout *layout, int64_t *elements);

/** The longest vector of elements that are consecutive in both layouts, in the same order: the
 *  widest access of a copy between them. Example: max_common_vector("(8,4):(1,8)", "(8,4):(1,16)")
 *  = "8"
 *  @param a of integer strides. @param b of the same size. @param[out] elements the number.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_common_vector(const tw_layout *a, const tw_layout *b,
                                             int64_t *elements);
/** @} */

/** @name Rearranging, adding and removing modes
 *  tw_layout_coalesce(), tw_layout_flatten() and tw_layout_group_modes() return the same function
 *  with other modes. All functions of this section keep a swizzle, an offset or an origin in front
 *  of the layout as it is.
 *  @{ */

/** Merges modes that continue one another and drops modes of extent 1.
 *  Example: coalesce("(2,(1,6)):(1,(6,2))", NULL) = "12:1"
 *  Example: coalesce("(2,(1,6)):(1,(6,2))", "(1,1)") = "(2,6):(1,2)"
 *  @param layout not NULL. @param profile NULL to coalesce the whole layout. Otherwise the profile
 *  gives the nesting that remains: each mode for which it has a number is coalesced by itself. The
 *  numbers themselves do not matter. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the profile has too many modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_coalesce(const tw_layout *layout, const tw_tuple *profile,
                                    tw_layout **out);

/** Removes the modes of stride 0 and coalesces the others.
 *  Example: filter("(2,4,8):(1,0,2)", NULL) = "16:1"
 *  @param layout not NULL. @param profile as for tw_layout_coalesce(), may be NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the profile has too many modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_filter(const tw_layout *layout, const tw_tuple *profile,
                                  tw_layout **out);

/** Gives modes of stride 0 the extent 1. Example: filter_zeros("(2,4,8):(1,0,2)") =
 *  "(2,1,8):(1,0,2)"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_filter_zeros(const tw_layout *layout, tw_layout **out);

/** Removes the nesting. Example: flatten("((2,3),4):((1,8),2)") = "(2,3,4):(1,8,2)"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flatten(const tw_layout *layout, tw_layout **out);

/** Groups several modes into one. Example: group_modes("(2,3,4):(1,2,6)", 1, 3) =
 *  "(2,(3,4)):(1,(2,6))"
 *  @param layout not NULL. @param begin first mode. @param end one past the last mode.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there are no such modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_group_modes(const tw_layout *layout, int32_t begin, int32_t end,
                                       tw_layout **out);

/** Adds a mode at the end. Example: append("(2,3):(1,2)", "4:8") = "(2,3,4):(1,2,8)"
 *  @param layout not NULL. @param mode any layout without swizzle, offset or origin; copied.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @retval TW_ERROR_CAPACITY the result has too many leaves.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_append(const tw_layout *layout, const tw_layout *mode, tw_layout **out);

/** Adds a mode at the beginning. Example: prepend("(2,3):(1,2)", "4:8") = "(4,2,3):(8,1,2)"
 *  @param layout not NULL. @param mode as for tw_layout_append(). @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @retval TW_ERROR_CAPACITY the result has too many leaves.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_prepend(const tw_layout *layout, const tw_layout *mode, tw_layout **out);

/** Replaces a mode by a layout. Example: replace("(2,3):(1,2)", 1, "(4,4):(8,2)") =
 *  "(2,(4,4)):(1,(8,2))"
 *  @param layout not NULL. @param index the mode. @param with as for tw_layout_append().
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such mode.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_replace(const tw_layout *layout, int32_t index, const tw_layout *with,
                                   tw_layout **out);

/** Selects modes, in the given order. Example: select("(2,3,4):(1,2,6)", 2, 0) = "(4,2):(6,1)"
 *  @param layout not NULL. @param count how many, at least 1. @param modes their numbers.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such mode.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_select(const tw_layout *layout, int32_t count, const int32_t *modes,
                                  tw_layout **out);

/** Selects a range of modes. Example: take("(2,3,4):(1,2,6)", 1, 3) = "(3,4):(2,6)"
 *  @param layout not NULL. @param begin first mode. @param end one past the last mode.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there are no such modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_take(const tw_layout *layout, int32_t begin, int32_t end,
                                tw_layout **out);
/** @} */

/** @name Algebra
 *  Results equal those of CuTe wherever CuTe's are correct. An operation returns its mathematical
 *  result if that is a layout; otherwise it is refused with TW_ERROR_NOT_A_LAYOUT and the reason.
 *  Divides and products have further conditions, which they state.
 *  @{ */

/** Function composition: R(c) = A(B(c)). B's shape is refined where one mode of B spans several
 *  modes of A. A is a function of one number; past its end its last mode continues to count. If B
 *  returns coordinates, each of their numbers indexes a mode of A.
 *  Example: composition("(6,2):(8,2)", "(4,3):(3,1)") = "((2,2),3):((24,2),8)"
 *  Example: composition("(8,8):(8,1)", "6:3") = "(3,2):(24,9)"
 *  Example: composition("(4,8):(8,1)", "(2,1,2,8):(1,16,1,1)") = ERROR_NOT_A_LAYOUT (index 1
 *  of one mode of B and index 3 of another add up to 4, past the extent of A's first mode)
 *  @param a may have a swizzle or an offset, which remain in front. @param b not NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the composed function is not a layout.
 *  @retval TW_ERROR_OVERFLOW an index exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_composition(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** Composition mode by mode; modes that the tiler lacks are dropped.
 *  Example: composition_tiler("(12,(4,8)):(59,(13,1))", "<3:4,8>") = "(3,(4,2)):(236,(13,1))"
 *  @param a as for tw_layout_composition(). @param tiler not NULL. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the composed function is not a layout.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tiler has more modes than a.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_composition_tiler(const tw_layout *a, const tw_tiler *tiler,
                                             tw_layout **out);

/** The layout R, with ascending strides, whose indices fill the gaps of a layout L. The sums of an
 *  index of L and an index of R are all different. As far as L's strides allow, these sums are the
 *  numbers 0 to cosize - 1. In the example the indices of L are 0, 2, 4 and 6, and those of R are
 *  0, 1, 8, 9, 16 and 17.
 *  Example: complement("4:2", 24) = "(2,3):(1,8)"
 *  @param layout with integer strides, none negative. @param cosize at least 1.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the layout's modes overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT cosize is below 1. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_complement(const tw_layout *layout, int64_t cosize, tw_layout **out);

/** Maps an index to its coordinate: L(R(i)) = i for every i below size(R). R is made of modes of L
 *  that together are compact: taken by ascending stride, the first has stride 1, and the stride of
 *  each further one is the product of the extents before it. Other modes of L are skipped.
 *  Example: right_inverse("(4,8):(8,1)") = "(8,4):(4,1)"
 *  @param layout with integer strides, none negative. A swizzle is allowed if it maps the layout's
 *  indices onto themselves. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_right_inverse(const tw_layout *layout, tw_layout **out);

/** Maps an index to its coordinate even if the indices have gaps: R(L(i)) = i. If several
 *  coordinates share an index, only L(R(L(i))) = L(i) holds.
 *  Example: left_inverse("(4,8):(1,6)") = "(6,8):(1,4)"
 *  Example: left_inverse("(4,3,5):(1,12,37)") = ERROR_NOT_A_LAYOUT (37 is no multiple of 12)
 *  @param layout with integer strides, none negative. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is not a multiple of the next smaller one.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_left_inverse(const tw_layout *layout, tw_layout **out);

/** Cuts a layout into tiles: A o (B, complement(B, size(A))). The first mode is one tile; the
 *  second steps from tile to tile, and the last tile may extend past the end. A tiler of several
 *  layouts cuts mode by mode.
 *
 *  A tiler is refused if a coordinate of the layout would be in no tile. To check this, sort the
 *  modes of the tile by stride. If each stride is a multiple of (extent * stride) of the mode
 *  before it, every coordinate is in a tile. Otherwise some coordinates are in no tile, which is
 *  allowed only if they are past the end of the layout. In the last example the modes of the tile
 *  are 4:1 and 2:5, and 5 is not a multiple of 4 * 1. Coordinates 4 and 9, which have the indices
 *  256 and 576, would be in no tile. CuTe accepts such a tiler and omits these indices.
 *  Example: logical_divide("(4,2,3):(2,1,8)", "4:2") = "((2,2),(2,3)):((4,1),(2,8))"
 *  Example: logical_divide("(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>") =
 *  "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"
 *  Example: logical_divide("11:64", "(2,4):(5,1)") = ERROR_NOT_A_LAYOUT (see above)
 *  @param layout not NULL. @param tiler not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout, or would omit indices.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_logical_divide(const tw_layout *layout, const tw_tiler *tiler,
                                          tw_layout **out);

/** logical_divide with the modes of the tile first and grouped: ((tile, tile), (rest, rest)).
 *  Example: zipped_divide("(6,8):(1,6)", "<2,4>") = "((2,4),(3,2)):((1,6),(2,24))"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_zipped_divide(const tw_layout *layout, const tw_tiler *tiler,
                                         tw_layout **out);

/** zipped_divide with the modes of the rest at the top level: ((tile, tile), rest, rest).
 *  Example: tiled_divide("(6,8):(1,6)", "<2,4>") = "((2,4),3,2):((1,6),2,24)"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tiled_divide(const tw_layout *layout, const tw_tiler *tiler,
                                        tw_layout **out);

/** zipped_divide with all modes at the top level: (tile, tile, rest, rest).
 *  Example: flat_divide("(6,8):(1,6)", "<2,4>") = "(2,4,3,2):(1,6,2,24)"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flat_divide(const tw_layout *layout, const tw_tiler *tiler,
                                       tw_layout **out);

/** Repeats a layout: (A, complement(A, size(A) * cosize(B)) o B). The first mode is A; the second
 *  steps from copy to copy in B's order. A tiler of several layouts repeats mode by mode.
 *  Example: logical_product("(2,2):(4,1)", "6:1") = "((2,2),(2,3)):((4,1),(2,8))"
 *  @param a with integer strides, none negative. @param tiler not NULL. @param[out] out owned by
 *  the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout, a stride of the tiler is negative, or
 *  a mode of the tiler does not divide the modes of the complement evenly. CuTe refuses such a mode
 *  too, even if the result would be a layout. The message has the conditions.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_logical_product(const tw_layout *a, const tw_tiler *tiler,
                                           tw_layout **out);

/** logical_product with A's modes first and grouped. If the tiler has fewer entries than A has
 *  modes, the remaining modes of A follow the modes of the copies.
 *  Example: zipped_product("(2,5):(5,1)", "<3,4>") = "((2,5),(3,4)):((5,1),(1,5))"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_zipped_product(const tw_layout *a, const tw_tiler *tiler,
                                          tw_layout **out);

/** zipped_product with the modes of the copies at the top level.
 *  Example: tiled_product("(2,5):(5,1)", "(3,4):(1,3)") = "((2,5),3,4):((5,1),10,30)"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tiled_product(const tw_layout *a, const tw_tiler *tiler,
                                         tw_layout **out);

/** zipped_product with all modes at the top level.
 *  Example: flat_product("(2,5):(5,1)", "(3,4):(1,3)") = "(2,5,3,4):(5,1,10,30)"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flat_product(const tw_layout *a, const tw_tiler *tiler, tw_layout **out);

/** logical_product with corresponding modes paired, A's first: a tiling of blocks.
 *  Example: blocked_product("(2,5):(5,1)", "(3,4):(1,3)") = "((2,3),(5,4)):((5,10),(1,30))"
 *  @param a as for tw_layout_logical_product(). @param b with integer strides.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_blocked_product(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** logical_product with corresponding modes paired, B's first: A's elements are interleaved over
 *  the copies.
 *  Example: raked_product("(2,5):(5,1)", "(3,4):(1,3)") = "((3,2),(4,5)):((10,5),(30,1))"
 *  @param a as for tw_layout_logical_product(). @param b with integer strides.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_raked_product(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** Repeats a block until it covers a shape.
 *  Example: tile_to_shape("Sw<3,3,3> o 0 o (8,64):(64,1)", "(128,64)", NULL) = "Sw<3,3,3> o 0 o
 *  ((8,16),(64,1)):((64,512),(1,0))"
 *  @param block may be swizzled. @param shape of at least the block's rank. @param order of the
 *  copies, NULL for leftmost first. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tile_to_shape(const tw_layout *block, const tw_tuple *shape,
                                         const tw_tuple *order, tw_layout **out);

/** The coordinates that have the indices 0, 1, 2 and so on in both layouts, up to the first index
 *  at which the layouts differ: R with a(R(i)) = b(R(i)) = i.
 *  Example: max_common_layout("(4,16):(16,1)", "(4,16):(16,1)") = "(16,4):(4,1)"
 *  @param a with integer strides. @param b with integer strides. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_common_layout(const tw_layout *a, const tw_layout *b,
                                             tw_layout **out);

/** The modes of stride 0, as a layout N of linear coordinates: moving along these modes does not
 *  change the index of the layout L, so L(N(i)) = L(0). This is 0 if L has no offset.
 *  Example: nullspace("(4,2,8):(1,0,4)") = "2:4"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_nullspace(const tw_layout *layout, tw_layout **out);
/** @} */

/** @name Parts of a layout
 *  A part of a layout begins at an offset. If the layout has integer strides and neither a swizzle
 *  nor an offset, the functions return the part's offset as `offset`; add it to the part's indices,
 *  or to a pointer in elements. For all other layouts the returned layout contains the offset, and
 *  `offset` is 0.
 *  @{ */

/** Fixes the modes for which a coordinate has a number and keeps those for which it has `_`.
 *  Example: slice("(4,(2,3)):(1,(4,8))", "(2,(_,1))") = "10 + (2):(4)"
 *  @param layout not NULL. @param coord not NULL. @param[out] out owned by the caller.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_slice(const tw_layout *layout, const tw_tuple *coord, tw_layout **out,
                                 int64_t *offset);

/** Keeps the modes for which a coordinate has a number, that is the modes that tw_layout_slice()
 *  removes.
 *  Example: dice("(4,(2,3)):(1,(4,8))", "(2,(_,1))") = "(4,3):(1,8)"
 *  @param layout not NULL. @param coord not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_dice(const tw_layout *layout, const tw_tuple *coord, tw_layout **out);

/** Moves the origin of a layout to a coordinate.
 *  Example: domain_offset("(8,8):(1,8)", "(2,3)") = "26 + (8,8):(1,8)"
 *  Example: domain_offset("Sw<3,2,3> o 0 o (2,32):(1,2)", "(0,14)") = "Sw<3,2,3> o 28 o
 *  (2,32):(1,2)"
 *  @param layout not NULL. @param coord without `_`. @param[out] out owned by the caller.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_domain_offset(const tw_layout *layout, const tw_tuple *coord,
                                         tw_layout **out, int64_t *offset);

/** One tile of a layout that a tiler divides. If the tile is given by extents alone,
 *  tw_layout_local_tile() does the same without a tiler.
 *  Example: tile("(6,8):(1,6)", "<2,4>", "(1,1)") = "26 + (2,4):(1,6)"
 *  Example: tile("(6,8):(1,6)", "<2,4>", "(1,_)") = "2 + (2,4,2):(1,6,24)"
 *  @param layout not NULL. @param tiler not NULL. @param coord which tile, one number for each mode
 *  of tiles. With `_` in place of a number, out contains all tiles along this mode: the mode of
 *  tiles then follows the modes of the tile, as in the second example.
 *  @param[out] out owned by the caller.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the tiles.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_zipped_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tile(const tw_layout *layout, const tw_tiler *tiler,
                                const tw_tuple *coord, tw_layout **out, int64_t *offset);

/** The elements of one thread. The layout is cut into tiles of the shape of `threads`. The thread
 *  has the element at its own position in each tile.
 *  Example: local_partition("(32,16):(1,32)", "(2,8):(1,2)", 4) = "64 + (16,2):(2,256)"
 *  @param layout not NULL. @param threads maps a position to a thread's number. @param thread
 *  number of the thread.
 *  @param[out] out owned by the caller. @param[out] offset of the part, elements.
 *  @retval TW_ERROR_NOT_FOUND there is no thread of this number.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_zipped_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_local_partition(const tw_layout *layout, const tw_layout *threads,
                                           int64_t thread, tw_layout **out, int64_t *offset);
/** @} */

/** @name Swizzles, and elements of another size
 *  The swizzle Sw<bits,base,shift> of a layout acts on indices, which count elements. It maps x to
 *  x ^ ((x & Y) >> shift), where Y = ((1 << bits) - 1) << (base + max(0, shift)). The hardware's
 *  swizzles act on byte addresses: those of 32, 64 and 128 bytes are Sw<1,4,3>, Sw<2,4,3> and
 *  Sw<3,4,3>. To use one in a layout, convert it with tw_swizzle_recast() from 8 bits to the size
 *  of an element. For bf16 the 128-byte swizzle becomes Sw<3,3,3>. In rows of 64 elements it moves
 *  column c of row r to column ((c / 8) ^ (r % 8)) * 8 + c % 8.
 *  @{ */

/** Puts a swizzle in front of a layout.
 *  Example: add_swizzle("(8,64):(64,1)", 3, 3, 3) = "Sw<3,3,3> o 0 o (8,64):(64,1)"
 *  @param layout of integers, not swizzled. @param bits B, 0 or more. @param base M, 0 or more.
 *  @param shift S, |S| at least B; a negative shift is to the left. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_add_swizzle(const tw_layout *layout, int32_t bits, int32_t base,
                                       int32_t shift, tw_layout **out);

/** A layout without its swizzle, its offset and its origin.
 *  Example: remove_swizzle("Sw<3,3,3> o 8 o (8,64):(64,1)") = "(8,64):(64,1)"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_remove_swizzle(const tw_layout *layout, tw_layout **out);

/** Applies a swizzle to a number. Example: swizzle_apply("Sw<3,4,3>", 144) = "128"
 *  @param bits B. @param base M. @param shift S. @param x any number. @param[out] out the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_swizzle_apply(int32_t bits, int32_t base, int32_t shift, int64_t x,
                                  int64_t *out);

/** Converts a swizzle from elements of one size to elements of another size, both in bits. If the
 *  new elements are larger, those bits of the swizzle that would move parts of a new element are
 *  dropped, as in the second example.
 *  Example: swizzle_recast("Sw<3,4,3>", 8, 16) = "Sw<3,3,3>"
 *  Example: swizzle_recast("Sw<3,0,3>", 8, 16) = "Sw<2,0,3>"
 *  @param[in,out] bits B. @param[in,out] base M. @param[in,out] shift S. @param from_bits size of
 *  an element before. @param to_bits size of an element after.
 *  @retval TW_ERROR_NOT_A_LAYOUT the ratio of the sizes is not a power of two.
 *  @retval TW_ERROR_INVALID_ARGUMENT the numbers are not a valid swizzle, or a size is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_swizzle_recast(int32_t *bits, int32_t *base, int32_t *shift, int64_t from_bits,
                                   int64_t to_bits);

/** Joins n consecutive elements into one. Example: upcast("(8,4):(4,1)", 2) = "(8,2):(2,1)"
 *  @param layout of integers. @param n at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is neither a multiple nor a positive divisor of n, the
 *  offset is not a multiple of n, or the layout is swizzled and n is not a power of two.
 *  @retval TW_ERROR_INVALID_ARGUMENT n is below 1. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_upcast(const tw_layout *layout, int64_t n, tw_layout **out);

/** Splits each element into n. Example: downcast("(8,4):(4,1)", 2) = "(8,8):(8,1)"
 *  @param layout of integers. @param n at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT no mode has stride 1 (the parts of an element become part of such
 *  a mode), or the layout is swizzled and n is not a power of two.
 *  @retval TW_ERROR_INVALID_ARGUMENT n is below 1. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_downcast(const tw_layout *layout, int64_t n, tw_layout **out);

/** The same bytes as elements of another size, swizzle included.
 *  Example: recast("Sw<3,4,3> o 0 o (8,128):(128,1)", 8, 16) = "Sw<3,3,3> o 0 o (8,64):(64,1)"
 *  @param layout of integers. @param from_bits size of an element before. @param to_bits size
 *  after.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as tw_layout_upcast() and tw_layout_downcast() return it.
 *  @retval TW_ERROR_INVALID_ARGUMENT a size is below 1. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_recast(const tw_layout *layout, int64_t from_bits, int64_t to_bits,
                                  tw_layout **out);
/** @} */

/** @name Partitions: which thread or TMA box moves which elements
 *  @{ */

/** The elements of one thread in a thread-value layout: CuTe's
 *  get_slice(thread).partition_S(tensor). If tensor is an identity layout, the elements are
 *  coordinates, from which predicates can be made: see tw_tuple_elem_less().
 *  Example: partition_tv("(64,256):(256,1)", "(16,128)", "((32,4),(4,4)):((64,4),(16,1))", 33) =
 *  "1028 + ((4,4),4,2):((1,256),4096,128)"
 *  @param tensor not NULL. @param tile the shape that tv numbers. @param tv maps (thread, value) to
 *  the number of an element of the tile, as tw_layout_make_tv() makes it. @param thread number of
 *  the thread.
 *  @param[out] out (values, tiles ...), owned by the caller. @param[out] offset of the part,
 *  elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT there is no such thread, or tv does not have two modes.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout, because the extents of tile or tv do
 *  not fit the modes of the tensor.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_partition_tv(const tw_layout *tensor, const tw_tuple *tile,
                                        const tw_layout *tv, int64_t thread, tw_layout **out,
                                        int64_t *offset);

/** The boxes that the TMA moves for a tile: CuTe's tma_partition. In the example, a tile of 128 x
 *  128 bf16 at the tile coordinate (2,1) takes two boxes of 128 x 64, because a row of a box has at
 *  most the 128 bytes of the swizzle span. The example shows the three outputs in one text,
 *  "box at boxes to slots".
 *  Example: partition_tma("(1024,512):(512,1)", "Sw<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))",
 *  "(128,128)", "(2,1)", 1, 0) = "128,64 at (256,128) o 2:64@1 to (2):(8192)"
 *  @param tensor one mode for each dimension, 1 to 5. If it has basis strides, the coordinates of
 *  boxes are those that it returns. If it has integer strides, coordinate k of a box belongs to
 *  mode k of the tensor.
 *  @param smem layout of shared memory: first one mode for each mode of the tensor, in the same
 *  order, then the modes of the pipeline stages; may be swizzled.
 *  @param tile extents. @param coord which tile. @param ctas number of CTAs of a cluster that share
 *  the tile by multicast; 1: no multicast. Each box is divided into this number of equal boxes, one
 *  for each CTA, and each CTA multicasts its boxes to all CTAs. (A map of
 *  tw_tensor_map_create_tile() instead gives each CTA whole boxes.) @param cta number of the CTA,
 *  from 0.
 *  @param[out] box extents of one box that the CTA moves, one for each mode of the tensor.
 *  @param capacity numbers that box can hold. @param[out] boxes maps the number of a box, in the
 *  order of shared memory, to the coordinate of its first element; owned by the caller.
 *  @param[out] slots maps (box, stage ...) to the element of shared memory at which the box
 *  begins, before any swizzle; owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT no boxes can move this tile; the message says why.
 *  @retval TW_ERROR_INVALID_ARGUMENT extents do not match, or there is no such tile or CTA.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_partition_tma(const tw_layout *tensor, const tw_layout *smem,
                                         const tw_tuple *tile, const tw_tuple *coord, int64_t ctas,
                                         int64_t cta, int64_t *box, int32_t capacity,
                                         tw_layout **boxes, tw_layout **slots);

/** Number of passes through shared memory (32 banks of 4 bytes) that a warp needs to access all its
 *  values. The examples' results show the two outputs: passes, the word "of", least. In the first
 *  example 32 passes are needed; without bank conflicts 1 would be enough.
 *  Example: bank_passes("(32,32):(32,1)", 32, "(32,1):(1,0)", 4) = "32 of 1"
 *  Example: bank_passes("Sw<3,3,3> o 0 o (8,64):(64,1)", 16, "((8,4),8):((1,64),8)", 16) = "4 of 4"
 *  @param layout of the elements, swizzled or not. @param element_bits bits of an element, a
 *  multiple of 8.
 *  @param tv maps (thread, value) to a coordinate of layout; at most 32 threads.
 *  @param access_bytes 4, 8 or 16: bytes that each thread accesses at once.
 *  @param[out] passes number of passes. @param[out] least number of passes without bank conflicts.
 *  @retval TW_ERROR_INVALID_ARGUMENT the values of one access are not consecutive.
 *  @retval TW_ERROR_MISALIGNED an access is not aligned to its size.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_bank_passes(const tw_layout *layout, int32_t element_bits,
                                       const tw_layout *tv, int32_t access_bytes, int64_t *passes,
                                       int64_t *least);

/** The default shared-memory layout of a tile of rows. It has the widest swizzle of 128, 64 or 32
 *  bytes whose span divides a row, and no swizzle if there are fewer than 8 rows. A row that is
 *  wider than the swizzle is stored in panels: each panel has all rows and as many columns as one
 *  swizzle span, and the panels follow one another.
 *  Example: default_shared(64, 128, 16) = "Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))"
 *  @param rows at least 1. @param columns at least 1. @param element_bits 4 to 128, a power of two.
 *  @param[out] swizzle_bytes 128, 64, 32, or 0 for none. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_default_shared(int64_t rows, int64_t columns, int32_t element_bits,
                                          int32_t *swizzle_bytes, tw_layout **out);
/** @} */

/** @name Linear layouts: which element each register of each thread holds
 *  These are Triton's layouts. Each bit of the register, lane, warp and block numbers has a basis,
 *  a coordinate of the tensor. The coordinate of an element is the exclusive or of the bases of all
 *  set bits. As text: `register=[[0,1]] lane=[[1,0],[2,0]] warp=[] block=[] -> (4,2)`. Extents are
 *  powers of two.
 *  @experimental{every function whose name begins with tw_linear_}
 *  @{ */

/** Parses a linear layout. @param text zero-terminated.
 *  @param[out] linear owned by the caller; release it with tw_linear_destroy().
 *  @retval TW_ERROR_PARSE the text is invalid. @retval TW_ERROR_INVALID_ARGUMENT a basis is outside
 *  the shape, or an extent is not a power of two.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_parse(const char *text, tw_linear **linear);

/** Destroys a linear layout. @param linear may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_linear_destroy(tw_linear *linear);

/** Writes the text of a linear layout, zero-terminated. @param linear not NULL. @param[out] buffer
 *  may be NULL if capacity is 0. @param capacity bytes of buffer. @param[out] length bytes of the
 *  whole text, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_format(const tw_linear *linear, char *buffer, size_t capacity,
                                  size_t *length);

/** Triton's BlockedLayout on a shape. If the layout is larger than the shape, bases outside the
 *  shape become 0. If the shape is larger, additional register bases repeat the layout over it.
 *  Operands of the example: shape, size_per_thread, threads_per_warp, warps_per_cta, order.
 *  Example: linear_blocked("(8,8)", "(1,4)", "(4,2)", "(2,1)", "(1,0)") = "register=[[0,1],[0,2]]
 *  lane=[[0,4],[1,0],[2,0]] warp=[[4,0]] block=[] -> (8,8)"
 *  @param rank 1 to 5. @param shape rank extents.
 *  @param size_per_thread rank numbers. @param threads_per_warp rank numbers.
 *  @param warps_per_cta rank numbers. @param order the dimensions, fastest first.
 *  @param[out] out owned by the caller; release it with tw_linear_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, a number is not a power of two, or order
 *  is not a permutation.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_blocked(int32_t rank, const int64_t *shape,
                                   const int64_t *size_per_thread, const int64_t *threads_per_warp,
                                   const int64_t *warps_per_cta, const int32_t *order,
                                   tw_linear **out);

/** Triton's SliceLayout: removes a dimension from the coordinates, and removes the register bits
 *  whose bases then are 0.
 *  Example: linear_slice("register=[[0,1],[1,0]] lane=[[2,0]] -> (4,2)", 0) = "register=[[1]]
 *  lane=[[0]] warp=[] block=[] -> (2)"
 *  @param parent of at least two dimensions. @param dim from 0. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such dimension.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_slice(const tw_linear *parent, int32_t dim, tw_linear **out);

/** Fits a linear layout to another shape. The coordinates of each basis are taken modulo the
 *  extents of the shape. If the shape is larger than the layout, additional register bases repeat
 *  the layout over it.
 *  Example: linear_resize("register=[[1]] lane=[[2]] -> (4)", "(8)") = "register=[[1],[4]]
 *  lane=[[2]] warp=[] block=[] -> (8)"
 *  @param linear not NULL. @param shape one extent for each of its dimensions. @param[out] out
 *  owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_resize(const tw_linear *linear, const tw_tuple *shape, tw_linear **out);

/** outer(inner(x)): the bits of inner's coordinate become the input bits of outer, from the lowest
 *  on. The bits of a coordinate begin with those of its first dimension. The input bits begin with
 *  the register bits, followed by the lane, warp and block bits.
 *  Example: linear_compose("register=[[2],[1]] -> (4)", "register=[[2]] lane=[[1]] -> (4)") =
 *  "register=[[1]] lane=[[2]] warp=[] block=[] -> (4)"
 *  @param outer not NULL. @param inner must have as many coordinate bits as outer has input bits.
 *  @param[out] out owned by the caller. @retval TW_ERROR_INVALID_ARGUMENT the numbers of bits
 *  differ.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_compose(const tw_linear *outer, const tw_linear *inner, tw_linear **out);

/** Inverts a linear layout: the result maps an element to the (register, lane, warp, block) that
 *  holds it, or to the first one if several hold it. The result is also a linear layout. Its input
 *  is the number of the element, whose bits take the place of the register bits. Its output is the
 *  coordinate (register, lane, warp, block).
 *  Example: linear_inverse("register=[[2]] lane=[[1]] -> (4)") = "register=[[0,1,0,0],[1,0,0,0]]
 *  lane=[] warp=[] block=[] -> (2,2,1,1)"
 *  @param linear not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT an element is not held by any register.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_inverse(const tw_linear *linear, tw_linear **out);

/** The coordinate of the element that a register of a lane, warp and block holds.
 *  Example: linear_at("register=[[0,1]] lane=[[1,0],[2,0]] -> (4,2)", 1, 3, 0, 0) = "(3,1)"
 *  @param linear not NULL. @param reg register number.
 *  @param lane lane number. @param warp warp number. @param block block number.
 *  @param[out] coord one number for each dimension. @param capacity numbers that coord can hold.
 *  @param[out] written number of numbers in the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT a number has more bits than the layout.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written tells how many numbers there are.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_at(const tw_linear *linear, int64_t reg, int64_t lane, int64_t warp,
                              int64_t block, int64_t *coord, int32_t capacity, int32_t *written);

/** Converts a layout whose extents are powers of two, swizzled or not, to a linear layout. The
 *  layout's modes are (registers), (threads, registers) or (threads, registers, blocks); threads
 *  are split into 32 lanes and warps.
 *  Example: linear_from_layout("((4,8),(2,2)):((32,1),(16,8))", NULL) = "register=[[16],[8]]
 *  lane=[[32],[64],[1],[2],[4]] warp=[] block=[] -> (128)"
 *  @param layout without offset. @param shape in which elements are numbered, leftmost fastest;
 *  NULL for one dimension. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the layout is not linear over bits; the message says where.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_from_layout(const tw_layout *layout, const tw_tuple *shape,
                                       tw_linear **out);

/** Converts a linear layout to a layout of (threads, registers) or (threads, registers, blocks),
 *  with a swizzle if one is needed.
 *  Example: linear_to_layout("register=[[16],[8]] lane=[[32],[64],[1],[2],[4]] -> (128)") =
 *  "((4,8),(2,2)):((32,1),(16,8))"
 *  @param linear not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_to_layout(const tw_linear *linear, tw_layout **out);

/** Tests whether a layout of row indices suits the gather4 instruction: the first two register
 *  bases must be [1] and [2], and all lane bases [0]. The result of the example, "16 in 4", means
 *  16 instructions in each of 4 warps.
 *  Example: linear_gather4("register=[[1],[2],[16],[32],[64],[128]] lane=[[0]] warp=[[4],[8]] ->
 *  (256)") = "16 in 4"
 *  Example: linear_gather4("register=[[1],[2]] lane=[[4],[8]] -> (16)") = ERROR_UNSUPPORTED (lane
 *  bases other than [0])
 *  @param linear of one dimension. @param[out] per_warp instructions that each issuing warp issues.
 *  @param[out] warps number of issuing warps; 1 if all warps hold the same rows.
 *  @retval TW_ERROR_UNSUPPORTED the layout does not suit gather4; the message says which basis is
 *  wrong and why.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_gather4(const tw_linear *linear, int64_t *per_warp, int64_t *warps);
/** @} */

/** @name Drawings
 *  SVG texts: a grid of the first mode (rows) by the other modes (columns). At most 128 rows and
 *  128 columns are shown.
 *  @experimental{the drawing functions and the pictures that they write}
 *  @{ */

/** What the colors of a drawing mean. */
typedef int32_t tw_paint;
enum {
  TW_PAINT_NONE = 0,  /**< nothing */
  TW_PAINT_BANKS = 1, /**< the bank of shared memory (32 of 4 bytes) in which an element begins */
  TW_PAINT_INDEX = 2  /**< a scale from the smallest to the largest index */
};

/** Draws a layout: the index of each coordinate, and for a swizzled layout also the index without
 *  the swizzle.
 *  @param layout not NULL. @param paint what colors mean. @param element_bits for TW_PAINT_BANKS.
 *  @param[out] buffer may be NULL if capacity is 0. @param capacity bytes of buffer.
 *  @param[out] length bytes of the drawing, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @retval TW_ERROR_INVALID_ARGUMENT paint is not a TW_PAINT_ number, or element_bits is outside 1
 *  to 1024 with TW_PAINT_BANKS.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw(const tw_layout *layout, tw_paint paint, int32_t element_bits,
                                char *buffer, size_t capacity, size_t *length);

/** Draws a thread-value layout: each element of the tile shows the thread and value that hold it,
 *  colored by thread. If several pairs hold an element, the first pair is shown. Elements that no
 *  pair holds are gray.
 *
 *  A tv of at most 2^20 pairs of thread and value can always be drawn. For a larger tv, each
 *  element in the drawing is searched for, and all searches of one drawing together may take at
 *  most 2^20 steps. Modes that overlap, such as (4,4):(3,5), take the most steps.
 *  @param tv maps (thread, value) to the number of an element of the tile.
 *  @param tile its shape. @param[out] buffer may be NULL if capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes of the drawing, including the zero;
 *  may be NULL. @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @retval TW_ERROR_INVALID_ARGUMENT tv does not have two modes, or an extent of tile is below 1.
 *  @retval TW_ERROR_UNSUPPORTED tv has more than 2^20 pairs and the searches would take more than
 *  2^20 steps. Nothing is drawn.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw_tv(const tw_layout *tv, const tw_tuple *tile, char *buffer,
                                   size_t capacity, size_t *length);

/** Draws the boxes of tw_layout_partition_tma() over the tensor's first two modes. Parts of boxes
 *  outside the tensor, also before its first element, are cut off. At most 4,096 boxes are drawn;
 *  the drawing says if there are more.
 *  @param tensor not NULL. @param box extents of one box, as many as tensor has modes. @param boxes
 *  maps the number of a box to its coordinate. @param[out] buffer may be NULL if capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes of the drawing, including the zero;
 *  may be NULL. @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @retval TW_ERROR_INVALID_ARGUMENT boxes returns numbers instead of coordinates, or an extent of
 *  box is below 1.
 *  @retval TW_ERROR_OVERFLOW a coordinate of a box exceeds 64 bits.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw_boxes(const tw_layout *tensor, const int64_t *box,
                                      const tw_layout *boxes, char *buffer, size_t capacity,
                                      size_t *length);
/** @} */
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_LAYOUT_H */
