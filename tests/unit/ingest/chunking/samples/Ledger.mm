#import "Invoice.h"

@implementation Ledger

- (void)add:(Invoice *)invoice {
    if (invoice) {
        [self.invoices addObject:invoice];
    }
}

@end
