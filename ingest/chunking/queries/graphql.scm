((definition (type_system_definition (type_definition (object_type_definition (name) @name (fields_definition)? @body)))) @definition.class (#set! kind "type"))
((definition (type_system_definition (type_definition (input_object_type_definition (name) @name (input_fields_definition)? @body)))) @definition.class (#set! kind "input"))
(definition (type_system_definition (type_definition (interface_type_definition (name) @name (fields_definition)? @body)))) @definition.interface
(definition (type_system_definition (type_definition (enum_type_definition (name) @name (enum_values_definition)? @body)))) @definition.enum
((definition (type_system_definition (type_definition (union_type_definition (name) @name)))) @definition.type (#set! kind "union"))
((definition (type_system_definition (type_definition (scalar_type_definition (name) @name)))) @definition.type (#set! kind "scalar"))
(definition (type_system_definition (directive_definition (name) @name))) @definition.directive
(definition (type_system_extension (type_extension (_ (name) @name)))) @definition.extension
(definition (executable_definition (operation_definition (operation_type) @kind (name) @name (selection_set) @body))) @definition.function
((definition (executable_definition (fragment_definition (fragment_name (name) @name)))) @definition.function (#set! kind "fragment"))
(field_definition (name) @name) @definition.field
(input_fields_definition (input_value_definition (name) @name) @definition.field)
(enum_value_definition (enum_value (name) @name)) @definition.constant
(document) @scope
(named_type (name) @reference.type)
(fragment_spread (fragment_name (name) @reference.call))
