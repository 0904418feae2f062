// Package billing pays invoices.
package billing

import (
	"context"
	"fmt"

	gw "github.com/acme/gateway/v2/client"
)

// Fee is added to each payment.
const Fee = 30

var (
	retries = 3
	_       Payable = (*Invoice)(nil)
)

// Payable can be paid.
type Payable interface {
	Pay(ctx context.Context, card string) error
	fmt.Stringer
}

// State tells whether an invoice is paid.
type State int

// Invoice is an invoice of one customer.
type Invoice struct {
	Total   int64
	gateway *gw.Gateway
	state   State
}

// Pay pays the invoice at most once.
func (i *Invoice) Pay(ctx context.Context, card string) error {
	for attempt := 0; attempt < retries; attempt++ {
		err := i.gateway.Charge(ctx, card, applyFee(i.Total))
		if err == nil {
			return nil
		}
		if attempt == retries-1 || ctx.Err() != nil {
			return fmt.Errorf("pay: %w", err)
		}
	}
	return nil
}

func (s Set[T]) Len() int {
	n := 0
	n += len(s.items)
	return n
}

func applyFee(total int64) int64 {
	fee := total / 100
	if fee < Fee {
		fee = Fee
	}
	return total + fee
}
