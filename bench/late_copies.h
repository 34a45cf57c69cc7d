// Copies of weights to a device that arrive late: the linker puts the calls of late_copies.cpp before those
// of Vulkan's loader (--wrap, see CMakeLists.txt), and each submission of copies waits for up to two
// milliseconds. Where the device has a queue for copies, kernels run on meanwhile.
//
// Thread rule: one thread opens and closes devices, one at a time.
#pragma once

namespace bitnet {

void make_copies_late(bool late);  // of devices that are opened from here on

}  // namespace bitnet
