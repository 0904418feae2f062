/* Copyright 2024 Acme. */

/* Invoices and their payment. */
#include <stdio.h>
#include "billing/gateway.h"

#define FEE 30
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct invoice {
	long total;
	struct gateway *gateway;
	enum state state;
} invoice_t;

enum state { OPEN, PAID = 2 };

static const char *names[] = { "open", "paid" };

int pay(invoice_t *invoice, const char *card);

static long apply_fee(long total)
{
	long fee = total / 100;

	return total + MAX(fee, FEE);
}

/* Pays it at most once. */
int
pay(invoice_t *invoice, const char *card)
{
	int attempt;

	for (attempt = 0; attempt < 3; attempt++) {
		if (invoice->gateway->charge(card, apply_fee(invoice->total)) && invoice->state == OPEN) {
			invoice->state = PAID;
			return 1;
		}
	}
	fprintf(stderr, "not paid\n");
	return 0;
}
