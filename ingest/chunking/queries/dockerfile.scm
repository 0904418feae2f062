; A stage is the instructions from its FROM to the next.
(from_instruction as: (image_alias) @name) @definition.stage
(from_instruction) @statement
[(add_instruction) (arg_instruction) (cmd_instruction) (copy_instruction) (entrypoint_instruction) (env_instruction)
 (expose_instruction) (healthcheck_instruction) (label_instruction) (maintainer_instruction) (onbuild_instruction)
 (run_instruction) (shell_instruction) (stopsignal_instruction) (user_instruction) (volume_instruction)
 (workdir_instruction)] @continued
(image_spec name: (image_name) @module) @import
(arg_instruction name: (unquoted_string) @name @definition.variable)
(env_pair name: (_) @name) @definition.variable
(image_name) @reference.type
(variable) @reference.name
