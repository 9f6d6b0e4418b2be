// Atomic operations: lane after lane, in lane order.

#pragma once

#include "addresses.h"
#include "elements.h"
#include "lanes.h"
#include "watch.h"

// What an atomic leaves in memory, of what was there and the lane's value (and of CAS, its comparand).
// As Numba's: with a NaN on either side, max and min leave what was there; nanmax and nanmin replace
// a NaN by a number.
#define INTEGER_UPDATE(T)                                                   \
    switch (op) {                                                           \
        CASE(OP_ATOMIC_ADD, new_ = old + v)                                 \
        CASE(OP_ATOMIC_SUB, new_ = old - v)                                 \
        CASE(OP_ATOMIC_EXCH, new_ = v)                                      \
        case OP_ATOMIC_NANMAX: CASE(OP_ATOMIC_MAX, new_ = v > old ? v : old) \
        case OP_ATOMIC_NANMIN: CASE(OP_ATOMIC_MIN, new_ = v < old ? v : old) \
        CASE(OP_ATOMIC_AND, new_ = old & v)                                 \
        CASE(OP_ATOMIC_OR, new_ = old | v)                                  \
        CASE(OP_ATOMIC_XOR, new_ = old ^ v)                                 \
        CASE(OP_ATOMIC_INC, new_ = old >= v ? 0 : old + 1)                  \
        CASE(OP_ATOMIC_DEC, new_ = old == 0 || old > v ? v : old - 1)       \
        CASE(OP_ATOMIC_CAS, new_ = old == LANE(T, o[ATOMIC_comparand], l) ? v : old) \
        default: internal_error();                                          \
    }
#define FLOAT_UPDATE(T)                                                          \
    switch (op) {                                                                \
        CASE(OP_ATOMIC_ADD, new_ = old + v)                                      \
        CASE(OP_ATOMIC_SUB, new_ = old - v)                                      \
        CASE(OP_ATOMIC_MAX, new_ = v > old ? v : old)                            \
        CASE(OP_ATOMIC_MIN, new_ = v < old ? v : old)                            \
        CASE(OP_ATOMIC_NANMAX, new_ = v > old || (old != old && v == v) ? v : old) \
        CASE(OP_ATOMIC_NANMIN, new_ = v < old || (old != old && v == v) ? v : old) \
        default: internal_error();                                               \
    }

static int atomic(Machine *m, Warp *w, const Instruction *in) { // lane after lane, in lane order
    const int32_t *o = in->o;
    const int op = in->op;
    const Array *a = &m->arrays[o[ATOMIC_array]];
    int64_t at[WARP], bad;
    int axis;
    char *first = start(m, w, a);
    const int lane = addresses(w, a, o + ATOMIC_index, at, &axis, &bad);
    if (lane >= 0) return out_of_bounds(m, w, in, o[ATOMIC_array], lane, axis, bad);
    if (misaligned(m, w, in, o[ATOMIC_array], ELEMENT_SIZE(a), at) >= 0) return FATAL;
    if (m->watch) note_wraps(m, w, in, o[ATOMIC_array], o + ATOMIC_index);
    if (m->watch && observe(m, w, in, o[ATOMIC_array], ATOMIC, ELEMENT_SIZE(a), at, first, NULL)) return FATAL;
#define ATOMIC_AS(MT_, T, R, UPDATE)                                          \
    case MT_:                                                                 \
        ACTIVE (w->mask) {                                                    \
            T *p = (T *)(first + at[l]);                                      \
            const T old = *p, v = (T)LANE(R, o[ATOMIC_value], l);             \
            T new_;                                                           \
            UPDATE(R)                                                         \
            if (memcmp(&new_, &old, sizeof old)) wrote(m->state, w);          \
            *p = new_;                                                        \
            if (o[ATOMIC_result] != NONE) ((R *)reg(w, o[ATOMIC_result]))[l] = old; \
        }                                                                     \
        break;
    switch (a->memory_type) {
        ATOMIC_AS(M_i32, int32_t, int64_t, INTEGER_UPDATE)
        ATOMIC_AS(M_u32, uint32_t, int64_t, INTEGER_UPDATE)
        ATOMIC_AS(M_i64, int64_t, int64_t, INTEGER_UPDATE)
        ATOMIC_AS(M_u64, uint64_t, uint64_t, INTEGER_UPDATE)
        ATOMIC_AS(M_f32, float, float, FLOAT_UPDATE)
        ATOMIC_AS(M_f64, double, double, FLOAT_UPDATE)
        default: internal_error();
    }
    return MORE;
}
