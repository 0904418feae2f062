-- | Invoices and how they are paid.
module Acme.Billing.Invoice (Invoice (..), pay) where

import Acme.Gateway (charge)
import qualified Data.Map.Strict as Map

-- | An invoice of a customer.
data Invoice = Invoice
  { number :: String
  , items :: [Line]
  }
  | Draft
  deriving (Show, Eq)

newtype Line = Line {price :: Double}

type Card = String

class Payable a where
  amount :: a -> Double
  isPaid :: a -> Bool
  isPaid _ = False

instance Payable Invoice where
  amount = sum . map price . items

-- | Pays it at most once.
pay :: Card -> Invoice -> Either String Invoice
pay _ Draft = Left "a draft"
pay card invoice
  | isPaid invoice = Right invoice
  | otherwise = charge card (applyFee (amount invoice))

applyFee :: Double -> Double
applyFee value = value * (1 + fee)
  where
    fee = 0.02

(<+>) :: Invoice -> Invoice -> Invoice
a <+> b = a {items = items a ++ items b}
