#include "tokenizer/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/error.h"

namespace bitnet {
namespace {

using ::testing::HasSubstr;

std::string whole(const std::vector<Segment>& segments) {
  std::string text;
  for (const Segment& s : segments) text += s.text;
  return text;
}

std::string trusted_part(const std::vector<Segment>& segments) {
  std::string text;
  for (const Segment& s : segments) {
    if (s.parse_special) text += s.text;
  }
  return text;
}

std::vector<Segment> render(const std::string& source, const std::vector<ChatMessage>& messages) {
  return ChatTemplate(source, "t").render(messages, {"<s>", "</s>", true, 0});
}

void expect_error(const std::string& source, ErrorKind kind, const std::string& part) {
  try {
    const std::vector<ChatMessage> messages = {{"user", "hi"}};
    const std::string text = whole(render(source, messages));
    ADD_FAILURE() << "no error but " << text.substr(0, 200) << " from " << source.substr(0, 200);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_THAT(e.what(), HasSubstr(part)) << source.substr(0, 200);
  }
}

// Runs every case of the golden file. jinja2 itself made the results; the file names the command.
TEST(ChatTemplate, GivesWhatJinja2Gives) {
  setenv("TZ", "UTC", 1);
  tzset();
  std::ifstream file(JINJA_CASES);
  ASSERT_TRUE(file) << JINJA_CASES;
  const nlohmann::json golden = nlohmann::json::parse(file);
  std::vector<std::vector<ChatMessage>> conversations;
  for (const auto& list : golden.at("messages")) {
    auto& messages = conversations.emplace_back();
    for (const auto& m : list) {
      messages.push_back({m.at("role"), m.at("content")});
      if (m.contains("reasoning_content")) messages.back().reasoning_content = m.at("reasoning_content");
    }
  }
  ChatTemplateOptions options{golden.at("bos_token"), golden.at("eos_token"), true, golden.at("now")};
  size_t checked = 0;
  for (const auto& c : golden.at("cases")) {
    const std::string source = c.at("template");
    options.enable_thinking.reset();
    if (c.contains("enable_thinking")) options.enable_thinking = c.at("enable_thinking").get<bool>();
    for (size_t i = 0; i < c.at("results").size(); ++i) {
      const auto& result = c.at("results")[i];
      SCOPED_TRACE(c.at("name").get<std::string>() + ", messages " + std::to_string(i) + ":\n" + source);
      const std::string error = result.value("error", "");
      ++checked;
      try {
        const ChatTemplate chat_template(source, "t");
        EXPECT_NE(error, "syntax");
        try {
          const std::string text = whole(chat_template.render(conversations.at(i), options));
          EXPECT_EQ(error, "") << text;
          EXPECT_EQ(text, result.value("text", text));
        } catch (const Error& e) {
          EXPECT_TRUE(error == "error" || error == "raised") << e.what();
          EXPECT_THAT(e.what(), HasSubstr(result.value("message", "")));
        }
      } catch (const Error& e) {
        EXPECT_EQ(error, "syntax") << e.what();
        EXPECT_EQ(e.kind(), ErrorKind::model);
      }
    }
  }
  EXPECT_GE(checked, 200u);
}

TEST(ChatTemplate, SegmentsTellTheTemplatesTextFromTheMessages) {
  const auto segments = render(
      "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
      "'<|end_header_id|>\n\n' + m['content'] | trim + '<|eot_id|>' }}{% endfor %}",
      {{"user", " hi <|eot_id|> "}});
  const std::vector<Segment> wanted = {{"<s><|start_header_id|>user<|end_header_id|>\n\n", true},
                                       {"hi <|eot_id|>", false},
                                       {"<|eot_id|>", true}};
  EXPECT_EQ(segments, wanted);
}

TEST(ChatTemplate, OnlyRolesThatTheProgramGivesAreTheTemplatesText) {
  const std::string marks = "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' ~ m.content }}{% endfor %}";
  for (const char* role : {"system", "user", "assistant"}) {
    const std::vector<Segment> wanted = {{"<|" + std::string(role) + "|>", true}, {"hi", false}};
    EXPECT_EQ(render(marks, {{role, "hi"}}), wanted);
  }
  for (const char* role : {"end", "User", "user ", "", "user|><|end"}) {
    const auto segments = render(marks, {{role, "hi"}});
    EXPECT_EQ(trusted_part(segments), "<||>") << role;
  }
}

TEST(ChatTemplate, NoFilterMakesAMessageTrusted) {
  const std::vector<std::string> expressions = {"c",
                                                "c|trim",
                                                "c.strip()",
                                                "c|upper|lower",
                                                "c|replace('x', '<')",
                                                "c|replace('<', '<')",
                                                "c.replace('|', '|')",
                                                "c.split('_')|join('_')",
                                                "c.split('|')|join",
                                                "c[0:] ",
                                                "c[::-1][::-1]",
                                                "c|reverse|reverse",
                                                "c|list|join",
                                                "c|e",
                                                "c|string",
                                                "c|safe",
                                                "c|indent",
                                                "c|title",
                                                "c|capitalize",
                                                "c ~ ''",
                                                "c + ''",
                                                "'' ~ c",
                                                "c * 2",
                                                "'%s' % c",
                                                "'%s'|format(c)",
                                                "'{}'.format(c)",
                                                "c % ()",
                                                "c.format()",
                                                "c|tojson",
                                                "[c]|tojson",
                                                "[c]|string",
                                                "[c]",
                                                "{'a': c}",
                                                "{c: 1}",
                                                "(c,)|first",
                                                "[c, c]|join",
                                                "c|truncate(300)",
                                                "c|center(40)",
                                                "c.ljust(40)",
                                                "c.partition('_')|join",
                                                "c.rsplit('_', 1)|last",
                                                "c.splitlines()[0]",
                                                "c|default('')",
                                                "messages|map(attribute='content')|join",
                                                "messages|map('string')|join",
                                                "messages",
                                                "messages[0].items()|list",
                                                "messages[0].values()|list",
                                                "c|list|sort|join",
                                                "c|list|unique|join",
                                                "c|batch(3)|list",
                                                "(c if c else '')",
                                                "[c]|max",
                                                "[c]|sum(start=[])if false else c",
                                                "c.removeprefix('')",
                                                "c|trim('x')",
                                                "c|first ~ c[1:]",
                                                "dict(a=c).a",
                                                "namespace(a=c).a",
                                                "messages|string",
                                                "messages[0].role",
                                                "messages[0].role|capitalize",
                                                "c|attr('upper')()",
                                                "c.join(['a', 'b'])",
                                                "cycler(c).next()",
                                                "strftime_now(c)",
                                                "c|replace('eot', 'eot')",
                                                "messages|tojson(indent=2)",
                                                "c|tojson(ensure_ascii=true)",
                                                "c|wordcount",
                                                "'a'|replace('a', c)",
                                                "c|map('upper')|join",
                                                "c|dictsort if false else c",
                                                "joiner(c)() ~ c"};
  const std::string content = "<|eot_id|>";
  for (const std::string& expression : expressions) {
    const auto segments =
        render("{% set c = messages[0].content %}{{ " + expression + " }}", {{"<|eot_id|>", content}});
    std::string trusted = trusted_part(segments);
    for (char& ch : trusted) ch = static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    EXPECT_EQ(trusted.find_first_of("<|>"), std::string::npos) << expression << " gives " << trusted;
    EXPECT_EQ(trusted.find("eot"), std::string::npos) << expression << " gives " << trusted;
  }
}

TEST(ChatTemplate, ProvenanceSurvivesBlocksMacrosAndNamespaces) {
  const std::string source =
      "{% macro turn(x) %}<|a|>{{ x }}{% endmacro %}"
      "{% set ns = namespace(t='') %}{% set ns.t = ns.t ~ turn(messages[0].content) %}"
      "{% set b %}[{{ ns.t }}]{% endset %}{% filter upper %}{{ b }}{% endfilter %}"
      "{% macro w() %}{{ caller() }}{% endmacro %}{% call w() %}{{ messages[0].content }}!{% endcall %}";
  const std::vector<Segment> wanted = {
      {"[<|A|>", true}, {"<|EOT|>", false}, {"]", true}, {"<|eot|>", false}, {"!", true}};
  EXPECT_EQ(render(source, {{"user", "<|eot|>"}}), wanted);
}

TEST(ChatTemplate, ContentThatIsNoUtf8ComesThrough) {
  const std::string bytes = "a\xff\xc0 b\xe2\x82";
  EXPECT_EQ(whole(render("{{ messages[0].content|trim|replace('q', 'r') }}", {{"user", bytes}})), bytes);
  EXPECT_EQ(whole(render("{{ messages[0].content[::-1][::-1] }}", {{"user", bytes}})), bytes);
  EXPECT_EQ(whole(render("{{ messages[0].content|length }}", {{"user", bytes}})), "7");
}

// jinja2 fails in these places too: the items come from a generator, which is executing then.
TEST(ChatTemplate, TheConditionOfALoopCannotAskForItsItems) {
  for (const char* items : {"messages[0].content", "[1, 2, 3]"})
    for (const char* condition : {"ns.f()", "ns.f() or true"})
      for (const char* of_body : {"loop.length", "loop.last", "loop.nextitem"})
        for (const char* of_condition :
             {"loop.length", "loop.last", "loop.nextitem", "loop.revindex", "loop.revindex0"}) {
          std::string source =
              "{% set ns = namespace(n=0) %}{% for x in ITEMS if ns.n == 0 or CONDITION %}"
              "{% macro m() %}{% if ns.n == 1 %}{% set ns.n = 2 %}{{ ASKED }}{% endif %}"
              "{% endmacro %}{% set ns.f = m %}{% set ns.n = 1 %}{{ BODY }}{% endfor %}";
          for (const auto& [word, text] : {std::pair("ITEMS", items), std::pair("CONDITION", condition),
                                           std::pair("ASKED", of_condition), std::pair("BODY", of_body)})
            source.replace(source.find(word), std::string(word).size(), text);
          expect_error(source, ErrorKind::runtime, "the condition of a loop asks for the items of that loop");
        }
}

// A keyword becomes a name, which does not say who wrote it.
TEST(ChatTemplate, TheTextOfAMessageCannotBeAKeyword) {
  const std::string macro = "{% macro m() %}{{ kwargs.keys()|list|first }}{% endmacro %}";
  for (const char* call :
       {"m(**{messages[0].content: 1})", "m(**{'x' ~ messages[0].content: 1})",
        "dict(**{messages[0].content: 1})|list|first", "'{hi}'.format(**{messages[0].content: 1})"})
    expect_error(macro + "{{ " + call + " }}", ErrorKind::runtime,
                 "the text of a message cannot be a keyword");
  const std::vector<Segment> wanted = {{"role<|x|>", true}};
  EXPECT_EQ(
      render(macro + "{{ m(**messages[0]) }}{{ m(**{'<|x|>': messages[0].content}) }}", {{"user", "hi"}}),
      wanted);
}

TEST(ChatTemplate, ErrorsNameWhatAndWhere) {
  expect_error("line\n  {{ 'a' | nofilter }}", ErrorKind::model, "t:2:12: unknown filter 'nofilter'");
  expect_error("{{ 1 is notest }}", ErrorKind::model, "t:1:9: unknown test 'notest'");
  expect_error("{% include 'x' %}", ErrorKind::model, "t:1:4: unknown statement 'include'");
  expect_error("{% if true %}\n{{ 1|nofilter }}{% endif %}", ErrorKind::model,
               "t:2:6: unknown filter 'nofilter'");
  expect_error("{{ nofunction() }}", ErrorKind::runtime, "'nofunction' is undefined");
  expect_error("x\n{% for a in b %}", ErrorKind::model, "t:2:4: {% for %} is not closed");
  expect_error("\n\n {{ 1 + ", ErrorKind::model, "t:3:2: the tag is not closed by }}");
  expect_error("{{ (1, 2 }}", ErrorKind::model, "t:1:4: '(' is not closed");
  expect_error("{# x", ErrorKind::model, "t:1:1: the comment is not closed");
  expect_error("{{ raise_exception('Only user roles!') }}", ErrorKind::runtime, "Only user roles!");
  expect_error("{{ messages[0].content.foo.bar }}", ErrorKind::runtime,
               "'str object' has no attribute 'foo'");
  expect_error("{{ 'a' + 1 }}", ErrorKind::runtime, "t:1:8: can only concatenate str");
  expect_error("{{ 9223372036854775807 + 1 }}", ErrorKind::runtime, "64 bits");
  expect_error("{{ 9223372036854775807 * 2 }}", ErrorKind::runtime, "64 bits");
  expect_error("{{ (-9223372036854775807 - 1) // -1 }}", ErrorKind::runtime, "64 bits");
  expect_error("{{ 99999999999999999999 }}", ErrorKind::model, "64 bits");
  expect_error("{{ raise_exception('\\x1b[31m') }}", ErrorKind::runtime, "<U+001B>[31m");
}

// jinja_limits_test.cpp has what counts; these are the limits that hold for the template of a file.
TEST(ChatTemplate, HostileTemplatesStopAtALimit) {
  expect_error("{% set s = 'a' * 8000000 %}{% for i in range(100) %}{{ 'b' if 'b' in s }}{% endfor %}",
               ErrorKind::model, "more than 10000000 steps");
  expect_error("{% set l = range(100000)|list %}{{ (l * 20)|batch(1)|list|length }}", ErrorKind::model,
               "256 MB");
  expect_error("{{ 'x' * 8388609 }}", ErrorKind::model, "8 MB");
}

TEST(ChatTemplate, LongTextsCostNothingWhereNobodyReadsThem) {
  EXPECT_EQ(whole(render("{% set x = 'a' * 8000000 %}{% for i in range(100000) %}{% if x and not not x %}"
                         "{% endif %}{% endfor %}{{ ([x] * 5000)|map('safe')|list|length }}",
                         {{"user", "hi"}})),
            "5000");
}

TEST(ChatTemplate, TrimKnowsCharactersFromBothEnds) {
  const auto trimmed = [](const std::string& text, const std::string& filter) {
    return whole(render("{{ messages[0].content" + filter + " }}", {{"user", text}}));
  };
  EXPECT_EQ(trimmed(" \u3000\t a\u2003b \u2028\n", "|trim"), "a\u2003b");
  EXPECT_EQ(trimmed(" \xff a\x80\x80 ", "|trim"), "\xff a\x80\x80");
  EXPECT_EQ(trimmed("\u3000 \u3000", "|trim"), "");
  EXPECT_EQ(trimmed(" \u3000", ".rstrip()"), "");
  EXPECT_EQ(trimmed("éaéñéa", ".strip('aé')"), "ñ");
  EXPECT_EQ(trimmed("éaéñéa", ".lstrip('aé')"), "ñéa");
  EXPECT_EQ(trimmed("éaéñ\x80\xa9", ".rstrip('\xa9é')"), "éaéñ\x80");
  EXPECT_EQ(trimmed("\u3000\x80", ".rstrip()"), "\u3000\x80");
}

TEST(ChatTemplate, TruncateHasNoNegativeLeeway) {  // as in jinja2; it read past the end of the text
  expect_error("{{ 'abc'|truncate(10, leeway=-100) }}", ErrorKind::runtime, "the leeway is negative");
}

TEST(ChatTemplate, ManyMessagesStayFarFromTheLimits) {
  std::vector<ChatMessage> messages;
  for (int i = 0; i < 2000; ++i) messages.push_back({i % 2 ? "assistant" : "user", std::string(2000, 'x')});
  const auto segments = render(
      "{% for m in messages %}{% if loop.last %}{% endif %}{{ '<|' + m.role + '|>' + m.content|trim + "
      "'<|end|>' }}{% endfor %}",
      messages);
  EXPECT_GT(whole(segments).size(), 4000000u);
}

TEST(ChatTemplate, MayBeRenderedByManyThreads) {
  const ChatTemplate chat_template("{% set x = 'a' %}{% for m in messages %}{{ x ~ m.content }}{% endfor %}",
                                   "t");
  const std::vector<ChatMessage> messages = {{"user", "1"}, {"user", "2"}};
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) result = whole(chat_template.render(messages, {}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, "a1a2");
}

const char* const kPlaceholder =
    "{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}{% if message['role'] == "
    "'user' %}"
    "{{ 'Human: ' + message['content'] + '\\n\\nBITNETAssistant: ' + eos_token }}{% elif message['role'] == "
    "'assistant' %}"
    "{{ message['content'] + eos_token }}{% endif %}{% endfor %}";

TEST(ChatTemplateFor, ThePlaceholderBecomesTheTrainedForm) {
  const std::vector<ChatMessage> messages = {
      {"system", " S\n"}, {"user", "U "}, {"assistant", " A"}, {"user", "U2"}};
  const ChatTemplateOptions options{"<|begin_of_text|>", "<|end_of_text|>", true, 0};
  const std::string spaced =
      "\n{%- for message in messages -%}\n{{ \"Human: \" }}{{ \"\n\nBITNETAssistant: \" }}\n{%- endfor %}\n";
  for (const std::string& source : {std::string(kPlaceholder), spaced, std::string(), std::string(" \n")}) {
    for (const char* architecture : {"bitnet-b1.58", "bitnet-25", "bitnet-1.58", "bitnet"}) {
      const ChosenTemplate chosen = chat_template_for(architecture, source, true);
      EXPECT_EQ(chosen.origin, TemplateOrigin::trained_form);
      EXPECT_EQ(whole(chosen.chat_template.render(messages, options)),
                "<|begin_of_text|>System: S<|eot_id|>User: U<|eot_id|>Assistant: A<|eot_id|>User: "
                "U2<|eot_id|>Assistant: ");
    }
  }
  const auto segments = chat_template_for("bitnet", "", true)
                            .chat_template.render(std::vector<ChatMessage>{{"user", "<|eot_id|>"}}, options);
  const std::vector<Segment> wanted = {
      {"<|begin_of_text|>User: ", true}, {"<|eot_id|>", false}, {"<|eot_id|>Assistant: ", true}};
  EXPECT_EQ(segments, wanted);
}

TEST(ChatTemplateFor, AnyOtherTemplateStands) {
  for (const auto& [architecture, source] :
       {std::pair<const char*, const char*>{"bitnet-b1.58", "{{ bos_token }}x"}, {"llama", kPlaceholder}}) {
    const ChosenTemplate chosen = chat_template_for(architecture, source, true);
    EXPECT_EQ(chosen.chat_template.source(), source);
    EXPECT_EQ(chosen.origin, TemplateOrigin::file);
  }
}

TEST(ChatTemplateFor, ABaseModelGetsTheTextAsItIs) {
  const std::vector<ChatMessage> messages = {
      {"user", " Once"}, {"assistant", " upon <|eot_id|>"}, {"user", "a "}};
  for (const auto& [architecture, source, eot] :
       {std::tuple<const char*, const char*, bool>{"llama", "", true},
        {"bitnet", " \n", false},
        {"bitnet", kPlaceholder, false},
        {"qwen3", "", false},
        {"gpt2", "", false},
        {"gemma3", "", true},
        {"gemma4", "", false},
        {"phi3", "", false}}) {
    const ChosenTemplate chosen = chat_template_for(architecture, source, eot);
    EXPECT_EQ(chosen.origin, TemplateOrigin::none);
    const std::vector<Segment> wanted = {{" Once upon <|eot_id|>a ", false}};
    EXPECT_EQ(chosen.chat_template.render(messages, {"<s>", "</s>", true, 0}), wanted);
  }
}

TEST(ChatTemplateFor, ItsFormIsKnownByItsMarks) {
  EXPECT_EQ(template_form("{{ '<|im_start|>' + m.role }}"), "ChatML");
  EXPECT_EQ(template_form("<|start_header_id|>"), "Llama-3");
  EXPECT_EQ(template_form("<start_of_turn>"), "Gemma");
  EXPECT_EQ(template_form("{{ '<|turn>' + role }}"), "Gemma 4");
  EXPECT_EQ(template_form("[INST] <<SYS>>"), "Llama-2");
  EXPECT_EQ(template_form("<|user|>\n<|end|><|assistant|>"), "Phi-3");
  EXPECT_EQ(template_form("<|user|>\n<|assistant|>\n"), "Falcon3");
  EXPECT_EQ(template_form("{{ m.role + m.content }}"), "");
}

TEST(ChatTemplate, ThinkingIsUndefinedUntilSomebodySaysSo) {
  const ChatTemplate t(
      "{{ enable_thinking is defined }} {{ enable_thinking | default('-') }} "
      "{{ messages[0].reasoning_content is defined }}{{ messages[0].reasoning_content }}",
      "t");
  EXPECT_TRUE(t.knows_enable_thinking());
  EXPECT_TRUE(t.knows_reasoning_content());
  const std::vector<ChatMessage> plain = {{"user", "hi"}};
  ChatTemplateOptions options;
  EXPECT_EQ(whole(t.render(plain, options)), "False - False");
  options.enable_thinking = false;
  EXPECT_EQ(whole(t.render(plain, options)), "True False False");
  options.enable_thinking = true;
  const std::vector<ChatMessage> reasoned = {{"assistant", "hi", "<eot>"}};
  EXPECT_EQ(whole(t.render(reasoned, options)), "True True True<eot>");
  EXPECT_EQ(t.render(reasoned, options).back(), (Segment{"<eot>", false}));
}

}  // namespace
}  // namespace bitnet
