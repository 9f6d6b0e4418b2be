// fc1, made of the learner's modules: `queue` and `register_stage` of lesson 4, `columns` of 5.
//
// The learner's `columns` makes one multiply-add per cycle. So each lane has a copy, which sums
// every LANES-th output: all get the same valid and ready, and therefore move together.
// A layer that takes several values at a time is the course's own.
//
// Ports   Those of `fully_connected`.
// Timing  That of the learner's modules: for one multiply-add per cycle, one word of w per cycle.
// Lesson  the_network_on_the_board.

module own_fully_connected #(
  parameter int INPUTS   = 4096,
  parameter int OUTPUTS  = 128,
  parameter int PRODUCTS = 1,
  parameter int LANES    = 8
) (
  input  logic                        clk,
  input  logic                        rst,
  input  logic                        x_valid,
  output logic                        x_ready,
  input  logic [PRODUCTS*8-1:0]       x_data,
  input  logic                        w_valid,
  output logic                        w_ready,
  input  logic [LANES*PRODUCTS*8-1:0] w_data,
  output logic                        y_valid,
  input  logic                        y_ready,
  output logic [LANES*32-1:0]         y_data
);

  if (PRODUCTS == 1) begin : gen_own
    logic             queued_valid;
    logic             queued_ready;
    logic [7:0]       queued;
    logic             value_valid;
    logic [7:0]       value;
    logic [LANES-1:0] values_ready;
    logic [LANES-1:0] weights_ready;
    logic [LANES-1:0] sums_valid;
    logic             unused_others;
    assign w_ready       = weights_ready[0];
    assign y_valid       = sums_valid[0];
    assign unused_others = &{1'b0, values_ready, weights_ready, sums_valid};

    queue u_queue (
      .clk      (clk),
      .rst      (rst),
      .in_valid (x_valid),
      .in_ready (x_ready),
      .in_data  (x_data),
      .out_valid(queued_valid),
      .out_ready(queued_ready),
      .out_data (queued)
    );

    register_stage u_register (
      .clk      (clk),
      .rst      (rst),
      .in_valid (queued_valid),
      .in_ready (queued_ready),
      .in_data  (queued),
      .out_valid(value_valid),
      .out_ready(values_ready[0]),
      .out_data (value)
    );

    for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
      columns #(
        .INPUTS (INPUTS),
        .OUTPUTS(OUTPUTS / LANES)
      ) u_columns (
        .clk    (clk),
        .rst    (rst),
        .x_valid(value_valid),
        .x_ready(values_ready[lane]),
        .x_data (value),
        .w_valid(w_valid),
        .w_ready(weights_ready[lane]),
        .w_data (w_data[lane*8+:8]),
        .y_valid(sums_valid[lane]),
        .y_ready(y_ready),
        .y_data (y_data[lane*32+:32])
      );
    end
  end else begin : gen_courses
    fully_connected #(
      .INPUTS  (INPUTS),
      .OUTPUTS (OUTPUTS),
      .PRODUCTS(PRODUCTS),
      .LANES   (LANES)
    ) u_layer (
      .clk    (clk),
      .rst    (rst),
      .x_valid(x_valid),
      .x_ready(x_ready),
      .x_data (x_data),
      .w_valid(w_valid),
      .w_ready(w_ready),
      .w_data (w_data),
      .y_valid(y_valid),
      .y_ready(y_ready),
      .y_data (y_data)
    );
  end

endmodule
