// The SIMT machine: executes a program warp by warp, 32 lanes at a time under an active mask, as the
// warps of a GPU do.  README.md tells how.  tables.py writes the enumerations that stand before it.

#include "blocks.h"
#include "circles.h"
#include "hazards.h"
#include "interpreter.h"
#include "machine.h"

// One turn for every warp of a block.  Returns FATAL, or MORE with *moved set when something happened.
static int run_block(Machine *m, Block *b, int *moved) {
    State *s = m->state;
    for (; s->turn < b->n_warps; s->turn++) {
        Warp *w = &b->warps[s->turn];
        if (w->state != RUNNING || w->stuck == s->writes) continue;
        if (run_warp(m, w) == FATAL) return FATAL;
        if (s->interrupted) return MORE;
        if (w->state != RUNNING) {
            *moved = 1;
            s->idle = 0;
        }
    }
    s->turn = 0;
    int waiting = 0;
    for (int i = 0; i < b->n_warps; i++) waiting += b->warps[i].state == AT_BARRIER;
    if (b->n_warps > s->warps_per_block && meet(m, b)) *moved = 1;
    if (waiting && waiting == b->warps_left) {
        if (b->at_grid) return MORE;
        *moved = 1;
        if (waits_for_grid(m, b)) {
            b->at_grid = 1;
            return MORE;
        }
        return release(m, b);
    }
    return MORE;
}

// Run about `budget` instructions.  MORE: call again; DONE; FATAL: the last hazard stopped the kernel.
// How large the budgets are changes nothing: whose turn it is does not depend on them.
// Blocks run one after the other; when all that run only wait, further blocks are started beside them.
static int run(Machine *m, int64_t budget) {
    State *s = m->state;
    const int64_t blocks = m->grid[0] * m->grid[1] * m->grid[2];
    s->budget = budget;
    s->interrupted = 0;
    for (;;) {
        if (s->at >= s->n_resident) { // a round is over
            const int room = s->next_block < blocks && s->n_resident < MAX_RESIDENT;
            if (!s->n_resident && s->next_block == blocks) return DONE;
            s->rounds = s->moved ? 0 : s->rounds + 1;
            if (s->moved) s->next_start = 1;
            const int all_wait = !s->moved && gathered(s);
            if (all_wait && !room && release_grid(m) == FATAL) return FATAL;
            int circles = 0;
            const int look = !all_wait && s->n_resident && s->rounds && !(s->rounds & (s->rounds - 1));
            if (look && look_for_circles(m, &circles) == FATAL) return FATAL;
            if (circles) s->rounds = 0;
            if (circles && !room && set_free(m) == FATAL) return FATAL;
            if (room && (!s->n_resident || circles || all_wait || s->rounds >= s->next_start)) {
                if (!begin_block(m))
                    return stop(
                        m, (Hazard){
                               .kind = H_too_large, .line = m->code[0].line, .array = -1, .other_warp = -1});
                // few blocks wait for each other; many would spin in vain
                if (!circles && !all_wait) s->next_start *= 2;
            }
            s->at = s->moved = 0;
            s->budget -= 64 + m->local_bytes * s->warps_per_block / 2; // to fill a block's memory
        }
        Block *b = s->resident[s->at];
        if (run_block(m, b, &s->moved) == FATAL) return FATAL;
        if (s->interrupted) return MORE;
        if (!b->warps_left) {
            end_block(m, b);
            s->moved = 1;
        } else
            s->at++;
        if (s->budget < 0) return MORE;
    }
}

int simt_run(Machine *m, int64_t budget) {
    if (!setjmp(not_allowed)) return run(m, budget);
    const State *s = m->state;
    const Warp *w = &s->resident[s->at]->warps[s->turn];
    return stop(m, hazard_at(H_internal, w, __builtin_ctz(w->mask), m->code[w->pc].line));
}

int simt_start(Machine *m) {
    State *s = m->state = calloc(1, sizeof(State));
    if (!s) return FATAL;
    s->now = s->next_start = 1;
    s->threads = (int32_t)(m->block[0] * m->block[1] * m->block[2]);
    s->warps_per_block = (s->threads + WARP - 1) / WARP;
    s->n_warps = (int32_t)(s->warps_per_block * m->grid[0] * m->grid[1] * m->grid[2]);
    return MORE;
}

void simt_end(Machine *m) {
    State *s = m->state;
    while (s->n_resident) end_block(m, s->resident[0]);
    for (int i = 0; i < s->n_handovers; i++) {
        free(s->handovers[i].clock[0]);
        free(s->handovers[i].clock[1]);
    }
    free(s->handovers);
    free(s->spare);
    free(s);
}

int64_t simt_cell_size(void) { return sizeof(Cell); }
