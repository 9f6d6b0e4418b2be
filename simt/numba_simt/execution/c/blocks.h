// Blocks of threads: their memory, from their first instruction to their last.

#pragma once

#include "machine.h"
#include "lanes.h"

// The block of one warp arrives at its end: free it.
static void end_block(Machine *m, Block *b) {
    State *s = m->state;
    for (int i = 0; i < b->n_warps; i++) {
        if (i < s->warps_per_block) free(b->warps[i].pair_time); // which its parts share
        for (int l = 0; l < WARP; l++) free(b->warps[i].known[l]);
        free(b->warps[i].own);
    }
    free(b->grown);
    free(b->known);
    for (int i = 0; i < s->n_resident; i++)
        if (s->resident[i] == b) {
            memmove(&s->resident[i], &s->resident[i + 1], (s->n_resident - i - 1) * sizeof b);
            break;
        }
    s->n_resident--;
    free(s->spare);
    s->spare = b->memory; // the next block's: most launches have one block at a time
}

static void *carve(char **p, size_t bytes) {
    void *here = *p;
    *p += (bytes + 63) & ~(size_t)63;
    return here;
}

static void set_special(const Machine *m, Warp *w, int which, int lane, int64_t value) {
    const int64_t r = m->special[which];
    if (r != NONE) ((int64_t *)reg(w, (int32_t)r))[r < 0 ? 0 : lane] = value;
}

// Bytes of the parts of a block's memory: of each warp, but `cells`, which are the block's.
typedef struct {
    size_t vectors, scalars, local, written, cells;
} Parts;

static Parts parts_of(const Machine *m) {
    Parts p = {0};
    p.vectors = m->n_vectors * WARP * sizeof(Slot);
    p.scalars = m->n_scalars * sizeof(Slot);
    p.local = m->local_bytes * WARP;
    if (m->watch) {
        p.written = m->local_bytes * sizeof(uint32_t);
        p.cells = ((m->shared_bytes >> m->shared_shift) + 1) * sizeof(Cell);
    }
    return p;
}

static void set_specials(const Machine *m, Warp *w, int first_thread) {
    const int64_t *block = m->block, *grid = m->grid;
    for (int l = 0; l < WARP; l++) {
        const int64_t t = first_thread + l;
        set_special(m, w, 0, l, t % block[0]);
        set_special(m, w, 1, l, t / block[0] % block[1]);
        set_special(m, w, 2, l, t / (block[0] * block[1]));
        set_special(m, w, 3, l, l);
    }
    const int64_t id = w->block->id;
    set_special(m, w, 4, 0, id % grid[0]);
    set_special(m, w, 5, 0, id / grid[0] % grid[1]);
    set_special(m, w, 6, 0, id / (grid[0] * grid[1]));
}

// Warp i of a block, with its registers and local memory from *p on.
static void begin_warp(Machine *m, Block *b, int i, const Parts *parts, char **p) {
    const State *s = m->state;
    Warp *w = &b->warps[i];
    w->vectors = memset(carve(p, parts->vectors), 0, parts->vectors);
    w->scalars = carve(p, parts->scalars);
    memcpy(w->scalars, m->scalars, parts->scalars);
    w->local = memset(carve(p, parts->local), 0xff, parts->local);
    w->local_written = memset(carve(p, parts->written), 0, parts->written);
    w->return_line = -1;
    w->stuck = -1;
    w->idle = w->rested = s->rested;
    w->block = b;
    w->id = b->id * s->warps_per_block + i;
    const int first = i * WARP;
    const int count = s->threads - first < WARP ? s->threads - first : WARP;
    w->lanes = count == WARP ? ALL : BIT(count) - 1;
    w->mask = w->alive = w->lanes;
    set_specials(m, w, first);
}

// Starts the next block; 0 where there is no memory for it.
static int begin_block(Machine *m) {
    State *s = m->state;
    const int n = s->warps_per_block, id = s->next_block++;
    const Parts parts = parts_of(m);
    const size_t warp = sizeof(Warp) + parts.vectors + parts.scalars + parts.local + parts.written;
    const size_t gaps = 64 * (5 + 4 * n); // between what `carve` aligns
    const size_t bytes = sizeof(Block) + m->shared_bytes + parts.cells + n * warp + gaps;
    char *memory = s->spare ? s->spare : calloc(1, bytes);
    if (!memory) return 0;
    s->spare = NULL;
    char *p = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    Block *b = memset(carve(&p, sizeof *b), 0, sizeof *b);
    b->memory = memory;
    b->id = id;
    b->warps_left = b->n_warps = n;
    b->shared = carve(&p, m->shared_bytes);
    memset(b->shared, 0xff, m->shared_bytes); // never zeros: what nobody wrote must not look right
    b->shared_cells = memset(carve(&p, parts.cells), 0, parts.cells);
    b->warps = memset(carve(&p, n * sizeof(Warp)), 0, n * sizeof(Warp));
    for (int i = 0; i < n; i++) begin_warp(m, b, i, &parts, &p);
    s->resident[s->n_resident++] = b;
    return 1;
}
