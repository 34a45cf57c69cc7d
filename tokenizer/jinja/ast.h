// The syntax tree of a template.
//
// Thread rule: nothing changes a tree once it is parsed, so any number of threads may read it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lexer.h"
#include "value.h"

namespace bitnet::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Block = std::vector<std::unique_ptr<Stmt>>;

struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, star_star;  // *args and **kwargs, or null
};

struct Expr {
  enum class Kind {
    constant,  // value
    name,      // name
    tuple,
    list,         // kids
    dict,         // kids: key, value, key, value, ...
    attribute,    // kids[0] . name
    subscript,    // kids[0] [ kids[1] ]
    slice,        // kids[0] [ kids[1] : kids[2] : kids[3] ], the last three may be null
    call,         // kids[0] ( args )
    filter,       // kids[0] | name(args); kids[0] is null in a filter block
    test,         // kids[0] is name(args)
    unary,        // name kids[0], name one of "-", "+", "not"
    binary,       // kids[0] name kids[1], name an arithmetic operator, "and" or "or"
    concat,       // kids joined by ~
    compare,      // kids[0] ops[0] kids[1] ops[1] kids[2] ...
    conditional,  // kids[0] if kids[1] else kids[2], which may be null
  };
  Kind kind;
  Position at;
  std::string name;
  Value value;
  std::vector<ExprPtr> kids;
  std::vector<std::string> ops;
  CallArgs args;
  int depth = 1;  // how many levels the tree has from here down, this one included
};

struct Param {
  std::string name;
  ExprPtr fallback;  // or null
};

struct Stmt {
  enum class Kind {
    data,          // expr, a constant
    output,        // expr
    set,           // target = expr
    set_block,     // target = body, through the filters of expr (or null)
    if_block,      // branches; the last one's condition is null for else
    for_loop,      // for target in expr if test: body, else: other
    with,          // bindings, body
    macro,         // text = its name, params, body
    call_block,    // expr is the call; params and body make the macro `caller`
    filter_block,  // expr, body
    scope,         // {% generation %}: body in a scope of its own
    break_loop,
    continue_loop,
  };
  Kind kind;
  Position at;
  std::string text;
  ExprPtr target, expr, test;  // a target is a name, a tuple of targets or name.attribute
  std::vector<std::pair<ExprPtr, Block>> branches;
  std::vector<std::pair<ExprPtr, ExprPtr>> bindings;
  std::vector<Param> params;
  Block body, other;
  bool recursive = false;
  // Whether the body of a macro names varargs, kwargs and caller.
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

}  // namespace bitnet::jinja
