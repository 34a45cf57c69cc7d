# Every compute kernel, a row each: kernel(NAME SOURCE KIND DEFINES...). The build makes spirv/NAME.spv of it and
# Shader::NAME in shaders.h, by which the engine finds it; so a new kernel is a new row. The kinds:
#   plain      as glslangValidator compiles it
#   optimised  also by spirv-opt, where that was measured to be faster: decode on a GPU
#   matrix     cooperative matrices, which khr_matrices.cpp turns from NV's extension into KHR's
# The names and the defines:
#   _dot, INTEGER_DOT          int8 is multiplied by the integer dot product; _emulated does without it
#   _shared, SHARED_SUBGROUPS  subgroups lie in shared memory (common/subgroup.glsl)
#   _unrolled, UNROLLED        loops over small arrays are unrolled. A GPU would otherwise keep the arrays in
#                              memory; a software device would compile for seconds and gain nothing
#   _add, ADD                  the result is added to the output
#   _gate_up, GATE_UP          the result is act(gate) * up
#   _groups, GROUPS            for matrices of groups with scales of their own (common/groups.glsl)
#
#      name                             source                      kind       defines
kernel(copy                             copy.comp                   plain)
kernel(embed                            embed.comp                  plain)
kernel(embed_ternary                    embed_ternary.comp          plain)
kernel(rms_norm                         rms_norm.comp               plain)
kernel(rms_norm_shared                  rms_norm.comp               plain      SHARED_SUBGROUPS)
kernel(rms_norm_quantise                rms_norm_quantise.comp      plain)
kernel(rms_norm_quantise_shared         rms_norm_quantise.comp      plain      SHARED_SUBGROUPS)
kernel(rms_norm_quantise_groups         rms_norm_quantise.comp      plain      GROUPS)
kernel(rms_norm_quantise_groups_shared  rms_norm_quantise.comp      plain      GROUPS SHARED_SUBGROUPS)
kernel(ternary_matvec_dot               ternary_matvec.comp         plain      INTEGER_DOT)
kernel(ternary_matvec_emulated          ternary_matvec.comp         plain)
kernel(ternary_matvec_shared            ternary_matvec.comp         plain      SHARED_SUBGROUPS)
kernel(ternary_matvec_add_dot           ternary_matvec.comp         plain      INTEGER_DOT ADD)
kernel(ternary_matvec_add_emulated      ternary_matvec.comp         plain      ADD)
kernel(ternary_matvec_add_shared        ternary_matvec.comp         plain      SHARED_SUBGROUPS ADD)
kernel(ternary_matvec_gate_up_dot       ternary_matvec.comp         plain      INTEGER_DOT GATE_UP)
kernel(ternary_matvec_gate_up_emulated  ternary_matvec.comp         plain      GATE_UP)
kernel(ternary_matvec_gate_up_shared    ternary_matvec.comp         plain      SHARED_SUBGROUPS GATE_UP)
kernel(ternary_matvec_groups_dot        ternary_matvec_groups.comp  plain      INTEGER_DOT)
kernel(ternary_matvec_groups_emulated   ternary_matvec_groups.comp  plain)
kernel(ternary_matvec_groups_shared     ternary_matvec_groups.comp  plain      SHARED_SUBGROUPS)
kernel(ternary_matmul_dot               ternary_matmul.comp         plain      UNROLLED INTEGER_DOT)
kernel(ternary_matmul_emulated          ternary_matmul.comp         plain)
kernel(ternary_matmul_add_dot           ternary_matmul.comp         plain      UNROLLED INTEGER_DOT ADD)
kernel(ternary_matmul_add_emulated      ternary_matmul.comp         plain      ADD)
kernel(ternary_matmul_gate_up_dot       ternary_matmul.comp         plain      UNROLLED INTEGER_DOT GATE_UP)
kernel(ternary_matmul_gate_up_emulated  ternary_matmul.comp         plain      GATE_UP)
kernel(ternary_matmul_matrix            ternary_matmul_matrix.comp  matrix     UNROLLED)
kernel(ternary_matmul_add_matrix        ternary_matmul_matrix.comp  matrix     UNROLLED ADD)
kernel(ternary_matmul_gate_up_matrix    ternary_matmul_matrix.comp  matrix     UNROLLED GATE_UP)
kernel(ternary_matmul_groups_dot        ternary_matmul_groups.comp  plain      UNROLLED INTEGER_DOT)
kernel(ternary_matmul_groups_emulated   ternary_matmul_groups.comp  plain)
kernel(rope_store_kv                    rope_store_kv.comp          plain)
kernel(attention                        attention.comp              plain)
kernel(attention_unrolled               attention.comp              plain      UNROLLED)
kernel(decode_dot                       decode.comp                 plain      INTEGER_DOT)
kernel(decode_emulated                  decode.comp                 plain)
kernel(decode_dot_unrolled              decode.comp                 optimised  UNROLLED INTEGER_DOT)
kernel(decode_emulated_unrolled         decode.comp                 optimised  UNROLLED)
kernel(decode_shared                    decode.comp                 plain      SHARED_SUBGROUPS)
kernel(head                             head.comp                   plain)
kernel(head_shared                      head.comp                   plain      SHARED_SUBGROUPS)
kernel(head_blocks                      head_blocks.comp            plain)
kernel(head_blocks_unrolled             head_blocks.comp            plain      UNROLLED)
kernel(head_blocks_shared               head_blocks.comp            plain      SHARED_SUBGROUPS)
kernel(argmax                           argmax.comp                 plain)
kernel(argmax_merge                     argmax.comp                 plain      MERGE)
kernel(sample_count                     sample_count.comp           plain)
kernel(sample_collect                   sample_collect.comp         plain)
kernel(sample_choose                    sample_choose.comp          plain)
