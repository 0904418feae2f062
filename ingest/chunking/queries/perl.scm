((use_statement module: (package) @kind (list_expression . [(autoquoted_bareword) @name
  (string_literal (string_content) @name)])) (#eq? @kind "constant")) @definition.constant
((use_statement module: (package) @kind (anonymous_hash_expression (list_expression (autoquoted_bareword) @name)))
  (#eq? @kind "constant")) @definition.constant
(use_statement module: (package) @module) @import
(package_statement name: (package) @name (block) @body) @definition.module
(package_statement name: (package) @name) @definition.package
(package_statement name: (package) @package)
(subroutine_declaration_statement name: (bareword) @name body: (block) @body) @definition.function
(method_declaration_statement name: (bareword) @name body: (block) @body) @definition.method
(class_statement name: (package) @name (block) @body) @definition.class
((expression_statement (ambiguous_function_call_expression function: (function) @kind arguments: [
  (autoquoted_bareword) @name (string_literal (string_content) @name)
  (list_expression . [(autoquoted_bareword) @name (string_literal (string_content) @name)])]))
  (#eq? @kind "has")) @definition.property
(source_file (expression_statement (assignment_expression left: (variable_declaration (_ (varname) @name))))
  @definition.variable)
(source_file (expression_statement (assignment_expression left: (glob (varname) @name)
  right: (anonymous_subroutine_expression))) @definition.function)
(pod) @statement.documentation
(data_section) @statement.data
(function_call_expression function: (function) @reference.call)
(ambiguous_function_call_expression function: (function) @reference.call)
(method_call_expression method: (method) @reference.call)
(package) @reference.type
[(conditional_statement) (elsif) (postfix_conditional_expression) (loop_statement) (for_statement)
 (postfix_loop_expression) (cstyle_for_statement) (conditional_expression)] @branch
