// When nobody gets on: which warps go in circles, and what can be done about it.

#pragma once

#include "blocks.h"
#include "hazards.h"
#include "interpreter.h"
#include "machine.h"
#include "meetings.h"

// All that decides what a warp does next, but for memory that others write.
static size_t state_of(const Machine *m, const Warp *w, char *copy, int compare) {
    const struct {
        const void *from;
        size_t size;
    } parts[] = {{&w->pc, sizeof w->pc},
                 {&w->depth, sizeof w->depth},
                 {&w->mask, sizeof w->mask},
                 {&w->alive, sizeof w->alive},
                 {w->frames, w->depth * sizeof *w->frames},
                 {w->scalars, m->n_scalars * sizeof(Slot)},
                 {w->vectors, m->n_vectors * WARP * sizeof(Slot)},
                 {w->local, m->local_bytes * WARP}};
    size_t at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (compare && memcmp(copy + at, parts[i].from, parts[i].size)) return 0;
        if (!compare && copy) memcpy(copy + at, parts[i].from, parts[i].size);
        at += parts[i].size;
    }
    return at;
}

// Whether a warp comes to the same state again while memory stays as it is: then it does so for ever, until
// somebody else writes.  Returns FATAL if it had to be stopped, else MORE.
static int look_for_a_circle(Machine *m, Warp *w) {
    State *s = m->state;
    const int64_t writes = s->writes;
    char *before = malloc(state_of(m, w, NULL, 0));
    if (!before) return MORE;
    state_of(m, w, before, 0);
    int result = MORE;
    w->circle = w->jumped;
    for (int i = 0; i < PERIOD && result == MORE; i++) {
        w->idle = PATIENCE; // until its next jump back
        result = run_warp(m, w);
        if (m->code[w->jumped].o[TARGET] < m->code[w->circle].o[TARGET]) w->circle = w->jumped;
        if (result == FATAL || w->state != RUNNING || s->writes != writes) break;
        if (!state_of(m, w, before, 1)) continue;
        w->stuck = writes;
        w->rested = s->rested = PATIENCE - SHORT;
        break;
    }
    free(before);
    return result;
}

// Looks at every warp that runs. *all: whether there are some that wait, and none that gets on.
static int look_for_circles(Machine *m, int *all) {
    State *s = m->state;
    int waiting = 0;
    *all = 1;
    for (s->at = 0; s->at < s->n_resident; s->at++) {
        Block *b = s->resident[s->at];
        for (s->turn = 0; s->turn < b->n_warps; s->turn++) {
            Warp *w = &b->warps[s->turn];
            waiting |= w->state == RUNNING || w->state == AT_MEETING;
            if (w->state != RUNNING || w->stuck == s->writes) continue;
            if (*all && look_for_a_circle(m, w) == FATAL) return FATAL;
            *all &= w->state == RUNNING && w->stuck == s->writes;
        }
    }
    s->turn = 0;
    *all &= waiting;
    return MORE;
}

// Where lanes go on that left the innermost construct around an instruction: its closing instruction.
static int closing(const Machine *m, int at) {
    for (int depth = 0;; at++) {
        const int op = m->code[at].op;
        const int closes = op == OP_ELSE || op == OP_ENDIF || op == OP_JOIN || op == OP_LOOPELSE ||
                           op == OP_ENDLOOP || op == OP_EXIT;
        if (closes && !depth) return at;
        depth += (op == OP_IF || op == OP_LOOP) - (op == OP_ENDIF || op == OP_ENDLOOP);
    }
}

// The lanes for which a warp waits get a part of their own, and go on without those that go in circles.
static int split(Machine *m, Block *b, int number) {
    if (b->n_warps >= b->room) {
        const int room = 2 * b->n_warps;
        Warp *grown = malloc(room * sizeof(Warp));
        if (!grown) return 0;
        memcpy(grown, b->warps, b->n_warps * sizeof(Warp));
        free(b->grown);
        b->warps = b->grown = grown;
        b->room = room;
    }
    Warp *w = &b->warps[number], *part = &b->warps[b->n_warps];
    const size_t vectors = m->n_vectors * WARP * sizeof(Slot), scalars = m->n_scalars * sizeof(Slot);
    char *own = malloc(vectors + scalars + 64);
    if (!own) return 0;
    if (!w->pair_time) w->pair_time = calloc(WARP * WARP, sizeof *w->pair_time);
    const uint32_t parked = w->alive & ~w->mask;
    *part = *w;
    part->own = own;
    part->scalars = (Slot *)(((uintptr_t)own + 63) & ~(uintptr_t)63);
    part->vectors = (char *)part->scalars + scalars;
    memcpy(part->scalars, w->scalars, scalars);
    memcpy(part->vectors, w->vectors, vectors);
    for (int l = 0; l < WARP; l++) *(parked >> l & 1 ? &w->known[l] : &part->known[l]) = NULL;
    part->pc = closing(m, w->jumped + 1);
    part->lanes = part->alive = parked;
    part->mask = 0;
    part->stuck = w->stuck = -1;
    part->idle = part->rested;
    w->lanes &= ~parked;
    w->alive &= ~parked;
    part->part = w->part = 1;
    b->n_warps++;
    b->warps_left++;
    return 1;
}

// All warps go in circles or wait, and no block is left to start: somebody is set free, or it is a deadlock.
static int set_free(Machine *m) {
    State *s = m->state;
    const Warp *waiting = NULL, *circling = NULL;
    for (int i = 0; i < s->n_resident; i++)
        for (int k = 0; k < s->resident[i]->n_warps; k++) {
            Block *b = s->resident[i];
            Warp *w = &b->warps[k];
            if (w->state == AT_MEETING) {
                w->alone = 1;
                w->state = RUNNING;
                return MORE;
            }
            if (w->state == AT_BARRIER && !waiting) waiting = w;
            if (w->state != RUNNING) continue;
            if (!circling) circling = w;
            if (!m->independent_threads || w->alive == w->mask) continue;
            const Hazard h = stuck(m, w, H_waits_for_lane, 1);
            if (!split(m, b, k)) continue;
            if (m->watch) report(m, h);
            return MORE;
        }
    Hazard h = stuck(m, circling, H_endless_loop, 1);
    if (h.other_warp < 0 && waiting) {
        h.other_warp = waiting->id;
        h.other_lane = __builtin_ctz(waiting->mask);
        h.other_line = m->code[waiting->pc].line;
    }
    return stop(m, h);
}
