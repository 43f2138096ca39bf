#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sgsim::import::fx_text {

struct Expression;
struct Keyword;
/// A name with dots ("torch.float32", "add_1").
struct Name {
  std::string name;
};
struct Call {
  std::string callee;
  std::vector<Expression> args;
  std::vector<Keyword> kwargs;
};
/// value[index]
struct Item {
  std::string name;
  std::int64_t index = 0;
};
struct None {};
struct Expression {
  std::variant<None, Name, Call, Item, std::int64_t, double, bool, std::string, std::vector<Expression>> value;
};
/// One keyword argument.
struct Keyword {
  std::string first;
  Expression second;
};

/// "name: "annotation" = expression"; a `return` has an empty name.
struct Statement {
  std::string name, annotation;
  Expression expression;
  int line = 0;
};
struct Function {
  std::vector<std::pair<std::string, std::string>> parameters;  // name, annotation; without self
  std::vector<Statement> statements;                            // the last one is the return
  int line = 0;
};

/// The first `def forward` of a printed FX module, up to its return. Statements that only drop names ("x = None") are left
/// out. Throws InputError with the line for anything that FX does not print.
[[nodiscard]] Function parse_forward(std::string_view text, const std::string& file);

/// Its parameters only: Dynamo's graphs have Python in their bodies.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_signature(std::string_view text, const std::string& file);

}  // namespace sgsim::import::fx_text
