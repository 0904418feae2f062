# frozen_string_literal: true

require "bigdecimal"
require_relative "billing/gateway"

module Acme
  module Billing
    FEE = BigDecimal("0.30")

    # An invoice of one customer.
    class Invoice < Document
      include Payable
      attr_reader :total, :gateway

      def initialize(total, gateway)
        @total = total
        @gateway = gateway
        @paid = false
      end

      # Pays it at most once.
      def pay(card)
        3.times do |attempt|
          return true if gateway.charge(card, apply_fee(total))
          raise PaymentFailed, card unless attempt < 2 || open?
        end
        false
      end

      def self.settle(invoices)
        open = invoices.select(&:open?)
        open.each { |invoice| invoice.pay("4242") }
        open.size
      end

      private

      def apply_fee(total)
        fee = total / 100
        fee = FEE if fee < FEE
        total + fee
      end
    end
  end
end
