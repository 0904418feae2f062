//! Invoices and how they are paid.
const std = @import("std");
const gateway = @import("gateway.zig");

pub const fee: f64 = 0.02;

/// An invoice of a customer.
pub const Invoice = struct {
    number: []const u8,
    paid: bool = false,

    /// Pays it at most once.
    pub fn pay(self: *Invoice, card: []const u8) !bool {
        if (self.paid) {
            return false;
        }
        try gateway.charge(card, applyFee(1));
        self.paid = true;
        return true;
    }
};

const State = enum { open, paid };

fn applyFee(amount: f64) f64 {
    const rate = 1 + fee;
    const raised = amount * rate;
    return std.math.round(raised);
}

test "an invoice is paid once" {
    var invoice = Invoice{ .number = "1" };
    try std.testing.expect(try invoice.pay("card"));
}
