((call function: (identifier) @_word (arguments . (argument value: [(identifier) (string)] @module)))
  (#any-of? @_word "library" "require" "source" "requireNamespace")) @import
(binary_operator lhs: [(identifier) (string)] @name operator: ["<-" "<<-" "="] rhs: (function_definition body: (_) @body)) @definition.function
(binary_operator lhs: (function_definition body: (_) @body) operator: ["->" "->>"] rhs: (identifier) @name) @definition.function
((call function: (identifier) @_word (arguments . (argument value: (string content: (string_content) @name)))) @definition.class
  (#any-of? @_word "setClass" "setRefClass"))
((call function: (identifier) @_word (arguments . (argument value: (string content: (string_content) @name)))) @definition.function
  (#any-of? @_word "setGeneric"))
((call function: (identifier) @_word (arguments . (argument value: (string content: (string_content) @name)))) @definition.method
  (#any-of? @_word "setMethod"))
((binary_operator lhs: (identifier) @name rhs: (call
  function: [(identifier) @_word (namespace_operator rhs: (identifier) @_word)] (arguments) @body)) @definition.class
  (#any-of? @_word "R6Class" "setClass" "setRefClass"))
(program (binary_operator lhs: [(identifier) (string)] @name operator: ["<-" "<<-" "="]) @definition.variable)
(argument name: (identifier) @name value: (function_definition)) @definition.function
((call function: [(identifier) @_word (namespace_operator rhs: (identifier) @_word)]
  arguments: (arguments (argument value: (call function: (identifier) @_list arguments: (arguments (argument name: (identifier) @name) @definition.field)))))
  (#eq? @_word "R6Class") (#eq? @_list "list"))
(call function: [(identifier) @reference.call (namespace_operator rhs: (identifier) @reference.call)
  (extract_operator rhs: (identifier) @reference.call)])
[(if_statement) (for_statement) (while_statement) (repeat_statement)] @branch
(binary_operator operator: ["&&" "||"] @branch)
