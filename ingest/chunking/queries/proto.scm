(package (full_ident) @package) @import.package
(syntax) @import.syntax
(import path: (string) @module) @import
(option) @import.option

((message (message_name (identifier) @name) (message_body) @body) @definition.struct (#set! kind "message"))
(enum (enum_name (identifier) @name) (enum_body) @body) @definition.enum
((service (service_name (identifier) @name)) @definition.interface (#set! kind "service"))
((rpc (rpc_name (identifier) @name)) @definition.method (#set! kind "rpc"))
((extend (full_ident) @name (message_body) @body) @definition.extension (#set! kind "extend"))
((oneof (identifier) @name) @definition.field (#set! kind "oneof"))
(oneof_field (identifier) @name) @definition.field
(field (identifier) @name) @definition.field
(map_field (identifier) @name) @definition.field
((enum_field (identifier) @name) @definition.constant (#set! kind "value"))

(service_name) @skip

(message_or_enum_type) @reference.type
