// The data of the SIMT machine.  The enumerations OP_, T_, M_, K_, H_ and SPACE_, the positions of
// operands (LD_array) and the tables of functions (MATH_F32) are written by ops.py; the structs that
// Python fills have their twins in machine.py.

#pragma once

#include <complex.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WARP 32
#define ALL 0xffffffffu
#define MAX_FRAMES 64
#define MAX_RESIDENT 1024   // blocks that run side by side when kernels wait for each other
#define PATIENCE 4096       // loop iterations without a store after which another warp gets its turn
#define SHORT 64            // as many, where warps were found to wait already
#define PERIOD 64           // jumps back within which a warp that waits comes to the same state again
#define MAX_CLOCKS 10000000 // addresses that hand over data, times warps

typedef float complex c64;
typedef double complex c128;
typedef union {
    int64_t i;
    uint64_t u;
    float f;
    double d;
    c64 c;
    c128 z;
} Slot;

typedef struct {
    int32_t op, type, o[OPERANDS], line;
} Instruction;

typedef struct {
    char *base;                                 // shared and local: offset from the start of that memory
    int64_t offset;                             // global: bytes from the allocation's start to element 0
    int64_t shape[MAX_DIMS], strides[MAX_DIMS]; // strides in bytes
    int32_t dimensions, space, memory_type, allocation;
} Array;

// Who touched a granule of memory: the lanes of one warp, when, and from which line.
typedef struct {
    int32_t warp;
    uint16_t line, round; // round: how often the warp had jumped back, or SEVERAL
    uint32_t lanes, time;
} Touch; // warp 0: nobody
enum { SEVERAL = 0xffff };
typedef struct {
    Touch write;     // the last plain write
    Touch atomic[2]; // atomics since then: the last two threads
    Touch read[4];   // reads since then: see remember_read
} Cell;

// A moment in the life of a warp: its accesses before `all`, and those of `lanes` before `time`.
typedef struct {
    uint32_t all, lanes, time;
} Clock;

typedef struct {
    int64_t size, shift;
    Cell *cells;
    uint8_t *sectors;
} Allocation; // 2^shift bytes a cell

typedef struct {
    int32_t kind, line, other_line, array, atomic, other_atomic, write, other_write;
    int32_t warp, lane, other_warp, other_lane, space, axis;
    int64_t offset, index, length, count;
    int64_t seen; // of races: bits of SAME_ROUND and its like, of all that are counted here
} Hazard;
enum { SAME_ROUND = 1, OTHER_EARLIER = 2, OTHER_LATER = 4, IN_WARP = 8, IN_BLOCK = 16, IN_GRID = 32 };

typedef struct {
    int32_t line, array, kind, warp, block, space;
    int64_t itemsize, addresses[WARP];
} Access;

enum { LOAD, STORE, ATOMIC };
enum { MORE, DONE, FATAL };

// loop: saved = mask before, active = lanes that stay in it, iterating = those without `continue` or
//       `break` in this round, broke = those that left by `break`
// if:   saved = mask before, active = lanes of the else side, iterating = all
typedef struct {
    uint32_t loop, saved, active, iterating, broke;
} Frame;

typedef struct Block Block;
typedef struct {
    char *vectors, *local;
    Slot *scalars;
    uint32_t *local_written; // for each element of local memory, the lanes that wrote it
    Block *block;
    int32_t id, pc, depth, state, wait_op, return_line;
    int32_t jumped, circle;      // the jump back before it gave up its turn; the widest in its circle
    int32_t part, alone;         // some of a warp's lanes: see splits.h; need not meet the others
    uint32_t mask, alive, lanes; // active now; not returned; existing at all
    Frame frames[MAX_FRAMES];
    int64_t steps, idle, rested; // idle counts from `rested` to PATIENCE
    int64_t stuck;               // what s->writes was when it began to go in circles
    uint32_t round;             // jumps back, modulo SEVERAL
    uint32_t sync_time;
    char *own;           // memory of a part's registers
    uint32_t *pair_time; // [lane][lane]: last syncwarp that both took part in
    Clock fence[2];      // the last fence: for all blocks, for the own block
    Clock *known[WARP];  // [lane][warp]: what the lane has acquired by an atomic
} Warp;
enum { RUNNING, AT_BARRIER, FINISHED, AT_MEETING };

struct Block {
    int32_t id, warps_left;
    int32_t n_warps; // and parts of warps
    int32_t room;    // for how many there is room in `grown`, if that is used
    uint32_t sync_time, grid_time; // the last barrier of the block, of the whole grid
    int32_t at_grid;               // all its warps wait for the other blocks
    char *shared;
    Cell *shared_cells;
    Clock *known; // [warp]: what all its threads have acquired, by the last barrier
    Warp *warps;
    Warp *grown; // where they lie if they have become more
    char *memory;
};

// A place in global or shared memory through which threads hand over data: an atomic after a fence.
typedef struct {
    int32_t allocation, block;
    int64_t offset;
    Clock *clock[2];
} Handover;

typedef struct {
    Block *resident[MAX_RESIDENT];
    int32_t n_resident, next_block, n_warps, warps_per_block, threads;
    int32_t at, turn, moved; // the block and the warp whose turn it is; did anything happen?
    int32_t interrupted;     // the budget ended within a warp's turn, which goes on where it was
    uint32_t now;            // counts memory accesses and synchronisations
    char *spare;
    int64_t budget, idle;       // instructions until Python looks; in loops since anything happened
    int64_t writes;             // counts changes of memory
    int64_t rested;             // where the next warps count from
    int32_t rounds, next_start; // fruitless rounds, and how many must pass until another block starts
    Handover *handovers;
    int32_t n_handovers, handover_room;
} State;

typedef struct {
    const Instruction *code;
    const Array *arrays;
    Allocation *allocations;
    const Slot *scalars;
    int64_t n_vectors, n_scalars, shared_bytes, shared_shift, local_bytes;
    int64_t grid[3], block[3];
    int64_t special[7]; // registers of threadIdx x y z, laneid, blockIdx x y z; or NONE
    int64_t watch, max_steps, independent_threads;
    int64_t *counters; // [line][K_...]
    int64_t *executed; // [instruction][warps, lanes]
    Hazard *hazards;
    int64_t n_hazards, max_hazards;
    Access *accesses;
    int64_t n_accesses, max_accesses;
    int64_t *printed; // [line][which print, its numbers]
    int64_t n_printed, max_printed, printed_width;
    State *state;
} Machine;

#define COUNT(m, line, what) ((m)->counters[(line) * N_K + K_##what])
#define CASE(VALUE, DO) \
    case VALUE: DO; break;
#define LANES _Pragma("GCC ivdep") for (int l = 0; l < WARP; l++)
#define ACTIVE(mask) \
    for (uint32_t rest_ = (mask), l; rest_ && (l = __builtin_ctz(rest_), 1); rest_ &= rest_ - 1)
#define BIT(l) (1u << (l))

static inline void wrote(State *s, Warp *w) { // memory has changed, and others may see it
    w->idle = w->rested;
    s->idle = 0;
    s->writes++;
}

static inline char *reg(const Warp *w, int32_t r) {
    return r >= 0 ? w->vectors + (size_t)r * WARP * sizeof(Slot) : (char *)(w->scalars + ~r);
}

// A program that ops.py does not allow.  The run ends here and says so; a register that keeps its old
// content would be a wrong result.
static _Thread_local jmp_buf not_allowed;
_Noreturn static void internal_error(void) { longjmp(not_allowed, 1); }
