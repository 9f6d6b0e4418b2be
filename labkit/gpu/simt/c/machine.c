// The SIMT machine: executes a program warp by warp, 32 lanes at a time under an active mask, as the
// warps of a GPU do.  README.md tells how.  ops.py prepends the enumerations.

#include "machine.h"
#include "lanes.h"
#include "functions.h"
#include "arithmetic.h"
#include "hazards.h"
#include "memory.h"
#include "warp.h"

enum { TARGET = JMP_target }; // of every instruction that jumps
_Static_assert((int)TARGET == IF_target && (int)TARGET == BREAK_target, "the same place");
_Static_assert((int)TARGET == NEXT_target && (int)TARGET == TEST_target, "the same place");

static void count_branch(Machine *m, const Instruction *in, uint32_t taken, uint32_t mask) {
    COUNT(m, in->line, branches)++;
    if (taken && taken != mask) COUNT(m, in->line, divergent_branches)++;
}

// Lanes of an ended construct that go on: they did not return, leave a loop, or wait for its next round.
static uint32_t going_on(const Warp *w, uint32_t saved) {
    saved &= w->alive;
    for (int d = w->depth - 1; d >= 0; d--) saved &= w->frames[d].iterating;
    return saved;
}

static Frame *innermost_loop(Warp *w) {
    int d = w->depth - 1;
    while (!w->frames[d].loop) d--;
    return &w->frames[d];
}

// The block of one warp arrives at its end: free it.
static void end_block(Machine *m, Block *b) {
    State *s = m->state;
    for (int i = 0; i < s->warps_per_block; i++) {
        free(b->warps[i].pair_time);
        for (int l = 0; l < WARP; l++) free(b->warps[i].known[l]);
    }
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

static int begin_block(Machine *m) {
    State *s = m->state;
    const int n = s->warps_per_block, id = s->next_block++;
    const size_t vectors = m->n_vectors * WARP * sizeof(Slot), scalars = m->n_scalars * sizeof(Slot);
    const size_t local = m->local_bytes * WARP,
                 cells = m->watch ? ((m->shared_bytes >> m->shared_shift) + 1) * sizeof(Cell) : 0;
    const size_t written = m->watch ? m->local_bytes * sizeof(uint32_t) : 0;
    const size_t bytes = sizeof(Block) + m->shared_bytes + cells + 64 * (5 + 4 * n) +
                         n * (sizeof(Warp) + vectors + scalars + local + written);
    char *p = s->spare ? s->spare : calloc(1, bytes), *memory = p;
    if (!p) return 0;
    s->spare = NULL;
    p = (char *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
    Block *b = memset(carve(&p, sizeof *b), 0, sizeof *b);
    b->memory = memory;
    b->id = id;
    b->warps_left = n;
    b->shared = carve(&p, m->shared_bytes);
    memset(b->shared, 0xff, m->shared_bytes); // never zeros: what nobody wrote must not look right
    b->shared_cells = memset(carve(&p, cells), 0, cells);
    b->warps = memset(carve(&p, n * sizeof(Warp)), 0, n * sizeof(Warp));
    for (int i = 0; i < n; i++) {
        Warp *w = &b->warps[i];
        w->vectors = memset(carve(&p, vectors), 0, vectors);
        w->scalars = carve(&p, scalars);
        w->local = carve(&p, local);
        w->local_written = memset(carve(&p, written), 0, written);
        memcpy(w->scalars, m->scalars, scalars);
        memset(w->local, 0xff, local);
        w->return_line = -1;
        w->block = b;
        w->id = id * n + i;
        const int first = i * WARP, count = s->threads - first < WARP ? s->threads - first : WARP;
        w->mask = w->alive = w->lanes = count == WARP ? ALL : BIT(count) - 1;
        for (int l = 0; l < WARP; l++) {
            const int64_t t = first + l;
            set_special(m, w, 0, l, t % m->block[0]);
            set_special(m, w, 1, l, t / m->block[0] % m->block[1]);
            set_special(m, w, 2, l, t / (m->block[0] * m->block[1]));
            set_special(m, w, 3, l, l);
        }
        set_special(m, w, 4, 0, id % m->grid[0]);
        set_special(m, w, 5, 0, id / m->grid[0] % m->grid[1]);
        set_special(m, w, 6, 0, id / (m->grid[0] * m->grid[1]));
    }
    s->resident[s->n_resident++] = b;
    return 1;
}

// A loop that went on too long. Python looks at its instructions to say what it waits for, if anything.
static int stuck(Machine *m, Warp *w, const Instruction *in) {
    const uint32_t parked = w->alive & ~w->mask;
    Hazard h = hazard_at(H_endless_loop, w, __builtin_ctz(w->mask), in->line);
    h.index = in - m->code;
    if (parked) {
        h.other_warp = w->id;
        h.other_lane = __builtin_ctz(parked);
    }
    h.length = m->max_steps;
    return stop(m, h);
}

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

// All warps of a block wait or have finished: complete the barrier.
static int release(Machine *m, Block *b) {
    State *s = m->state;
    int64_t count = 0, threads = 0;
    Warp *first = NULL;
    for (int i = 0; i < s->warps_per_block; i++) {
        Warp *w = &b->warps[i];
        if (w->state != AT_BARRIER) continue;
        const Instruction *in = &m->code[w->pc];
        if (!first)
            first = w;
        else if (first->pc != w->pc)
            return divergent_barrier(m, first, m->code[first->pc].line, w, __builtin_ctz(w->mask), in->line);
        if (in->op != OP_BARRIER) count += __builtin_popcount(truth(w, in->o[BARRIER_predicate]) & w->mask);
        threads += __builtin_popcount(w->mask);
    }
    const int line = m->code[first->pc].line;
    for (int i = 0; i < s->warps_per_block; i++) {
        Warp *w = &b->warps[i];
        if (w->state != FINISHED) continue;
        if (w->return_line < 0) return divergent_barrier(m, first, line, w, 0, -1);
        barrier_after_return(m, first, line, w, w->lanes);
    }
    s->now++;
    b->sync_time = s->now;
    for (int i = 0; i < s->warps_per_block; i++) // what one thread acquired, the block has acquired
        for (int l = 0; l < WARP; l++) {
            merge_all(s, &b->known, b->warps[i].known[l]);
            free(b->warps[i].known[l]);
            b->warps[i].known[l] = NULL;
        }
    for (int i = 0; i < s->warps_per_block; i++) {
        Warp *w = &b->warps[i];
        if (w->state != AT_BARRIER) continue;
        const Instruction *in = &m->code[w->pc];
        w->sync_time = s->now;
        if (in->op != OP_BARRIER)
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

// An integer divided by zero, or under debug=True any number, stops the kernel.
static int divisor(Machine *m, const Warp *w, const Instruction *in, int32_t r) {
    const int lane = zero_divisor(w, in->type, r);
    if (lane < 0) return MORE;
    Hazard h = hazard_at(H_division_by_zero, w, lane, in->line);
    h.index = in->op == OP_DIVISOR;
    return stop(m, h);
}

// Run one warp until it ends, waits at a barrier, or has had its turn.
static int run_warp(Machine *m, Warp *w) {
    State *s = m->state;
#define TOP (&w->frames[w->depth - 1])
#define GO(target)        \
    {                     \
        w->pc = (target); \
        continue;         \
    }
#define TRY(call)                          \
    {                                      \
        if ((call) == FATAL) return FATAL; \
        break;                             \
    }
    for (;;) {
        const Instruction *in = &m->code[w->pc];
        const int32_t *o = in->o;
        if (m->watch) {
            m->executed[2 * w->pc]++;
            m->executed[2 * w->pc + 1] += __builtin_popcount(w->mask);
        }
        switch (in->op) {
            default: arithmetic(w, in); break; // which stops at what is no operation
            case OP_DIV:
            case OP_FLOORDIV:
            case OP_MOD:
                if (in->type != T_F32 && in->type != T_F64 && in->type != T_F16 &&
                    divisor(m, w, in, o[MOD_b]))
                    return FATAL;
                arithmetic(w, in);
                break;
            case OP_DIVISOR: TRY(divisor(m, w, in, o[DIVISOR_a]))
            case OP_LD: {
                const Array *a = &m->arrays[o[LD_array]];
                if (a->space == SPACE_local && a->memory_type == M_f32 &&
                    all_scalar(o + LD_index, a->dimensions))
                    TRY(local_float(m, w, in, a, 1))
                TRY(load(m, w, in))
            }
            case OP_ST: {
                const Array *a = &m->arrays[o[ST_array]];
                if (a->space == SPACE_local && a->memory_type == M_f32 &&
                    all_scalar(o + ST_index, a->dimensions))
                    TRY(local_float(m, w, in, a, 0))
                TRY(store(m, w, in))
            }
            case OP_LDV:
            case OP_STV: TRY(vector_access(m, w, in))
            case OP_CHECK: {
                int64_t *d = (int64_t *)reg(w, o[CHECK_result]);
                const int n = o[CHECK_result] < 0 ? 1 : WARP;
                for (int l = 0; l < n; l++) {
                    const int64_t length = LANE(int64_t, o[CHECK_length], l),
                                  index = LANE(int64_t, o[CHECK_a], l),
                                  i = index < 0 ? index + length : index;
                    if ((uint64_t)i >= (uint64_t)length && (n == 1 || w->mask >> l & 1)) {
                        Hazard h =
                            hazard_at(H_out_of_bounds, w, n == 1 ? __builtin_ctz(w->mask) : l, in->line);
                        h.array = o[CHECK_array];
                        h.axis = o[CHECK_axis];
                        h.index = index;
                        h.length = length;
                        h.space = m->arrays[o[CHECK_array]].space;
                        return stop(m, h);
                    }
                    d[l] = i;
                }
                break;
            }
            case OP_ATOMIC_ADD:
            case OP_ATOMIC_SUB:
            case OP_ATOMIC_MAX:
            case OP_ATOMIC_MIN:
            case OP_ATOMIC_NANMAX:
            case OP_ATOMIC_NANMIN:
            case OP_ATOMIC_AND:
            case OP_ATOMIC_OR:
            case OP_ATOMIC_XOR:
            case OP_ATOMIC_EXCH:
            case OP_ATOMIC_INC:
            case OP_ATOMIC_DEC:
            case OP_ATOMIC_CAS: TRY(atomic(m, w, in))
            case OP_SHFL_IDX:
            case OP_SHFL_UP:
            case OP_SHFL_DOWN:
            case OP_SHFL_XOR: shuffle(m, w, in); break;
            case OP_VOTE_ALL:
            case OP_VOTE_ANY:
            case OP_VOTE_EQ:
            case OP_VOTE_BALLOT: vote(m, w, in); break;
            case OP_MATCH_ANY:
            case OP_MATCH_ALL: match(m, w, in); break;
            case OP_ACTIVEMASK: set_all(w, o[ACTIVEMASK_result], w->mask); break;
            case OP_LANEMASK_LT:
                ACTIVE (w->mask) ((int64_t *)reg(w, o[LANEMASK_result]))[l] = BIT(l) - 1;
                break;
            case OP_MMA: TRY(matrix_product(m, w, in))
            case OP_SYNCWARP: sync_lanes(s, w, members(m, w, in, o[SYNCWARP_mask])); break;
            case OP_FENCE: fence(s, w, 0); break;
            case OP_FENCE_BLOCK: fence(s, w, 1); break;
            case OP_BARRIER:
            case OP_BARRIER_COUNT:
            case OP_BARRIER_AND:
            case OP_BARRIER_OR: return at_barrier(m, w, in);

            case OP_IF: {
                const uint32_t taken = truth(w, o[IF_test]) & w->mask;
                if (m->watch) count_branch(m, in, taken, w->mask);
                w->frames[w->depth++] = (Frame){0, w->mask, w->mask & ~taken, ALL, 0};
                w->mask = taken;
                if (!taken) GO(o[TARGET]);
                break;
            }
            case OP_ELSE:
                w->mask = TOP->active & w->alive;
                if (!w->mask) GO(o[TARGET]);
                break;
            case OP_ENDIF:
            case OP_ENDLOOP:
                w->depth--;
                w->mask = going_on(w, w->frames[w->depth].saved);
                if (!w->mask) GO(o[TARGET]);
                break;
            case OP_LOOP: w->frames[w->depth++] = (Frame){1, w->mask, w->mask, w->mask, 0}; break;
            case OP_TEST: {
                const uint32_t stay = truth(w, o[TEST_test]) & w->mask;
                if (m->watch) count_branch(m, in, stay, w->mask);
                TOP->active = TOP->iterating = w->mask = stay;
                if (!stay) GO(o[TARGET]);
                break;
            }
            case OP_JOIN:
                w->mask = TOP->iterating = TOP->active &= w->alive;
                if (!w->mask) GO(o[TARGET]);
                break;
            case OP_BREAK:
                for (int left = o[BREAK_frames], d = w->depth - 1; left; d--) {
                    Frame *f = &w->frames[d];
                    if (!f->loop) continue;
                    f->active &= ~w->mask;
                    f->iterating &= ~w->mask;
                    f->broke |= w->mask;
                    left--;
                }
                w->mask = 0;
                GO(o[TARGET]);
            case OP_CONTINUE:
                innermost_loop(w)->iterating &= ~w->mask;
                w->mask = 0;
                GO(o[TARGET]);
            case OP_LOOPELSE:
                TOP->iterating = w->mask = TOP->saved & w->alive & ~TOP->broke;
                if (!w->mask) GO(o[TARGET]);
                break;
            case OP_RET:
                w->alive &= ~w->mask;
                w->return_line = in->line;
                w->mask = 0;
                GO(o[TARGET]);
            case OP_EXIT:
                if (w->alive) w->return_line = -1; // some lanes came to the kernel's end
                w->state = FINISHED;
                w->block->warps_left--;
                return MORE;
            case OP_JZ:
                if (m->watch) count_branch(m, in, 0, w->mask);
                if (!*(int64_t *)reg(w, o[JZ_test])) GO(o[TARGET]);
                break;
            case OP_NEXT: { // the end of a counted loop's round
                int64_t *counter = (int64_t *)reg(w, o[NEXT_counter]);
                const int64_t step = *(int64_t *)reg(w, o[NEXT_step]),
                              limit = *(int64_t *)reg(w, o[NEXT_limit]);
                if (m->watch) count_branch(m, in, 0, w->mask);
                *counter += step;
                if (step > 0 ? *counter >= limit : *counter <= limit) break;
            } // fall through
            case OP_JMP: {
                const int64_t span = w->pc - o[TARGET] + 1;
                w->pc = o[TARGET];
                if (span <= 0) continue;
                w->steps += span;
                s->idle += span;
                s->budget -= span;
                if (w->steps > m->max_steps || s->idle > m->max_steps) return stuck(m, w, in);
                if (++w->idle > PATIENCE) {
                    w->idle = 0;
                    return MORE;
                }
                if (s->budget < 0) return MORE;
                continue;
            }
        }
        w->pc++;
    }
}

// One turn for every warp of a block.  Returns FATAL, or MORE with *moved set when something happened.
static int run_block(Machine *m, Block *b, int *moved) {
    State *s = m->state;
    int waiting = 0;
    for (; s->turn < s->warps_per_block; s->turn++) {
        Warp *w = &b->warps[s->turn];
        if (w->state != RUNNING) {
            waiting += w->state == AT_BARRIER;
            continue;
        }
        if (run_warp(m, w) == FATAL) return FATAL;
        if (w->state == RUNNING && s->budget < 0) return MORE;
        waiting += w->state == AT_BARRIER;
        if (w->state != RUNNING) {
            *moved = 1;
            s->idle = 0;
        }
    }
    s->turn = 0;
    if (waiting && waiting == b->warps_left) {
        *moved = 1;
        return release(m, b);
    }
    return MORE;
}

// Run about `budget` instructions.  MORE: call again; DONE; FATAL: the last hazard stopped the kernel.
// Blocks run one after the other; when all that run only wait, further blocks are started beside them.
static int run(Machine *m, int64_t budget) {
    State *s = m->state;
    const int64_t blocks = m->grid[0] * m->grid[1] * m->grid[2];
    s->budget = budget;
    for (;;) {
        if (s->at >= s->n_resident) { // a round is over
            const int room = s->next_block < blocks && s->n_resident < MAX_RESIDENT;
            if (!s->n_resident && s->next_block == blocks) return DONE;
            s->rounds = s->moved ? 0 : s->rounds + 1;
            if (s->moved) s->next_start = 1;
            if (room && (!s->n_resident || s->rounds >= s->next_start)) {
                if (!begin_block(m))
                    return stop(
                        m, (Hazard){
                               .kind = H_too_large, .line = m->code[0].line, .array = -1, .other_warp = -1});
                s->next_start *= 2; // few blocks wait for each other; many would spin in vain
            }
            s->at = s->moved = 0;
            s->budget -= 64 + m->local_bytes * s->warps_per_block / 2; // to fill a block's memory
        }
        Block *b = s->resident[s->at];
        if (run_block(m, b, &s->moved) == FATAL) return FATAL;
        if (s->turn) return MORE;
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
