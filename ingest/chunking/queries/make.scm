(include_directive filenames: (list) @module) @import
((variable_assignment target_or_pattern: (list (word) @name) name: (word) @name) @definition.function (#set! kind "target"))
(variable_assignment name: (word) @name) @definition.variable
(shell_assignment name: (word) @name) @definition.variable
(define_directive name: (word) @name) @definition.macro
(export_directive (variable_assignment name: (word) @name)) @definition.variable
((rule (targets (word) @_target)) @statement.special (#match? @_target "^[.][A-Z_]+$"))
((rule (targets (_) @name) (recipe)? @body) @definition.function (#set! kind "target"))
(conditional) @scope
(variable_reference (word) @reference.name)
(prerequisites (word) @reference.name)
(function_call function: _ @reference.call)
