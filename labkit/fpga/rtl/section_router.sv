// Hands each beat of a job's stream to the layer that it is for.
//
// A job is one packet of 64-bit beats in sections, in this order and of these lengths:
//
//   0 header            2
//   1 conv1 parameters  CONV1_CHANNELS          bias and multiplier of a channel in each beat
//   2 conv1 weights     9 * CONV1_CHANNELS / 2  two taps, each of 3 int8 and a byte of padding
//   3 image             HEIGHT * WIDTH / 2      two pixels, each of 3 int8 and a byte of padding
//   4 conv2 parameters  CONV2_CHANNELS
//   5 conv2 weights     9 * CONV1_CHANNELS * CONV2_CHANNELS / 8
//   6 fc1 parameters    FC1_OUTPUTS
//   7 fc2 biases        FC2_OUTPUTS
//   8 fc1 weights       FC1_INPUTS * FC1_OUTPUTS / 8
//   9 fc2 weights       FC1_OUTPUTS * FC2_OUTPUTS / 8
//
// With weights that are streamed, the next image comes before the weights of fc1 for this one,
// so that its convolutions run meanwhile: 0 to 7, then for each image [3] 8 9. With RESIDENT
// weights: 0 to 9, then 3 for each further image.
//
// Ports   images: how many, held. in: the beats. out: the same, with one bit of valid and ready for
//         each section. at_first: the next beat of `in` is the first one. at_end: it is the last.
// Timing  Latency 1 cycle, one beat per cycle. No path from `out_ready` to `in_ready`.
// Lesson  the_network_as_a_pipeline.

module section_router #(
  parameter int HEIGHT         = 32,
  parameter int WIDTH          = 32,
  parameter int CONV1_CHANNELS = 32,
  parameter int CONV2_CHANNELS = 64,
  parameter int FC1_OUTPUTS    = 128,
  parameter int FC2_OUTPUTS    = 10,
  parameter bit RESIDENT       = 1'b0
) (
  input  logic        clk,
  input  logic        rst,
  input  logic [15:0] images,
  input  logic        in_valid,
  output logic        in_ready,
  input  logic [63:0] in_data,
  output logic [9:0]  out_valid,
  input  logic [9:0]  out_ready,
  output logic [63:0] out_data,
  output logic        at_first,
  output logic        at_end
);

  localparam int Fc1Inputs = (HEIGHT / 4) * (WIDTH / 4) * CONV2_CHANNELS;

  typedef enum logic [3:0] {
    Header,
    Conv1Parameters,
    Conv1Weights,
    Image,
    Conv2Parameters,
    Conv2Weights,
    Fc1Parameters,
    Fc2Biases,
    Fc1Weights,
    Fc2Weights
  } section_t;

  section_t    section;
  section_t    next_section;
  logic [23:0] beat;
  logic [23:0] last_beat;
  logic [15:0] images_in;  // whose pixels have come
  logic [15:0] weighed;    // that have got their weights of fc2
  logic        move;
  logic        end_of_section;
  logic        first_image;
  logic        last_image;
  logic        more_images;
  logic        last_weights;

  assign move           = in_valid && in_ready;
  assign end_of_section = beat == last_beat;
  assign at_first       = (section == Header) && (beat == '0);

  // Only the beat's own layer sees it. A skid buffer, for the layers' ready comes late in a cycle.
  logic       held_valid;
  logic [9:0] held_section;
  assign out_valid = held_valid ? held_section : '0;

  skid_buffer #(
    .WIDTH(10 + 64)
  ) u_beat (
    .clk      (clk),
    .rst      (rst),
    .in_valid (in_valid),
    .in_ready (in_ready),
    .in_data  ({10'd1 << section, in_data}),
    .out_valid(held_valid),
    .out_ready(|(held_section & out_ready)),
    .out_data ({held_section, out_data})
  );

  always_comb begin
    case (section)
      Header:          last_beat = 24'd1;
      Conv1Parameters: last_beat = 24'(CONV1_CHANNELS - 1);
      Conv1Weights:    last_beat = 24'(9 * CONV1_CHANNELS / 2 - 1);
      Image:           last_beat = 24'(HEIGHT * WIDTH / 2 - 1);
      Conv2Parameters: last_beat = 24'(CONV2_CHANNELS - 1);
      Conv2Weights:    last_beat = 24'(9 * CONV1_CHANNELS * CONV2_CHANNELS / 8 - 1);
      Fc1Parameters:   last_beat = 24'(FC1_OUTPUTS - 1);
      Fc2Biases:       last_beat = 24'(FC2_OUTPUTS - 1);
      Fc1Weights:      last_beat = 24'(Fc1Inputs * FC1_OUTPUTS / 8 - 1);
      default:         last_beat = 24'(FC1_OUTPUTS * FC2_OUTPUTS / 8 - 1);
    endcase
  end

  // What follows a section, and whether it can be the last one of the job.
  logic may_end;

  always_comb begin
    may_end = 1'b0;
    case (section)
      Header:          next_section = Conv1Parameters;
      Conv1Parameters: next_section = Conv1Weights;
      Conv1Weights:    next_section = Image;
      Conv2Parameters: next_section = Conv2Weights;
      Conv2Weights:    next_section = Fc1Parameters;
      Fc1Parameters:   next_section = Fc2Biases;
      Fc1Weights:      next_section = Fc2Weights;
      Image: begin
        if (first_image) begin
          next_section = Conv2Parameters;
        end else begin
          next_section = RESIDENT ? Image : Fc1Weights;
          may_end      = RESIDENT && last_image;
        end
      end
      Fc2Biases: next_section = (more_images && !RESIDENT) ? Image : Fc1Weights;
      default: begin
        next_section = more_images ? Image : Fc1Weights;
        may_end      = RESIDENT ? !more_images : last_weights;
      end
    endcase
  end

  assign at_end = end_of_section && may_end;

  // What the numbers of images say is asked for only at the end of a section, cycles later.
  always_ff @(posedge clk) begin
    first_image  <= images_in == '0;
    last_image   <= images_in + 16'd1 == images;
    more_images  <= images_in != images;
    last_weights <= weighed + 16'd1 == images;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      section   <= Header;
      beat      <= '0;
      images_in <= '0;
      weighed   <= '0;
    end else if (move) begin
      beat <= end_of_section ? '0 : beat + 1'b1;
      if (end_of_section) begin
        section <= next_section;
        if (section == Image) begin
          images_in <= images_in + 1'b1;
        end
        if (section == Fc2Weights) begin
          weighed <= weighed + 1'b1;
        end
      end
    end
  end

endmodule
