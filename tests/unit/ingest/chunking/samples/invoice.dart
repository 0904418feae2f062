// Invoices and how they are paid.
import 'package:acme/gateway.dart' show Gateway;
import 'line.dart';

const fee = 0.02;

/// An invoice of a customer.
class Invoice extends Document with Payable {
  final String number;
  bool _paid = false;

  Invoice(this.number);
  Invoice.draft() : number = '';

  /// Pays it at most once.
  @override
  Future<bool> pay(String card, {int retries = 3}) async {
    if (_paid && retries > 0) {
      return false;
    }
    for (final line in lines) {
      await gateway.charge(card, applyFee(line.price));
    }
    return _paid = true;
  }

  double get total => lines.length * fee;
}

double applyFee(double amount) {
  final rate = 1 + fee;
  final raised = amount * rate;
  return raised.roundToDouble();
}

enum State { open, paid }

mixin Payable on Document {
  bool get isPaid => false;
}

extension Cents on double {
  int toCents() => (this * 100).round();
}

typedef Charge = bool Function(String card);
