// A state machine and an instance: pairs of bytes become one word of 16 bits.
module packer (
    input  logic        clk,
    input  logic        rst,
    input  logic        x_valid,
    output logic        x_ready,
    input  logic [ 7:0] x_data,
    output logic        y_valid,
    input  logic        y_ready,
    output logic [15:0] y_data
);
  typedef enum logic {LOW, HIGH} state_t;
  state_t state;
  logic [7:0] low;
  logic pair_valid, pair_ready;
  assign x_ready = state == LOW || pair_ready;
  assign pair_valid = state == HIGH && x_valid;
  always_ff @(posedge clk) begin
    if (rst) state <= LOW;
    else if (x_valid && x_ready) begin
      state <= state == LOW ? HIGH : LOW;
      if (state == LOW) low <= x_data;
    end
  end
  packer_stage stage0 (
      .clk, .rst,
      .x_valid(pair_valid), .x_ready(pair_ready), .x_data({x_data, low}),
      .y_valid, .y_ready, .y_data
  );
endmodule

module packer_stage (
    input  logic        clk,
    input  logic        rst,
    input  logic        x_valid,
    output logic        x_ready,
    input  logic [15:0] x_data,
    output logic        y_valid,
    input  logic        y_ready,
    output logic [15:0] y_data
);
  assign x_ready = !y_valid || y_ready;
  always_ff @(posedge clk) begin
    if (rst) y_valid <= 0;
    else if (x_ready) begin
      y_valid <= x_valid;
      y_data <= x_data;
    end
  end
endmodule
