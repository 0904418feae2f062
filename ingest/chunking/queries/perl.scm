((use_statement module: (package) @_word (list_expression . (autoquoted_bareword) @name)) @definition.constant
  (#eq? @_word "constant"))
((use_statement module: (package) @_word (anonymous_hash_expression (list_expression (autoquoted_bareword) @name)))
  @definition.constant (#eq? @_word "constant"))
((use_statement module: (package) @_word (list_expression . (string_literal (string_content) @name)))
  @definition.constant (#eq? @_word "constant"))
(use_statement module: (package) @module) @import
(require_expression (bareword) @module) @import
(package_statement name: (package) @name (block) @body) @definition.module
(package_statement name: (package) @name @package) @definition.package
(class_statement name: (package) @name (block)? @body) @definition.class
(subroutine_declaration_statement name: (bareword) @name body: (block) @body) @definition.function
(method_declaration_statement name: (bareword) @name body: (block) @body) @definition.method
(source_file (expression_statement (assignment_expression
  left: (variable_declaration variable: (_ (varname) @name)))) @definition.variable)
(function_call_expression function: (function) @reference.call)
(ambiguous_function_call_expression function: (function) @reference.call)
(method_call_expression method: (method) @reference.call)
(method_call_expression invocant: (bareword) @reference.type)
[(conditional_statement) (elsif) (loop_statement) (for_statement) (conditional_expression)] @branch
