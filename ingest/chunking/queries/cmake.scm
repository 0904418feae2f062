((normal_command (identifier) @_word (argument_list . (argument) @module)) @import
  (#match? @_word "^(?i:include|find_package|add_subdirectory)$"))
(function_def (function_command (argument_list . (argument) @name)) (body)? @body) @definition.function
(macro_def (macro_command (argument_list . (argument) @name)) (body)? @body) @definition.macro
((normal_command (identifier) @_word (argument_list . (argument) @name)) @definition.variable
  (#match? @_word "^(?i:set|option)$"))
((normal_command (identifier) @_word (argument_list . (argument) @name)) @definition.target
  (#match? @_word "^(?i:add_library|add_executable|add_custom_target|project)$") (#not-match? @name "[$]"))
(if_condition (body) @body) @scope
(normal_command (identifier) @reference.call)
(variable_ref (normal_var (variable) @reference.name))
[(if_command) (elseif_command) (foreach_command) (while_command)] @branch
