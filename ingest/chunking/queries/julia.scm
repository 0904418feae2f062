(using_statement (identifier) @module) @import
(import_statement [(identifier) @module (import_path) @module]) @import
(using_statement (import_path) @module) @import
(module_definition name: (identifier) @name (block)? @body) @definition.module
(function_definition (signature [
  (call_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)
    (field_expression value: (_) @receiver (identifier) @name)])
  (typed_expression . (call_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)
    (field_expression value: (_) @receiver (identifier) @name)]))
  (where_expression . (call_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)
    (field_expression value: (_) @receiver (identifier) @name)]))
  (where_expression . (typed_expression . (call_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)
    (field_expression value: (_) @receiver (identifier) @name)])))
  (identifier) @name]) (block)? @body) @definition.function
(macro_definition (signature (call_expression . (identifier) @name)) (block)? @body) @definition.macro
(assignment . (call_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)
    (field_expression value: (_) @receiver (identifier) @name)])) @definition.function
(assignment . (where_expression . (call_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)
    (field_expression value: (_) @receiver (identifier) @name)]))) @definition.function
(assignment . (typed_expression . (call_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)
    (field_expression value: (_) @receiver (identifier) @name)]))) @definition.function
(struct_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])])) @definition.struct
(abstract_definition (type_head [
  (identifier) @name
  (parametrized_type_expression . (identifier) @name)
  (binary_expression . [(identifier) @name (parametrized_type_expression . (identifier) @name)])])) @definition.type
(const_statement (assignment . (identifier) @name)) @definition.constant
(struct_definition (block (typed_expression . (identifier) @name) @definition.field))
(struct_definition (block (identifier) @name @definition.field))
(struct_definition (block [
  (assignment . [(identifier) @name (typed_expression . (identifier) @name)])
  (binary_expression . (typed_expression . (identifier) @name))
  (const_statement [(typed_expression . (identifier) @name) (assignment . (typed_expression . (identifier) @name))])]
  @definition.field))
(source_file (assignment . (identifier) @name) @definition.variable)
(string_literal (content) @doc) @leading
(export_statement (identifier) @export)
(call_expression . [(identifier) @reference.call (field_expression (identifier) @reference.call .)])
(typed_expression (identifier) (identifier) @reference.type)
[(if_statement) (elseif_clause) (for_statement) (while_statement) (catch_clause) (ternary_expression)] @branch
