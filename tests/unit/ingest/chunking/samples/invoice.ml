(* Invoices and how they are paid. *)
open Gateway

type state = Open | Paid of float

type invoice = { number : string; mutable state : state }

exception Refused of string

module type Payable = sig
  type t
  val amount : t -> float
end

module Fee = struct
  let rate = 0.02
  let apply amount = amount *. (1. +. rate)
end

(** Pays it at most once. *)
let pay invoice card =
  match invoice.state with
  | Paid _ -> false
  | Open ->
      let amount = Fee.apply 1. in
      if charge card amount then invoice.state <- Paid amount;
      true

let rec total = function
  | [] -> 0.
  | line :: rest -> price line +. total rest

and price (_, price) = price

class ledger = object
  val mutable invoices = []
  method add invoice = invoices <- invoice :: invoices
end

external hash : string -> int = "billing_hash"
