((command . (unit (identifier) @_word) . (unit (identifier) @module)) @import
  (#any-of? @_word "import" "package"))
((command (unit (identifier) @kind) (unit (identifier) @name) (block) @body) @definition.class
  (#any-of? @kind "class" "trait"))
((command (unit (identifier) @kind) (block . (unit (identifier) @name)) @body) @definition.class
  (#any-of? @kind "class" "trait"))
((command (unit (identifier) @kind) (block . (unit (identifier) @name)) @body) @definition.interface
  (#any-of? @kind "interface"))
((command (unit (identifier) @kind) (block . (unit (identifier) @name)) @body) @definition.enum (#eq? @kind "enum"))
((command (unit (identifier) @kind) (block . (unit (func (identifier) @name))) @body) @definition.function
  (#not-any-of? @kind "if" "while" "for" "switch" "catch" "return" "new" "else" "try" "task"))
((command (unit (identifier) @kind) (block . (unit (identifier) @name)) @body) @definition.block (#eq? @kind "task"))
((command (block . (unit (identifier) @name)) @body) @definition.block)
(block (unit (identifier) @_word) . (block . (unit (func (identifier) @name)))) @definition.function
(end_command) @scope
(func (identifier) @reference.call)
