// From indices to bytes: where the lanes' elements of an array lie, and whether they are within it.

#pragma once

#include "hazards.h"
#include "lanes.h"
#include "machine.h"

static inline char *start(const Machine *m, const Warp *w, const Array *a) {
    (void)m;
    return a->space == SPACE_shared  ? w->block->shared + (intptr_t)a->base
           : a->space == SPACE_local ? w->local + (intptr_t)a->base * WARP
                                     : a->base;
}

static int64_t one_value_address(const int64_t *index, const Array *a, int d) {
    int64_t i = *index;
    if (i < 0) i += a->shape[d];
    return (uint64_t)i < (uint64_t)a->shape[d] ? i * a->strides[d] : INT64_MIN;
}

// Bytes from the array's first element, for every lane; checked against each dimension's length.
// Returns -1, or the lane that is out of bounds (its axis and index in *axis, *bad).
static inline int addresses(const Warp *w, const Array *a, const int32_t *index, int64_t *at, int *axis,
                            int64_t *bad) {
    int64_t same = 0;
    int any = 0;
    for (int d = 0; d < a->dimensions; d++) {
        const int64_t *x = (const int64_t *)reg(w, index[d]), n = a->shape[d], stride = a->strides[d];
        if (index[d] < 0) {
            const int64_t step = one_value_address(x, a, d);
            if (step == INT64_MIN) {
                *axis = d;
                *bad = *x;
                return __builtin_ctz(w->mask);
            }
            same += step;
            continue;
        }
        uint64_t worst = 0;
        if (!any)
            LANES {
                int64_t i = x[l];
                i += i >> 63 & n;
                worst |= (uint64_t)i >= (uint64_t)n;
                at[l] = i * stride;
            }
        else
            LANES {
                int64_t i = x[l];
                i += i >> 63 & n;
                worst |= (uint64_t)i >= (uint64_t)n;
                at[l] += i * stride;
            }
        any = 1;
        if (worst)
            ACTIVE (w->mask) {
                const int64_t i = x[l] < 0 ? x[l] + n : x[l];
                if ((uint64_t)i >= (uint64_t)n) {
                    *axis = d;
                    *bad = x[l];
                    return l;
                }
            }
    }
    if (any) {
        if (same)
            LANES
                at[l] += same;
    } else
        LANES
            at[l] = same;
    return -1;
}

static int out_of_bounds(Machine *m, const Warp *w, const Instruction *in, int array, int lane, int axis,
                         int64_t bad) {
    Hazard h = hazard_at(H_out_of_bounds, w, lane, in->line);
    h.array = array;
    h.axis = axis;
    h.index = bad;
    h.space = m->arrays[array].space;
    h.length = m->arrays[array].shape[axis];
    return stop(m, h);
}

static void wraps(Machine *m, const Warp *w, int line, int array, int axis, int32_t from, int lane,
                  int64_t index, int64_t length) {
    Hazard h = hazard_at(H_wrapping_index, w, lane, line);
    h.array = array;
    h.space = m->arrays[array].space;
    h.axis = axis;
    h.index = index;
    h.length = length;
    h.other_write = from; // the register: that of a literal such as -1 is meant so
    report(m, h);
}

// Notes indices that count from the end, which only a profile asks about.
static void note_wraps(Machine *m, const Warp *w, const Instruction *in, int array, const int32_t *index) {
    const Array *a = &m->arrays[array];
    for (int d = 0; d < a->dimensions; d++) {
        const int64_t *x = (const int64_t *)reg(w, index[d]);
        int64_t signs = *x;
        if (index[d] >= 0)
            LANES
                signs |= x[l];
        if (signs >= 0) continue;
        ACTIVE (w->mask) {
            const int64_t i = x[index[d] < 0 ? 0 : l];
            if (i >= 0) continue;
            wraps(m, w, in->line, array, d, index[d], l, i, a->shape[d]);
            break;
        }
    }
}

// Indices of an axis that a slice made: checked against its length, and counted from its start.
static int check_indices(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    int64_t *d = (int64_t *)reg(w, o[CHECK_result]);
    const int n = o[CHECK_result] < 0 ? 1 : WARP;
    for (int l = 0; l < n; l++) {
        const int64_t length = LANE(int64_t, o[CHECK_length], l);
        const int64_t index = LANE(int64_t, o[CHECK_a], l);
        const int64_t from_start = index < 0 ? index + length : index;
        const int active = n == 1 || w->mask >> l & 1;
        if (active && (uint64_t)from_start >= (uint64_t)length) {
            Hazard h = hazard_at(H_out_of_bounds, w, n == 1 ? __builtin_ctz(w->mask) : l, in->line);
            h.array = o[CHECK_array];
            h.axis = o[CHECK_axis];
            h.index = index;
            h.length = length;
            h.space = m->arrays[o[CHECK_array]].space;
            return stop(m, h);
        }
        if (m->watch && active && index < 0)
            wraps(m, w, in->line, o[CHECK_array], o[CHECK_axis], o[CHECK_a],
                  n == 1 ? __builtin_ctz(w->mask) : l, index, length);
        d[l] = from_start;
    }
    return MORE;
}
