// Loads and stores: LD, ST, LDV, STV.

#pragma once

#include "addresses.h"
#include "elements.h"
#include "lanes.h"
#include "watch.h"

static inline int load(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const Array *a = &m->arrays[o[LD_array]];
    int64_t at[WARP], bad;
    int axis, local = a->space == SPACE_local;
    char *first = start(m, w, a);
    const int lane = addresses(w, a, o + LD_index, at, &axis, &bad);
    if (lane >= 0) return out_of_bounds(m, w, in, o[LD_array], lane, axis, bad);
    if (m->watch) {
        note_wraps(m, w, in, o[LD_array], o + LD_index);
        if (misaligned(m, w, in, o[LD_array], ALIGNMENT(a), at) >= 0) return FATAL;
        observe(m, w, in, o[LD_array], LOAD, ELEMENT_SIZE(a), at, first, NULL);
    }
    const uint32_t mask = w->mask;
#define LOAD_AS(MT_, M, R, IN, OUT)          \
    case MT_: {                              \
        R *d = (R *)reg(w, o[LD_result]);            \
        if (o[LD_result] < 0) {                      \
            M v = *(M *)(first + at[0]);     \
            *d = IN;                         \
        } else if (mask == ALL && !local)    \
            for (int l = 0; l < WARP; l++) { \
                M v = *(M *)(first + at[l]); \
                d[l] = IN;                   \
            }                                \
        else                                 \
            ACTIVE (mask) {                  \
                M v = *WHERE(M, l);          \
                d[l] = IN;                   \
            }                                \
    } break;
    switch (a->memory_type) {
        EACH_TYPE(LOAD_AS)
        default: internal_error();
    }
    return MORE;
}

static inline int store(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const Array *a = &m->arrays[o[ST_array]];
    int64_t at[WARP], bad;
    int axis, local = a->space == SPACE_local;
    char *first = start(m, w, a);
    const int lane = addresses(w, a, o + ST_index, at, &axis, &bad);
    if (lane >= 0) return out_of_bounds(m, w, in, o[ST_array], lane, axis, bad);
    wrote(m->state, w);
    const uint32_t mask = w->mask;
    char values[WARP][sizeof(Slot)];
    const int watched = m->watch && !local;
    if (m->watch) {
        note_wraps(m, w, in, o[ST_array], o + ST_index);
        if (misaligned(m, w, in, o[ST_array], ALIGNMENT(a), at) >= 0) return FATAL;
    }
#define STORE_AS(MT_, M, R, IN, OUT)                         \
    case MT_: {                                              \
        ACTIVE (mask) {                                      \
            R v = LANE(R, o[ST_value], l);                          \
            *(watched ? (M *)values[l] : WHERE(M, l)) = OUT; \
        }                                                    \
    } break;
    switch (a->memory_type) {
        EACH_TYPE(STORE_AS)
        default: internal_error();
    }
    if (m->watch) observe(m, w, in, o[ST_array], STORE, ELEMENT_SIZE(a), at, first, local ? NULL : values);
    return MORE;
}

// acc[i, j] with indices that all lanes share: 32 values side by side, no address per lane.
static inline int local_shared_index(Machine *m, Warp *w, const Instruction *in, const Array *a,
                                     const int32_t *index, int array, int64_t *at) {
    *at = 0;
    for (int d = 0; d < a->dimensions; d++) {
        const int64_t *x = (const int64_t *)reg(w, index[d]), step = one_value_address(x, a, d);
        if (step == INT64_MIN) return out_of_bounds(m, w, in, array, __builtin_ctz(w->mask), d, *x);
        *at += step;
    }
    return MORE;
}
static inline int all_scalar(const int32_t *index, int n) {
    for (int d = 0; d < n; d++)
        if (index[d] >= 0) return 0;
    return 1;
}
static inline int local_float(Machine *m, Warp *w, const Instruction *in, const Array *a, int is_load) {
    const int32_t *o = in->o;
    const int array = o[is_load ? LD_array : ST_array];
    int64_t at;
    if (local_shared_index(m, w, in, a, o + LD_index, array, &at)) return FATAL;
    if (m->watch) {
        note_wraps(m, w, in, array, o + LD_index);
        watch_local(m, w, in, array, is_load ? LOAD : STORE, (intptr_t)a->base + at, w->mask);
    }
    float *cell_ = (float *)(w->local + ((intptr_t)a->base + at) * WARP);
    const uint32_t mask = w->mask;
    if (is_load) {
        float *d = (float *)reg(w, o[LD_result]);
        if (mask == ALL)
            LANES
                d[l] = cell_[l];
        else
            LANES
                d[l] = mask >> l & 1 ? cell_[l] : d[l];
        return MORE;
    }
    SPREAD(float, v, o[ST_value])
    if (mask == ALL)
        LANES
            cell_[l] = v[l];
    else
        LANES
            cell_[l] = mask >> l & 1 ? v[l] : cell_[l];
    return MORE;
}

// LDV, STV: four neighbours of the last axis, float32 or uint32, in one access.
static int vector_access(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const int is_load = in->op == OP_LDV, array = o[is_load ? LDV_array : STV_array];
    const int n = 4, reg0 = o[is_load ? LDV_result : STV_value];
    const Array *a = &m->arrays[array];
    const int last = a->dimensions - 1;
    int64_t at[WARP], bad;
    int axis;
    char *first = start(m, w, a);
    int lane = addresses(w, a, o + LDV_index, at, &axis, &bad);
    if (lane < 0)
        ACTIVE (w->mask) {
            const int64_t i = LANE(int64_t, o[LDV_index + last], l), from = i < 0 ? i + a->shape[last] : i;
            if (from + n > a->shape[last]) {
                lane = l;
                axis = last;
                bad = from + n - 1;
                break;
            }
        }
    if (lane >= 0) return out_of_bounds(m, w, in, array, lane, axis, bad);
    if (m->watch) note_wraps(m, w, in, array, o + LDV_index);
    if (misaligned(m, w, in, array, 4 * n, at) >= 0) return FATAL;
    char values[WARP][sizeof(Slot)];
    const int is_float = in->type == T_F32;
    if (!is_load)
        ACTIVE (w->mask)
            for (int k = 0; k < n; k++)
                memcpy(values[l] + 4 * k, reg(w, reg0 + k) + (is_float ? 4 : 8) * l, 4); // low half
    if (m->watch) observe(m, w, in, array, is_load ? LOAD : STORE, 4 * n, at, first, is_load ? NULL : values);
    if (!is_load) {
        wrote(m->state, w);
        ACTIVE (w->mask) memcpy(first + at[l], values[l], 4 * n);
    } else
        for (int k = 0; k < n; k++)
            ACTIVE (w->mask) {
                const char *from = first + at[l] + 4 * k;
                if (is_float)
                    ((float *)reg(w, reg0 + k))[l] = *(const float *)from;
                else
                    ((int64_t *)reg(w, reg0 + k))[l] = *(const uint32_t *)from;
            }
    return MORE;
}
