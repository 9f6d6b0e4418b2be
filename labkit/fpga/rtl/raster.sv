// Counts the positions of an image row by row: one more than it has pixels, in both directions.
//
// Rows go from 0 to HEIGHT, columns from 0 to WIDTH. The last row and the last column are the
// border of zeros: behind each row stands one zero, which is also the border before the next row,
// and behind each image a row of them.
//
// Ports   step: the position is done. first_row, first_col, border: where the position lies.
// Timing  The next position in the cycle after a step.
// Lesson  a_convolution_as_a_stream.

module raster #(
  parameter int HEIGHT = 32,
  parameter int WIDTH  = 32
) (
  input  logic clk,
  input  logic rst,
  input  logic step,
  output logic first_row,
  output logic first_col,
  output logic border
);

  localparam int RowBits = $clog2(HEIGHT + 1);
  localparam int ColBits = $clog2(WIDTH + 1);

  logic [RowBits-1:0] row;
  logic [ColBits-1:0] col;
  logic               last_row;
  logic               last_col;

  assign first_row = row == '0;
  assign first_col = col == '0;
  assign last_row  = row == RowBits'(HEIGHT);
  assign last_col  = col == ColBits'(WIDTH);
  assign border    = last_row || last_col;

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

endmodule
