package com.acme
package billing

import com.acme.gateway.Gateway
import scala.collection.{immutable => im, mutable}

/** An invoice of one customer. */
@deprecated("use Bill", "2.0")
sealed class Invoice[T](val total: Money, gateway: Gateway) extends Document with Payable {
  private val retries = 3
  type Out = T

  /** Pays it at most once. */
  override def pay(card: String)(implicit ctx: Context): Boolean = {
    val charged = gateway.charge(card, Invoice.applyFee(total))
    charged match {
      case Charged(amount) if amount > 0 => true
      case _ => throw new PaymentException(card)
    }
  }

  def isOpen: Boolean
}

object Invoice {
  val Fee = 30

  def applyFee(total: Money): Money = {
    val fee = total / 100
    val least = Money(Fee)
    total + fee.max(least)
  }
}

trait Payable {
  def pay(card: String)(implicit ctx: Context): Boolean
}
