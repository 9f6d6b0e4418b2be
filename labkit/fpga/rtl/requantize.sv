// From int32 sums to int8: y = clamp(((sum + bias) * multiplier + half) >> shift).
//
// half is 1 << (shift - 1), so that the shift rounds to the nearest, and halves upwards. Each
// output channel has its bias and multiplier, the layer has one shift. The clamp is to -128..127;
// with RELU to 0..127, so that ReLU costs nothing. sum + bias must fit int32: bounds.py of the
// lesson proves it for a layer.
//
// Ports   shift: 1 to 31, held.
//         p: stream of parameters, one word per channel, before the first sum: bias (int32) in the
//         low 32 bits, then the multiplier (unsigned). A reset asks for new ones.
//         x: stream of LANES int32: the channels in groups, over and over.
//         y: stream of LANES int8.
// Timing  Parameters CHANNELS cycles; then one word per cycle, latency 8: fetch, bias, the products
//         of both halves of a sum, product, half, shift by eights, shift by ones, clamp. While y
//         waits, everything stands still.
// Lesson  int8_from_the_formula.

module requantize #(
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

  localparam int Groups      = CHANNELS / LANES;
  localparam int GroupBits   = (Groups > 1) ? $clog2(Groups) : 1;
  localparam int ProductBits = 32 + MULTIPLIER_BITS;

  if (CHANNELS % LANES != 0) begin : gen_lanes_refused
    $error("LANES must divide CHANNELS");
  end

  // Everything moves together, unless a result waits to be taken.
  logic all_parameters;
  logic step;
  logic take;
  assign step    = !y_valid || y_ready;
  assign x_ready = step && all_parameters;
  assign take    = x_valid && x_ready;

  delay_line #(
    .WIDTH(1),
    .STEPS(8)
  ) u_valid (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   (take),
    .q   (y_valid)
  );

  // ---- Stage 1: fetch the parameters of this group of channels.
  logic [GroupBits-1:0]            group;
  logic [LANES*PARAMETER_BITS-1:0] parameters;

  always_ff @(posedge clk) begin
    if (rst) begin
      group <= '0;
    end else if (take) begin
      group <= (group == GroupBits'(Groups - 1)) ? '0 : group + 1'b1;
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
    .read   (step),
    .address(group),
    .words  (parameters)
  );

  logic signed [ProductBits-1:0] half;

  always_ff @(posedge clk) begin
    half <= ProductBits'(1) << (shift - 5'd1);
  end

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
    logic signed [31:0]              bias;
    logic signed [MULTIPLIER_BITS:0] multiplier;  // one bit more: it is unsigned
    assign bias       = parameters[lane*PARAMETER_BITS+:32];
    assign multiplier = {1'b0, parameters[lane*PARAMETER_BITS+32+:MULTIPLIER_BITS]};

    logic signed [31:0]              sum;           // stage 1
    logic signed [31:0]              biased;        // stage 2
    logic signed [MULTIPLIER_BITS:0] multiplier_2;
    logic signed [16:0]              low_half;      // one bit more: it is unsigned
    logic signed [15:0]              high_half;
    logic signed [ProductBits-1:0]   low_product;   // stage 3
    logic signed [ProductBits-1:0]   high_product;
    logic signed [ProductBits-1:0]   product;       // stage 4
    logic signed [ProductBits-1:0]   rounded;       // stage 5
    logic signed [ProductBits-1:0]   by_eights;     // stage 6
    logic signed [ProductBits-1:0]   shifted;       // stage 7
    logic signed [7:0]               clamped;       // stage 8
    assign low_half  = {1'b0, biased[15:0]};
    assign high_half = biased[31:16];

    assign y_data[lane*8+:8] = clamped;

    always_ff @(posedge clk) begin
      if (step) begin
        sum          <= x_data[lane*32+:32];
        biased       <= sum + bias;
        multiplier_2 <= multiplier;
        low_product  <= low_half * multiplier_2;
        high_product <= high_half * multiplier_2;
        product      <= (high_product <<< 16) + low_product;
        rounded      <= product + half;
        by_eights    <= rounded >>> {shift[4:3], 3'd0};
        shifted      <= by_eights >>> shift[2:0];
        if (shifted > 127) begin
          clamped <= 8'sd127;
        end else if (RELU && (shifted < 0)) begin
          clamped <= 8'sd0;
        end else if (shifted < -128) begin
          clamped <= -8'sd128;
        end else begin
          clamped <= shifted[7:0];
        end
      end
    end
  end

endmodule
