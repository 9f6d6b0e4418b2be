// 2x2 max pooling of a stream of pixels, stride 2: the largest of four pixels, for each channel.
//
// A pixel comes as GROUPS words of LANES int8. A memory holds the best so far of each square of
// the current two rows; the fourth pixel of a square ends it.
//
// Ports   x: stream of int8 pixels, row by row. y: stream of the pooled ones.
//         HEIGHT and WIDTH are even, WIDTH is 4 or more.
// Timing  One word of x per cycle, one word of y for four of x; it comes 2 cycles after the last of
//         the four: fetch, compare. While y waits, everything stands still.
// Lesson  a_convolution_as_a_stream.

module maxpool2x2 #(
  parameter int HEIGHT = 32,
  parameter int WIDTH  = 32,
  parameter int GROUPS = 32,
  parameter int LANES  = 1
) (
  input  logic               clk,
  input  logic               rst,
  input  logic               x_valid,
  output logic               x_ready,
  input  logic [LANES*8-1:0] x_data,
  output logic               y_valid,
  input  logic               y_ready,
  output logic [LANES*8-1:0] y_data
);

  localparam int GroupBits   = (GROUPS > 1) ? $clog2(GROUPS) : 1;
  localparam int ColBits     = $clog2(WIDTH);
  localparam int RowBits     = $clog2(HEIGHT);
  localparam int AddressBits = ColBits - 1 + GroupBits;

  if ((HEIGHT % 2 != 0) || (WIDTH % 2 != 0) || (WIDTH < 4)) begin : gen_odd_refused
    $error("HEIGHT and WIDTH must be even, WIDTH 4 or more");
  end

  // Everything moves together, unless a result waits to be taken.
  logic step;
  logic take;
  assign step    = !y_valid || y_ready;
  assign x_ready = step;
  assign take    = x_valid && step;

  // ---- Stage 1: fetch. Where the word that comes next belongs.
  logic [GroupBits-1:0]   group;
  logic [ColBits-1:0]     col;
  logic [RowBits-1:0]     row;
  logic                   last_group;
  logic                   last_col;
  logic                   last_row;
  logic                   first_of_square;
  logic                   last_of_square;
  logic [AddressBits-1:0] address;

  assign last_group      = group == GroupBits'(GROUPS - 1);
  assign last_col        = col == ColBits'(WIDTH - 1);
  assign last_row        = row == RowBits'(HEIGHT - 1);
  assign first_of_square = !row[0] && !col[0];
  assign last_of_square  = row[0] && col[0];
  assign address         = {col[ColBits-1:1], group};

  always_ff @(posedge clk) begin
    if (rst) begin
      group <= '0;
      col   <= '0;
      row   <= '0;
    end else if (take) begin
      group <= last_group ? '0 : group + 1'b1;
      if (last_group) begin
        col <= last_col ? '0 : col + 1'b1;
      end
      if (last_group && last_col) begin
        row <= last_row ? '0 : row + 1'b1;
      end
    end
  end

  // ---- Stage 2: the best so far, and with the word that was fetched for. With a word for a pixel,
  // the left one of a pair is not in the memory yet when its neighbour is fetched for: it is in y.
  logic                   fetched;
  logic                   ends;
  logic                   begins;
  logic                   in_y;
  logic [AddressBits-1:0] place;
  logic [LANES*8-1:0]     word;
  logic [LANES*8-1:0]     kept;
  logic [LANES*8-1:0]     so_far;
  logic [LANES*8-1:0]     larger;
  assign so_far = in_y ? y_data : kept;

  always_ff @(posedge clk) begin
    if (step) begin
      ends   <= last_of_square;
      begins <= first_of_square;
      in_y   <= (GROUPS == 1) && col[0];
      place  <= address;
      word   <= x_data;
    end
  end

  memory #(
    .WIDTH  (LANES * 8),
    .DEPTH  (1 << AddressBits),
    .IN_LUTS(1'b1)
  ) u_best (
    .clk          (clk),
    .write        (step && fetched),
    .write_address(place),
    .write_data   (larger),
    .read         (step),
    .read_address (address),
    .read_data    (kept)
  );

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
    logic signed [7:0] x;
    logic signed [7:0] old;
    assign x   = word[lane*8+:8];
    assign old = so_far[lane*8+:8];
    assign larger[lane*8+:8] = (begins || (x > old)) ? x : old;
  end

  always_ff @(posedge clk) begin
    if (step && fetched) begin
      y_data <= larger;
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      fetched <= 1'b0;
      y_valid <= 1'b0;
    end else if (step) begin
      fetched <= x_valid;
      y_valid <= fetched && ends;
    end
  end

endmodule
