// Makes pixels brighter: each word of a stream plus `amount`, and at most 255.
//
// Ports   in, out: streams of a byte with `last`. amount: an unsigned byte; it may change between
//         two packets.
// Timing  Latency 1 cycle, one word per cycle.
// Lesson  the_overlay.

module brighten (
  input  logic       clk,
  input  logic       rst,
  input  logic       in_valid,
  output logic       in_ready,
  input  logic [7:0] in_data,
  input  logic       in_last,
  output logic       out_valid,
  input  logic       out_ready,
  output logic [7:0] out_data,
  output logic       out_last,
  input  logic [7:0] amount
);

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
      out_last <= in_last;
      out_data <= (in_data > 8'd255 - amount) ? 8'd255 : in_data + amount;
    end
  end

endmodule
