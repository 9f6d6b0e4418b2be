// The loop over the instructions of one warp.

#pragma once

#include "arithmetic.h"
#include "atomics.h"
#include "barriers.h"
#include "hazards.h"
#include "lanes.h"
#include "loads.h"
#include "machine.h"
#include "meetings.h"
#include "warp.h"

enum { TARGET = JMP_target }; // of every instruction that jumps
_Static_assert((int)TARGET == IF_target && (int)TARGET == BREAK_target, "the same place");
_Static_assert((int)TARGET == RET_target && (int)TARGET == RAISE_target, "the same place");
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

// A loop that goes on too long, or in circles (`proven`). Python looks at its instructions to say what it
// waits for, if anything.
static Hazard stuck(const Machine *m, const Warp *w, int kind, int64_t proven) {
    const uint32_t parked = w->alive & ~w->mask;
    const int jump = proven ? w->circle : w->jumped;
    Hazard h = hazard_at(kind, w, __builtin_ctz(w->mask), m->code[jump].line);
    h.index = jump;
    h.offset = w->mask;
    h.axis = (int32_t)proven;
    if (parked) {
        h.other_warp = w->id;
        h.other_lane = __builtin_ctz(parked);
    }
    h.length = m->max_steps;
    return h;
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
            case OP_CHECK: TRY(check_indices(m, w, in))
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
            case OP_SYNCWARP:
            case OP_SHFL_IDX:
            case OP_SHFL_UP:
            case OP_SHFL_DOWN:
            case OP_SHFL_XOR:
            case OP_VOTE_ALL:
            case OP_VOTE_ANY:
            case OP_VOTE_EQ:
            case OP_VOTE_BALLOT:
            case OP_MATCH_ANY:
            case OP_MATCH_ALL:
                if (w->part && must_meet(m, w, in)) return MORE;
                among_lanes(m, w, in);
                break;
            case OP_ACTIVEMASK: set_all(w, o[ACTIVEMASK_result], w->mask); break;
            case OP_LANEMASK_LT:
                ACTIVE (w->mask) ((int64_t *)reg(w, o[LANEMASK_result]))[l] = BIT(l) - 1;
                break;
            case OP_PRINT: print_lines(m, w, in); break;
            case OP_MMA: TRY(matrix_product(m, w, in))
            case OP_FENCE: fence(s, w, 0); break;
            case OP_FENCE_BLOCK: fence(s, w, 1); break;
            case OP_GRIDSYNC:
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
            case OP_RAISE: { // an exception ends the threads, or under debug=True the kernel
                Hazard h = hazard_at(H_exception, w, __builtin_ctz(w->mask), in->line);
                h.index = o[RAISE_error];
                h.length = o[RAISE_stops];
                if (o[RAISE_stops]) return stop(m, h);
                if (m->watch) report(m, h);
            } // fall through
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
                w->round = w->round == SEVERAL - 1 ? 0 : w->round + 1;
                w->steps += span;
                s->idle += span;
                s->budget -= span;
                if (w->steps > m->max_steps || s->idle > m->max_steps) {
                    w->jumped = (int32_t)(in - m->code);
                    return stop(m, stuck(m, w, H_endless_loop, 0));
                }
                if (++w->idle > PATIENCE) {
                    w->idle = w->rested;
                    w->jumped = (int32_t)(in - m->code);
                    return MORE;
                }
                if (s->budget < 0) {
                    s->interrupted = 1;
                    return MORE;
                }
                continue;
            }
        }
        w->pc++;
    }
}
