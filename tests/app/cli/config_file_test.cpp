#include "app/cli/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/cli/cli_help.h"
#include "app/cli/option_table.h"
#include "engine/error.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("BITNET_CHAT_MODEL");
    unsetenv("NO_COLOR");
    std::string pattern = (fs::temp_directory_path() / "bitnet-config-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ / "config";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  Options parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "bitnet-chat");
    return parse_options(static_cast<int>(arguments.size()), arguments.data(), path_);
  }

  std::string refusal(const std::string& text) {
    write(text);
    try {
      parse({});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      const std::string file = path_.string() + ":";
      EXPECT_TRUE(std::string(error.what()).starts_with(file)) << error.what();
      return std::string(error.what()).substr(file.size());
    }
    ADD_FAILURE() << "accepted: " << text;
    return "";
  }

  fs::path folder_;
  fs::path path_;
};

TEST_F(ConfigFile, SetsWhatTheCommandLineSets) {
  write(
      "\xEF\xBB\xBF# a comment\r\n\r\n  temp = 0.5\r\ntop_k=3\nmax-tokens =   9\n"
      "system = \" two\\nlines \"\nstop = a # b\nstop = \"c\"\nprivate = on\nverbose = yes\noutput = jsonl");
  const Options o = parse({});
  const ChatSettings s = settings_from(o, interactive_settings());
  EXPECT_EQ(s.sampler.temperature, 0.5F);
  EXPECT_EQ(s.sampler.top_k, 3U);
  EXPECT_EQ(s.max_tokens, 9U);
  EXPECT_EQ(s.system, " two\nlines ");
  EXPECT_EQ(s.stop, (std::vector<std::string>{"a # b", "c"}));
  EXPECT_TRUE(o.is_private);
  EXPECT_TRUE(o.verbose);
  EXPECT_EQ(o.output, OutputForm::jsonl);
}

TEST_F(ConfigFile, HelpDoesNotNeedIt) {
  write("frob\n");
  EXPECT_EQ(parse({"help"}).print_and_exit, parse({"--help"}).print_and_exit);
  EXPECT_EQ(parse({"help", "list"}).print_and_exit, parse({"list", "--help"}).print_and_exit);
}

TEST_F(ConfigFile, AContextOfZeroIsTheUsualOne) {
  write("ctx = 0\n");
  EXPECT_EQ(parse({}).ctx, 0U);
}

TEST_F(ConfigFile, TheCommandLineWins) {
  write("temp = 0.5\nstop = a\nprivate = on\nno-color = on\nmodel = /m.gguf\nctx = 5\n");
  const Options o =
      parse({"--temp", "0.25", "--stop", "b", "--private=off", "--no-color=off", "mine", "--ctx", "6"});
  const ChatSettings s = settings_from(o, interactive_settings());
  EXPECT_EQ(s.sampler.temperature, 0.25F);
  EXPECT_EQ(s.stop, std::vector<std::string>{"b"});
  EXPECT_FALSE(o.is_private);
  EXPECT_FALSE(o.no_color);
  EXPECT_EQ(o.model, "mine");
  EXPECT_EQ(o.ctx, 6U);
  EXPECT_FALSE(parse({"--db", "x"}).is_private);
  write("db = /x.db\n");
  EXPECT_EQ(parse({"--private"}).db, "");
  EXPECT_EQ(parse({"--private=off"}).db, "/x.db");
}

TEST_F(ConfigFile, TheEnvironmentAndAReplayHaveTheirOwnModel) {
  write("model = /m.gguf\n");
  EXPECT_EQ(parse({}).model, "/m.gguf");
  EXPECT_EQ(parse({"info"}).model, "/m.gguf");
  EXPECT_EQ(parse({"replay", "3", "--verify"}).model, "");
  EXPECT_EQ(parse({"list"}).mode, Mode::list);
  setenv("BITNET_CHAT_MODEL", "/e.gguf", 1);
  EXPECT_EQ(parse({}).model, "");
  unsetenv("BITNET_CHAT_MODEL");
}

TEST_F(ConfigFile, AnEnvironmentWithoutColoursHasNoThemeOfTheFile) {
  write("theme = dark\n");
  EXPECT_EQ(parse({}).theme, "dark");
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(parse({}).theme, "");
  EXPECT_EQ(parse({"--theme", "light"}).theme, "light");
  setenv("NO_COLOR", "", 1);
  EXPECT_EQ(parse({}).theme, "dark");
  unsetenv("NO_COLOR");
}

TEST_F(ConfigFile, FilesAreFoundFromTheFolderOfTheConfigFile) {
  std::ofstream(folder_ / "m.gguf") << "x";
  write("model = m.gguf\nsystem = @sub/prompt.txt\ndb = ~/chats.db\nchat-template = /t\n");
  const Options o = parse({});
  EXPECT_EQ(o.model, (folder_ / "m.gguf").string());
  EXPECT_EQ(o.system, "@" + (folder_ / "sub/prompt.txt").string());
  EXPECT_EQ(o.db, std::string(std::getenv("HOME")) + "/chats.db");
  EXPECT_EQ(o.chat_template, "/t");
  write("model = owner/name\n");
  EXPECT_EQ(parse({}).model, "owner/name");
}

// It may say that nothing is to be saved.
TEST_F(ConfigFile, OneThatCannotBeReadIsNotPassedOver) {
  fs::create_symlink(path_, path_);
  try {
    parse({});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr(path_.string() + ": cannot be read: Too many levels"));
    EXPECT_THAT(error.what(), HasSubstr("--config /dev/null"));
  }
  EXPECT_NO_THROW(parse({"--config", "/dev/null"}));
  fs::remove(path_);
  fs::create_symlink("loop", folder_ / "loop");
  write("model = loop/m.gguf\n");
  EXPECT_EQ(parse({}).model, (folder_ / "loop/m.gguf").string());
}

TEST_F(ConfigFile, ErrorsNameLineAndKey) {
  EXPECT_EQ(refusal("\n# x\ntemp = nan\n"), "3: temp: wanted 0 to 100, found 'nan'");
  EXPECT_EQ(refusal("temp = inf"), "1: temp: wanted 0 to 100, found 'inf'");
  EXPECT_EQ(refusal("temp ="), "1: temp: wanted 0 to 100, found ''");
  EXPECT_EQ(refusal("ctx = -1"), "1: ctx: wanted 0 to 16777216, found '-1'");
  EXPECT_EQ(refusal("ctx = 4096x"), "1: ctx: wanted 0 to 16777216, found '4096x'");
  EXPECT_EQ(refusal("top_p = 1.5"), "1: top_p: wanted more than 0, up to 1, found '1.5'");
  EXPECT_EQ(refusal("private = maybe"), "1: private: wanted on or off, found 'maybe'");
  EXPECT_EQ(refusal("output = xml"), "1: output: wanted one of text, tui, jsonl, found 'xml'");
  EXPECT_EQ(refusal("tmep = 1"), "1: there is no key 'tmep'; did you mean temp?");
  EXPECT_THAT(refusal("frobnicate = 1"), HasSubstr("bitnet-chat print config"));
  EXPECT_THAT(refusal("prompt = hi"), HasSubstr("for the command line"));
  EXPECT_THAT(refusal("temp = 1 # warm"), HasSubstr("a comment has a line of its own"));
  EXPECT_EQ(refusal("temp = 1\nseed = 2\ntemp = 1"), "3: temp is set in line 1 already");
  EXPECT_THAT(refusal("system = \"a"), HasSubstr("between two \""));
  EXPECT_THAT(refusal("hello \x1b[2J"), HasSubstr("wanted KEY = VALUE, found 'hello <U+001B>"));
  EXPECT_THAT(refusal(std::string("temp\0 = 1", 9)), HasSubstr("wanted a config file"));
  EXPECT_THAT(refusal(std::string((16 << 20) + 1, '#')), HasSubstr("is longer than 16 MiB"));
}

TEST_F(ConfigFile, OnlyANamedFileHasToBeThere) {
  EXPECT_EQ(parse({}).mode, Mode::chat);
  const std::string missing = folder_ / "missing";
  EXPECT_THROW(parse({"--config", missing.c_str()}), Error);
  EXPECT_THROW(parse({"--config", folder_.c_str()}), Error);
  write("temp = nan\n");
  EXPECT_EQ(parse({"--config", "/dev/null"}).mode, Mode::chat);
  EXPECT_EQ(parse({"print", "config"}).mode, Mode::print);
}

TEST_F(ConfigFile, TheExampleHasEveryKeyAndIsValid) {
  std::string text = example_config();
  parse({});
  write(text);
  EXPECT_TRUE(parse({}).settings.empty());
  size_t keys = 0;
  for (const OptionGroup& group : option_groups()) {
    for (const OptionRow& row : group.rows) {
      if (row.example == nullptr) continue;
      const std::string commented = "\n#" + option_key(row) + " = ";
      const size_t at = text.find(commented);
      ASSERT_NE(at, std::string::npos) << option_key(row);
      text.erase(at + 1, 1);
      ++keys;
    }
  }
  EXPECT_GE(keys, 20U);
  write(text);
  EXPECT_EQ(parse({}).threads, 4U);
  // What it shows as defaults are the defaults.
  ChatSettings s = settings_from(parse({}), interactive_settings());
  const ChatSettings defaults = interactive_settings();
  EXPECT_EQ(s.sampler, defaults.sampler);
  EXPECT_EQ(s.max_tokens, defaults.max_tokens);
}

TEST_F(ConfigFile, WhereItBelongs) {
  setenv("XDG_CONFIG_HOME", "/c", 1);
  EXPECT_EQ(default_config_path(), "/c/bitnet-chat/config");
  setenv("XDG_CONFIG_HOME", "relative", 1);
  EXPECT_EQ(default_config_path(), std::string(std::getenv("HOME")) + "/.config/bitnet-chat/config");
  unsetenv("XDG_CONFIG_HOME");
}

}  // namespace
}  // namespace bitnet
