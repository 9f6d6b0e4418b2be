// Barriers of a block: who waits, who must come, and what is ordered afterwards.

#pragma once

#include "hazards.h"
#include "machine.h"
#include "warp.h"

static int divergent_barrier(Machine *m, const Warp *w, int line, const Warp *other, int other_lane,
                             int other_line) {
    Hazard h = hazard_at(H_divergent_barrier, w, __builtin_ctz(w->mask ? w->mask : 1), line);
    h.other_warp = other->id;
    h.other_lane = other_lane;
    h.other_line = other_line;
    return stop(m, h);
}

static void barrier_after_return(Machine *m, const Warp *w, int line, const Warp *gone, uint32_t lanes) {
    if (!m->watch) return;
    Hazard h = hazard_at(H_barrier_after_return, w, __builtin_ctz(w->mask), line);
    h.other_warp = gone->id;
    h.other_lane = __builtin_ctz(lanes);
    h.other_line = gone->return_line;
    report(m, h);
}

static int has_predicate(const Instruction *in) { return in->op != OP_BARRIER && in->op != OP_GRIDSYNC; }

// All warps of a block wait or have finished: do all wait in one line for the whole grid?
static int waits_for_grid(const Machine *m, const Block *b) {
    int line = -1;
    for (int i = 0; i < b->n_warps; i++) {
        const Warp *w = &b->warps[i];
        if (w->state == FINISHED && i >= m->state->warps_per_block) continue; // a part that came to its end
        if (w->state != AT_BARRIER) return 0;                                 // which `release` reports
        if (m->code[w->pc].op != OP_GRIDSYNC || (line >= 0 && line != w->pc)) return 0;
        line = w->pc;
    }
    return 1;
}

// All warps of a block wait or have finished: complete the barrier.
static int release(Machine *m, Block *b) {
    State *s = m->state;
    int64_t count = 0, threads = 0;
    Warp *first = NULL;
    for (int i = 0; i < b->n_warps; i++) {
        Warp *w = &b->warps[i];
        if (w->state != AT_BARRIER) continue;
        const Instruction *in = &m->code[w->pc];
        if (!first)
            first = w;
        else if (first->pc != w->pc)
            return divergent_barrier(m, first, m->code[first->pc].line, w, __builtin_ctz(w->mask), in->line);
        if (has_predicate(in)) count += __builtin_popcount(truth(w, in->o[BARRIER_predicate]) & w->mask);
        threads += __builtin_popcount(w->mask);
    }
    const int line = m->code[first->pc].line;
    for (int i = 0; i < b->n_warps; i++) {
        Warp *w = &b->warps[i];
        if (w->state != FINISHED) continue;
        if (w->return_line < 0) return divergent_barrier(m, first, line, w, 0, -1);
        barrier_after_return(m, first, line, w, w->lanes);
    }
    s->now++;
    b->sync_time = s->now;
    for (int i = 0; i < b->n_warps; i++) // what one thread acquired, the block has acquired
        for (int l = 0; l < WARP; l++) {
            merge_all(s, &b->known, b->warps[i].known[l]);
            free(b->warps[i].known[l]);
            b->warps[i].known[l] = NULL;
        }
    for (int i = 0; i < b->n_warps; i++) {
        Warp *w = &b->warps[i];
        if (w->state != AT_BARRIER) continue;
        const Instruction *in = &m->code[w->pc];
        w->sync_time = s->now;
        if (has_predicate(in))
            set_all(w, in->o[BARRIER_result],
                    in->op == OP_BARRIER_COUNT ? count
                    : in->op == OP_BARRIER_AND ? count == threads
                                               : count > 0);
        w->state = RUNNING;
        w->pc++;
    }
    return MORE;
}

static int at_barrier(Machine *m, Warp *w, const Instruction *in) {
    const uint32_t missing = w->alive & ~w->mask;
    if (missing) return divergent_barrier(m, w, in->line, w, __builtin_ctz(missing), -1);
    if (w->alive != w->lanes) barrier_after_return(m, w, in->line, w, w->lanes & ~w->alive);
    if (m->watch) COUNT(m, in->line, barriers)++;
    w->state = AT_BARRIER;
    return MORE;
}

// No block can go on: do all that there are wait for the whole grid?
static int gathered(const State *s) {
    for (int i = 0; i < s->n_resident; i++)
        if (!s->resident[i]->at_grid) return 0;
    return s->n_resident > 0;
}

// Every block of the grid has come: all go on, and what each did before is ordered before what follows.
static int release_grid(Machine *m) {
    State *s = m->state;
    if (s->n_resident < s->next_block) { // some have ended, and will not come
        const Warp *w = &s->resident[0]->warps[0];
        Hazard h = hazard_at(H_divergent_barrier, w, __builtin_ctz(w->mask), m->code[w->pc].line);
        int gone = 0;
        while (gone < s->n_resident && s->resident[gone]->id == gone) gone++;
        h.other_warp = gone * s->warps_per_block;
        h.other_lane = 0;
        return stop(m, h);
    }
    for (int i = 0; i < s->n_resident; i++) {
        Block *b = s->resident[i];
        if (release(m, b) == FATAL) return FATAL;
        b->at_grid = 0;
    }
    for (int i = 0; i < s->n_resident; i++) s->resident[i]->grid_time = s->now;
    s->idle = 0;
    return MORE;
}
