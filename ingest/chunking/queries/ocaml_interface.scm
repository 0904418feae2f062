(open_module module: (_) @module) @import
(include_module_type) @import
(value_specification [(value_name) (parenthesized_operator)] @name) @definition.prototype
(external (value_name) @name) @definition.prototype
(type_definition (type_binding name: (_) @name)) @definition.type
(constructor_declaration (constructor_name) @name) @definition.constant
(tag_specification (tag) @name) @definition.constant
(field_declaration (field_name) @name) @definition.field
(module_definition (module_binding (module_name) @name module_type: (signature) @body)) @definition.module
(module_definition (module_binding (module_name) @name)) @definition.type
(module_type_definition (module_type_name) @name body: (signature) @body) @definition.interface
(module_type_definition (module_type_name) @name) @definition.type
(exception_definition (constructor_declaration (constructor_name) @name)) @definition.type
(class_type_definition (class_type_binding (class_type_name) @name)) @definition.interface
(type_constructor_path (type_constructor) @reference.type)
(module_path (module_name) @reference.type)
