// Who may touch what, and when.  Two accesses to one granule of memory, at least one of them a
// write, by different threads, race unless something orders them: a barrier of the block, a syncwarp
// in which both lanes took part, or a release (fence, then atomic) that the later thread acquired by
// an atomic on the same address.  The rule looks at order, not at luck: it does not depend on which
// warp happens to run first.

static void report(Machine *m, Hazard h) {
    for (int64_t i = 0; i < m->n_hazards; i++) {
        Hazard *old = &m->hazards[i];
        if (old->kind == h.kind && old->line == h.line && old->other_line == h.other_line && old->array == h.array
            && old->write == h.write && old->other_write == h.other_write) { old->count++; return; }
    }
    if (m->n_hazards < m->max_hazards) { h.count = 1; m->hazards[m->n_hazards++] = h; }
}

static Hazard hazard_at(int kind, const Warp *w, int lane, int line) {
    return (Hazard){.kind = kind, .line = line, .other_line = -1, .array = -1, .warp = w->id, .lane = lane,
                    .other_warp = -1, .other_lane = -1, .space = -1, .axis = -1};
}

// Did everything that `t` stands for happen before this lane's access?  Else *who is a lane of t that did not.
static int ordered(const Warp *w, int lane, const Touch *t, int warps_per_block, int *who) {
    if (!t->warp) return 1;
    const int other = t->warp - 1;
    uint32_t lanes = t->lanes;
    if (other == w->id) {
        lanes &= ~BIT(lane);
        if (!lanes || t->time < w->sync_time) return 1;
        if (w->pair_time) ACTIVE(lanes) if (t->time < w->pair_time[lane * WARP + l]) lanes &= ~BIT(l);
        if (!lanes) return 1;
    } else if (other / warps_per_block == w->block->id && t->time < w->block->sync_time) return 1;
    if (w->known && t->time < w->known[other]) return 1;
    *who = __builtin_ctz(lanes);
    return 0;
}

static void race(Machine *m, const Warp *w, int lane, int line, int kind, int array, int64_t offset,
                 const Touch *t, int who, int other_write, int other_atomic, int same_value) {
    Hazard h = hazard_at(same_value ? H_same_value : H_race, w, lane, line);
    h.other_line = t->line; h.other_warp = t->warp - 1; h.other_lane = who;
    h.array = array; h.offset = offset; h.space = m->arrays[array].space;
    h.write = kind != LOAD; h.other_write = other_write;
    h.atomic = kind == ATOMIC; h.other_atomic = other_atomic;
    report(m, h);
}

static int block_of(const State *s, const Touch *t) { return (t->warp - 1) / s->warps_per_block; }

// The readers of a granule: [0] the last warp and line, [1] another line of that warp, [2] another warp
// of its block, [3] another block. Whoever writes later finds in one of them a reader it races with.
static void remember_read(State *s, Cell *c, const Warp *w, int lane, int line) {
    Touch *r = c->read, mine = {w->id + 1, line, BIT(lane), s->now};
    if (r[0].warp == mine.warp) {
        if (r[0].line != line) {
            const Touch swap = r[1];
            r[1] = r[0];
            r[0] = swap.warp == mine.warp ? swap : (Touch){0};
            if (r[0].line != line) { r[1].lanes |= r[0].lanes; r[0].lanes = 0; }
        }
        uint32_t before = r[0].time < w->sync_time ? 0 : r[0].lanes;
        if (before && w->pair_time) ACTIVE(before) if (r[0].time < w->pair_time[lane * WARP + l]) before &= ~BIT(l);
        mine.lanes |= before;
    } else if (r[0].warp) {
        if (block_of(s, &r[0]) == w->block->id) r[2] = r[0];
        else {
            const Touch outside = r[3];
            r[3] = r[0];
            const int ours = outside.warp && block_of(s, &outside) == w->block->id && outside.warp != mine.warp;
            r[2] = ours ? outside : (Touch){0};
        }
        r[1] = (Touch){0};
    }
    r[0] = mine;
}

// One lane touches one granule.  `same` says that a store leaves the memory as it was.
static void touch(Machine *m, Cell *c, Warp *w, int lane, int line, int kind, int array, int64_t offset, int same) {
    State *s = m->state;
    const int per = s->warps_per_block;
    int who;
    Touch *const seen = &c->read[0];
    if (kind == LOAD && seen->warp == w->id + 1 && seen->line == line && seen->lanes >> lane & 1 && seen->time >= w->sync_time) {
        seen->time = s->now;  // this lane read it before, and since then nobody wrote: nothing new
        return;
    }
    if (kind != STORE && !c->write.warp && !c->atomic[0].warp && m->arrays[array].space == SPACE_shared) {
        Hazard h = hazard_at(H_uninitialised, w, lane, line);
        h.array = array; h.offset = offset; h.space = SPACE_shared;
        report(m, h);
    }
    if (!ordered(w, lane, &c->write, per, &who))
        race(m, w, lane, line, kind, array, offset, &c->write, who, 1, 0, kind == STORE && same);
    if (kind != ATOMIC)
        for (int i = 0; i < 2; i++)
            if (!ordered(w, lane, &c->atomic[i], per, &who)) {
                race(m, w, lane, line, kind, array, offset, &c->atomic[i], who, 1, 1, 0);
                break;
            }
    if (kind == LOAD) { remember_read(s, c, w, lane, line); return; }
    for (int i = 0; i < 4; i++)
        if (!ordered(w, lane, &c->read[i], per, &who)) {
            race(m, w, lane, line, kind, array, offset, &c->read[i], who, 0, 0, 0);
            break;
        }
    const Touch mine = {w->id + 1, line, BIT(lane), s->now};
    if (kind == ATOMIC) {
        const Touch *last = &c->atomic[0];
        if (last->warp != mine.warp || last->lanes != mine.lanes) c->atomic[1] = *last;
        c->atomic[0] = mine;
        return;
    }
    memset(c, 0, sizeof *c);
    c->write = mine;
}

// An atomic takes over what earlier atomics on this address released, and releases what this warp's
// last fence covers: its own accesses before the fence and its block's before the last barrier.
static void hand_over(Machine *m, Warp *w, int allocation, int64_t offset) {
    State *s = m->state;
    const int block = allocation < 0 ? w->block->id : -1;  // shared memory: each block has its own
    Handover *h = NULL;
    for (int i = 0; i < s->n_handovers && !h; i++) {
        Handover *x = &s->handovers[i];
        if (x->allocation == allocation && x->block == block && x->offset == offset) h = x;
    }
    if (h) {
        if (!w->known) w->known = calloc(s->n_warps, sizeof *w->known);
        for (int i = 0; i < s->n_warps; i++) if (h->clock[i] > w->known[i]) w->known[i] = h->clock[i];
    }
    if (!w->fence_time) return;
    if (!h) {
        if (s->n_handovers == s->handover_room) {
            s->handover_room = s->handover_room ? 2 * s->handover_room : 16;
            s->handovers = realloc(s->handovers, s->handover_room * sizeof *s->handovers);
        }
        h = &s->handovers[s->n_handovers++];
        *h = (Handover){allocation, block, offset, calloc(s->n_warps, sizeof(uint32_t))};
    }
    for (int i = 0; i < s->n_warps; i++) {
        uint32_t t = w->known ? w->known[i] : 0;
        if (i == w->id) t = w->fence_time;
        else if (i / s->warps_per_block == w->block->id && w->block->sync_time > t) t = w->block->sync_time;
        if (t > h->clock[i]) h->clock[i] = t;
    }
}

static void sync_lanes(State *s, Warp *w, uint32_t lanes) {  // syncwarp(lanes)
    s->now++;
    if ((lanes & w->alive) == w->alive) { w->sync_time = s->now; return; }
    if (!w->pair_time) w->pair_time = calloc(WARP * WARP, sizeof *w->pair_time);
    for (int a = 0; a < WARP; a++)
        for (int b = 0; b < WARP; b++)
            if (lanes >> a & lanes >> b & 1) w->pair_time[a * WARP + b] = s->now;
}
