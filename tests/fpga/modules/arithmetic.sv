// Signed arithmetic without a clock: the products, shifts and comparisons that int8 layers use.
module arithmetic (
    input  logic signed [ 7:0] a,
    input  logic signed [ 7:0] b,
    input  logic        [ 3:0] s,
    output logic signed [15:0] product,
    output logic signed [ 8:0] sum,
    output logic signed [15:0] shifted,
    output logic signed [ 7:0] larger,
    output logic signed [ 7:0] relu,
    output logic signed [ 7:0] halved,
    output logic               less
);
  assign product = a * b;
  assign sum = 9'(a) + 9'(b);
  assign shifted = product >>> s;
  assign larger = a > b ? a : b;
  assign relu = a[7] ? 8'sd0 : a;
  assign halved = a / 8'sd2;
  assign less = a < b;
endmodule
