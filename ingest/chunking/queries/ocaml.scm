(open_module module: (_) @module) @import
(include_module) @import
(value_definition . (let_binding pattern: [(value_name) (parenthesized_operator)] @name (parameter) body: (_) @body))
  @definition.function
(value_definition . (let_binding pattern: [(value_name) (parenthesized_operator)] @name
  body: [(function_expression) (fun_expression)] @body)) @definition.function
(let_binding pattern: [(value_name) (parenthesized_operator)] @name (parameter)) @definition.function
(let_binding pattern: [(value_name) (parenthesized_operator)] @name
  body: [(function_expression) (fun_expression)]) @definition.function
(compilation_unit (value_definition (let_binding pattern: [(value_name) (parenthesized_operator)] @name))
  @definition.variable)
(structure (value_definition (let_binding pattern: [(value_name) (parenthesized_operator)] @name)) @definition.variable)
(value_specification (value_name) @name) @definition.prototype
(value_specification (parenthesized_operator) @name) @definition.prototype
(external (value_name) @name) @definition.prototype
(type_definition (type_binding name: (_) @name)) @definition.type
(constructor_declaration (constructor_name) @name) @definition.constant
(tag_specification (tag) @name) @definition.constant
(field_declaration (field_name) @name) @definition.field
(module_definition (module_binding (module_name) @name body: (structure) @body)) @definition.module
(module_definition (module_binding (module_name) @name body: (functor body: (structure) @body))) @definition.module
(module_definition (module_binding (module_name) @name module_type: (signature) @body)) @definition.module
(module_definition (module_binding (module_name) @name)) @definition.type
(module_type_definition (module_type_name) @name body: (signature) @body) @definition.interface
(module_type_definition (module_type_name) @name) @definition.type
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type
(class_definition (class_binding (class_name) @name body: (object_expression) @body)) @definition.class
(class_type_definition (class_type_binding (class_type_name) @name)) @definition.interface
(method_definition (method_name) @name) @definition.method
(application_expression function: (value_path (value_name) @reference.call))
(value_path (value_name) @reference.name)
(type_constructor_path (type_constructor) @reference.type)
(module_path (module_name) @reference.type)
[(match_case) (if_expression) (while_expression) (for_expression)] @branch
