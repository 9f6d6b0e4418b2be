// Clocks a design whose streams come from memory and go to memory: the data movers of an AXI DMA.
//
// One transfer at a time in each direction, a word in every cycle in which the design agrees. The
// registers that start them are Python's (labkit/fpga/board/hardware/dma.py).

#include "dma.h"

#include <algorithm>
#include <cstring>

#include "axi_design.h"

class DmaRun : public AxiDesign {
 public:
  DmaRun(const Model* model, const AxiPorts& ports, int in_bytes, int out_bytes)
      : AxiDesign(model, ports), in_bytes(in_bytes), out_bytes(out_bytes) {}

  void send(const uint8_t* memory, int64_t length) {
    source = memory;
    state.send = {length, 0, 0, 1, 0, 0, 0, 0};
    state.idle = 0;
  }

  void receive(uint8_t* memory, int64_t length) {
    sink = memory;
    state.receive = {length, 0, 0, 1, 0, 0, 0, 0};
    state.idle = 0;
  }

  void stop(bool sending) {
    (sending ? state.send : state.receive) = {};
    state.idle = 0;
  }
  void disturb() { state.idle = 0; }  // a register was written: what stood still may move now

  // Up to `cycles`; ends early when a transfer ends, or after `quiet` cycles in which no word moved.
  DmaEnding advance(int64_t cycles, int64_t quiet) {
    int running = state.send.running + state.receive.running;
    for (int64_t end = cycle + cycles; cycle < end;) {
      if (state.idle >= quiet) return DMA_QUIET;
      if (!before_edge() || !after_edge()) return DMA_UNSETTLED;
      if (state.send.running + state.receive.running != running) return DMA_ENDED;
    }
    return DMA_ADVANCED;
  }

  DmaState read_state() {
    state.cycle = cycle;
    return state;
  }

 private:
  bool before_edge() override {
    DmaTransfer& to = state.send;
    to.valid = to.running;
    set(ports.in.valid, to.valid);
    if (to.valid) {
      int64_t bytes = std::min<int64_t>(in_bytes, to.length - to.moved);
      uint64_t word = 0;
      std::memcpy(&word, source + to.moved, bytes);
      set(ports.in.data, word);
      set(ports.in_bytes, (1u << bytes) - 1);
      set(ports.in.last, to.moved + bytes >= to.length);
    }
    state.receive.ready = state.receive.running;
    set(ports.out.ready, state.receive.ready);
    return edge(0);
  }

  bool after_edge() override {
    DmaTransfer &to = state.send, &from = state.receive;
    to.ready = ports.in.ready < 0 || get(ports.in.ready);
    from.valid = get(ports.out.valid);
    uint64_t word = get(ports.out.data);
    bool last = get(ports.out.last);
    watch(from.valid, from.ready, word, last);
    state.idle++;
    if (to.valid && to.ready) sent();
    if (from.valid && from.ready) received(word, last);
    bool settled = edge(1);
    cycle++;
    return settled;
  }

  void sent() {
    DmaTransfer& to = state.send;
    to.moved = std::min(to.moved + in_bytes, to.length);
    to.beats++;
    to.last = to.moved == to.length;
    to.running = !to.last;
    state.idle = 0;
  }

  void received(uint64_t word, bool last) {
    DmaTransfer& from = state.receive;
    int64_t bytes = ports.out_bytes < 0 ? out_bytes : __builtin_popcount(get(ports.out_bytes));
    int64_t room = from.length - from.moved;
    std::memcpy(sink + from.moved, &word, std::min(bytes, room));
    from.moved += std::min(bytes, room);
    from.beats++;
    from.last = last;
    from.excess = bytes > room || (from.moved == from.length && !last);
    from.running = !from.last && !from.excess;
    state.idle = 0;
  }

  // An offered word has to stay until it is taken.
  void watch(bool valid, bool ready, uint64_t word, bool last) {
    if (waits && (!valid || word != waiting || last != waiting_last)) state.violations++;
    waits = valid && !ready;
    waiting = word;
    waiting_last = last;
  }

  const int in_bytes, out_bytes;  // of a word
  const uint8_t* source = nullptr;
  uint8_t* sink = nullptr;
  DmaState state = {};
  bool waits = false, waiting_last = false;
  uint64_t waiting = 0;
};

#pragma GCC visibility push(default)
extern "C" {
DmaRun* dma_new(const Model* model, const AxiPorts* ports, int in_bytes, int out_bytes) {
  return new DmaRun(model, *ports, in_bytes, out_bytes);
}
void dma_free(DmaRun* run) { delete run; }
int dma_write(DmaRun* run, uint32_t address, uint32_t value, int64_t limit) {
  run->disturb();
  return run->write(address, value, 0xF, limit);
}
int dma_read(DmaRun* run, uint32_t address, uint32_t* value, int64_t limit) {
  return run->read(address, value, limit);
}
void dma_send(DmaRun* run, const uint8_t* memory, int64_t length) { run->send(memory, length); }
void dma_receive(DmaRun* run, uint8_t* memory, int64_t length) { run->receive(memory, length); }
void dma_stop(DmaRun* run, int sending) { run->stop(sending); }
int dma_advance(DmaRun* run, int64_t cycles, int64_t quiet) { return run->advance(cycles, quiet); }
void dma_state(DmaRun* run, DmaState* state) { *state = run->read_state(); }
}
