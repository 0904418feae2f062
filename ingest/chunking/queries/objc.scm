(preproc_include path: (_) @module) @import
(module_import path: (_) @module) @import
(class_declaration) @import
(class_interface . (identifier) @name . category: (_)) @definition.extension
((class_interface . (identifier) @name) @definition.class (#set! kind "interface"))
((class_implementation . (identifier) @name) @definition.extension (#set! kind "implementation"))
(class_interface (identifier) @skip)
(class_interface (parameterized_arguments) @skip)
(class_implementation (identifier) @skip)
(protocol_declaration . (identifier) @name) @definition.interface
(protocol_declaration (identifier) @skip)
(protocol_declaration (protocol_reference_list) @skip)
(method_declaration (identifier) @name) @definition.prototype
(method_definition (identifier) @name (compound_statement) @body) @definition.method
(property_declaration (struct_declaration (struct_declarator [
  (identifier) @name (pointer_declarator declarator: (identifier) @name)
  (function_declarator (parenthesized_declarator (block_pointer_declarator (identifier) @name)))])))
  @definition.property
(instance_variable (struct_declaration (struct_declarator [
  (identifier) @name (pointer_declarator declarator: (identifier) @name)]))) @definition.field
(preproc_def name: (identifier) @name) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.macro
[(preproc_if) (preproc_ifdef)] @scope
(function_definition declarator: (function_declarator declarator: (identifier) @name) body: (_) @body)
  @definition.function
(function_definition
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)) body: (_) @body)
  @definition.function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @definition.prototype
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  @definition.prototype
(translation_unit (declaration declarator: [(identifier) @name (pointer_declarator declarator: (identifier) @name)
  (init_declarator declarator: [(identifier) @name (pointer_declarator declarator: (identifier) @name)])])
  @definition.variable)
(implementation_definition (declaration declarator: [
  (identifier) @name (pointer_declarator declarator: (identifier) @name)
  (init_declarator declarator: [(identifier) @name (pointer_declarator declarator: (identifier) @name)])])
  @definition.variable)
(type_definition declarator: (type_identifier) @name) @definition.type
(struct_specifier name: (type_identifier) @name body: (_)) @definition.type
(enum_specifier name: (type_identifier) @name body: (_)) @definition.type
(enumerator name: (identifier) @name) @definition.constant
(message_expression method: (identifier) @reference.call)
(call_expression function: (identifier) @reference.call)
(type_identifier) @reference.type
[(if_statement) (for_statement) (while_statement) (do_statement) (case_statement) (conditional_expression)] @branch
