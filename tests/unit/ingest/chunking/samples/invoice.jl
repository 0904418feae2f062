"Invoices and how they are paid."
module Billing

using Dates, Printf
import Gateway.charge
export pay, Invoice

const FEE = 0.02

abstract type Payable end

mutable struct Invoice{T} <: Payable
    number::String
    lines::Vector{T}
    paid::Bool
end

"""
Pays it at most once.
"""
function pay(invoice::Invoice, card; retries=3)::Bool
    if invoice.paid && retries > 0
        return false
    end
    for _ in 1:retries
        charge(card, total(invoice)) && return true
    end
    return false
end

total(invoice::Invoice) = sum(line.price for line in invoice.lines) * (1 + FEE)

Base.show(io::IO, invoice::Invoice) = print(io, invoice.number)

macro priced(amount)
    return :(round($amount))
end

end
