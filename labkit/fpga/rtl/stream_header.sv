// The first two beats of a job: which network they are for, and the shifts of its layers.
//
// Beat 0 is the NETWORK of this circuit; job_control compares it. Beat 1 has the shifts of conv1,
// conv2 and fc1 in its lowest three bytes.
//
// Ports   in: the two beats. conv1_shift, conv2_shift, fc1_shift: held until a reset.
// Timing  A beat per cycle; the shifts are there one cycle after beat 1.
// Lesson  the_network_as_a_pipeline.

module stream_header (
  input  logic        clk,
  input  logic        rst,
  input  logic        in_valid,
  output logic        in_ready,
  input  logic [63:0] in_data,
  output logic [4:0]  conv1_shift,
  output logic [4:0]  conv2_shift,
  output logic [4:0]  fc1_shift
);

  assign in_ready = 1'b1;

  logic unused_bits;
  assign unused_bits = &{1'b0, in_data[63:21], in_data[15:13], in_data[7:5]};

  // Whatever comes last stays: beat 1.
  always_ff @(posedge clk) begin
    if (rst) begin
      conv1_shift <= 5'd1;
      conv2_shift <= 5'd1;
      fc1_shift   <= 5'd1;
    end else if (in_valid) begin
      conv1_shift <= in_data[4:0];
      conv2_shift <= in_data[12:8];
      fc1_shift   <= in_data[20:16];
    end
  end

endmodule
