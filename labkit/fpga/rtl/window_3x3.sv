// From a stream of pixels to the stream of their 3x3 windows, with a border of zeros.
//
// The pixels of an image come row by row. Behind each row the module puts a pixel of zeros, and
// behind each image a row of them: positions 0..HEIGHT by 0..WIDTH. The zeros behind one row are
// the border before the next one. At each position three pixels of a column enter on the right:
// the pixel itself, and from two line buffers those above it. The window around pixel
// (row - 1, col - 1) is complete at position (row, col).
//
// Ports   x: stream of pixels, PIXEL_BITS each (all channels of a pixel in one word).
//         window: stream of 9 pixels; tap 3 * r + s, r and s from 0 (top left), lowest first.
// Timing  At most one position per cycle. HEIGHT + WIDTH + 1 positions of an image give no window:
//         all those of row 0 and column 0.
// Lesson  a_convolution_as_a_stream.

module window_3x3 #(
  parameter int HEIGHT     = 32,
  parameter int WIDTH      = 32,
  parameter int PIXEL_BITS = 24
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    x_valid,
  output logic                    x_ready,
  input  logic [PIXEL_BITS-1:0]   x_data,
  output logic                    window_valid,
  input  logic                    window_ready,
  output logic [9*PIXEL_BITS-1:0] window_data
);

  localparam int RowBits = $clog2(HEIGHT + 1);
  localparam int ColBits = $clog2(WIDTH + 1);

  // The position that comes next, and whether it lies on the border of zeros.
  logic [RowBits-1:0] row;
  logic [ColBits-1:0] col;
  logic               last_row;
  logic               last_col;
  logic               border;

  assign last_row = row == RowBits'(HEIGHT);
  assign last_col = col == ColBits'(WIDTH);
  assign border   = last_row || last_col;

  // A step needs room for a window, and a pixel unless it is on the border.
  logic room;
  logic step;
  assign room    = !window_valid || window_ready;
  assign x_ready = room && !border;
  assign step    = room && (border || x_valid);

  always_ff @(posedge clk) begin
    if (rst) begin
      row <= '0;
      col <= '0;
    end else if (step) begin
      col <= last_col ? '0 : col + 1'b1;
      if (last_col) begin
        row <= last_row ? '0 : row + 1'b1;
      end
    end
  end

  // The column that enters. In row 0 the line buffers still hold rows of the image before, or
  // nothing at all: zeros take their place, and the next row finds these zeros two rows above.
  logic [PIXEL_BITS-1:0] bottom;
  logic [PIXEL_BITS-1:0] middle;
  logic [PIXEL_BITS-1:0] top;
  logic [PIXEL_BITS-1:0] one_row_ago;
  logic [PIXEL_BITS-1:0] two_rows_ago;

  assign bottom = border ? '0 : x_data;
  assign middle = (row == '0) ? '0 : one_row_ago;
  assign top    = (row == '0) ? '0 : two_rows_ago;

  line_buffer #(
    .WIDTH (PIXEL_BITS),
    .LENGTH(WIDTH + 1)
  ) u_row_above (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   (bottom),
    .q   (one_row_ago)
  );

  line_buffer #(
    .WIDTH (PIXEL_BITS),
    .LENGTH(WIDTH + 1)
  ) u_row_two_above (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   (middle),
    .q   (two_rows_ago)
  );

  // Three rows of three pixels; the left one lowest. Each step moves them left by one.
  logic [3*PIXEL_BITS-1:0] top_row;
  logic [3*PIXEL_BITS-1:0] middle_row;
  logic [3*PIXEL_BITS-1:0] bottom_row;
  assign window_data = {bottom_row, middle_row, top_row};

  always_ff @(posedge clk) begin
    if (step) begin
      top_row    <= {top, top_row[3*PIXEL_BITS-1:PIXEL_BITS]};
      middle_row <= {middle, middle_row[3*PIXEL_BITS-1:PIXEL_BITS]};
      bottom_row <= {bottom, bottom_row[3*PIXEL_BITS-1:PIXEL_BITS]};
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      window_valid <= 1'b0;
    end else if (room) begin
      window_valid <= step && (row != '0) && (col != '0);
    end
  end

endmodule
