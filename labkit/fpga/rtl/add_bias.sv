// Adds its bias to each sum: the end of the last layer, whose sums are not requantised.
//
// Ports   b: stream of biases, one int32 per channel, before the first sum; a reset asks for new
//         ones. x: stream of LANES int32: the channels in groups, over and over. y: the same with
//         the biases added.
// Timing  Biases CHANNELS cycles; then one word per cycle, latency 2: fetch, add.
// Lesson  the_network_as_a_pipeline.

module add_bias #(
  parameter int CHANNELS = 10,
  parameter int LANES    = 2
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                b_valid,
  output logic                b_ready,
  input  logic [31:0]         b_data,
  input  logic                x_valid,
  output logic                x_ready,
  input  logic [LANES*32-1:0] x_data,
  output logic                y_valid,
  input  logic                y_ready,
  output logic [LANES*32-1:0] y_data
);

  localparam int Groups    = CHANNELS / LANES;
  localparam int GroupBits = (Groups > 1) ? $clog2(Groups) : 1;

  if (CHANNELS % LANES != 0) begin : gen_lanes_refused
    $error("LANES must divide CHANNELS");
  end

  // Everything moves together, unless a result waits to be taken.
  logic all_biases;
  logic step;
  logic take;
  assign step    = !y_valid || y_ready;
  assign x_ready = step && all_biases;
  assign take    = x_valid && x_ready;

  delay_line #(
    .WIDTH(1),
    .STEPS(2)
  ) u_valid (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   (take),
    .q   (y_valid)
  );

  logic [GroupBits-1:0] group;

  always_ff @(posedge clk) begin
    if (rst) begin
      group <= '0;
    end else if (take) begin
      group <= (group == GroupBits'(Groups - 1)) ? '0 : group + 1'b1;
    end
  end

  logic [LANES*32-1:0] biases;

  memory_bank #(
    .WIDTH   (32),
    .MEMORIES(LANES),
    .DEPTH   (Groups)
  ) u_biases (
    .clk    (clk),
    .rst    (rst),
    .w_valid(b_valid),
    .w_ready(b_ready),
    .w_data (b_data),
    .full   (all_biases),
    .read   (step),
    .address(group),
    .words  (biases)
  );

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
    logic [31:0] sum;
    always_ff @(posedge clk) begin
      if (step) begin
        sum                  <= x_data[lane*32+:32];
        y_data[lane*32+:32] <= sum + biases[lane*32+:32];
      end
    end
  end

endmodule
