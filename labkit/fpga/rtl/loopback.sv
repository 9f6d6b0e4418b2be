// A stream that comes back as it went in: the first design on a board.
//
// Ports   in, out: streams of WIDTH bits with `last`. It holds up to DEPTH words; DEPTH is a power
//         of two.
// Timing  Latency 1 cycle, one word per cycle. When DEPTH words wait at the way out, it takes no
//         more.
// Lesson  the_overlay.

module loopback #(
  parameter int WIDTH = 32,
  parameter int DEPTH = 16
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             in_valid,
  output logic             in_ready,
  input  logic [WIDTH-1:0] in_data,
  input  logic             in_last,
  output logic             out_valid,
  input  logic             out_ready,
  output logic [WIDTH-1:0] out_data,
  output logic             out_last
);

  stream_fifo #(
    .WIDTH(WIDTH + 1),
    .DEPTH(DEPTH)
  ) u_queue (
    .clk      (clk),
    .rst      (rst),
    .in_valid (in_valid),
    .in_ready (in_ready),
    .in_data  ({in_last, in_data}),
    .out_valid(out_valid),
    .out_ready(out_ready),
    .out_data ({out_last, out_data})
  );

endmodule
