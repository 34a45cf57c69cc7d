# Which cases of a program of tests a build does not run, since others show the same: LEFT_OUT_NAME is a pattern of
# --gtest_filter. What a program itself skips is what the device has not, or what takes a software device long.

# leave_out(NAME... CASES pattern)
function(leave_out)
  cmake_parse_arguments(LEAVE "" "CASES" "" ${ARGN})
  foreach(name IN LISTS LEAVE_UNPARSED_ARGUMENTS)
    set(LEFT_OUT_${name} "${LEAVE_CASES}" PARENT_SCOPE)
  endforeach()
endfunction()

if(NOT BITNET_SANITIZE)
  # lavapipe has 8 lanes itself; engine_kernels_test_subgroups_of_16 and _of_4 run the others with that many lanes. What has
  # no integers is the same kernel with and without their dot product, and heads of 32 lanes are as those of 16 and 64.
  # Most of the time of these tests is that of lavapipe's compiler.
  leave_out(engine_kernels_test CASES
    *SubgroupsOf8:*SubgroupsOf16:*VulkanEmulated:*HasTheBits*GpuEmulated:*Shortlist*GpuInteger:*Sampling*GpuInteger:*AttentionEquals*GpuInteger:*HeadOfEveryType*GpuInteger:*Shortlist*SubgroupsOf32:*HeadOfEveryType*SubgroupsOf32:*OfARing*EmulatedMatrices)
  # Vulkan512 is as 16.
  leave_out(engine_session_test CASES *Rewinds*Vulkan512)
elseif(BITNET_SANITIZE STREQUAL thread)
  # These have no threads but a driver's, or those of the CPU's thread pool, which other tests show.
  leave_out(app_cast_test app_code_colors_test app_config_file_test app_exchange_test app_frame_pace_test
            app_hostile_gguf_test app_input_line_test app_keymap_test app_markdown_test app_options_test app_output_file_test
            app_part_file_test app_prompt_test app_store_fault_test app_text_test app_thinking_test
            app_transcript_test app_view_test app_word_wrap_test engine_cpu_blocks_test engine_cpu_kernels_test
            engine_cpu_linear_test engine_drafts_test engine_error_test engine_gguf_test engine_i2s_test
            engine_json_reader_test engine_layouts_test engine_model_test engine_piece_order_test engine_sampler_test
            engine_shared_memory_test engine_vk_fault_test shaders_test tokenizer_golden_test
            tokenizer_jinja_limits_test tokenizer_llama3_test tokenizer_pre_tokenizer_test tokenizer_spm_test
            tokenizer_tokenizer_test CASES *)
  # The threads of kernels are the driver's own, and those of the CPU, which are the same for every instruction set, so one
  # will do that every x86-64 CPU has. Vulkan has threads where an engine is opened, and a session on it has none but where
  # it reads the file. What a thread of the background does is the same for each type.
  leave_out(engine_kernels_test CASES *Vulkan*:*Gpu*:*Subgroups*:*EmulatedMatrices:*HostWeightsTest*:*Cpu_scalar*:*Cpu_avx*:*Cpu_amx*)
  leave_out(engine_engine_test CASES
    *EveryInstructionSet*:*KernelsForAGpu*:*WithAndWithout*:*AreSampledAlike*:*AnyBudget*:*EachWayToHostWeights*:*MayLieInHostMemory*)
  leave_out(engine_file_weights_test CASES *OtherTypes*:*OnVulkanEachWay*)
  leave_out(engine_hub_test CASES *TensorsThatAreNone*:*WeightsThatAreNone*)
  leave_out(engine_session_test CASES
    *KernelsForAGpu*:*/Vulkan:*/Vulkan16:*/Cpu512:*Rewinds*:*Windows.LongAnswers*:*States.TimelinesThatWereCut*:*States.Batches*)
  leave_out(engine_shortlist_test CASES *AnyDenseType*)
elseif(BITNET_SANITIZE MATCHES address)
  # AddressSanitizer does not look at shaders, and numbers are the release build's. Kernels for a GPU are recorded in the
  # tests of single kernels, of budgets and of what is observed; Cpu512 and Vulkan512 are as 16. What a session does with its
  # timeline and its guesses is the same on Vulkan as on the CPU, and weights lie in host memory and come from the file with
  # any budget too.
  leave_out(engine_engine_test CASES *EngineTest.*KernelsForAGpu*:*WithAndWithout*Vulkan:*EachWayToHostWeights*:*MayLieInHostMemory*)
  leave_out(engine_session_test CASES
    */Cpu512:*/Vulkan512:*Windows*Vulkan16:*Rewinds*Vulkan16:*States.*Vulkan:*ALongTextHasAState*:*EndsWhere*Vulkan:*BatchesOfAnySize*Vulkan:*GuessesChangeNothing*Vulkan)
  leave_out(engine_file_weights_test CASES *OtherTypes*:*OnVulkanEachWay*)
  leave_out(engine_vk_fault_test CASES
    *ReadInHostMemoryAreSubmittedInParts*:*IsNotTriedAgain*:*ADeviceWithoutInteger*:*ADeviceWithoutSubgroup*:*ADeviceWithoutDeviceScope*:*ADeviceWithFewInvocations*)
  # Of these only the shaders differ, or sessions have them recorded too.
  leave_out(engine_kernels_test CASES
    *RowsOf384:*Subgroups*:*Emulated:*EmulatedMatrices:*GpuMatrix:*Attention*GpuInteger:*ALinear*GpuInteger:*Sampling*GpuInteger:*Shortlist*GpuInteger)
endif()
