(** Pays it at most once. *)
val pay : invoice -> string -> bool

type invoice
