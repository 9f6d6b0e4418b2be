// Who may touch what, and when.  Two accesses to one granule of memory, at least one of them a
// write, by different threads, race unless something orders them: a barrier of the block, a syncwarp
// in which both lanes took part, or a release (fence, then atomic) that the later thread acquired by
// an atomic on the same address whose result it uses.  Barriers are judged by order, not by luck: it
// does not matter which warp happens to run first.  Atomics are judged by the order they took in this run.

#pragma once

#include "machine.h"

// How far apart the two threads were: 0 in one warp, 1 in one block, 2 in two blocks.
static int apart(const Machine *m, const Hazard *h) {
    const int32_t per = m->state->warps_per_block;
    return h->warp == h->other_warp ? 0 : h->warp / per == h->other_warp / per ? 1 : 2;
}

// Adds one to those that are alike, of which the two threads that were farthest apart are shown.
static void report(Machine *m, Hazard h) {
    for (int64_t i = 0; i < m->n_hazards; i++) {
        Hazard *old = &m->hazards[i];
        if (old->kind == h.kind && old->line == h.line && old->other_line == h.other_line &&
            old->array == h.array && old->write == h.write && old->other_write == h.other_write) {
            h.count = old->count + 1;
            h.seen |= old->seen;
            if (h.other_warp >= 0 && apart(m, &h) > apart(m, old))
                *old = h;
            else
                old->count = h.count, old->seen = h.seen;
            return;
        }
    }
    if (m->n_hazards < m->max_hazards) {
        h.count = 1;
        m->hazards[m->n_hazards++] = h;
    }
}

static int stop(Machine *m, Hazard h) { // the last hazard says why the kernel could not go on
    if (m->n_hazards == m->max_hazards) m->n_hazards--;
    m->hazards[m->n_hazards++] = h;
    return FATAL;
}

static Hazard hazard_at(int kind, const Warp *w, int lane, int line) {
    return (Hazard){.kind = kind,
                    .line = line,
                    .other_line = -1,
                    .array = -1,
                    .warp = w->id,
                    .lane = lane,
                    .other_warp = -1,
                    .other_lane = -1,
                    .space = -1,
                    .axis = -1};
}

static int covers(const Clock *c, const Touch *t) {
    return t->time < c->all || (t->time < c->time && !(t->lanes & ~c->lanes));
}

static void merge(Clock *into, const Clock *c) {
    if (c->all > into->all) into->all = c->all;
    if (into->lanes == c->lanes) {
        if (c->time > into->time) into->time = c->time;
    } else if (c->time > into->time) {
        into->lanes = c->lanes;
        into->time = c->time;
    }
}

static void merge_all(const State *s, Clock **into, const Clock *from) {
    if (!from) return;
    if (!*into) *into = calloc(s->n_warps, sizeof **into);
    for (int i = 0; i < s->n_warps; i++) merge(&(*into)[i], &from[i]);
}

static inline int in_block(const Warp *w, const Touch *t, int warps_per_block) {
    return (uint32_t)(t->warp - 1 - w->block->id * warps_per_block) < (uint32_t)warps_per_block;
}

// Does a barrier order everything that `t` stands for before what any lane of this warp does now?
static inline int by_barrier(const Warp *w, const Touch *t, int warps_per_block) {
    if (!t->warp || !t->lanes || t->time < w->block->grid_time) return 1;
    if (t->warp - 1 == w->id) return t->time < w->sync_time;
    return t->time < w->block->sync_time && in_block(w, t, warps_per_block);
}

// Did everything that `t` stands for happen before this lane's access?  Else *who is a lane of t that did
// not.
static int ordered(const Warp *w, int lane, const Touch *t, int warps_per_block, int *who) {
    if (by_barrier(w, t, warps_per_block)) return 1;
    const int other = t->warp - 1;
    uint32_t lanes = t->lanes;
    if (other == w->id) {
        lanes &= ~BIT(lane);
        if (w->pair_time)
            ACTIVE (lanes)
                if (t->time < w->pair_time[lane * WARP + l]) lanes &= ~BIT(l);
        if (!lanes) return 1;
    }
    if (w->known[lane] && covers(&w->known[lane][other], t)) return 1;
    if (w->block->known && covers(&w->block->known[other], t)) return 1;
    *who = __builtin_ctz(lanes);
    return 0;
}

static Touch touch_now(const State *s, const Warp *w, int lane, int line) {
    return (Touch){w->id + 1, (uint16_t)line, (uint16_t)w->round, BIT(lane), s->now};
}

// In which round of its loops the other access was, seen from this warp's, and how far away.
static int relation(const State *s, const Warp *w, const Touch *t) {
    const uint32_t ahead = (w->round + SEVERAL - t->round) % SEVERAL;
    const int when = t->round == SEVERAL   ? 0
                     : !ahead              ? SAME_ROUND
                     : ahead < SEVERAL / 2 ? OTHER_EARLIER
                                           : OTHER_LATER;
    return when | (t->warp - 1 == w->id                      ? IN_WARP
                   : in_block(w, t, s->warps_per_block) ? IN_BLOCK
                                                        : IN_GRID);
}

static void race(Machine *m, const Warp *w, int lane, int line, int kind, int array, int64_t offset,
                 const Touch *t, int who, int other_write, int other_atomic, int same_value, int seen) {
    Hazard h = hazard_at(same_value ? H_same_value : H_race, w, lane, line);
    h.other_line = t->line;
    h.other_warp = t->warp - 1;
    h.other_lane = who;
    h.array = array;
    h.offset = offset;
    h.space = m->arrays[array].space;
    h.write = kind != LOAD;
    h.other_write = other_write;
    h.atomic = kind == ATOMIC;
    h.other_atomic = other_atomic;
    h.seen = seen | relation(m->state, w, t);
    report(m, h);
}

// The readers of a granule: [0] the last warp and line, [1] another line of that warp, [2] another warp
// of its block, [3] another block. Whoever writes later finds in one of them a reader it races with.
static void remember_read(State *s, Cell *c, const Warp *w, int lane, int line) {
    Touch *r = c->read, mine = touch_now(s, w, lane, line);
    if (r[0].warp == mine.warp) {
        if (r[0].line != mine.line) { // this lane's new read stands for its older ones
            const Touch before = r[0], other = r[1];
            r[0].lanes = 0;
            r[1].lanes &= ~BIT(lane);
            if (other.line == mine.line) {
                r[0] = other;
                r[1] = before;
            } else if (before.lanes & ~BIT(lane)) {
                r[1] = before;
                r[1].lanes |= other.lanes;
            }
            r[1].lanes &= ~BIT(lane);
        }
        uint32_t before = r[0].time < w->sync_time ? 0 : r[0].lanes;
        if (before && w->pair_time)
            ACTIVE (before)
                if (r[0].time < w->pair_time[lane * WARP + l]) before &= ~BIT(l);
        if (before && r[0].round != mine.round) mine.round = SEVERAL;
        mine.lanes |= before;
    } else if (r[0].warp) {
        if (in_block(w, &r[0], s->warps_per_block))
            r[2] = r[0];
        else {
            const Touch outside = r[3];
            r[3] = r[0];
            const int ours =
                outside.warp && in_block(w, &outside, s->warps_per_block) && outside.warp != mine.warp;
            r[2] = ours ? outside : (Touch){0};
        }
        r[1] = (Touch){0};
    }
    r[0] = mine;
}

// Where else, in the line of reader `first` with which this lane races, it has read without an order.
static int farther(const State *s, const Cell *c, const Warp *w, int lane, int first) {
    int seen = 0, who;
    for (int i = first + 1; i < 4; i++)
        if (c->read[i].line == c->read[first].line && !ordered(w, lane, &c->read[i], s->warps_per_block, &who))
            seen |= relation(s, w, &c->read[i]);
    return seen;
}

// One lane touches one granule.  `same` says that a store leaves the memory as it was, or that an
// atomic (exch) does not depend on it.
static void touch(Machine *m, Cell *c, Warp *w, int lane, int line, int kind, int array, int64_t offset,
                  int same) {
    State *s = m->state;
    const int per = s->warps_per_block;
    int who;
    Touch *const seen = &c->read[0];
    if (kind == LOAD && seen->warp == w->id + 1 && seen->line == (uint16_t)line && seen->lanes >> lane & 1 &&
        seen->time >= w->sync_time) {
        seen->time = s->now; // this lane read it before, and since then nobody wrote: nothing new
        return;
    }
    if (kind != STORE && !(kind == ATOMIC && same) && !c->write.warp && !c->atomic[0].warp &&
        m->arrays[array].space == SPACE_shared) {
        Hazard h = hazard_at(H_uninitialised, w, lane, line);
        h.array = array;
        h.offset = offset;
        h.space = SPACE_shared;
        report(m, h);
    }
    if (!ordered(w, lane, &c->write, per, &who))
        race(m, w, lane, line, kind, array, offset, &c->write, who, 1, 0, kind == STORE && same, 0);
    if (kind != ATOMIC)
        for (int i = 0; i < 2; i++)
            if (!ordered(w, lane, &c->atomic[i], per, &who)) {
                race(m, w, lane, line, kind, array, offset, &c->atomic[i], who, 1, 1, 0, 0);
                break;
            }
    if (kind == LOAD) {
        remember_read(s, c, w, lane, line);
        return;
    }
    for (int i = 0; i < 4; i++)
        if (!ordered(w, lane, &c->read[i], per, &who)) {
            race(m, w, lane, line, kind, array, offset, &c->read[i], who, 0, 0, 0, farther(s, c, w, lane, i));
            break;
        }
    const Touch mine = touch_now(s, w, lane, line);
    if (kind == ATOMIC) {
        Touch *last = &c->atomic[0];
        const int again = last->warp == mine.warp && last->line == mine.line;
        const uint32_t before = again && last->time >= w->sync_time ? last->lanes : 0;
        if (!again) c->atomic[1] = *last;
        *last = mine;
        last->lanes |= before;
        return;
    }
    memset(c, 0, sizeof *c);
    c->write = mine;
}

// The first of `lanes`, which all read one granule now, touches it; and all of them at once where barriers
// order what came before, so that none can race.  Returns those that have touched it.
static uint32_t read_together(Machine *m, Cell *c, Warp *w, uint32_t lanes, int line, int array,
                              int64_t offset) {
    const int per = m->state->warps_per_block, first = __builtin_ctz(lanes);
    Touch *last = &c->read[0];
    const int again = last->warp == w->id + 1;
    const int written = c->write.warp || c->atomic[0].warp || m->arrays[array].space != SPACE_shared;
    const int as_before = !again || (last->line == (uint16_t)line && !w->pair_time);
    if (!written || !as_before || !by_barrier(w, &c->write, per) || !by_barrier(w, &c->atomic[0], per) ||
        !by_barrier(w, &c->atomic[1], per)) {
        touch(m, c, w, first, line, LOAD, array, offset, 0);
        return BIT(first);
    }
    if (again && !(lanes & ~last->lanes) && last->time >= w->sync_time)
        last->time = m->state->now; // they read it before, and since then nobody wrote: nothing new
    else
        remember_read(m->state, c, w, first, line);
    last->lanes |= lanes;
    return lanes;
}

// An atomic whose result is used takes over what earlier atomics on this address released to this
// thread: one that never looks cannot know who came first.  Each releases what the thread's last fence
// covers: its own accesses before, and what is ordered before those.
static int hand_over(Machine *m, Warp *w, int lane, const Instruction *in, int allocation, int64_t offset) {
    State *s = m->state;
    const int block = allocation < 0 ? w->block->id : -1; // shared memory: each block has its own
    Handover *h = NULL;
    for (int i = 0; i < s->n_handovers && !h; i++) {
        Handover *x = &s->handovers[i];
        if (x->allocation == allocation && x->block == block && x->offset == offset) h = x;
    }
    const int mine = w->block->id * s->warps_per_block; // the first warp of this block
    if (h && in->o[ATOMIC_result] != NONE) {
        Clock **known = &w->known[lane];
        if (!*known) *known = calloc(s->n_warps, sizeof **known);
        for (int i = 0; i < s->n_warps; i++)
            merge(&(*known)[i], &h->clock[i - mine >= 0 && i - mine < s->warps_per_block][i]);
    }
    for (int near = 0; near < 2; near++) { // released to all, and to the own block
        const Clock *fence = &w->fence[near];
        if (!(fence->lanes >> lane & 1)) continue;
        if (!h) {
            if ((int64_t)s->n_handovers * s->n_warps > MAX_CLOCKS)
                return stop(m, hazard_at(H_too_large, w, lane, in->line));
            if (s->n_handovers == s->handover_room) {
                s->handover_room = s->handover_room ? 2 * s->handover_room : 16;
                s->handovers = realloc(s->handovers, s->handover_room * sizeof *s->handovers);
            }
            h = &s->handovers[s->n_handovers++];
            *h = (Handover){allocation,
                            block,
                            offset,
                            {calloc(s->n_warps, sizeof(Clock)), calloc(s->n_warps, sizeof(Clock))}};
        }
        merge_all(s, &h->clock[near], w->known[lane]);
        merge_all(s, &h->clock[near], w->block->known);
        const Clock before = {w->block->sync_time, 0, 0};
        for (int i = mine; i < mine + s->warps_per_block; i++) merge(&h->clock[near][i], &before);
        merge(&h->clock[near][w->id], fence);
    }
    return MORE;
}

static void fence(State *s, Warp *w, int near) {
    const uint32_t now = ++s->now;
    const Clock c = {w->mask == w->alive && !w->part ? now : w->sync_time, w->mask, now};
    w->fence[1] = c;
    if (!near) w->fence[0] = c;
}

static void sync_lanes(State *s, Warp *w, uint32_t lanes) { // syncwarp(lanes)
    s->now++;
    Clock *known = NULL;
    ACTIVE (lanes) merge_all(s, &known, w->known[l]);
    if (known)
        ACTIVE (lanes) merge_all(s, &w->known[l], known);
    free(known);
    if ((lanes & w->alive) == w->alive && !w->part) {
        w->sync_time = s->now;
        return;
    }
    if (!w->pair_time) w->pair_time = calloc(WARP * WARP, sizeof *w->pair_time);
    for (int a = 0; a < WARP; a++)
        for (int b = 0; b < WARP; b++)
            if (lanes >> a & lanes >> b & 1) w->pair_time[a * WARP + b] = s->now;
}
