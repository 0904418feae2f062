(variable_declaration (assignment_statement (variable_list . name: (identifier) @name)
  (expression_list . value: (function_call name: (identifier) @_call
    arguments: (arguments . (string content: (string_content) @module)))))
  (#eq? @_call "require")) @import

(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression table: (_) @receiver field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression table: (_) @receiver method: (identifier) @name)) @definition.method

(variable_declaration (assignment_statement (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (block)? @body)))) @definition.function
(assignment_statement (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (block)? @body))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @receiver field: (identifier) @name))
  (expression_list . value: (function_definition body: (block)? @body))) @definition.function
(table_constructor (field name: (identifier) @name value: (function_definition)) @definition.function)

(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @definition.variable)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @definition.variable)
(chunk (assignment_statement (variable_list name: (dot_index_expression field: (identifier) @name))) @definition.variable)

(function_call name: [
  (identifier) @reference.call
  (dot_index_expression field: (identifier) @reference.call)
  (method_index_expression method: (identifier) @reference.call)])
(function_call name: (dot_index_expression table: (identifier) @reference.name))
(function_call name: (method_index_expression table: (identifier) @reference.name))

[(if_statement) (elseif_statement) (for_statement) (while_statement) (repeat_statement)] @branch
(binary_expression ["and" "or"] @branch)
