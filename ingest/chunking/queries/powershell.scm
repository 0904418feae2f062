((pipeline (pipeline_chain (command command_name: (command_name) @_word
  command_elements: (command_elements (generic_token) @module)))) @import
  (#match? @_word "^(?i:import-module|using)$"))
(function_statement (function_name) @name (script_block) @body) @definition.function
(function_statement (function_name) @name) @definition.function
(class_statement . (simple_name) @name) @definition.class
(class_method_definition (simple_name) @name . (class_method_parameter_list)? (script_block) @body) @definition.method
(class_method_definition (simple_name) @name) @definition.method
(class_property_definition (variable) @name) @definition.property
(enum_statement . (simple_name) @name) @definition.enum
(enum_member (simple_name) @name) @definition.constant
(program (statement_list) @scope)
(class_statement (simple_name) @skip)
(enum_statement (simple_name) @skip)
(command command_name: (command_name) @reference.call)
(invokation_expression (member_name) @reference.call)
(type_identifier) @reference.type
[(if_statement) (elseif_clause) (for_statement) (foreach_statement) (while_statement) (switch_clause)
 (catch_clause)] @branch
