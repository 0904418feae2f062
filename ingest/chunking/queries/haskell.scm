(header module: (module) @package) @import.header
(import module: (module) @module names: (import_list name: (import_name) @name)) @import
(import module: (module) @module) @import
(imports) @scope
(declarations) @scope

(signature name: (variable) @name) @definition.function
(signature names: (binding_list name: (variable) @name)) @definition.prototype
(signature name: (prefix_id) @name) @definition.function
(function name: (variable) @name) @definition.function
(function name: (prefix_id) @name) @definition.function
(function (infix operator: (operator) @name)) @definition.function
(function (infix operator: (infix_id (variable) @name))) @definition.function
(bind name: (variable) @name) @definition.function
((data_type name: (_) @name) @definition.struct (#set! kind "data"))
((newtype name: (_) @name) @definition.struct (#set! kind "newtype"))
((type_synomym name: (_) @name) @definition.type (#set! kind "type"))
(type_family name: (_) @name) @definition.type
((class name: (_) @name declarations: (class_declarations) @body) @definition.interface (#set! kind "class"))
((class name: (_) @name) @definition.interface (#set! kind "class"))
((instance name: (_) @name declarations: (instance_declarations) @body) @definition.extension (#set! kind "instance"))
(prefix name: (constructor) @name) @definition.constant
(record name: (constructor) @name) @definition.constant
(newtype_constructor name: (constructor) @name) @definition.constant
(data_constructor (infix operator: (_) @name)) @definition.constant
(gadt_constructor name: (constructor) @name) @definition.constant
(field name: (field_name (variable) @name)) @definition.field
(pattern_synonym) @statement

(apply function: (variable) @reference.call)
(infix operator: (infix_id (variable) @reference.call))
(variable) @reference.name
(name) @reference.type
(constructor) @reference.type
[(guards) (alternative) (conditional)] @branch
