// Wide buses: bytes of a 520-bit word in the other order, and what lies between limbs of 32 bits.
module wide (
    input  logic                clk,
    input  logic        [519:0] a,
    input  logic signed [ 64:0] b,
    input  logic        [ 63:0] c,
    output logic        [519:0] reversed,
    output logic signed [ 64:0] negated,
    output logic        [ 63:0] rotated,
    output logic        [ 32:0] product,
    output logic                parity
);
  for (genvar i = 0; i < 65; i++) begin : g_byte
    assign reversed[8*i+:8] = a[8*(64-i)+:8];
  end
  always_ff @(posedge clk) begin
    negated <= -b;
    rotated <= {c[0], c[63:1]};
    product <= {17'd0, c[15:0]} * {17'd0, c[31:16]};
  end
  assign parity = ^a;
endmodule
