((call target: (identifier) @kind (arguments . (alias) @name) (do_block) @body)
  (#eq? @kind "defmodule")) @definition.module
((call target: (identifier) @kind (arguments . (alias) @name) (do_block) @body)
  (#eq? @kind "defprotocol")) @definition.interface
((call target: (identifier) @kind (arguments . (alias) @name) (do_block) @body)
  (#eq? @kind "defimpl")) @definition.extension

((call target: (identifier) @kind
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (identifier) @name operator: "when")
    (binary_operator left: (call target: (identifier) @name) operator: "when")])
  (do_block)? @body)
  (#any-of? @kind "def" "defp" "defdelegate" "defguard" "defguardp" "defn" "defnp")) @definition.function
((call target: (identifier) @kind
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name) operator: "when")])
  (do_block)? @body)
  (#any-of? @kind "defmacro" "defmacrop")) @definition.macro
((call target: (identifier) @kind
  (arguments . [
    (binary_operator left: [(identifier) @name (call target: (identifier) @name)])
    (binary_operator right: [(identifier) @name (call target: (identifier) @name)])])
  (do_block)? @body)
  (#any-of? @kind "def" "defp" "defmacro" "defmacrop")) @definition.function
((call target: (identifier) @kind) (#any-of? @kind "defstruct" "defexception")) @definition.field
((call target: (identifier) @_word (arguments . (string (quoted_content) @name)) (do_block))
  (#eq? @_word "test")) @definition.test
((call target: (identifier) @_word (arguments . (string) @_title) (do_block) @body)
  (#eq? @_word "describe")) @scope

((call target: (identifier) @_word (arguments . (alias) @module))
  (#any-of? @_word "alias" "import" "require" "use")) @import
((call target: (identifier) @_word (arguments . (dot left: (alias) @module right: (tuple (alias) @name))))
  (#any-of? @_word "alias" "import" "require" "use")) @import

((unary_operator operator: "@" operand: (call target: (identifier) @_word
  (arguments [(string (quoted_content) @doc) (sigil (quoted_content) @doc)])))
  (#any-of? @_word "doc" "typedoc")) @leading
((unary_operator operator: "@" operand: (call target: (identifier) @_word
  (arguments [(string (quoted_content) @doc) (sigil (quoted_content) @doc)])))
  (#eq? @_word "moduledoc")) @statement.inside
((unary_operator operator: "@" operand: (call target: (identifier) @_word))
  (#any-of? @_word "doc" "typedoc" "spec" "impl" "deprecated")) @leading
((unary_operator operator: "@" operand: (call target: (identifier) @kind
  (arguments . [
    (binary_operator left: (call target: (identifier) @name))
    (binary_operator left: (identifier) @name)])))
  (#any-of? @kind "type" "typep" "opaque" "callback" "macrocallback")) @definition.type
((unary_operator operator: "@" operand: (call target: (identifier) @name)) (#not-any-of? @name
  "moduledoc" "doc" "typedoc" "spec" "impl" "deprecated" "type" "typep" "opaque" "callback" "macrocallback" "behaviour"
  "derive" "compile" "dialyzer" "on_load" "before_compile" "after_compile" "external_resource" "tag" "moduletag"
  "enforce_keys" "since" "optional_callbacks")) @definition.constant

((call target: (identifier) @reference.call) (#not-any-of? @reference.call
  "def" "defp" "defmacro" "defmacrop" "defmodule" "defprotocol" "defimpl" "defstruct" "defdelegate" "defguard"
  "alias" "import" "require" "use" "if" "unless" "case" "cond" "with" "for" "quote" "unquote" "test" "describe"
  "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "impl" "behaviour" "defexception"))
(call target: (dot right: (identifier) @reference.call) (arguments))
(binary_operator operator: "|>" right: (identifier) @reference.call)
(alias) @reference.type

((call target: (identifier) @_word) (#any-of? @_word "if" "unless" "for" "while" "with")) @branch
(stab_clause) @branch
(binary_operator operator: ["and" "or" "&&" "||"] @branch)
