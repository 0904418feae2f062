(module_attribute name: (atom) @package) @import.module
(export_attribute (fa fun: (atom) @export)) @import.export
(pp_include file: (string) @module) @import
(pp_include_lib file: (string) @module) @import
(import_attribute module: (_) @module) @import
(behaviour_attribute name: (atom) @module) @import

(fun_decl clause: (function_clause name: (atom) @name body: (clause_body) @body)) @definition.function
(spec fun: (atom) @name) @definition.function
(record_decl name: (atom) @name) @definition.struct
(record_decl fields: (record_field name: (atom) @name) @definition.field)
(pp_define lhs: (macro_lhs name: (_) @name)) @definition.constant
(type_alias name: (type_name name: (atom) @name)) @definition.type
(opaque name: (type_name name: (atom) @name)) @definition.type
(callback fun: (atom) @name) @definition.prototype

(call expr: (atom) @reference.call)
(call expr: (remote fun: (atom) @reference.call))
(remote_module module: (atom) @reference.type)
(macro_call_expr name: (_) @reference.name)
(record_expr name: (record_name name: (atom) @reference.type))
[(cr_clause) (if_clause) (catch_clause)] @branch
