module multiply_add #(parameter int N = 4) (
    input logic clk, input logic rst,
    input logic in_valid, output logic in_ready, input logic [16*N-1:0] in_data,
    output logic out_valid, input logic out_ready, output logic signed [31:0] out_data
);
    logic signed [31:0] sum;
    always_comb begin
        sum = 0;
        for (int i = 0; i < N; i++)
            sum = sum + $signed(in_data[16*i +: 8]) * $signed(in_data[16*i+8 +: 8]);
    end
    assign in_ready = !out_valid || out_ready;
    always_ff @(posedge clk)
        if (rst) out_valid <= 0;
        else if (in_ready) begin
            out_valid <= in_valid;
            out_data <= sum;
        end
endmodule
