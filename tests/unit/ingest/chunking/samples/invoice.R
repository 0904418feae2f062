# Invoices and how they are paid.
library(dplyr)
source("gateway.R")

FEE <- 0.02

#' Pays it at most once.
pay <- function(invoice, card, retries = 3) {
  if (invoice$paid && retries > 0) {
    return(FALSE)
  }
  for (i in seq_len(retries)) {
    gateway::charge(card, total(invoice))
  }
  TRUE
}

total = function(invoice) {
  amount <- sum(invoice$lines$price)
  fee <- amount * FEE
  rounded <- round(fee, 2)
  amount + rounded
}

setClass("Line", representation(article = "character", price = "numeric"))

Ledger <- R6Class("Ledger",
  public = list(
    add = function(invoice) {
      self$invoices <- append(self$invoices, invoice)
      invisible(self)
    }
  )
)
