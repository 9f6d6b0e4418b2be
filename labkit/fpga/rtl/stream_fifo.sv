// A small queue in a stream: the first word in is the first word out.
//
// Ports   in, out: streams of WIDTH bits. It holds up to DEPTH words; DEPTH is a power of two.
// Timing  Latency 1 cycle, one word per cycle. No path from `out_ready` to `in_ready`.
//         The memory is read in the same cycle, so synthesis makes it of LUTs.
// Lesson  timing_and_proof.

module stream_fifo #(
  parameter int WIDTH = 8,
  parameter int DEPTH = 4
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             in_valid,
  output logic             in_ready,
  input  logic [WIDTH-1:0] in_data,
  output logic             out_valid,
  input  logic             out_ready,
  output logic [WIDTH-1:0] out_data
);

  localparam int AddressBits = $clog2(DEPTH);

  if ((DEPTH < 2) || (DEPTH != 1 << AddressBits)) begin : gen_depth_refused
    $error("DEPTH must be a power of two");
  end

  logic [WIDTH-1:0]     words [DEPTH];
  // One bit more than an address: the pointers differ by DEPTH when the queue is full.
  logic [AddressBits:0] written;
  logic [AddressBits:0] taken;

  assign in_ready  = (written - taken) != (AddressBits + 1)'(DEPTH);
  assign out_valid = written != taken;
  assign out_data  = words[taken[AddressBits-1:0]];

  always_ff @(posedge clk) begin
    if (rst) begin
      written <= '0;
      taken   <= '0;
    end else begin
      if (in_valid && in_ready) begin
        written <= written + 1'b1;
      end
      if (out_valid && out_ready) begin
        taken <= taken + 1'b1;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (in_valid && in_ready) begin
      words[written[AddressBits-1:0]] <= in_data;
    end
  end

endmodule
