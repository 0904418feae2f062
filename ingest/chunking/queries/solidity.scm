(pragma_directive) @import
(import_directive import_name: (identifier) @name source: (string) @module) @import
(import_directive source: (string) @module) @import
((contract_declaration name: (identifier) @name body: (contract_body) @body) @definition.class (#set! kind "contract"))
((library_declaration name: (identifier) @name body: (contract_body) @body) @definition.class (#set! kind "library"))
(interface_declaration name: (identifier) @name body: (contract_body) @body) @definition.interface
(struct_declaration name: (identifier) @name body: (struct_body) @body) @definition.struct
(struct_member name: (identifier) @name) @definition.field
(enum_declaration name: (identifier) @name body: (enum_body) @body) @definition.enum
(enum_value) @name @definition.constant
(event_definition name: (identifier) @name) @definition.event
(error_declaration name: (identifier) @name) @definition.error
(user_defined_type_definition name: (identifier) @name) @definition.type
((modifier_definition name: (identifier) @name body: (_) @body) @definition.method (#set! kind "modifier"))
(function_definition name: (identifier) @name body: (function_body) @body) @definition.function
(function_definition name: (identifier) @name) @definition.function
(constructor_definition "constructor" @name body: (_) @body) @definition.constructor
(fallback_receive_definition body: (_) @body) @statement
(state_variable_declaration name: (identifier) @name) @definition.variable
(constant_variable_declaration name: (identifier) @name) @definition.constant
(call_expression function: (expression [
  (identifier) @reference.call (member_expression property: (identifier) @reference.call)]))
(modifier_invocation (identifier) @reference.call)
(emit_statement name: (expression (identifier) @reference.call))
(user_defined_type (identifier) @reference.type)
[(if_statement) (for_statement) (while_statement) (ternary_expression)] @branch
