(from_instruction as: (image_alias) @name) @definition.stage
(from_instruction (image_spec name: (image_name) @module)) @import.stage
(from_instruction (image_spec) @reference.type)
(arg_instruction name: (unquoted_string) @name) @definition.variable
(env_instruction (env_pair name: (_) @name)) @definition.variable
(variable) @reference.name
