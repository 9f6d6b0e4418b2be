// Two registers in a stream: they cut the paths of valid, data and ready at full throughput.
//
// Whether the receiver stops is known to the sender one cycle late, as `in_ready` is a register.
// The word that is sent in that cycle goes into the spare register: it skids to a halt there.
//
// Ports   in, out: streams of WIDTH bits.
// Timing  Latency 1 cycle, one word per cycle. No path from `out_ready` to `in_ready`.
// Lesson  timing_and_proof.

module skid_buffer #(
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

  logic             spare_valid;
  logic [WIDTH-1:0] spare_data;
  logic             out_moves;

  assign in_ready  = !spare_valid;
  assign out_moves = !out_valid || out_ready;

  always_ff @(posedge clk) begin
    if (rst) begin
      out_valid   <= 1'b0;
      spare_valid <= 1'b0;
    end else if (out_moves) begin
      out_valid   <= in_valid || spare_valid;
      spare_valid <= 1'b0;
    end else if (in_valid) begin
      spare_valid <= 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    if (out_moves) begin
      out_data <= spare_valid ? spare_data : in_data;
    end
    if (in_ready) begin
      spare_data <= in_data;
    end
  end

endmodule
