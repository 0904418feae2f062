(import_statement (string_value) @module) @import
(use_statement (string_value) @module) @import
(forward_statement (string_value) @module) @import
(mixin_statement name: (identifier) @name (block) @body) @definition.function
(function_statement name: (identifier) @name (block) @body) @definition.function
(rule_set (selectors (_) @name) (block) @body) @definition.rule
(class_selector (class_name) @name) @definition.selector
(id_selector (id_name) @name) @definition.selector
(placeholder (identifier) @name) @definition.selector
(media_statement (block) @body) @scope
(supports_statement (block) @body) @scope
(keyframes_statement (keyframes_name) @name) @definition.keyframes
(declaration (property_name) @name (#match? @name "^(--|[$])")) @definition.variable
(include_statement (identifier) @reference.call)
(call_expression (function_name) @reference.call)
