// One register in a stream: it cuts the path of valid and data, not that of ready.
//
// Ports   in, out: streams of WIDTH bits.
// Timing  Latency 1 cycle, one word per cycle. `in_ready` follows `out_ready` within the same
//         cycle, so a chain of these has one long path through all its ready wires.
// Lesson  timing_and_proof.

module stream_register #(
  parameter int WIDTH = 8
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

  // There is room if the register is empty, or is emptied in this very cycle.
  assign in_ready = !out_valid || out_ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      out_valid <= 1'b0;
    end else if (in_ready) begin
      out_valid <= in_valid;
    end
  end

  always_ff @(posedge clk) begin
    if (in_valid && in_ready) begin
      out_data <= in_data;
    end
  end

endmodule
