/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_LAYOUT_H
#define TILEWRIGHT_LAYOUT_H
/**
 * @file tilewright_layout.h
 * Layouts and pictures of them. tilewright.h includes this file; its conventions hold here too.
 */

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup layout Layouts: CuTe's shape:stride algebra at run time
 *  A layout is a function from coordinates to indices: `(4,3):(1,8)`, shape:stride, has 4 times 3
 *  coordinates (i,j), and (i,j) has index i * 1 + j * 8. Each extent with its stride is a mode; a
 *  mode can have modes inside, `((2,3),4):((1,8),2)`, and then its coordinate can be one number or
 *  a tuple of them. One number for several modes counts through them with the leftmost fastest
 *  (colexicographically): of this layout 3, (3,0) and ((1,1),0) are one coordinate, with index 9.
 *  So every layout can also be seen as a function of one number, and as one mode.
 *
 *  In front there can be a swizzle and an offset: `Sw<3,3,3> o 0 o (64,64):(64,1)`. Strides can be
 *  scaled basis elements, `2@1` being 2 at element 1 of a tuple; then the layout gives coordinates,
 *  not indices: `(0,0) o (1024,512):(1@1,1@0)` at (2,3) is (3,2).
 *
 *  Layouts, tuples and tilers are values: no function changes one, and each belongs to the caller.
 *  Beside what each lists, functions return TW_ERROR_OVERFLOW where a number of the answer exceeds
 *  64 bits, TW_ERROR_CAPACITY where it has more leaves than TW_LAYOUT_MAX_LEAVES or is nested
 * deeper than TW_LAYOUT_MAX_DEPTH, and TW_ERROR_UNSUPPORTED for an operand of a kind that they do
 * not take, such as basis strides where indices are wanted. "Example:" lines below show texts of
 * the operands and of the answer; the tests run every one.
 *  @{ */

typedef struct tw_tuple tw_tuple;   /**< Nested integers: a shape, a coordinate, an order. */
typedef struct tw_tiler tw_tiler;   /**< How a layout is cut: a layout, or a tuple of tilers. */
typedef struct tw_linear tw_linear; /**< A linear layout over bits, as Triton has them. */

/** Most leaves that a layout can have, and its deepest nesting. */
enum { TW_LAYOUT_MAX_LEAVES = 32, TW_LAYOUT_MAX_DEPTH = 16 };

/** Reads a layout from its text: `shape:stride`, or `shape` alone for the compact column-major one.
 *  Strides may be integers or scaled basis elements such as `2@1`; `(0,0) o shape:stride` puts an
 *  origin in front of a coordinate tensor.
 *  @param text zero-terminated. @param[out] layout the caller's, for tw_layout_destroy().
 *  @retval TW_ERROR_PARSE the text is none; the message says where and what was expected.
 *  @retval TW_ERROR_CAPACITY too many leaves or too deep. @retval TW_ERROR_OVERFLOW too large.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_parse(const char *text, tw_layout **layout);

/** Makes a flat layout. @param rank 1 to TW_LAYOUT_MAX_LEAVES. @param shape rank extents, each at
 *  least 1. @param stride rank strides, or NULL for the compact column-major ones.
 *  @param[out] layout the caller's, for tw_layout_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_create(int32_t rank, const int64_t *shape, const int64_t *stride,
                                  tw_layout **layout);

/** Destroys a layout. @param layout may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_layout_destroy(tw_layout *layout);

/** Writes a layout's text, zero-terminated. @param layout not NULL. @param[out] buffer may be NULL
 *  where capacity is 0. @param capacity bytes of buffer. @param[out] length bytes that the whole
 *  text needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning of the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_format(const tw_layout *layout, char *buffer, size_t capacity,
                                  size_t *length);

/** Number of coordinates: the product of the shape.
 *  Example: size("((2,3),4):((1,8),2)") = "24" @param layout not NULL. @param[out] size it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_size(const tw_layout *layout, int64_t *size);

/** One more than the largest distance between two indices: sum of (extent - 1) * |stride|, plus 1.
 *  Example: cosize("(4,3):(1,100)") = "204"
 *  @param layout not NULL. @param[out] cosize it.
 *  @retval TW_ERROR_UNSUPPORTED the layout gives coordinates (basis strides), not integers.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_cosize(const tw_layout *layout, int64_t *cosize);

/** Number of modes at the top; 1 for a layout that is a single `extent:stride`.
 *  Example: rank("((2,3),4):((1,8),2)") = "2"
 *  @param layout not NULL. @param[out] rank it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_rank(const tw_layout *layout, int32_t *rank);

/** Depth of nesting: 0 for a single `extent:stride`, 1 for a flat tuple.
 *  Example: depth("((2,3),4):((1,8),2)") = "2"
 *  @param layout not NULL. @param[out] depth it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_depth(const tw_layout *layout, int32_t *depth);

/** Number of leaves, that is of integers in the shape.
 *  Example: leaves("((2,3),4):((1,8),2)") = "3" @param layout not NULL.
 *  @param[out] leaves it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_leaves(const tw_layout *layout, int32_t *leaves);

/** One mode of a layout as a layout.
 *  Example: mode("((2,3),4):((1,8),2)", 0) = "(2,3):(1,8)" @param layout not NULL. @param mode from
 * 0 to rank - 1.
 *  @param[out] out the caller's, for tw_layout_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_mode(const tw_layout *layout, int32_t mode, tw_layout **out);

/** Coordinate to index.
 *  Example: crd2idx("((2,3),4):((1,8),2)", 5, 3) = "23" @param layout not NULL. @param coord one
 * linear coordinate (count 1), one for each top mode (count = rank), or one for each leaf (count =
 * leaves).
 *  @param count numbers in coord. @param[out] index where a layout has integer strides.
 *  @retval TW_ERROR_UNSUPPORTED the layout gives coordinates: use tw_layout_crd2crd().
 *  @retval TW_ERROR_INVALID_ARGUMENT the count fits nothing, or a number is out of its extent.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_crd2idx(const tw_layout *layout, const int64_t *coord, int32_t count,
                                   int64_t *index);

/** Coordinate to coordinate, for a layout of basis strides such as a tensor map's.
 *  Example: crd2crd("(0,0) o (1024,512):(1@1,1@0)", 2, 3) = "(3,2)"
 *  @param layout not NULL. @param coord as in tw_layout_crd2idx(). @param count numbers in coord.
 *  @param[out] out one number for each basis element `@0`, `@1`, ...
 *  @param capacity numbers that out can hold. @param[out] written how many there are.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written says how many it takes.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_layout_crd2idx().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_crd2crd(const tw_layout *layout, const int64_t *coord, int32_t count,
                                   int64_t *out, int32_t capacity, int32_t *written);

/** Linear coordinate to flat coordinate, one number for each leaf.
 *  Example: idx2crd("((2,3),4):((1,8),2)", 13) = "(1,0,2)" @param layout not NULL.
 *  @param linear from 0 to size - 1. @param[out] coord the numbers. @param capacity numbers that
 *  coord can hold, at least leaves.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL capacity is less than leaves.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_idx2crd(const tw_layout *layout, int64_t linear, int64_t *coord,
                                   int32_t capacity);

/** Index back to the smallest linear coordinate that has it.
 *  Example: find("((2,3),4):((1,8),2)", 23) = "23" @param layout of integer strides.
 *  @param index any number. @param[out] linear the coordinate.
 *  @retval TW_ERROR_NOT_FOUND no coordinate has this index.
 *  @retval TW_ERROR_UNSUPPORTED the modes overlap too much to decide.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_find(const tw_layout *layout, int64_t index, int64_t *linear);

/** One tile of a tensor: CuTe's local_tile. Extents that the tile does not divide are rounded up to
 *  whole tiles.
 *  Example: local_tile("(6,8):(1,6)", "(2,4)", "(1,1)") = "26 + (2,4):(1,6)" @param layout of rank
 * at least `rank`. @param rank modes that are tiled, from the left. @param tile extents of the
 * tile, each at least 1. @param coord which tile, one for each tiled mode. @param[out] out the
 * tile's layout, the caller's. @param[out] offset the index of the tile's first element, to be
 * added to the layout's; for basis strides it is part of out and 0 here.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_local_tile(const tw_layout *layout, int32_t rank, const int64_t *tile,
                                      const int64_t *coord, tw_layout **out, int64_t *offset);
/** @name Tuples: shapes, coordinates, orders
 *  Nested integers as text or from an array. In coordinates and tilers `_` (TW_FREE) means "keep
 *  this mode".
 *  @{ */

/** "Keep this mode" among numbers: `_`. */
#define TW_FREE INT64_MIN

/** Reads a tuple from its text: `4`, `(2,(3,4))`, `(_,2)`.
 *  @param text zero-terminated. @param[out] tuple the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_PARSE the text is none; the message says where and what was expected.
 *  @retval TW_ERROR_CAPACITY too many numbers or too deep.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_parse(const char *text, tw_tuple **tuple);

/** Makes a flat tuple. @param count 1 to TW_LAYOUT_MAX_LEAVES. @param values count numbers.
 *  @param[out] tuple the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_create(int32_t count, const int64_t *values, tw_tuple **tuple);

/** Destroys a tuple. @param tuple may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_tuple_destroy(tw_tuple *tuple);

/** Writes a tuple's text, zero-terminated. @param tuple not NULL. @param[out] buffer may be NULL
 *  where capacity is 0. @param capacity bytes of buffer. @param[out] length bytes that the whole
 *  text needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning of the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_format(const tw_tuple *tuple, char *buffer, size_t capacity,
                                 size_t *length);

/** The numbers from left to right, without their nesting. @param tuple not NULL.
 *  @param[out] values the numbers. @param capacity numbers that values can hold.
 *  @param[out] written how many there are.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written says how many it takes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_values(const tw_tuple *tuple, int64_t *values, int32_t capacity,
                                 int32_t *written);

/** Product of the numbers. Example: product("(2,(3,4))") = "24"
 *  @param tuple not NULL. @param[out] product it.
 *  @retval TW_ERROR_OVERFLOW it exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_product(const tw_tuple *tuple, int64_t *product);

/** Do two tuples have the same nesting? Example: congruent("(2,(3,4))", "(1,(1,1))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_congruent(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Does b's nesting refine a's, having anything where a has a number?
 *  Example: weakly_congruent("(2,12)", "(2,(3,4))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_weakly_congruent(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Is every coordinate of shape a one of shape b? So it is where b refines a with equal sizes.
 *  Example: compatible("(2,12)", "(2,(3,4))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_compatible(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Is every number of a coordinate below that of a shape? The predicate of partial tiles: a
 *  coordinate of a divided identity tensor against the tensor's shape.
 *  Example: elem_less("(3,(1,4))", "(4,(2,4))") = "0"
 *  @param coord not NULL. @param shape of the same nesting. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the nestings differ.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_elem_less(const tw_tuple *coord, const tw_tuple *shape, int32_t *yes);

/** Products of all numbers to the left: the compact column-major strides of a shape.
 *  Example: prefix_product("(2,(3,4))") = "(1,(2,6))"
 *  @param shape not NULL. @param[out] out the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_OVERFLOW a product exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_prefix_product(const tw_tuple *shape, tw_tuple **out);

/** Sum of the products of matching numbers: a coordinate times strides.
 *  Example: inner_product("(1,(2,3))", "(4,(5,6))") = "32"
 *  @param a not NULL. @param b of the same nesting. @param[out] product it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the nestings differ.
 *  @retval TW_ERROR_OVERFLOW it exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_inner_product(const tw_tuple *a, const tw_tuple *b, int64_t *product);

/** Divides a shape: by an integer from its leftmost number on, by a shape number by number.
 *  Example: shape_div("(4,(3,2))", "6") = ERROR_NOT_A_LAYOUT
 *  Example: shape_div("(4,(3,2))", "12") = "(1,(1,2))"
 *  @param a not NULL. @param b not NULL. @param[out] out the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_NOT_A_LAYOUT of two numbers neither divides the other.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_shape_div(const tw_tuple *a, const tw_tuple *b, tw_tuple **out);

/** How many tiles cover a shape. Example: ceil_div("(84,168)", "(5,16)") = "(17,11)"
 *  @param shape not NULL. @param tile not NULL; modes that it lacks stay.
 *  @param[out] out the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or tile has more modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_ceil_div(const tw_tuple *shape, const tw_tuple *tile, tw_tuple **out);
/** @} */

/** @name Tilers: how a layout is cut
 *  A tiler is a layout, which cuts another as a function of one number, or a tuple `<a,b,...>` of
 *  tilers, which cuts mode by mode. Among these an integer n is `n:1`, and `_` keeps its mode.
 *  @{ */

/** Reads a tiler from its text: `8:2`, `<8,(2,4):(4,1),_>`, `<4,<2,2>>`.
 *  @param text zero-terminated. @param[out] tiler the caller's, for tw_tiler_destroy().
 *  @retval TW_ERROR_PARSE the text is none; the message says where and what was expected.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_parse(const char *text, tw_tiler **tiler);

/** Makes `<extents[0],extents[1],...>`. @param rank 1 to TW_LAYOUT_MAX_LEAVES.
 *  @param extents rank numbers, each at least 1, or TW_FREE.
 *  @param[out] tiler the caller's, for tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_create(int32_t rank, const int64_t *extents, tw_tiler **tiler);

/** Makes a tiler of a layout. @param layout of integer strides, without swizzle or offset; copied.
 *  @param[out] tiler the caller's, for tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_from_layout(const tw_layout *layout, tw_tiler **tiler);

/** Makes `<entries[0],entries[1],...>`. @param rank 1 to TW_LAYOUT_MAX_LEAVES.
 *  @param entries rank tilers; copied. @param[out] tiler the caller's, for tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument or an entry is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_by_mode(int32_t rank, const tw_tiler *const *entries, tw_tiler **tiler);

/** Destroys a tiler. @param tiler may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_tiler_destroy(tw_tiler *tiler);

/** Writes a tiler's text, zero-terminated. @param tiler not NULL. @param[out] buffer may be NULL
 *  where capacity is 0. @param capacity bytes of buffer. @param[out] length bytes that the whole
 *  text needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning of the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_format(const tw_tiler *tiler, char *buffer, size_t capacity,
                                 size_t *length);
/** @} */

/** @name Layouts from shapes
 *  @{ */

/** The compact layout that counts from the left: column-major.
 *  Example: make_layout_left("(4,(2,3))") = "(4,(2,3)):(1,(4,8))"
 *  @param shape extents, each at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_left(const tw_tuple *shape, tw_layout **out);

/** The compact layout that counts from the right: row-major.
 *  Example: make_layout_right("(4,(2,3))") = "(4,(2,3)):(6,(3,1))"
 *  @param shape extents, each at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_right(const tw_tuple *shape, tw_layout **out);

/** A compact layout whose strides rise with the numbers of an order.
 *  Example: make_ordered_layout("(4,3,2)", "(2,0,1)") = "(4,3,2):(6,1,3)"
 *  @param shape extents, each at least 1. @param order of the shape's nesting, or coarser; modes
 *  of equal numbers share a stride. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_ordered(const tw_tuple *shape, const tw_tuple *order,
                                        tw_layout **out);

/** A compact layout whose modes follow one another as another layout's do; strides 0 stay.
 *  Example: make_layout_like("(2,16,2):(1,8,4)") = "(2,16,2):(1,4,2)"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_like(const tw_layout *layout, tw_layout **out);

/** The layout that gives back each coordinate: what predicates are made of, see
 *  tw_tuple_elem_less(). Example: make_identity_layout("(4,(2,3))") =
 *  "(4,(2,3)):(1@0,(1@0@1,1@1@1))"
 *  @param shape extents, each at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_identity(const tw_tuple *shape, tw_layout **out);

/** A thread-value layout: (thread, value) to the index in a tile, for threads that lie in a tile as
 *  one layout says, each with a block of values as another says.
 *  Example: make_layout_tv("(4,32):(32,1)", "(4,4):(4,1)") = "(16,128)
 *  ((32,4),(4,4)):((64,4),(16,1))"
 *  @param threads compact. @param values compact. @param[out] tiler the tile's shape, the caller's.
 *  @param[out] out the layout, the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT threads and values do not number the tile's elements one by one.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_tv(const tw_layout *threads, const tw_layout *values,
                                   tw_tuple **tiler, tw_layout **out);

/** A layout of as many of `size` coordinates as spread evenly over the modes of a shape.
 *  Example: domain_distribute("(9,32,2)", "8") = "8:9"
 *  @param shape extents, each at least 1. @param size at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_domain_distribute(const tw_tuple *shape, int64_t size, tw_layout **out);
/** @} */

/** @name Questions about a layout
 *  @{ */

/** The shape. Example: shape("((2,3),4):((1,8),2)") = "((2,3),4)"
 *  @param layout not NULL. @param[out] shape the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_shape(const tw_layout *layout, tw_tuple **shape);

/** The strides. Example: stride("((2,3),4):((1,8),2)") = "((1,8),2)"
 *  @param layout not NULL. @param[out] stride the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_UNSUPPORTED the strides are basis elements: take them from the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_stride(const tw_layout *layout, tw_tuple **stride);

/** The swizzle Sw<bits,base,shift> and the offset in front of a layout, 0 where there is none.
 *  Example: swizzle("Sw<3,4,3> o 128 o (8,128):(128,1)") = "3 4 3 128"
 *  @param layout not NULL. @param[out] bits B, 0 without a swizzle. @param[out] base M.
 *  @param[out] shift S. @param[out] offset added before the swizzle.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_swizzle(const tw_layout *layout, int32_t *bits, int32_t *base,
                                   int32_t *shift, int64_t *offset);

/** Index of a coordinate in any nesting that the shape refines. A coordinate that is one number may
 *  lie past the end, where the last mode counts on, as in CuTe.
 *  Example: at("((2,3),4):((1,8),2)", "(5,(3))") = ERROR_INVALID_ARGUMENT
 *  Example: at("((2,3),4):((1,8),2)", "(5,3)") = "23"
 *  Example: at("(4,3):(1,8)", "13") = "25"
 *  @param layout not NULL. @param coord without `_`. @param[out] index of the coordinate.
 *  @retval TW_ERROR_UNSUPPORTED the layout gives coordinates: use tw_layout_at_coord().
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_at(const tw_layout *layout, const tw_tuple *coord, int64_t *index);

/** The same for a layout that gives coordinates.
 *  Example: at_coord("(0,0) o (1024,512):(1@1,1@0)", "(2,3)") = "(3,2)"
 *  @param layout not NULL. @param coord without `_`. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_at_coord(const tw_layout *layout, const tw_tuple *coord, tw_tuple **out);

/** Does no index belong to two coordinates? Example: is_injective("(4,4):(1,3)") = "0"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED the modes overlap too much to decide.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_injective(const tw_layout *layout, int32_t *yes);

/** Is no index left out between the smallest and the largest?
 *  Example: is_surjective("(4,4):(1,3)") = "1"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED the layout gives coordinates, or its swizzle moves indices into
 *  gaps or out of its range and it has more than 2^20 coordinates.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_surjective(const tw_layout *layout, int32_t *yes);

/** Are the indices size(layout) numbers one behind the other, in any order?
 *  Example: is_contiguous("(4,4):(4,1)") = "1"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED as for tw_layout_is_surjective().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_contiguous(const tw_layout *layout, int32_t *yes);

/** The number of elements that every access to a layout may be aligned to and taken in, counted
 *  from an aligned base. Example: max_alignment("(3,(32,2)):(128,(4,1))") = "2"
 *  @param layout of integer strides. @param[out] elements the number.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is negative. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_alignment(const tw_layout *layout, int64_t *elements);

/** The longest vector whose elements lie one behind the other in two layouts, in the same order:
 *  how wide a copy between them can be. Example: max_common_vector("(8,4):(1,8)", "(8,4):(1,16)") =
 *  "8"
 *  @param a of integer strides. @param b of the same size. @param[out] elements the number.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_common_vector(const tw_layout *a, const tw_layout *b,
                                             int64_t *elements);
/** @} */

/** @name The same function with other modes
 *  These keep a swizzle, an offset or an origin in front as it is.
 *  @{ */

/** Joins modes that continue one another and drops modes of extent 1.
 *  Example: coalesce("(2,(1,6)):(1,(6,2))", NULL) = "12:1"
 *  Example: coalesce("(2,(1,6)):(1,(6,2))", "(1,1)") = "(2,6):(1,2)"
 *  @param layout not NULL. @param profile NULL for the whole; else it is done mode by mode: where
 *  the profile has a number, whichever. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the profile has too many modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_coalesce(const tw_layout *layout, const tw_tuple *profile,
                                    tw_layout **out);

/** Coalesces without the modes of stride 0. Example: filter("(2,4,8):(1,0,2)", NULL) = "16:1"
 *  @param layout not NULL. @param profile as for tw_layout_coalesce(), may be NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the profile has too many modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_filter(const tw_layout *layout, const tw_tuple *profile,
                                  tw_layout **out);

/** Gives modes of stride 0 the extent 1. Example: filter_zeros("(2,4,8):(1,0,2)") =
 *  "(2,1,8):(1,0,2)"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_filter_zeros(const tw_layout *layout, tw_layout **out);

/** Takes the nesting away. Example: flatten("((2,3),4):((1,8),2)") = "(2,3,4):(1,8,2)"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flatten(const tw_layout *layout, tw_layout **out);

/** Makes one mode of several. Example: group_modes("(2,3,4):(1,2,6)", 1, 3) = "(2,(3,4)):(1,(2,6))"
 *  @param layout not NULL. @param begin first mode. @param end behind the last.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there are no such modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_group_modes(const tw_layout *layout, int32_t begin, int32_t end,
                                       tw_layout **out);

/** Adds a mode behind. Example: append("(2,3):(1,2)", "4:8") = "(2,3,4):(1,2,8)"
 *  @param layout not NULL. @param mode any layout without swizzle, offset or origin; copied.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @retval TW_ERROR_CAPACITY too many leaves. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_append(const tw_layout *layout, const tw_layout *mode, tw_layout **out);

/** Adds a mode in front. Example: prepend("(2,3):(1,2)", "4:8") = "(4,2,3):(8,1,2)"
 *  @param layout not NULL. @param mode as for tw_layout_append(). @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @retval TW_ERROR_CAPACITY too many leaves. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_prepend(const tw_layout *layout, const tw_layout *mode, tw_layout **out);

/** Puts a layout in place of a mode. Example: replace("(2,3):(1,2)", 1, "(4,4):(8,2)") =
 *  "(2,(4,4)):(1,(8,2))"
 *  @param layout not NULL. @param index the mode. @param with as for tw_layout_append().
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such mode.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_replace(const tw_layout *layout, int32_t index, const tw_layout *with,
                                   tw_layout **out);

/** Some modes, in the order given. Example: select("(2,3,4):(1,2,6)", 2, 0) = "(4,2):(6,1)"
 *  @param layout not NULL. @param count how many, at least 1. @param modes their numbers.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such mode.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_select(const tw_layout *layout, int32_t count, const int32_t *modes,
                                  tw_layout **out);

/** Modes from one to another. Example: take("(2,3,4):(1,2,6)", 1, 3) = "(3,4):(2,6)"
 *  @param layout not NULL. @param begin first mode. @param end behind the last.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there are no such modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_take(const tw_layout *layout, int32_t begin, int32_t end,
                                tw_layout **out);
/** @} */

/** @name Algebra
 *  Answers are those of CuTe, but for those of CuTe's that are no answers: an operation whose
 *  mathematical result is a layout returns it, any other is refused with TW_ERROR_NOT_A_LAYOUT and
 *  the reason.
 *  @{ */

/** Function composition: R(c) = A(B(c)), with B's shape refined where one mode of B takes several
 *  of A. A is taken as a function of one number, which beyond its end counts on in its last mode.
 *  Where B gives coordinates, each of their numbers indexes a mode of A.
 *  Example: composition("(6,2):(8,2)", "(4,3):(3,1)") = "((2,2),3):((24,2),8)"
 *  Example: composition("(8,8):(8,1)", "6:3") = "(3,2):(24,9)"
 *  Example: composition("(4,8):(8,1)", "(2,1,2,8):(1,16,1,1)") = ERROR_NOT_A_LAYOUT
 *  @param a may have a swizzle or an offset, which stay in front. @param b not NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT the function is not of the form of a layout.
 *  @retval TW_ERROR_OVERFLOW an index exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_composition(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** Composition mode by mode; modes that the tiler lacks are dropped.
 *  Example: composition_tiler("(12,(4,8)):(59,(13,1))", "<3:4,8>") = "(3,(4,2)):(236,(13,1))"
 *  @param a as for tw_layout_composition(). @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT the function is not of the form of a layout.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tiler has more modes. @threadsafety{any thread} @since
 *  0.1 */
TW_API tw_status tw_layout_composition_tiler(const tw_layout *a, const tw_tiler *tiler,
                                             tw_layout **out);

/** What a layout leaves out of 0 ... cosize - 1, in rising order: each of its indices added to each
 *  of the layout's gives another number.
 *  Example: complement("4:2", 24) = "(2,3):(1,8)"
 *  @param layout of integer strides, none negative. @param cosize at least 1.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT the layout's modes overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT cosize is below 1.
 *  @threadsafety{any thread} @since
 *  0.1 */
TW_API tw_status tw_layout_complement(const tw_layout *layout, int64_t cosize, tw_layout **out);

/** Index to coordinate: L(R(i)) = i for every i below size(R), which is as far as L's modes count
 *  0, 1, 2, ... Example: right_inverse("(4,8):(8,1)") = "(8,4):(4,1)"
 *  @param layout of integer strides, none negative; with a swizzle where that maps its indices onto
 *  themselves. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_right_inverse(const tw_layout *layout, tw_layout **out);

/** Index to coordinate also where there are gaps: R(L(i)) = i. Where several coordinates share an
 *  index, L(R(L(i))) = L(i). Example: left_inverse("(4,3,5):(1,12,37)") = ERROR_NOT_A_LAYOUT
 *  Example: left_inverse("(4,8):(1,6)") = "(6,8):(1,4)"
 *  @param layout of integer strides, none negative. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is no multiple of the next smaller one.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_left_inverse(const tw_layout *layout, tw_layout **out);

/** Cuts a layout into tiles: A o (B, complement(B, size(A))). The first mode is one tile, the
 *  second steps from tile to tile; a last tile may reach past the end. Mode by mode for a tuple.
 *  Tiles and rest together reach every index of the layout. A tile that could not do that is
 *  refused: each stride of a tile must be a multiple of extent times stride of the tile's mode with
 *  the next smaller stride, as far as the gap would lie inside the layout. CuTe accepts such a tile
 *  and leaves indices out, 256 and 576 in the last example.
 *  Example: logical_divide("(4,2,3):(2,1,8)", "4:2") = "((2,2),(2,3)):((4,1),(2,8))"
 *  Example: logical_divide("(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>") =
 *  "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"
 *  Example: logical_divide("11:64", "(2,4):(5,1)") = ERROR_NOT_A_LAYOUT
 *  @param layout not NULL. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none, or it would leave indices out.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_logical_divide(const tw_layout *layout, const tw_tiler *tiler,
                                          tw_layout **out);

/** logical_divide with the tiles' modes first and together: ((tile, tile), (rest, rest)).
 *  Example: zipped_divide("(6,8):(1,6)", "<2,4>") = "((2,4),(3,2)):((1,6),(2,24))"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_zipped_divide(const tw_layout *layout, const tw_tiler *tiler,
                                         tw_layout **out);

/** zipped_divide with the rest's modes at the top: ((tile, tile), rest, rest).
 *  Example: tiled_divide("(6,8):(1,6)", "<2,4>") = "((2,4),3,2):((1,6),2,24)"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tiled_divide(const tw_layout *layout, const tw_tiler *tiler,
                                        tw_layout **out);

/** zipped_divide with all modes at the top: (tile, tile, rest, rest).
 *  Example: flat_divide("(6,8):(1,6)", "<2,4>") = "(2,4,3,2):(1,6,2,24)"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flat_divide(const tw_layout *layout, const tw_tiler *tiler,
                                       tw_layout **out);

/** Repeats a layout: (A, complement(A, size(A) * cosize(B)) o B). The first mode is A, the second
 *  steps from copy to copy in B's order. Mode by mode for a tuple.
 *  Example: logical_product("(2,2):(4,1)", "6:1") = "((2,2),(2,3)):((4,1),(2,8))"
 *  @param a of integer strides, none negative. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_logical_product(const tw_layout *a, const tw_tiler *tiler,
                                           tw_layout **out);

/** logical_product with A's modes first and together.
 *  Example: zipped_product("(2,5):(5,1)", "<3,4>") = "((2,5),(3,4)):((5,1),(1,5))"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_zipped_product(const tw_layout *a, const tw_tiler *tiler,
                                          tw_layout **out);

/** zipped_product with the copies' modes at the top.
 *  Example: tiled_product("(2,5):(5,1)", "(3,4):(1,3)") = "((2,5),3,4):((5,1),10,30)"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tiled_product(const tw_layout *a, const tw_tiler *tiler,
                                         tw_layout **out);

/** zipped_product with all modes at the top.
 *  Example: flat_product("(2,5):(5,1)", "(3,4):(1,3)") = "(2,5,3,4):(5,1,10,30)"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flat_product(const tw_layout *a, const tw_tiler *tiler, tw_layout **out);

/** logical_product with modes paired, A's first: a tiling of blocks.
 *  Example: blocked_product("(2,5):(5,1)", "(3,4):(1,3)") = "((2,3),(5,4)):((5,10),(1,30))"
 *  @param a as for tw_layout_logical_product(). @param b of integer strides.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_blocked_product(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** logical_product with modes paired, B's first: A's elements spread over the copies.
 *  Example: raked_product("(2,5):(5,1)", "(3,4):(1,3)") = "((3,2),(4,5)):((10,5),(30,1))"
 *  @param a as for tw_layout_logical_product(). @param b of integer strides.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_raked_product(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** Repeats a block until it covers a shape.
 *  Example: tile_to_shape("Sw<3,3,3> o 0 o (8,64):(64,1)", "(128,64)", NULL) = "Sw<3,3,3> o 0 o
 *  ((8,16),(64,1)):((64,512),(1,0))"
 *  @param block may be swizzled. @param shape of at least the block's rank. @param order in which
 *  the copies follow one another, NULL for leftmost first. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tile_to_shape(const tw_layout *block, const tw_tuple *shape,
                                         const tw_tuple *order, tw_layout **out);

/** Coordinates whose indices are the same in two layouts, from 0 on without a gap: R with
 *  a(R(i)) = b(R(i)) = i.
 *  Example: max_common_layout("(4,16):(16,1)", "(4,16):(16,1)") = "(16,4):(4,1)"
 *  @param a of integer strides. @param b likewise. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_common_layout(const tw_layout *a, const tw_layout *b,
                                             tw_layout **out);

/** Coordinates that do not change the index: L(N(i)) = 0.
 *  Example: nullspace("(4,2,8):(1,0,4)") = "2:4"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_nullspace(const tw_layout *layout, tw_layout **out);
/** @} */

/** @name Parts of a layout
 *  A part begins somewhere. For a plain layout of integers that is `offset`, to be added to the
 *  part's indices (or to a pointer, in elements). A part of a swizzled layout, of one with an
 *  offset and of one that gives coordinates has it inside, and `offset` is 0.
 *  @{ */

/** Fixes the modes where a coordinate has a number and keeps those where it has `_`.
 *  Example: slice("(4,(2,3)):(1,(4,8))", "(2,(_,1))") = "10 + (2):(4)"
 *  @param layout not NULL. @param coord not NULL. @param[out] out the caller's.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_slice(const tw_layout *layout, const tw_tuple *coord, tw_layout **out,
                                 int64_t *offset);

/** Keeps the modes where a coordinate has a number: what a slice takes away.
 *  Example: dice("(4,(2,3)):(1,(4,8))", "(2,(_,1))") = "(4,3):(1,8)"
 *  @param layout not NULL. @param coord not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_dice(const tw_layout *layout, const tw_tuple *coord, tw_layout **out);

/** The same layout, from a coordinate on.
 *  Example: domain_offset("(8,8):(1,8)", "(2,3)") = "26 + (8,8):(1,8)"
 *  Example: domain_offset("Sw<3,2,3> o 0 o (2,32):(1,2)", "(0,14)") = "Sw<3,2,3> o 28 o
 *  (2,32):(1,2)"
 *  @param layout not NULL. @param coord without `_`. @param[out] out the caller's.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_domain_offset(const tw_layout *layout, const tw_tuple *coord,
                                         tw_layout **out, int64_t *offset);

/** One tile, by any tiler; tw_layout_local_tile() is the same for plain extents.
 *  Example: tile("(6,8):(1,6)", "<2,4>", "(1,1)") = "26 + (2,4):(1,6)"
 *  Example: tile("(6,8):(1,6)", "<2,4>", "(1,_)") = "2 + (2,4,2):(1,6,24)"
 *  @param layout not NULL. @param tiler not NULL. @param coord which tile; `_` keeps a mode of
 *  tiles, behind the tile's modes. @param[out] out the caller's. @param[out] offset of the part,
 *  elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the tiles.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_zipped_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tile(const tw_layout *layout, const tw_tiler *tiler,
                                const tw_tuple *coord, tw_layout **out, int64_t *offset);

/** One thread's elements: its place among the threads, in every tile of the threads' shape.
 *  Example: local_partition("(32,16):(1,32)", "(2,8):(1,2)", 4) = "64 + (16,2):(2,256)"
 *  @param layout not NULL. @param threads from a place to a thread's number. @param thread its
 *  number.
 *  @param[out] out the caller's. @param[out] offset of the part, elements.
 *  @retval TW_ERROR_NOT_FOUND there is no such thread.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_zipped_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_local_partition(const tw_layout *layout, const tw_layout *threads,
                                           int64_t thread, tw_layout **out, int64_t *offset);
/** @} */

/** @name Swizzles, and elements of another size
 *  Sw<bits,base,shift> on a layout acts on indices, that is on elements: x ^ ((x & Y) >> shift), Y
 *  being `bits` bits from bit base + max(0, shift) on. The hardware's modes act on bytes: 32, 64
 *  and 128 bytes are Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>. Recast from 8 bits to an element's for the
 *  layout's form: 128 bytes of bf16 are Sw<3,3,3>, ((column / 8) ^ (row % 8)) * 8 + column % 8.
 *  @{ */

/** Puts a swizzle in front of a layout.
 *  Example: add_swizzle("(8,64):(64,1)", 3, 3, 3) = "Sw<3,3,3> o 0 o (8,64):(64,1)"
 *  @param layout of integers, not swizzled yet. @param bits B, 0 or more. @param base M, 0 or more.
 *  @param shift S, |S| at least B; negative shifts left. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_add_swizzle(const tw_layout *layout, int32_t bits, int32_t base,
                                       int32_t shift, tw_layout **out);

/** A layout without its swizzle, and without the offset and the origin in front of it.
 *  Example: remove_swizzle("Sw<3,3,3> o 8 o (8,64):(64,1)") = "(8,64):(64,1)"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_remove_swizzle(const tw_layout *layout, tw_layout **out);

/** A swizzle as a function. Example: swizzle_apply("Sw<3,4,3>", 144) = "128"
 *  @param bits B. @param base M. @param shift S. @param x any number. @param[out] out its image.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_swizzle_apply(int32_t bits, int32_t base, int32_t shift, int64_t x,
                                  int64_t *out);

/** A swizzle of elements of one size for elements of another, both in bits.
 *  Bits below the larger element's size drop out. Example: swizzle_recast("Sw<3,4,3>", 8, 16) =
 *  "Sw<3,3,3>" Example: swizzle_recast("Sw<3,0,3>", 8, 16) = "Sw<2,0,3>"
 *  @param[in,out] bits B. @param[in,out] base M. @param[in,out] shift S. @param from_bits of an
 *  element before. @param to_bits of an element after.
 *  @retval TW_ERROR_NOT_A_LAYOUT the sizes' ratio is no power of two.
 *  @retval TW_ERROR_INVALID_ARGUMENT the numbers make no swizzle, or a size is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_swizzle_recast(int32_t *bits, int32_t *base, int32_t *shift, int64_t from_bits,
                                   int64_t to_bits);

/** Joins n neighbouring elements into one. Example: upcast("(8,4):(4,1)", 2) = "(8,2):(2,1)"
 *  @param layout of integers. @param n at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride or the offset does not fit groups of n.
 *  @retval TW_ERROR_INVALID_ARGUMENT n is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_upcast(const tw_layout *layout, int64_t n, tw_layout **out);

/** Takes each element apart into n. Example: downcast("(8,4):(4,1)", 2) = "(8,8):(8,1)"
 *  @param layout of integers. @param n at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT no mode has stride 1, where the parts would lie.
 *  @retval TW_ERROR_INVALID_ARGUMENT n is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_downcast(const tw_layout *layout, int64_t n, tw_layout **out);

/** The same bytes as elements of another size, swizzle included.
 *  Example: recast("Sw<3,4,3> o 0 o (8,128):(128,1)", 8, 16) = "Sw<3,3,3> o 0 o (8,64):(64,1)"
 *  @param layout of integers. @param from_bits of an element before. @param to_bits after.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_upcast() and tw_layout_downcast().
 *  @retval TW_ERROR_INVALID_ARGUMENT a size is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_recast(const tw_layout *layout, int64_t from_bits, int64_t to_bits,
                                  tw_layout **out);
/** @} */

/** @name Who moves what
 *  @{ */

/** One thread's elements by a thread-value layout: CuTe's get_slice(thread).partition_S(tensor).
 *  Of an identity layout these are coordinates, for predicates.
 *  Example: partition_tv("(64,256):(256,1)", "(16,128)", "((32,4),(4,4)):((64,4),(16,1))", 33) =
 *  "1028 + ((4,4),4,2):((1,256),4096,128)"
 *  @param tensor not NULL. @param tile shape that tv numbers. @param tv from (thread, value) to the
 *  number of an element of the tile, as tw_layout_make_tv() makes it. @param thread its number.
 *  @param[out] out (values, tiles ...), the caller's. @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT there is no such thread, or tv has other than two modes.
 *  @retval TW_ERROR_NOT_A_LAYOUT the tiles cut the tensor's modes unevenly.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_partition_tv(const tw_layout *tensor, const tw_tuple *tile,
                                        const tw_layout *tv, int64_t thread, tw_layout **out,
                                        int64_t *offset);

/** The boxes that the TMA moves for a tile: CuTe's tma_partition. The example's tile (2,1) of 128 x
 *  128 bf16 goes in two boxes of 128 x 64, panels of the 128-byte swizzle.
 *  Example: partition_tma("(1024,512):(512,1)", "Sw<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))",
 *  "(128,128)", "(2,1)", 1, 0) = "128,64 at (256,128) o 2:64@1 to (2):(8192)"
 *  @param tensor one mode a dimension, 1 to 5. A layout that gives coordinates gives the boxes'
 *  coordinates too, in its order; of any other they come in the order of its modes.
 *  @param smem the tile's modes in the tensor's order, stages behind; may be swizzled.
 *  @param tile extents. @param coord which tile. @param ctas CTAs of a cluster that share the tile,
 *  each moving an equal part of every box to all; 1 where nothing is shared. @param cta from 0.
 *  @param[out] box extents of one box by mode of the tensor; tensor's rank numbers.
 *  @param capacity numbers that box can hold. @param[out] boxes from the number of a box, in the
 *  order of shared memory, to the coordinate of its first element; the caller's.
 *  @param[out] slots from (box, stage ...) to the element of shared memory where it goes, before
 *  any swizzle; the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT no box moves this tile; the message says why.
 *  @retval TW_ERROR_INVALID_ARGUMENT extents do not match, or there is no such tile or CTA.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_partition_tma(const tw_layout *tensor, const tw_layout *smem,
                                         const tw_tuple *tile, const tw_tuple *coord, int64_t ctas,
                                         int64_t cta, int64_t *box, int32_t capacity,
                                         tw_layout **boxes, tw_layout **slots);

/** Passes through shared memory (32 banks of 4 bytes) that a warp needs for all its values.
 *  Example: bank_passes("(32,32):(32,1)", 32, "(32,1):(1,0)", 4) = "32 of 1"
 *  Example: bank_passes("Sw<3,3,3> o 0 o (8,64):(64,1)", 16, "((8,4),8):((1,64),8)", 16) = "4 of 4"
 *  @param layout of the elements, swizzled or not. @param element_bits bits of one, whole bytes.
 *  @param tv from (thread, value) to a coordinate of layout, of at most 32 threads.
 *  @param access_bytes 4, 8 or 16: what each thread takes at once.
 *  @param[out] passes it takes. @param[out] least that it would take without a conflict.
 *  @retval TW_ERROR_INVALID_ARGUMENT the values of one access are not one behind the other.
 *  @retval TW_ERROR_MISALIGNED an access is not aligned to its size.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_bank_passes(const tw_layout *layout, int32_t element_bits,
                                       const tw_layout *tv, int32_t access_bytes, int64_t *passes,
                                       int64_t *least);

/** The shared-memory layout that a tile of rows has by default: the widest swizzle of 128, 64 or 32
 *  bytes that a row is a multiple of, none below 8 rows; columns beyond it go into further panels.
 *  Example: default_shared(64, 128, 16) = "Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))"
 *  @param rows at least 1. @param columns at least 1. @param element_bits 4 to 128, a power of two.
 *  @param[out] swizzle_bytes 128, 64, 32, or 0. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_default_shared(int64_t rows, int64_t columns, int32_t element_bits,
                                          int32_t *swizzle_bytes, tw_layout **out);
/** @} */

/** @name Linear layouts: which element each register of each thread holds
 *  Triton's layouts. The bits of the register, lane, warp and block numbers each contribute a
 * basis, a coordinate of the tensor; the contributions of all set bits are joined by exclusive or.
 * As text: `register=[[0,1]] lane=[[1,0],[2,0]] warp=[] block=[] -> (4,2)`. Extents are powers of
 * two.
 *  @experimental{every function whose name begins with tw_linear_}
 *  @{ */

/** Reads a linear layout from its text. @param text zero-terminated.
 *  @param[out] linear the caller's, for tw_linear_destroy().
 *  @retval TW_ERROR_PARSE the text is none. @retval TW_ERROR_INVALID_ARGUMENT a basis lies outside
 *  the shape, or an extent is no power of two.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_parse(const char *text, tw_linear **linear);

/** Destroys a linear layout. @param linear may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_linear_destroy(tw_linear *linear);

/** Writes a linear layout's text, zero-terminated. @param linear not NULL. @param[out] buffer may
 * be NULL where capacity is 0. @param capacity bytes of buffer. @param[out] length bytes that the
 * whole text needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning of the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_format(const tw_linear *linear, char *buffer, size_t capacity,
                                  size_t *length);

/** Triton's BlockedLayout on a shape: what reaches beyond it wraps to nothing, and where the
 *  shape is larger registers repeat. Operands below: shape, size_per_thread, threads_per_warp,
 *  warps_per_cta, order.
 *  Example: linear_blocked("(8,8)", "(1,4)", "(4,2)", "(2,1)", "(1,0)") =
 *  "register=[[0,1],[0,2]] lane=[[0,4],[1,0],[2,0]] warp=[[4,0]] block=[] -> (8,8)"
 *  @param rank 1 to 5. @param shape rank extents.
 *  @param size_per_thread rank numbers. @param threads_per_warp rank numbers.
 *  @param warps_per_cta rank numbers. @param order the dimensions, fastest first.
 *  @param[out] out the caller's, for tw_linear_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, no power of two, or order no permutation.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_blocked(int32_t rank, const int64_t *shape,
                                   const int64_t *size_per_thread, const int64_t *threads_per_warp,
                                   const int64_t *warps_per_cta, const int32_t *order,
                                   tw_linear **out);

/** Triton's SliceLayout: drops a dimension, and the registers that moved in it alone.
 *  Example: linear_slice("register=[[0,1],[1,0]] lane=[[2,0]] -> (4,2)", 0) =
 *  "register=[[1]] lane=[[0]] warp=[] block=[] -> (2)"
 *  @param parent of at least two dimensions. @param dim from 0. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such dimension.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_slice(const tw_linear *parent, int32_t dim, tw_linear **out);

/** Fits a linear layout to another shape, as tw_linear_blocked() does.
 *  Example: linear_resize("register=[[1]] lane=[[2]] -> (4)", "(8)") =
 *  "register=[[1],[4]] lane=[[2]] warp=[] block=[] -> (8)"
 *  @param linear not NULL. @param shape as many extents as it has dimensions. @param[out] out the
 *  caller's. @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_resize(const tw_linear *linear, const tw_tuple *shape, tw_linear **out);

/** outer(inner(x)): inner's coordinates, bit by bit with the first dimension lowest, are outer's
 *  register, lane, warp and block bits.
 *  Example: linear_compose("register=[[2],[1]] -> (4)", "register=[[2]] lane=[[1]] -> (4)") =
 *  "register=[[1]] lane=[[2]] warp=[] block=[] -> (4)"
 *  @param outer not NULL. @param inner with as many bits of coordinates as outer has input bits.
 *  @param[out] out the caller's. @retval TW_ERROR_INVALID_ARGUMENT the numbers of bits differ.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_compose(const tw_linear *outer, const tw_linear *inner, tw_linear **out);

/** From an element back to (register, lane, warp, block); of several holders the first.
 *  Example: linear_inverse("register=[[2]] lane=[[1]] -> (4)") =
 *  "register=[[0,1,0,0],[1,0,0,0]] lane=[] warp=[] block=[] -> (2,2,1,1)"
 *  @param linear not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT an element is held by nobody.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_inverse(const tw_linear *linear, tw_linear **out);

/** The element that one register holds: numbers of register, lane, warp and block.
 *  Example: linear_at("register=[[0,1]] lane=[[1,0],[2,0]] -> (4,2)", 1, 3, 0, 0) = "(3,1)"
 *  @param linear not NULL. @param reg register number.
 *  @param lane lane number. @param warp warp number. @param block block number.
 *  @param[out] coord one number for each dimension. @param capacity numbers that coord can hold.
 *  @param[out] written how many there are.
 *  @retval TW_ERROR_INVALID_ARGUMENT a number exceeds its bits.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written says how many it takes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_at(const tw_linear *linear, int64_t reg, int64_t lane, int64_t warp,
                              int64_t block, int64_t *coord, int32_t capacity, int32_t *written);

/** From a layout whose extents are powers of two, swizzled or not. Modes are (registers),
 *  (threads, registers) or (threads, registers, blocks), threads splitting into 32 lanes and warps.
 *  Example: linear_from_layout("((4,8),(2,2)):((32,1),(16,8))", NULL) =
 *  "register=[[16],[8]] lane=[[32],[64],[1],[2],[4]] warp=[] block=[] -> (128)"
 *  @param layout without offset. @param shape that elements are numbered in, leftmost fastest; NULL
 *  for one dimension. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT the layout is not linear over bits; the message says where.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_from_layout(const tw_layout *layout, const tw_tuple *shape,
                                       tw_linear **out);

/** Back to a layout of (threads, registers) or (threads, registers, blocks), swizzled where need
 * be. Example: linear_to_layout("register=[[16],[8]] lane=[[32],[64],[1],[2],[4]] -> (128)") =
 *  "((4,8),(2,2)):((32,1),(16,8))"
 *  @param linear not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_to_layout(const tw_linear *linear, tw_layout **out);

/** Does a layout of row indices suit the gather4 instruction: first two register bases [1] and [2],
 *  all lane bases [0]? The example's answer is 16 instructions in each of 4 warps.
 *  Example: linear_gather4("register=[[1],[2],[16],[32],[64],[128]] lane=[[0]] warp=[[4],[8]] ->
 *  (256)") = "16 in 4"
 *  Example: linear_gather4("register=[[1],[2]] lane=[[4],[8]] -> (16)") = ERROR_UNSUPPORTED @param
 * linear of one dimension. @param[out] per_warp instructions that each issuing warp issues.
 * @param[out] warps how many issue; where all warps hold the same rows, one.
 *  @retval TW_ERROR_UNSUPPORTED it does not; the message says which basis is wrong and why.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_gather4(const tw_linear *linear, int64_t *per_warp, int64_t *warps);
/** @} */

/** @name Pictures
 *  SVG texts: a grid of the first mode (rows) by the others (columns); at most 128 of each are
 * shown.
 *  @experimental{the drawing functions and the pictures that they write}
 *  @{ */

/** What the colours of a picture say. */
typedef int32_t tw_paint;
enum {
  TW_PAINT_NONE = 0,  /**< nothing */
  TW_PAINT_BANKS = 1, /**< the bank of shared memory (32 of 4 bytes) that an element begins in */
  TW_PAINT_INDEX = 2  /**< a scale from the smallest index to the largest */
};

/** Draws a layout: each coordinate's index, a swizzled layout's also without the swizzle.
 *  @param layout not NULL. @param paint what colours say. @param element_bits for TW_PAINT_BANKS.
 *  @param[out] buffer may be NULL where capacity is 0. @param capacity bytes of buffer.
 *  @param[out] length bytes that the picture needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @retval TW_ERROR_INVALID_ARGUMENT paint is no TW_PAINT_ number, or element_bits are outside 1
 *  to 1024 where banks are painted.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw(const tw_layout *layout, tw_paint paint, int32_t element_bits,
                                char *buffer, size_t capacity, size_t *length);

/** Draws a thread-value layout: in each element of the tile the thread and value that hold it, of
 *  several pairs the first, coloured by thread. Elements that no pair holds are grey.
 *
 *  A tv of at most 2^20 pairs of thread and value can always be drawn. For a larger tv, each of the
 *  elements shown is searched for, and all searches of one picture together take at most 2^20
 *  steps. Modes that overlap, as (4,4):(3,5) do, take the most.
 *  @param tv from (thread, value) to the number of an element of the tile.
 *  @param tile its shape. @param[out] buffer may be NULL where capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes that the picture needs with its zero;
 *  may be NULL. @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @retval TW_ERROR_INVALID_ARGUMENT tv has other than two modes, or an extent of tile is below 1.
 *  @retval TW_ERROR_UNSUPPORTED tv has more than 2^20 pairs and the searches took more than 2^20
 *  steps. Nothing is drawn.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw_tv(const tw_layout *tv, const tw_tuple *tile, char *buffer,
                                   size_t capacity, size_t *length);

/** Draws the boxes of tw_layout_partition_tma() over the tensor's first two modes. The parts of
 *  boxes that lie outside of the tensor, before its first element too, are cut off. At most 4,096
 *  boxes are drawn; the picture says when there are more.
 *  @param tensor not NULL. @param box extents of one, tensor's rank numbers. @param boxes from the
 *  number of a box to its coordinate. @param[out] buffer may be NULL where capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes that the picture needs with its zero;
 *  may be NULL. @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @retval TW_ERROR_INVALID_ARGUMENT boxes gives numbers, or an extent of box is below 1.
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
