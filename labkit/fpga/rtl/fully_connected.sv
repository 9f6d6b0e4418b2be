// A fully connected layer whose weights arrive as a stream: y[k] = sum over d of w[k, d] * x[d].
//
// A word of PRODUCTS inputs is held while weights for all outputs pass, LANES outputs per word.
// A memory has the sums of all outputs. So no weight is kept, and inputs may come slowly, in the
// order in which the layer before makes them.
//
// Ports   x: stream of PRODUCTS int8; INPUTS / PRODUCTS words for each image.
//         w: stream of LANES times PRODUCTS int8, lane 0 lowest; for each word of x the outputs in
//         groups of LANES.
//         y: stream of LANES int32: the outputs in groups of LANES.
// Timing  One word of w per cycle: INPUTS * OUTPUTS / (LANES * PRODUCTS) cycles for an image, and
//         3 + $clog2(PRODUCTS) once. A word of x is taken with the last of its weights.
// Lesson  a_multiply_accumulate_array.

module fully_connected #(
  parameter int INPUTS   = 4096,
  parameter int OUTPUTS  = 128,
  parameter int PRODUCTS = 1,
  parameter int LANES    = 8
) (
  input  logic                        clk,
  input  logic                        rst,
  input  logic                        x_valid,
  output logic                        x_ready,
  input  logic [PRODUCTS*8-1:0]       x_data,
  input  logic                        w_valid,
  output logic                        w_ready,
  input  logic [LANES*PRODUCTS*8-1:0] w_data,
  output logic                        y_valid,
  input  logic                        y_ready,
  output logic [LANES*32-1:0]         y_data
);

  localparam int Words     = INPUTS / PRODUCTS;
  localparam int Groups    = OUTPUTS / LANES;
  localparam int WordBits  = (Words > 1) ? $clog2(Words) : 1;
  localparam int GroupBits = (Groups > 1) ? $clog2(Groups) : 1;
  localparam int DotSteps  = 2 + $clog2(PRODUCTS);
  localparam int DotBits   = 16 + $clog2(PRODUCTS);

  if (INPUTS % PRODUCTS != 0) begin : gen_products_refused
    $error("PRODUCTS must divide INPUTS");
  end
  if (OUTPUTS % LANES != 0) begin : gen_lanes_refused
    $error("LANES must divide OUTPUTS");
  end

  // Which word of x, and which group of outputs.
  logic [WordBits-1:0]  word;
  logic [GroupBits-1:0] group;
  logic                 first_word;
  logic                 last_word;
  logic                 last_group;
  assign first_word = word == '0;
  assign last_word  = word == WordBits'(Words - 1);
  assign last_group = group == GroupBits'(Groups - 1);

  // Everything moves together, unless finished sums wait to be taken.
  logic step;
  logic terms_valid;
  assign step        = !y_valid || y_ready;
  assign terms_valid = x_valid && w_valid;
  assign w_ready     = step && x_valid;
  assign x_ready     = step && w_valid && last_group;

  always_ff @(posedge clk) begin
    if (rst) begin
      word  <= '0;
      group <= '0;
    end else if (step && terms_valid) begin
      group <= last_group ? '0 : group + 1'b1;
      if (last_group) begin
        word <= last_word ? '0 : word + 1'b1;
      end
    end
  end

  // The dot products, and beside them which sums they belong to.
  logic [LANES*DotBits-1:0] dots;
  logic                     dots_valid;
  logic                     dots_first;
  logic                     dots_last;
  logic [GroupBits-1:0]     dots_group;

  dot_products #(
    .LANES   (LANES),
    .PRODUCTS(PRODUCTS)
  ) u_dot_products (
    .clk (clk),
    .step(step),
    .x   (x_data),
    .w   (w_data),
    .sums(dots)
  );

  delay_line #(
    .WIDTH(GroupBits + 3),
    .STEPS(DotSteps)
  ) u_flags (
    .clk (clk),
    .rst (rst),
    .step(step),
    .d   ({group, last_word, first_word, terms_valid}),
    .q   ({dots_group, dots_last, dots_first, dots_valid})
  );

  // The sums of all outputs: read, added to, and written in one cycle.
  logic [LANES*32-1:0] sums [Groups];
  logic [LANES*32-1:0] old;
  logic [LANES*32-1:0] total;
  assign old = sums[dots_group];

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
    logic signed [DotBits-1:0] dot;
    logic signed [31:0]        so_far;
    assign dot    = dots[lane*DotBits+:DotBits];
    assign so_far = dots_first ? 32'sd0 : old[lane*32+:32];
    assign total[lane*32+:32] = so_far + 32'(dot);
  end

  always_ff @(posedge clk) begin
    if (step && dots_valid) begin
      sums[dots_group] <= total;
      y_data           <= total;
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      y_valid <= 1'b0;
    end else if (step) begin
      y_valid <= dots_valid && dots_last;
    end
  end

endmodule
