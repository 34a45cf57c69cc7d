// Linked into AddressSanitizer builds: the Vulkan loader never unloads a driver or layer, so that a leak
// report can name the library it belongs to and tests/support/lsan.supp can tell ours from theirs.
extern "C" int dlclose(void*) { return 0; }
