// A file of stimuli: a JSON array of objects that have root, pattern, expected_surface and prompts {template:
// text}, all texts. What else they have is not looked at.
//
// Thread rule: free functions and values; any thread.
#pragma once

#include <string>
#include <vector>

namespace bitnet {

struct Stimulus {
  size_t index = 0;  // in the file
  std::string root, pattern, expected;
  std::string prompt;  // of the template
};

struct Stimuli {
  std::vector<Stimulus> rows;
  std::string sha256;  // of the file
};
// The bytes of the file, which may be a pipe of the shell: it can be read only once.
std::string read_stimuli_file(const std::string& path);
// The first `limit` (0: all) of these bytes. Throws Error(usage) that names the file, the stimulus and the
// key.
Stimuli read_stimuli(const std::string& bytes, const std::string& path, const std::string& of_template,
                     size_t limit);

// A continuation is compared without the white space and the ASCII punctuation around it, without any white
// space in it, and in lower case.
struct AnswerMatch {
  bool exact = false, contains = false;
};
AnswerMatch match_of(const std::string& generated, const std::string& expected);

std::string trimmed(const std::string& text);  // without white space at its ends

}  // namespace bitnet
