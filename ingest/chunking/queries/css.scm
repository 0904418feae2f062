(import_statement (string_value) @module) @import
(import_statement (call_expression (arguments (string_value) @module))) @import
(charset_statement) @import
(rule_set (selectors (_) @name) (block) @body) @definition.rule
(class_selector (class_name) @name) @definition.selector
(id_selector (id_name) @name) @definition.selector
(media_statement (block) @body) @scope
(supports_statement (block) @body) @scope
(keyframes_statement (keyframes_name) @name) @definition.keyframes
(declaration (property_name) @name (#match? @name "^--")) @definition.variable
((plain_value) @reference.name (#match? @reference.name "^--"))
