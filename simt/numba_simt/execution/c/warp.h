// Instructions by which the lanes of one warp exchange values.

#pragma once

#include "half.h"
#include "hazards.h"
#include "lanes.h"
#include "machine.h"

static uint32_t truth(const Warp *w, int32_t r) { // the lanes whose value is not 0
    if (r < 0) return *(int64_t *)reg(w, r) ? ALL : 0;
    const int64_t *v = (const int64_t *)reg(w, r);
    uint32_t lanes = 0;
    for (int l = 0; l < WARP; l++) lanes |= (uint32_t)(v[l] != 0) << l;
    return lanes;
}

static void set_all(Warp *w, int32_t r, int64_t value) { // the same value for the active lanes
    int64_t *d = (int64_t *)reg(w, r);
    if (r < 0)
        *d = value;
    else
        ACTIVE (w->mask) d[l] = value;
}

// The lanes that take part.  Every lane that the mask names must be here, and every lane here named.
static uint32_t members(Machine *m, const Warp *w, const Instruction *in, int32_t r) {
    const uint32_t named = (uint32_t)LANE(int64_t, r, __builtin_ctz(w->mask));
    const uint32_t missing = (named & w->alive & ~w->mask) | (w->mask & ~named);
    if (missing && m->watch) {
        Hazard h = hazard_at(H_inactive_lane, w, __builtin_ctz(missing), in->line);
        h.index = named;
        h.length = w->mask;
        report(m, h);
    }
    return named & w->mask;
}

// A row for each active lane, in their order: which print it is, and its numbers, of 8 bytes each.
static void print_lines(Machine *m, const Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    ACTIVE (w->mask) {
        if (m->n_printed++ >= m->max_printed) continue;
        int64_t *row = m->printed + (m->n_printed - 1) * m->printed_width;
        row[0] = o[PRINT_print];
        for (int k = 0; k < o[PRINT_count]; k++) row[1 + k] = LANE(int64_t, o[PRINT_first] + k, l);
    }
}

static int size_of(int type) { return type == T_F32 || type == T_F16 ? 4 : type == T_C128 ? 16 : 8; }

static void shuffle(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const int size = size_of(in->type);
    members(m, w, in, o[SHFL_mask]);
    char values[WARP][sizeof(Slot)];
    for (int l = 0; l < WARP; l++) memcpy(values[l], reg(w, o[SHFL_a]) + (o[SHFL_a] < 0 ? 0 : l * size), size);
    ACTIVE (w->mask) {
        const int64_t x = LANE(int64_t, o[SHFL_lane], l);
        int64_t from = in->op == OP_SHFL_IDX    ? (x & 31)
                       : in->op == OP_SHFL_UP   ? (int64_t)l - x
                       : in->op == OP_SHFL_DOWN ? (int64_t)l + x
                                                : (int64_t)(l ^ (uint32_t)(x & 31));
        if (from < 0 || from >= WARP) from = l;
        if (!(w->mask >> from & 1) && m->watch) {
            Hazard h = hazard_at(H_inactive_lane, w, l, in->line);
            h.other_lane = (int32_t)from;
            h.other_warp = w->id;
            h.index = -1;
            report(m, h);
        }
        memcpy(reg(w, o[SHFL_result]) + (o[SHFL_result] < 0 ? 0 : l * size), values[from], size);
    }
}

static void vote(Machine *m, Warp *w, const Instruction *in) {
    const uint32_t here = members(m, w, in, in->o[VOTE_mask]), yes = truth(w, in->o[VOTE_predicate]) & here;
    set_all(w, in->o[VOTE_result],
            in->op == OP_VOTE_ALL   ? yes == here
            : in->op == OP_VOTE_ANY ? yes != 0
            : in->op == OP_VOTE_EQ  ? (yes == here || !yes)
                                    : (int64_t)yes);
}

static void match(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    const uint32_t here = members(m, w, in, o[MATCH_mask]);
    const int size = size_of(in->type);
    uint32_t equal[WARP] = {0};
    ACTIVE (here)
        for (uint32_t other = 0; other < WARP; other++)
            if (here >> other & 1 && !memcmp(reg(w, o[MATCH_a]) + (o[MATCH_a] < 0 ? 0 : l * size),
                                             reg(w, o[MATCH_a]) + (o[MATCH_a] < 0 ? 0 : other * size), size))
                equal[l] |= BIT(other);
    const uint32_t first = equal[__builtin_ctz(w->mask)];
    if (in->op == OP_MATCH_ANY) {
        ACTIVE (w->mask) ((int64_t *)reg(w, o[MATCH_result]))[o[MATCH_result] < 0 ? 0 : l] = equal[l];
        return;
    }
    set_all(w, o[MATCH_result], first == here ? here : 0);
    if (o[MATCH_same] != NONE) set_all(w, o[MATCH_same], first == here);
}

// d = a b + c of 16 x 8 by the whole warp, a 16 x 16 and b 16 x 8 of halves, as PTX lays them out:
// lane 4 g + t holds the rows (of b, the column) g and g + 8, and there the pairs of columns t and
// t + 4. Products and sums are exact up to one rounding; a GPU's roundings in between are its own.
static int matrix_product(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    if (w->mask != ALL) {
        Hazard h = hazard_at(H_inactive_lane, w, __builtin_ctz(w->mask), in->line);
        h.index = -2;
        h.length = w->mask;
        return stop(m, h);
    }
    float a[16][16], b[8][16]; // b by columns
    for (int l = 0; l < WARP; l++)
        for (int r = 0; r < 4; r++) {
            const int g = l >> 2, k = 2 * (l & 3);
            const uint32_t x = (uint32_t)LANE(int64_t, o[MMA_a] + r, l);
            float *at = &a[g + 8 * (r & 1)][k + 8 * (r >> 1)];
            at[0] = half_to_float((uint16_t)x);
            at[1] = half_to_float((uint16_t)(x >> 16));
            if (r > 1) continue;
            const uint32_t y = (uint32_t)LANE(int64_t, o[MMA_b] + r, l);
            b[g][k + 8 * r] = half_to_float((uint16_t)y);
            b[g][k + 8 * r + 1] = half_to_float((uint16_t)(y >> 16));
        }
    for (int l = 0; l < WARP; l++)
        for (int r = 0; r < 4; r++) {
            const float *row = a[(l >> 2) + 8 * (r >> 1)], *column = b[2 * (l & 3) + (r & 1)];
            double sum = LANE(float, o[MMA_c] + r, l);
            for (int k = 0; k < 16; k++) sum += (double)row[k] * column[k];
            ((float *)reg(w, o[MMA_result] + r))[l] = (float)sum;
        }
    return MORE;
}
