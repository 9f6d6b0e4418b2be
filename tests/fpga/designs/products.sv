// One product of each kind, by line: which of them are multipliers that can do any work?
module products (
    input logic clk,
    input logic [7:0] a, b,
    input logic [39:0] wide_a, wide_b,
    input logic one_bit,
    output logic [15:0] plain, square, twice, zero, constant, shifted,
    output logic [7:0] gated,
    output logic [79:0] wide,
    output logic [15:0] cleared
);
    logic [15:0] unseen;
    logic [7:0] weight;
    assign plain = a * b;             // line 14: stands
    assign square = a * a;            // line 15: stands
    assign twice = a * b;             // line 16: is that of line 14
    assign zero = a * 8'd0;           // line 17: is 0
    assign constant = a * 8'd37;      // line 18: stands, by a constant
    assign shifted = b * 8'd4;        // line 19: is wires
    assign gated = a * one_bit;       // line 20: stands, in LUTs
    assign wide = wide_a * wide_b;    // line 21: stands, in several DSPs
    assign unseen = b * b;            // line 22: nobody sees it
    always_ff @(posedge clk) weight <= 0;
    assign cleared = b * weight;      // line 24: a register that is never anything but 0
endmodule
