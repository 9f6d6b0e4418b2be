// What a profile sees of a request to memory: it is counted, and checked for races.

#pragma once

#include "hazards.h"
#include "machine.h"
#include "traffic.h"

static inline Cell *cell(Machine *m, const Warp *w, const Array *a, int64_t at) {
    if (a->space == SPACE_shared) return w->block->shared_cells + (at >> m->shared_shift);
    const Allocation *x = &m->allocations[a->allocation];
    return x->cells + (at >> x->shift);
}

// Some lanes access one element of their local arrays, `at` bytes from the start of local memory.
static inline void watch_local(Machine *m, Warp *w, const Instruction *in, int array, int kind, int64_t at,
                               uint32_t lanes) {
    if (lanes == w->mask || lanes & -w->mask & w->mask) // once for each request
        ++*(kind == LOAD ? &COUNT(m, in->line, local_loads) : &COUNT(m, in->line, local_stores));
    if (kind != LOAD) {
        w->local_written[at] |= lanes;
        return;
    }
    lanes &= ~w->local_written[at];
    if (!lanes) return;
    Hazard h = hazard_at(H_uninitialised, w, __builtin_ctz(lanes), in->line);
    h.array = array;
    h.offset = at;
    h.space = SPACE_local;
    report(m, h);
}

static inline uint32_t those_at(const int64_t *at, int64_t address) {
    uint32_t lanes = 0;
    for (int l = 0; l < WARP; l++) lanes |= (uint32_t)(at[l] == address) << l;
    return lanes;
}

// Counters and hazards of one warp's access at offsets `at` from the array's first element; a store
// happens here, lane by lane, since the order of two lanes' stores decides whether a value changes.
static int observe(Machine *m, Warp *w, const Instruction *in, int array, int kind, int size,
                   const int64_t *from_first, char *first, char (*values)[sizeof(Slot)]) {
    const Array *a = &m->arrays[array];
    const int64_t origin = a->space == SPACE_global ? a->offset : (int64_t)(intptr_t)a->base;
    int64_t at[WARP];
    LANES
        at[l] = from_first[l] + origin;
    count_access(m, w, in->line, array, kind, size, at);
    if (a->space == SPACE_constant) return MORE;
    m->state->now++;
    if (a->space == SPACE_local) {
        ACTIVE (w->mask) watch_local(m, w, in, array, kind, at[l], BIT(l));
        return MORE;
    }
    const int shared = a->space == SPACE_shared, remembered = shared || m->allocations[a->allocation].cells;
    const int64_t granule =
        1ll << (shared ? m->shared_shift : m->allocations[a->allocation].shift);
    if (kind == LOAD && size <= granule) {
        for (uint32_t rest = remembered ? w->mask : 0; rest;) {
            const int64_t here = at[__builtin_ctz(rest)];
            rest &= ~read_together(m, cell(m, w, a, here), w, rest & those_at(at, here), in->line, array, here);
        }
        return MORE;
    }
    ACTIVE (w->mask) {
        const int same = values ? !memcmp(first + from_first[l], values[l], size) : in->op == OP_ATOMIC_EXCH;
        if (kind == ATOMIC && hand_over(m, w, l, in, shared ? -1 : a->allocation, at[l])) return FATAL;
        for (int64_t byte = 0; remembered && byte < size; byte += granule)
            touch(m, cell(m, w, a, at[l] + byte), w, l, in->line, kind, array, at[l] + byte, same);
        if (values) memcpy(first + from_first[l], values[l], size);
    }
    return MORE;
}

static int misaligned(Machine *m, const Warp *w, const Instruction *in, int array, int size,
                      const int64_t *at) {
    const Array *a = &m->arrays[array];
    if (a->space == SPACE_local || a->space == SPACE_constant) return -1;
    const int64_t origin = a->space == SPACE_global ? a->offset : (int64_t)(intptr_t)a->base;
    int64_t steps = origin; // an address is `origin` and a multiple of each stride
    for (int d = 0; d < a->dimensions; d++) steps |= a->strides[d];
    if (!(steps & (size - 1))) return -1;
    ACTIVE (w->mask)
        if ((at[l] + origin) & (size - 1)) {
            Hazard h = hazard_at(H_misaligned, w, l, in->line);
            h.array = array;
            h.offset = at[l] + origin;
            h.length = size;
            h.space = a->space;
            stop(m, h);
            return l;
        }
    return -1;
}
