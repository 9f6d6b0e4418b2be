// A 3x3 convolution of a stream of pixels, stride 1, padding 1: int8 * int8 -> int32 sums.
//
//   y[k, i, j] = sum over c, r, s of w[k, c, r, s] * x[c, i + r - 1, j + s - 1]
//
// A window is held while the array works through it in FOLD steps, each with LANES output channels
// and PRODUCTS = 9 * CHANNEL_LANES products. The two knobs are what buys time with multipliers:
// CHANNEL_LANES divides IN_CHANNELS, LANES divides OUT_CHANNELS.
//
// Ports   w: stream of weights, before the first pixel. A word has CHANNEL_LANES int8: one tap of
//         one output channel. In words, from the outside in: output channels in groups of LANES,
//         input channels in groups of CHANNEL_LANES, the channels of the output group, 9 taps.
//         A reset asks for new weights.
//         x: stream of pixels of IN_CHANNELS int8, row by row, image after image.
//         y: stream of LANES int32; for each pixel the output channels in groups of LANES.
// Timing  Weights 9 * LANES * FOLD cycles; an image HEIGHT * WIDTH * FOLD + HEIGHT + WIDTH + 1;
//         once 5 + $clog2(PRODUCTS). FOLD = (OUT_CHANNELS / LANES) * (IN_CHANNELS / CHANNEL_LANES).
// Lesson  a_convolution_as_a_stream.

module conv3x3 #(
  parameter  int HEIGHT        = 32,
  parameter  int WIDTH         = 32,
  parameter  int IN_CHANNELS   = 3,
  parameter  int OUT_CHANNELS  = 32,
  parameter  int CHANNEL_LANES = 3,
  parameter  int LANES         = 1,
  localparam int WEIGHT_BITS   = CHANNEL_LANES * 8,
  localparam int PIXEL_BITS    = IN_CHANNELS * 8
) (
  input  logic                   clk,
  input  logic                   rst,
  input  logic                   w_valid,
  output logic                   w_ready,
  input  logic [WEIGHT_BITS-1:0] w_data,
  input  logic                   x_valid,
  output logic                   x_ready,
  input  logic [PIXEL_BITS-1:0]  x_data,
  output logic                   y_valid,
  input  logic                   y_ready,
  output logic [LANES*32-1:0]    y_data
);

  localparam int Products      = 9 * CHANNEL_LANES;
  localparam int ChannelGroups = IN_CHANNELS / CHANNEL_LANES;
  localparam int Fold          = (OUT_CHANNELS / LANES) * ChannelGroups;
  localparam int GroupBits     = (ChannelGroups > 1) ? $clog2(ChannelGroups) : 1;
  localparam int FoldBits      = (Fold > 1) ? $clog2(Fold) : 1;

  if (IN_CHANNELS % CHANNEL_LANES != 0) begin : gen_channel_lanes_refused
    $error("CHANNEL_LANES must divide IN_CHANNELS");
  end
  if (OUT_CHANNELS % LANES != 0) begin : gen_lanes_refused
    $error("LANES must divide OUT_CHANNELS");
  end

  // ---- The windows. No pixel enters before all weights are there.
  logic                    all_weights;
  logic                    pixel_ready;
  logic                    window_valid;
  logic                    window_ready;
  logic [9*PIXEL_BITS-1:0] window;

  assign x_ready = pixel_ready && all_weights;

  window_3x3 #(
    .HEIGHT    (HEIGHT),
    .WIDTH     (WIDTH),
    .PIXEL_BITS(PIXEL_BITS)
  ) u_window (
    .clk         (clk),
    .rst         (rst),
    .x_valid     (x_valid && all_weights),
    .x_ready     (pixel_ready),
    .x_data      (x_data),
    .window_valid(window_valid),
    .window_ready(window_ready),
    .window_data (window)
  );

  // ---- The fold: which output channels (the memories' address) and input channels come next.
  logic                 issue;
  logic                 operands_ready;
  logic [FoldBits-1:0]  fold;
  logic [GroupBits-1:0] group;
  logic                 last_fold;
  logic                 last_group;

  assign last_fold    = fold == FoldBits'(Fold - 1);
  assign last_group   = group == GroupBits'(ChannelGroups - 1);
  assign issue        = window_valid && operands_ready;
  assign window_ready = operands_ready && last_fold;

  always_ff @(posedge clk) begin
    if (rst) begin
      fold  <= '0;
      group <= '0;
    end else if (issue) begin
      fold  <= last_fold ? '0 : fold + 1'b1;
      group <= last_group ? '0 : group + 1'b1;
    end
  end

  // ---- The operands: the group's input channels of each tap, and their weights.
  logic                        operands_valid;
  logic                        operands_last;
  logic                        array_ready;
  logic [Products*8-1:0]       inputs;
  logic [LANES*Products*8-1:0] weights;

  assign operands_ready = !operands_valid || array_ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      operands_valid <= 1'b0;
      operands_last  <= 1'b0;
    end else if (operands_ready) begin
      operands_valid <= window_valid;
      operands_last  <= last_group;
    end
  end

  for (genvar tap = 0; tap < 9; tap++) begin : gen_taps
    logic [PIXEL_BITS-1:0] pixel;
    assign pixel = window[tap*PIXEL_BITS+:PIXEL_BITS];
    always_ff @(posedge clk) begin
      if (issue) begin
        inputs[tap*WEIGHT_BITS+:WEIGHT_BITS] <= pixel[group*WEIGHT_BITS+:WEIGHT_BITS];
      end
    end
  end

  memory_bank #(
    .WIDTH   (WEIGHT_BITS),
    .MEMORIES(9 * LANES),
    .DEPTH   (Fold)
  ) u_weights (
    .clk    (clk),
    .rst    (rst),
    .w_valid(w_valid),
    .w_ready(w_ready),
    .w_data (w_data),
    .full   (all_weights),
    .read   (issue),
    .address(fold),
    .words  (weights)
  );

  // ---- The sums.
  mac_array #(
    .LANES   (LANES),
    .PRODUCTS(Products)
  ) u_array (
    .clk        (clk),
    .rst        (rst),
    .terms_valid(operands_valid),
    .terms_ready(array_ready),
    .terms_data ({weights, inputs}),
    .terms_last (operands_last),
    .y_valid    (y_valid),
    .y_ready    (y_ready),
    .y_data     (y_data)
  );

endmodule
