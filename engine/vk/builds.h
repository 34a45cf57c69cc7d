// Which build of a kernel a device takes (shaders/kernels.cmake). For the functions of VulkanKernels that
// have a device `d` and an `integer_dot`.
#pragma once

#define SUBGROUPS(name) d.shared_subgroups() ? Shader::name##_shared : Shader::name
#define DOT(name) integer_dot ? Shader::name##_dot : Shader::name##_emulated
#define SUBGROUPS_DOT(name) d.shared_subgroups() ? Shader::name##_shared : DOT(name)
