(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr . (BUILTINIDENTIFIER) @_word
    (FnCallArguments (ErrorUnionExpr (SuffixExpr (STRINGLITERALSINGLE) @module))))))
  (#eq? @_word "@import")) @import
(Decl (FnProto function: (IDENTIFIER) @name) (Block)? @body) @definition.function
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name
  (ErrorUnionExpr (SuffixExpr (ContainerDecl (ContainerDeclType) @kind) @body)))) @definition.struct
(Decl (VarDecl variable_type_function: (IDENTIFIER) @name)) @definition.constant
(ContainerField field_member: (IDENTIFIER) @name) @definition.field
(TestDecl (STRINGLITERALSINGLE) @name) @definition.test
(ContainerDeclType) @skip
"pub" @leading
("pub" . (Decl (FnProto function: (IDENTIFIER) @export)))
("pub" . (Decl (VarDecl variable_type_function: (IDENTIFIER) @export)))
(SuffixExpr variable_type_function: (IDENTIFIER) @reference.call . (FnCallArguments))
(FieldOrFnCall function_call: (IDENTIFIER) @reference.call)
(SuffixExpr variable_type_function: (IDENTIFIER) @reference.name)
[(IfStatement) (WhileStatement) (ForStatement) (SwitchProng)] @branch
