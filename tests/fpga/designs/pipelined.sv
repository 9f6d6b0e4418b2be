module pipelined #(parameter int N = 4) (
    input logic clk, input logic rst,
    input logic in_valid, output logic in_ready, input logic [16*N-1:0] in_data,
    output logic out_valid, input logic out_ready, output logic signed [31:0] out_data
);
    logic signed [31:0] sum; logic signed [15:0] product [N]; logic full;
    always_comb begin
        sum = 0;
        for (int i = 0; i < N; i++)
            sum = sum + product[i];
    end
    assign in_ready = !out_valid || out_ready;
    always_ff @(posedge clk)
        if (rst) begin out_valid <= 0; full <= 0; end
        else if (in_ready) begin
            full <= in_valid;
            for (int i = 0; i < N; i++)
                product[i] <= $signed(in_data[16*i +: 8]) * $signed(in_data[16*i+8 +: 8]);
            out_valid <= full;
            out_data <= sum;
        end
endmodule
