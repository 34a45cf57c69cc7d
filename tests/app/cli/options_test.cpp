#include "app/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "app/cli/option_table.h"
#include "engine/error.h"

namespace bitnet {
namespace {

Options parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "bitnet-chat");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string refusal(const std::vector<const char*>& arguments) {
  try {
    parse(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(Options, NothingIsAChatWithTheBundledModel) {
  const Options o = parse({});
  EXPECT_EQ(o.mode, Mode::chat);
  EXPECT_TRUE(o.model.empty());
  EXPECT_FALSE(o.question);
}

TEST(Options, AQuestionWithSettings) {
  const Options o = parse({"m.gguf", "-p", "--odd text", "--temp", "0.5", "--top-k", "3", "-n", "9", "--seed",
                           "7", "--stop", "a", "--stop", "b", "--system", "be kind"});
  EXPECT_EQ(o.model, "m.gguf");
  EXPECT_EQ(o.question, "--odd text");
  const ChatSettings s = settings_from(o, interactive_settings());
  EXPECT_EQ(s.sampler.temperature, 0.5F);
  EXPECT_EQ(s.sampler.top_k, 3U);
  EXPECT_EQ(s.max_tokens, 9U);
  EXPECT_EQ(s.seed, 7U);
  EXPECT_EQ(s.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(s.system, "be kind");
}

TEST(Options, EveryToolOfTheCommandLine) {
  EXPECT_EQ(parse({"replay", "3", "--instant", "--verify"}).mode, Mode::replay);
  EXPECT_EQ(parse({"replay", "3", "--instant"}).speed, 0);
  EXPECT_EQ(parse({"list"}).mode, Mode::list);
  EXPECT_EQ(parse({"show", "12"}).conversation, 12);
  EXPECT_EQ(parse({"search", "two words"}).words, "two words");
  EXPECT_EQ(parse({"search", "two", "words"}).words, "two words");
  EXPECT_EQ(parse({"export", "1", "--format", "openai", "-o", "f"}).out, "f");
  EXPECT_EQ(parse({"delete", "1"}).mode, Mode::delete_chat);
  EXPECT_FALSE(parse({"delete", "1"}).now);
  EXPECT_TRUE(parse({"delete", "1", "--now"}).now);
  EXPECT_EQ(parse({"undelete", "1"}).mode, Mode::undelete_chat);
  EXPECT_TRUE(parse({"list", "--deleted"}).deleted);
  EXPECT_EQ(parse({"info", "m.gguf"}).model, "m.gguf");
  EXPECT_EQ(parse({"devices"}).mode, Mode::devices);
  EXPECT_TRUE(parse({"tokenize", "m.gguf", "--special"}).special);
  EXPECT_EQ(parse({"detokenize", "m.gguf"}).mode, Mode::detokenize);
  EXPECT_EQ(parse({"render", "m.gguf", "--chat-template", "t"}).chat_template, "t");
  const Options logits =
      parse({"logits", "m.gguf", "--tokens", "1,2,3", "--out", "f.npy", "--prefill", "1", "--device", "cpu"});
  EXPECT_EQ(logits.tokens, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(logits.prefill, 1U);
  EXPECT_EQ(logits.device, "cpu");
  EXPECT_EQ(parse({"probe", "m.gguf", "--tokens", "1", "--out", "f"}).mode, Mode::probe);
  const Options bench = parse({"bench", "m.gguf", "-p", "64", "-n", "32", "-d", "8", "-r", "2", "--json"});
  EXPECT_EQ(bench.bench_prompt, 64U);
  EXPECT_EQ(bench.bench_depth, 8U);
  EXPECT_FALSE(bench.question);
  EXPECT_FALSE(bench.validate);
  EXPECT_TRUE(parse({"bench", "validate"}).validate);
  const Options perplexity = parse({"perplexity", "m.gguf", "text.txt"});
  EXPECT_EQ(perplexity.model, "m.gguf");
  EXPECT_EQ(perplexity.file, "text.txt");
  const Options validate = parse({"bench", "--json", "validate", "m.gguf"});
  EXPECT_TRUE(validate.validate && validate.json);
  EXPECT_EQ(validate.model, "m.gguf");
  EXPECT_EQ(parse({"bench", "validate", "validate"}).model, "validate");
  EXPECT_THROW(parse({"bench", "m.gguf", "validate"}), Error);
  EXPECT_THROW(parse({"bench", "validate", "m.gguf", "n.gguf"}), Error);
  EXPECT_EQ(parse({"list", "--db", "x.db"}).db, "x.db");
}

TEST(Options, TwoDashesEndTheOptions) {
  EXPECT_EQ(parse({"search", "--", "--odd", "words"}).words, "--odd words");
  EXPECT_EQ(parse({"search", "a", "--", "-b", "--"}).words, "a -b --");
  EXPECT_EQ(parse({"-p", "x", "--", "--model.gguf"}).model, "--model.gguf");
  EXPECT_EQ(parse({"show", "--", "3"}).conversation, 3);
  EXPECT_EQ(parse({"list", "--"}).mode, Mode::list);
  EXPECT_EQ(parse({"--", "m.gguf"}).model, "m.gguf");
  EXPECT_THAT(refusal({"--", "m.gguf", "--private"}), testing::HasSubstr("what is '--private' for?"));
  EXPECT_THAT(refusal({"list", "--", "--all"}), testing::HasSubstr("what is '--all' for?"));
}

TEST(Options, TwoDashesAfterAnOptionAreItsValue) {
  EXPECT_EQ(parse({"-p", "--"}).question, "--");
  EXPECT_EQ(parse({"--prompt", "--", "m.gguf"}).question, "--");
  EXPECT_EQ(parse({"-cp", "--"}).question, "--");
  const Options both = parse({"-p", "--", "--", "--m.gguf"});
  EXPECT_EQ(both.question, "--");
  EXPECT_EQ(both.model, "--m.gguf");
  EXPECT_EQ(parse({"export", "1", "-o", "--"}).out, "--");
  EXPECT_EQ(parse({"-ptext", "--", "--m.gguf"}).model, "--m.gguf");  // it has its value
  EXPECT_EQ(parse({"-p", "list", "search", "--", "--odd"}).words, "--odd");
}

TEST(Options, TwoPlusesAreAWord) {
  EXPECT_EQ(parse({"search", "++"}).words, "++");
  EXPECT_EQ(parse({"search", "foo", "++", "bar"}).words, "foo ++ bar");
  EXPECT_EQ(parse({"search", "--", "++"}).words, "++");
  EXPECT_EQ(parse({"-p", "++"}).question, "++");
  EXPECT_EQ(parse({"++"}).model, "++");
  EXPECT_THAT(refusal({"list", "++"}), testing::HasSubstr("what is '++' for?"));
}

TEST(Options, WhatIsOutOfRangeOrUnknownIsUsage) {
  refusal({"--frob"});
  refusal({"--temp", "nan"});
  refusal({"--temp", "inf"});
  refusal({"--temp", "-1"});
  refusal({"--top-p", "0"});
  refusal({"--top-p", "1.5"});
  refusal({"--top-k", "-3"});
  refusal({"--seed", "x"});
  refusal({"--ctx", "-1"});
  refusal({"--output", "xml"});
  refusal({"-p", ""});
  refusal({"-p", " \t\n"});
  refusal({"-p", "x", "--script", "f"});
  refusal({"-c", "--resume", "1"});
  refusal({"--private", "--db", "f"});
  refusal({"--private", "-c"});
  refusal({"render"});
  refusal({"--i2s-layout", "32"});
  refusal({"--activation", "gelu"});
  refusal({"--think", "perhaps"});
  refusal({"show", "many"});
  refusal({"export", "1", "--format", "pdf"});
  refusal({"replay", "1", "--speed", "0"});
  refusal({"logits", "m", "--tokens", "1,,2", "--out", "f"});
  refusal({"logits", "m", "--tokens", "1,-2", "--out", "f"});
  refusal({"list", "extra"});
}

TEST(Options, BudgetsOfMemoryAreSizesOrShares) {
  const auto vram = [](const char* text) { return parse({"--vram", text}).vram; };
  EXPECT_EQ(parse({}).vram.kind, VramBudget::Kind::automatic);
  EXPECT_EQ(vram("auto").kind, VramBudget::Kind::automatic);
  EXPECT_EQ(vram("2G").kind, VramBudget::Kind::bytes);
  EXPECT_EQ(vram("2G").value, uint64_t{2} << 30);
  EXPECT_EQ(vram("1.5g").value, uint64_t{3} << 29);
  EXPECT_EQ(vram("512M").value, uint64_t{512} << 20);
  EXPECT_EQ(vram("60%").kind, VramBudget::Kind::percent);
  EXPECT_EQ(vram("60%").value, 60U);
  EXPECT_EQ(parse({}).ram, kNoLimit);
  EXPECT_EQ(parse({"--ram", "12G"}).ram, uint64_t{12} << 30);
  for (const char* wrong :
       {"",   "0",    "2",   "-1G",         "0G",   "0.0000001K", "2X",          "2GB",
        "G",  "1e3G", "nan", "nanG",        "infG", "0x1G",       " 2G",         "2 G",
        "0%", "101%", "-5%", "4294967297%", "5.5%", "%",          "9999999999G", "autoG"}) {
    EXPECT_THROW(vram(wrong), Error) << wrong;
    EXPECT_THROW(parse({"--ram", wrong}), Error) << wrong;
  }
  EXPECT_THROW(parse({"--ram", "60%"}), Error);
}

TEST(Options, HelpAndVersionAreText) {
  EXPECT_THAT(parse({"--help"}).print_and_exit, testing::HasSubstr("--script"));
  EXPECT_THAT(parse({"--version"}).print_and_exit, testing::HasSubstr(BITNET_VERSION));
}

TEST(Options, WhatIsMistypedIsGuessed) {
  EXPECT_THAT(refusal({"--tmep", "1"}), testing::HasSubstr("did you mean --temp?"));
  EXPECT_THAT(refusal({"replay", "1", "--instnat"}), testing::HasSubstr("did you mean --instant?"));
  EXPECT_THAT(refusal({"show", "1", "2"}), testing::HasSubstr("what is '2' for?"));
  EXPECT_THAT(refusal({"info", "a", "b"}), testing::HasSubstr("what is 'b' for?"));
}

TEST(Options, AShortWordIsNotGuessedFromOneLetterOfIt) {
  EXPECT_THAT(refusal({"--bad"}), testing::Not(testing::HasSubstr("did you mean")));
  EXPECT_THAT(refusal({"--sed", "1"}), testing::HasSubstr("did you mean --seed?"));
}

TEST(Options, AnOptionOfACommandBelongsAfterIt) {
  EXPECT_EQ(refusal({"--json", "list"}), "--json belongs after the command: bitnet-chat list --json");
  EXPECT_EQ(refusal({"--format", "md", "export", "1"}),
            "--format belongs after the command: bitnet-chat export --format");
  EXPECT_EQ(refusal({"--verify"}), "--verify belongs after a command that takes it: replay");
  EXPECT_EQ(refusal({"info", "m", "--verify"}), "--verify belongs after a command that takes it: replay");
  EXPECT_THAT(refusal({"info", "--jsno", "m"}), testing::HasSubstr("there is no option --jsno"));
}

TEST(Options, AnUnknownOptionIsNamedBeforeAMissingWord) {
  EXPECT_THAT(refusal({"search", "--frob"}), testing::HasSubstr("there is no option --frob"));
  EXPECT_THAT(refusal({"search"}), testing::HasSubstr("search: wanted TEXT..."));
  EXPECT_THAT(refusal({"perplexity", "m.gguf"}), testing::HasSubstr("perplexity: wanted MODEL FILE"));
}

TEST(Options, AnOptionWithoutItsValueIsNamed) {
  EXPECT_EQ(refusal({"--device"}), "--device: wanted N|NAME|cpu after it, found nothing");
  EXPECT_EQ(refusal({"-p"}), "--prompt: wanted TEXT after it, found nothing");
  EXPECT_EQ(refusal({"export", "1", "-o"}), "--out: wanted FILE after it, found nothing");
}

TEST(Options, AConversationHasANumberFromList) {
  for (const char* wrong : {"x", "0", "-1", "1.5", "99999999999999999999"})
    EXPECT_EQ(
        refusal({"export", "--", wrong}),
        std::string("ID: wanted the number of a conversation, as 'bitnet-chat list' shows it, found '") +
            wrong + "'");
}

TEST(Options, ANumberThatIsTooLargeIsToldTheLargest) {
  EXPECT_EQ(refusal({"-n", "99999999999"}),
            "max_tokens: wanted a whole number up to 4294967295, found '99999999999'");
  EXPECT_THAT(refusal({"--top-k", "9999999999"}), testing::HasSubstr("up to 4294967295"));
  EXPECT_THAT(refusal({"--seed", "99999999999999999999"}), testing::HasSubstr("up to 18446744073709551615"));
}

TEST(Options, AContextOfZeroIsTheUsualOne) { EXPECT_EQ(parse({"--ctx", "0"}).ctx, 0U); }

TEST(Options, TheLastOfTwoCounts) {
  EXPECT_EQ(settings_from(parse({"--temp", "1", "--temp=0.5"}), {}).sampler.temperature, 0.5F);
}

TEST(Options, HelpFitsIntoEightyColumnsAndNamesEveryRow) {
  const std::string help = parse({"--help"}).print_and_exit;
  std::istringstream lines{help};
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 79U) << line;
  for (const OptionGroup& group : option_groups()) {
    for (const OptionRow& row : group.rows) EXPECT_THAT(help, testing::HasSubstr(option_flags(row).back()));
  }
  for (const ToolRow& tool : tool_table()) {
    EXPECT_THAT(help, testing::HasSubstr(std::string("\n  ") + tool.name));
    const std::string own = parse({tool.name, "--help"}).print_and_exit;
    EXPECT_TRUE(own.starts_with(std::string("bitnet-chat ") + tool.name)) << own;
    for (const OptionRow& row : tool.options) {
      EXPECT_THAT(own, testing::HasSubstr(option_flags(row).back()));
    }
  }
}

// The man page begins each help text with a capital, which a value of an option would not survive.
TEST(Options, NoHelpBeginsWithAValue) {
  const auto check = [](std::span<const OptionRow> rows) {
    for (const OptionRow& row : rows) {
      const std::string help = option_help(row);
      EXPECT_THAT(split_words(row.words),
                  testing::Not(testing::Contains(help.substr(0, help.find_first_of(" ,:;")))))
          << row.flags;
    }
  };
  for (const OptionGroup& group : option_groups()) check(group.rows);
  for (const ToolRow& tool : tool_table()) check(tool.options);
  for (const auto rows : {json_of_commands(), json_events()}) {
    for (const JsonRow& row : rows) {
      const std::string help = row.help;
      EXPECT_THAT(split_words(row.keys), testing::Not(testing::Contains(help.substr(0, help.find(' ')))));
    }
  }
}

TEST(Options, SettingsKnowWhetherTheConfigFileOrTheCommandLineSaidThem) {
  const std::string config = testing::TempDir() + "sources.conf";
  std::ofstream(config) << "temp = 0.3\ntop_k = 9\nctx = 64\n";
  const ChatSettings s =
      settings_from(parse({"--config", config.c_str(), "--temp", "0.4"}), interactive_settings());
  EXPECT_EQ(s.sampler.temperature, 0.4F);
  EXPECT_EQ(source_of(s, "temp"), SettingSource::command_line);
  EXPECT_EQ(source_of(s, "top_k"), SettingSource::config);
  EXPECT_EQ(source_of(s, "ctx"), SettingSource::config);
  EXPECT_EQ(source_of(s, "min_p"), SettingSource::program);
}

TEST(ChatSettings, SurviveTheirJson) {
  ChatSettings s = interactive_settings();
  s.stop = {"a\"b"};
  ChatSettings back;
  from_json(to_json(s, 42), back);
  EXPECT_EQ(back.sampler, s.sampler);
  EXPECT_EQ(back.stop, s.stop);
  EXPECT_EQ(back.seed, 42U);
  EXPECT_EQ(back.ctx, 0U);
  from_json(to_json(s, 42, 512), back);
  EXPECT_EQ(back.ctx, 512U);
  EXPECT_THROW(from_json("{}", back), Error);
}

}  // namespace
}  // namespace bitnet
