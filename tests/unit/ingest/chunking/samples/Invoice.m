// Invoices and how they are paid.
#import <Foundation/Foundation.h>
#import "Gateway.h"

#define FEE 0.02

@protocol Payable <NSObject>
- (BOOL)isPaid;
@end

@interface Invoice : NSObject <Payable>
@property (nonatomic, copy) NSString *number;
- (BOOL)payWithCard:(NSString *)card retries:(int)retries;
@end

static double ApplyFee(double amount) {
    double rate = 1 + FEE;
    double raised = amount * rate;
    return round(raised);
}

@implementation Invoice

/// Pays it at most once.
- (BOOL)payWithCard:(NSString *)card retries:(int)retries {
    if (self.paid) {
        return NO;
    }
    [self.gateway charge:card amount:ApplyFee(1)];
    return [self respondsToSelector:@selector(finish:)];
}

+ (instancetype)draft {
    return nil;
}

@end
