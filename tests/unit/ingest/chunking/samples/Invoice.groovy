package acme.billing

import acme.Gateway

/** An invoice of a customer. */
class Invoice extends Document {
    String number
    boolean paid = false

    /** Pays it at most once. */
    def pay(String card) {
        if (paid) {
            return false
        }
        gateway.charge(card, applyFee(total))
    }

    private double applyFee(double amount) {
        double rate = 1.02
        double raised = amount * rate
        return Math.round(raised)
    }
}

interface Payable { boolean isPaid() }

enum State { OPEN, PAID }
