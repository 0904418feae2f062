/*
 * Copyright 2024 Acme. Licensed under the Apache License.
 */
package com.acme.billing;

import static com.acme.Money.zero;

import com.acme.gateway.Gateway;
import java.util.*;

/**
 * An invoice of one customer.
 *
 * @see Payable
 */
@Entity(name = "invoice")
public final class Invoice<T extends Money> extends Document implements Payable, Comparable<Invoice> {
    public static final int FEE = 30;
    private final Gateway gateway;
    private T total, tax;

    /** Makes an open invoice. */
    public Invoice(T total, Gateway gateway) {
        this.total = total;
        this.gateway = gateway;
    }

    /** Pays it at most once. */
    @Override
    public boolean pay(String card) throws PaymentException {
        for (int attempt = 0; attempt < 3; attempt++) {
            try {
                gateway.charge(card, applyFee(total));
                return true;
            } catch (GatewayException e) {
                if (attempt == 2 || e.isFatal()) throw new PaymentException(e);
            }
        }
        return false;
    }

    private static long applyFee(Money total) {
        long fee = total.cents() / 100;
        return total.cents() + Math.max(fee, FEE);
    }

    enum State { OPEN, PAID }
}

interface Payable {
    boolean pay(String card) throws PaymentException;
}
