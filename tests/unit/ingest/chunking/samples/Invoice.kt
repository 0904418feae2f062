@file:JvmName("Billing")

package com.acme.billing

import com.acme.gateway.Gateway
import com.acme.money.Money as Cash

/** Added to each payment. */
const val FEE = 30

typealias Handler = (Invoice) -> Unit

/** An invoice of one customer. */
@Serializable
data class Invoice(val total: Cash, private val gateway: Gateway) : Document(), Payable {
    var state: State = State.OPEN

    /** Pays it at most once. */
    @Throws(PaymentException::class)
    override suspend fun pay(card: String): Boolean {
        for (attempt in 0 until 3) {
            if (gateway.charge(card, applyFee(total)) && state == State.OPEN) {
                state = State.PAID
                return true
            }
        }
        return false
    }

    companion object {
        fun empty(gateway: Gateway): Invoice {
            val total = Cash.zero()
            require(total.isZero)
            return Invoice(total, gateway)
        }
    }
}

enum class State {
    OPEN,
    PAID,
}

interface Payable {
    suspend fun pay(card: String): Boolean
}

object Registry {
    val all = mutableListOf<Invoice>()
}

internal fun Cash.slug(): String {
    val text = toString()
    val lower = text.lowercase()
    return lower.replace(" ", "-")
}
