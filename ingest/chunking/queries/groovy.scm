; The grammar knows words, calls and blocks, so that a declaration is a command that ends with a block.
((command . (unit (identifier) @_word) . (unit) @module .) @import (#any-of? @_word "import" "package"))
((command . (unit (identifier) @_word) . (unit (identifier)) . (unit) @module .) @import (#eq? @_word "import"))
((command (unit (identifier) @kind) . (unit (identifier) @name) (block) @body) @definition.class
  (#any-of? @kind "class" "trait") (#set! head "row"))
((command (unit (identifier) @kind) . (block . (unit (identifier) @name)) @body) @definition.class
  (#any-of? @kind "class" "trait") (#set! head "row"))
((command (unit (identifier) @kind) . (unit (identifier) @name) (block) @body) @definition.interface
  (#eq? @kind "interface") (#set! head "row"))
((command (unit (identifier) @kind) . (block . (unit (identifier) @name)) @body) @definition.interface
  (#eq? @kind "interface") (#set! head "row"))
((command (unit (identifier) @kind) . (block . (unit (identifier) @name)) @body) @definition.enum (#eq? @kind "enum"))
((command (unit (identifier) @_word) . (block . (unit (func . (identifier) @name))) @body) @definition.function
  (#not-any-of? @_word "if" "while" "for" "switch" "catch" "return" "new" "else" "try" "throw" "assert" "task" "in"))
((command (unit (identifier) @_word) . (unit (func . (identifier) @name)) .) @definition.prototype
  (#match? @_word "^(void|def|boolean|byte|char|int|long|float|double|abstract|[A-Z][A-Za-z0-9]*)$"))
((command . (unit (identifier) @_word) . (block . (unit (identifier) @name)) @body) @definition.block
  (#eq? @_word "task"))
(source_file (command . (block . (unit (identifier) @name)) @body) @definition.block)
((command (unit (identifier) @_word) (block (command (unit) . (unit (identifier) @name) . (operators)) @definition.field))
  (#any-of? @_word "class" "trait"))
((command (unit (identifier) @_word) (block (command (unit) . (unit (identifier) @name) .) @definition.field))
  (#any-of? @_word "class" "trait"))
(block . (unit) @skip)
((func . (identifier) @reference.call) (#not-any-of? @reference.call "if" "while" "for" "switch" "catch"))
((func . (identifier) @_word) @branch (#any-of? @_word "if" "while" "for" "catch"))
