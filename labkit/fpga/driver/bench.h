// A design on the bench: what every driver needs of it, whatever the driver is for.

#pragma once
#include "model.h"

class Bench {
 public:
  Bench(const Model* model, int clock, int reset)  // ports, or -1
      : model(model), design(model->create()), clock(clock), reset(reset) {}
  Bench(const Bench&) = delete;
  ~Bench() { model->destroy(design); }

  void set(int port, const uint32_t* value) { model->set(design, port, value); }
  void get(int port, uint32_t* value) { model->get(design, port, value); }
  int find(const char* name, int* width) { return model->find(design, name, width); }

  void set_bit(int port, bool bit) {
    uint32_t value = bit;
    set(port, &value);
  }

  bool get_bit(int port) {
    uint32_t value;
    get(port, &value);
    return value;
  }

  // The clock goes to `level`, and all logic settles; false: it oscillates.
  bool edge(bool level) {
    if (clock >= 0) set_bit(clock, level);
    return model->settle(design);
  }

  // Two cycles of reset, with the inputs as they are.
  bool go_through_reset() {
    if (reset < 0) return true;
    set_bit(reset, true);
    for (int cycle = 0; cycle < 2; cycle++)
      if (!edge(false) || !edge(true)) return false;
    set_bit(reset, false);
    return true;
  }

 private:
  const Model* model;
  void* design;
  int clock, reset;
};
