#include "tokenizer/jinja/template.h"

#include "eval.h"
#include "parser.h"

namespace bitnet::jinja {
namespace {

Value to_value(const Input& input) {
  struct Convert {
    Value operator()(std::monostate) const { return Value::none(); }
    Value operator()(bool b) const { return Value::boolean(b); }
    Value operator()(const Input::String& s) const { return Value::string(Text(s.bytes, s.trusted)); }
    Value operator()(const Input::List& list) const {
      std::vector<Value> items;
      items.reserve(list.size());
      for (const Input& item : list) items.push_back(to_value(item));
      return Value::list(std::move(items));
    }
    Value operator()(const Input::Dict& dict) const {
      Budget apart{Limits{}};  // the limits hold for what the template makes
      auto object = std::make_shared<DictObject>();
      for (const auto& [key, item] : dict) object->set(Value::string(key), to_value(item), apart);
      return make_dict(std::move(object));
    }
  };
  return std::visit(Convert(), input.value);
}

}  // namespace

struct Template::Parsed {
  std::string name;
  Block tree;
};

Template::Template(std::string_view source, std::string name) {
  Block tree = parse(source, name);
  parsed_.reset(new Parsed{std::move(name), std::move(tree)});
}

Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

std::vector<Piece> Template::render(const Input::Dict& variables, int64_t now, const Limits& limits) const {
  Variables values;
  values.reserve(variables.size());
  for (const auto& [name, input] : variables) values.emplace_back(name, to_value(input));
  const Text text = jinja::render(parsed_->tree, values, parsed_->name, now, limits);
  std::vector<Piece> pieces;
  size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    pieces.push_back({text.bytes().substr(begin, run.end - begin), run.trusted});
    begin = run.end;
  }
  return pieces;
}

}  // namespace bitnet::jinja
