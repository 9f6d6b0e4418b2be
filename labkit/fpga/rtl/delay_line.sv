// Hands on what came in STEPS steps ago: it carries a flag beside a pipeline of that length.
//
// Ports   step: the registers move. d: what comes in. q: d of STEPS steps ago; 0 after a reset.
// Timing  Latency STEPS steps (at least 1).
// Lesson  a_multiply_accumulate_array.

module delay_line #(
  parameter int WIDTH = 1,
  parameter int STEPS = 2
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             step,
  input  logic [WIDTH-1:0] d,
  output logic [WIDTH-1:0] q
);

  // The newest lowest; each step moves all of them up by one.
  logic [(STEPS+1)*WIDTH-1:0] line;
  logic [STEPS*WIDTH-1:0]     held;
  assign line = {held, d};
  assign q    = line[STEPS*WIDTH+:WIDTH];

  always_ff @(posedge clk) begin
    if (rst) begin
      held <= '0;
    end else if (step) begin
      held <= line[STEPS*WIDTH-1:0];
    end
  end

endmodule
