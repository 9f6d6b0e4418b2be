// Parts of a warp: lanes that were set aside because they wait for others of their warp, as threads have
// program counters of their own since compute capability 7.0.  A part has registers of its own; what is
// done among lanes (shuffles, votes, syncwarp) waits until all lanes that its mask names have come.

#pragma once

#include "hazards.h"
#include "machine.h"
#include "warp.h"

static void among_lanes(Machine *m, Warp *w, const Instruction *in) {
    const int32_t *o = in->o;
    if (in->op == OP_SYNCWARP)
        sync_lanes(m->state, w, members(m, w, in, o[SYNCWARP_mask]));
    else if (in->op >= OP_MATCH_ANY)
        match(m, w, in);
    else if (in->op >= OP_VOTE_ALL)
        vote(m, w, in);
    else
        shuffle(m, w, in);
}
_Static_assert(OP_SHFL_XOR < OP_VOTE_ALL && OP_VOTE_BALLOT < OP_MATCH_ANY, "their order");
_Static_assert((int)SHFL_mask == VOTE_mask && (int)SHFL_mask == MATCH_mask, "the same place");
_Static_assert((int)SHFL_mask == SYNCWARP_mask && (int)SHFL_result == VOTE_result, "the same place");

static uint32_t named_by(const Warp *w, const Instruction *in) {
    return (uint32_t)LANE(int64_t, in->o[SHFL_mask], __builtin_ctz(w->mask));
}

// The lanes of all parts of a warp that have not returned, or, with an instruction, wait at it.
static uint32_t lanes_of_parts(const Block *b, int id, int at) {
    uint32_t lanes = 0;
    for (int i = 0; i < b->n_warps; i++) {
        const Warp *g = &b->warps[i];
        if (g->id != id || g->state == FINISHED) continue;
        if (at < 0)
            lanes |= g->alive;
        else if (g->state == AT_MEETING && g->pc == at)
            lanes |= g->mask;
    }
    return lanes;
}

// Whether a part has to wait for lanes of other parts.
static int must_meet(Machine *m, Warp *w, const Instruction *in) {
    const uint32_t others = lanes_of_parts(w->block, w->id, -1) & ~w->alive & named_by(w, in);
    if (others && !w->alone) {
        w->state = AT_MEETING;
        return 1;
    }
    if (others && m->watch) { // they do not come
        Hazard h = hazard_at(H_inactive_lane, w, __builtin_ctz(others), in->line);
        h.index = named_by(w, in);
        h.length = w->mask;
        report(m, h);
    }
    w->alone = 0;
    return 0;
}

// One operand of the lanes of `from` as `into` has it too; 0 if a scalar one differs.
static int hand(Warp *into, const Warp *from, int32_t r, int size, int check) {
    if (r == NONE) return 1;
    if (r < 0) {
        if (check) return !memcmp(reg(into, r), reg(from, r), size);
        memcpy(reg(into, r), reg(from, r), size);
        return 1;
    }
    ACTIVE (from->mask) memcpy(reg(into, r) + l * size, reg(from, r) + l * size, size);
    return 1;
}

// Lanes of several parts that wait at one instruction: it is executed by one part for all of them.
static int execute_for_all(Machine *m, Block *b, Warp *w, uint32_t here) {
    const Instruction *in = &m->code[w->pc];
    const int32_t *o = in->o;
    const int at = w->pc, first_size = in->op < OP_VOTE_ALL || in->op >= OP_MATCH_ANY ? size_of(in->type) : 8;
    const int syncs = in->op == OP_SYNCWARP, shuffles = !syncs && in->op < OP_VOTE_ALL;
    const uint32_t mask = w->mask, alive = w->alive;
#define OTHERS                                                  \
    for (Warp *g = b->warps; g < b->warps + b->n_warps; g++)    \
        if (g != w && g->id == w->id && g->state == AT_MEETING && g->pc == at)
    OTHERS {
        int fits = hand(w, g, o[SHFL_mask], 8, 1);
        if (!syncs) fits &= hand(w, g, o[SHFL_a], first_size, 1);
        if (shuffles) fits &= hand(w, g, o[SHFL_lane], 8, 1);
        if (!fits) return 0;
    }
    w->mask = here;
    w->alive = lanes_of_parts(b, w->id, -1);
    among_lanes(m, w, in);
    w->mask = mask;
    w->alive = alive;
    OTHERS {
        if (!syncs) {
            const uint32_t lanes = g->mask;
            Warp from = *w;
            from.mask = lanes;
            hand(g, &from, o[SHFL_result], shuffles ? first_size : 8, 0);
            if (in->op >= OP_MATCH_ANY) hand(g, &from, o[MATCH_same], 8, 0);
        }
        g->state = RUNNING;
        g->pc++;
    }
    w->state = RUNNING;
    w->pc++;
    return 1;
}

// Parts of a block whose lanes have all come; whether there were any.
static int meet(Machine *m, Block *b) {
    int met = 0;
    for (int i = 0; i < b->n_warps; i++) {
        Warp *w = &b->warps[i];
        if (w->state != AT_MEETING) continue;
        const uint32_t here = lanes_of_parts(b, w->id, w->pc), living = lanes_of_parts(b, w->id, -1);
        if (!(named_by(w, &m->code[w->pc]) & living & ~here)) met |= execute_for_all(m, b, w, here);
    }
    return met;
}
