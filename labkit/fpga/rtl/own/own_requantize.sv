// From int32 sums to int8, by the learner's `requantize` of lesson 2.
//
// The learner's module gets a sum and its multiplier. This one fetches the channel's parameters,
// and adds the bias. The learner's SHIFT is a constant, and that of the network arrives with a job.
// So there is a copy for each shift from 1 to 31, and the one of this job gets the sums.
//
// Ports   Those of `requantize`, for 16 bits of a multiplier, and with a ReLU.
// Timing  One cycle to fetch, and those of the learner's module.
// Lesson  the_network_on_the_board.

module own_requantize #(
  parameter  int CHANNELS        = 32,
  parameter  int LANES           = 1,
  parameter  int MULTIPLIER_BITS = 16,
  parameter  bit RELU            = 1'b1,
  localparam int PARAMETER_BITS  = 32 + MULTIPLIER_BITS
) (
  input  logic                      clk,
  input  logic                      rst,
  input  logic [4:0]                shift,
  input  logic                      p_valid,
  output logic                      p_ready,
  input  logic [PARAMETER_BITS-1:0] p_data,
  input  logic                      x_valid,
  output logic                      x_ready,
  input  logic [LANES*32-1:0]       x_data,
  output logic                      y_valid,
  input  logic                      y_ready,
  output logic [LANES*8-1:0]        y_data
);

  localparam int Groups    = CHANNELS / LANES;
  localparam int GroupBits = (Groups > 1) ? $clog2(Groups) : 1;

  if ((MULTIPLIER_BITS != 16) || !RELU) begin : gen_form_refused
    $error("The learner's module has multipliers of 16 bits, and a ReLU");
  end

  // ---- Fetch the parameters of this group of channels; a sum waits beside them.
  logic                            all_parameters;
  logic                            fetched;
  logic                            room;
  logic                            take;
  logic [GroupBits-1:0]            group;
  logic [LANES*PARAMETER_BITS-1:0] parameters;
  logic [LANES*32-1:0]             sums;
  logic [31:0]                     ready;  // of each shift
  logic [31:0]                     valid;
  logic [32*LANES*8-1:0]           bytes;

  assign room    = !fetched || ready[shift];
  assign x_ready = room && all_parameters;
  assign take    = x_valid && x_ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      fetched <= 1'b0;
      group   <= '0;
    end else begin
      if (room) begin
        fetched <= take;
      end
      if (take) begin
        group <= (group == GroupBits'(Groups - 1)) ? '0 : group + 1'b1;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (take) begin
      sums <= x_data;
    end
  end

  memory_bank #(
    .WIDTH   (PARAMETER_BITS),
    .MEMORIES(LANES),
    .DEPTH   (Groups)
  ) u_parameters (
    .clk    (clk),
    .rst    (rst),
    .w_valid(p_valid),
    .w_ready(p_ready),
    .w_data (p_data),
    .full   (all_parameters),
    .read   (take),
    .address(group),
    .words  (parameters)
  );

  // ---- Add the bias.
  logic [LANES*48-1:0] multiplied;  // the multiplier, and the sum with its bias in the low 32 bits

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_biases
    logic [31:0] bias;
    logic [31:0] biased;
    assign bias   = parameters[lane*PARAMETER_BITS+:32];
    assign biased = sums[lane*32+:32] + bias;
    assign multiplied[lane*48+:48] = {parameters[lane*PARAMETER_BITS+32+:16], biased};
  end

  // ---- The learner's modules: all lanes of a shift move together.
  assign y_valid = valid[shift];
  assign y_data  = bytes[shift*LANES*8+:LANES*8];

  assign {ready[0], valid[0], bytes[LANES*8-1:0]} = '0;

  for (genvar s = 1; s < 32; s++) begin : gen_shifts
    logic [LANES-1:0] lanes_ready;
    logic [LANES-1:0] lanes_valid;
    logic             unused_others;
    assign ready[s]      = lanes_ready[0];
    assign valid[s]      = lanes_valid[0];
    assign unused_others = &{1'b0, lanes_ready, lanes_valid};

    for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
      requantize #(
        .SHIFT(s)
      ) u_requantize (
        .clk    (clk),
        .rst    (rst),
        .x_valid(fetched && (shift == 5'(s))),
        .x_ready(lanes_ready[lane]),
        .x_data (multiplied[lane*48+:48]),
        .y_valid(lanes_valid[lane]),
        .y_ready(y_ready),
        .y_data (bytes[(s*LANES+lane)*8+:8])
      );
    end
  end

endmodule
