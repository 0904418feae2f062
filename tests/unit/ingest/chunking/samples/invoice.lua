-- Invoices and how they are paid.
local gateway = require("acme.gateway")
local money = require("acme.money")

local Invoice = {}
Invoice.__index = Invoice
local FEE = 0.02

--- Pays it at most once.
-- Returns whether it was paid.
function Invoice:pay(card, retries)
  if self.paid and not retries then
    return false
  end
  for _ = 1, retries or 1 do
    if gateway.charge(card, self.total) then
      self.paid = true
    end
  end
  return self.paid
end

function Invoice.new(number, lines)
  local self = setmetatable({}, Invoice)
  self.number = number
  self.lines = lines or {}
  self.total = money.sum(self.lines)
  return self
end

local function apply_fee(amount)
  local fee = amount * FEE
  local rounded = money.round(fee)
  return amount + rounded
end

Invoice.describe = function(self)
  local text = self.number
  text = text .. ": " .. apply_fee(self.total)
  return text
end

return Invoice
