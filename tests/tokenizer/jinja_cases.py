"""Has the templates of jinja_cases.json, and the conversations that each of them is given."""
import jinja_constructs
import jinja_templates
import jinja_templates_chatml

MESSAGES = [
    [{"role": "user", "content": "  Hello, World! "}],
    [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": "What's \"new\"?\n"},
     {"role": "assistant", "content": "<think>\nhm\n</think>\n\nNot much: caf\u00e9 \u6f22\u5b57 \U0001f600."},
     {"role": "user", "content": "a\tb <|eot_id|> </s> {{ x }} \\ 'q'"}],
    [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}],
    [{"role": "assistant", "content": "I begin"}, {"role": "user", "content": ""}],
    [],
    [{"role": "system", "content": "S"}, {"role": "user", "content": "2 + 2?"},
     {"role": "assistant", "content": "4", "reasoning_content": "\nTwo and two </think>\n"},
     {"role": "user", "content": "<tool_response>\n5\n</tool_response>"},
     {"role": "assistant", "content": "<think>\n\n</think>\n\nFive."}],
    [{"role": "user", "content": "q"},
     {"role": "assistant", "content": "<|channel>thought\nhm<channel|> Hi <|channel>x\n<channel|>there. "},
     {"role": "user", "content": "<channel|>"}],
]

TEMPLATES = jinja_templates.TEMPLATES + jinja_templates_chatml.TEMPLATES + jinja_constructs.TEMPLATES
THINKING = jinja_templates.THINKING + jinja_templates_chatml.THINKING
CONSTRUCTS = jinja_constructs.CONSTRUCTS
