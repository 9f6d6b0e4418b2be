// What a warp's request to memory costs: sectors of global memory, passes through shared memory.

#pragma once

#include "machine.h"

// How many 32-byte sectors one warp's request touches (addresses from a 256-byte aligned start).
static int sectors_of(Allocation *a, const int64_t *at, uint32_t mask, int size, int kind) {
    int64_t seen[2 * WARP];
    int n = 0;
    ACTIVE (mask)
        for (int64_t sector = at[l] >> 5; sector <= (at[l] + size - 1) >> 5; sector++) {
            int i = n;
            while (i > 0 && seen[i - 1] != sector) i--;
            if (i) continue;
            seen[n++] = sector;
            a->sectors[sector] |= kind == LOAD ? 1 : 2;
        }
    return n;
}

// Passes through shared memory: 32 banks of 4 bytes; 8-byte accesses go by half warps, 16-byte ones
// by quarter warps; within a group one pass serves one word of each bank.  *least: without conflict.
static int transactions_of(const int64_t *at, uint32_t mask, int size, int *least) {
    const int words = size < 4 ? 1 : size / 4, lanes = WARP / words;
    int total = 0;
    *least = 0;
    for (int from = 0; from < WARP; from += lanes) {
        const uint32_t group = mask & (lanes == WARP ? ALL : (BIT(lanes) - 1) << from);
        if (!group) continue;
        int64_t seen[WARP][WARP];
        int n[WARP] = {0}, passes = 1;
        ACTIVE (group)
            for (int k = 0; k < words; k++) {
                const int64_t word = (at[l] >> 2) + k, bank = word & 31;
                int i = n[bank];
                while (i > 0 && seen[bank][i - 1] != word) i--;
                if (i) continue;
                seen[bank][n[bank]++] = word;
                if (n[bank] > passes) passes = n[bank];
            }
        total += passes;
        ++*least;
    }
    return total;
}

#define TALLY(space, what, amount)                                                          \
    do {                                                                                    \
        COUNT(m, line, space##_##what##_requests)++;                                        \
        COUNT(m, line, space##_##what##_bytes) += (int64_t)size * __builtin_popcount(mask); \
        amount                                                                              \
    } while (0)

static void count_access(Machine *m, const Warp *w, int line, int array, int kind, int size,
                         const int64_t *at) {
    const Array *a = &m->arrays[array];
    const uint32_t mask = w->mask;
    int least;
    if (kind == ATOMIC) {
        COUNT(m, line, atomics)++;
        COUNT(m, line, atomic_lanes) += __builtin_popcount(mask);
    } else if (a->space == SPACE_global) {
        const int n = sectors_of(&m->allocations[a->allocation], at, mask, size, kind);
        if (kind == LOAD)
            TALLY(global, load, COUNT(m, line, global_load_sectors) += n;);
        else
            TALLY(global, store, COUNT(m, line, global_store_sectors) += n;);
    } else if (a->space == SPACE_shared) {
        const int n = transactions_of(at, mask, size, &least);
        if (kind == LOAD)
            TALLY(shared, load, COUNT(m, line, shared_load_transactions) += n;
                  COUNT(m, line, shared_load_conflicts) += n - least;);
        else
            TALLY(shared, store, COUNT(m, line, shared_store_transactions) += n;
                  COUNT(m, line, shared_store_conflicts) += n - least;);
    }
    if (m->n_accesses < m->max_accesses && a->space != SPACE_local) {
        Access *x = &m->accesses[m->n_accesses++];
        *x =
            (Access){line, array, kind, w->id % m->state->warps_per_block, w->block->id, a->space, size, {0}};
        LANES
            x->addresses[l] = mask >> l & 1 ? at[l] : -1;
    }
}
