(import_or_export (library_import (import_specification (configurable_uri) @module))) @import
(import_or_export (library_export (configurable_uri) @module)) @import
(part_directive (uri) @module) @import
(part_of_directive) @import
(library_name) @import
(annotation) @leading
(class_definition name: (identifier) @name body: (class_body) @body) @definition.class
(enum_declaration name: (identifier) @name body: (enum_body) @body) @definition.enum
(mixin_declaration . (mixin)? . (identifier) @name (class_body) @body) @definition.class
(extension_declaration name: (identifier) @name body: (extension_body) @body) @definition.class
(extension_type_declaration name: (_) @name) @definition.class
(enum_constant name: (identifier) @name) @definition.constant
(type_alias . (type_identifier) @name) @definition.type
(method_signature [
  (function_signature name: (identifier) @name)
  (getter_signature name: (identifier) @name)
  (setter_signature name: (identifier) @name)
  (constructor_signature name: (identifier) @name .)
  (factory_constructor_signature (identifier) @name .)
  (factory_constructor_signature (identifier) @name . (formal_parameter_list))
  (constructor_signature name: (identifier) @name . parameters: (_))]) @definition.method
(declaration [
  (function_signature name: (identifier) @name)
  (getter_signature name: (identifier) @name)
  (setter_signature name: (identifier) @name)
  (constructor_signature name: (identifier) @name . parameters: (_))
  (constant_constructor_signature (identifier) @name . (formal_parameter_list))
  (redirecting_factory_constructor_signature (identifier) @name . (formal_parameter_list))]) @definition.method
(declaration (initialized_identifier_list (initialized_identifier . (identifier) @name))) @definition.field
(declaration (static_final_declaration_list (static_final_declaration . (identifier) @name))) @definition.field
(program (function_signature name: (identifier) @name) @definition.function)
(program (getter_signature name: (identifier) @name) @definition.function)
(program (setter_signature name: (identifier) @name) @definition.function)
(program (static_final_declaration_list (static_final_declaration . (identifier) @name)) @definition.constant)
(program (initialized_identifier_list (initialized_identifier . (identifier) @name)) @definition.variable)
(function_body) @continued
(const_builtin) @leading
(final_builtin) @leading
((identifier) @reference.call . (selector (argument_part)))
(unconditional_assignable_selector (identifier) @reference.call)
(type_identifier) @reference.type
[(if_statement) (for_statement) (while_statement) (switch_statement_case) (catch_clause)
 (conditional_expression)] @branch
