#include "invoice.h"

#include <memory>

namespace acme::billing {

constexpr int kFee = 30;

template <typename T>
T Largest(T a, T b) {
  if (a > b) {
    return a;
  }
  return b;
}

}  // namespace acme::billing

// Pays all of them.
int acme::billing::Settle(std::vector<Invoice>& invoices) {
  int count = 0;
  for (auto& invoice : invoices) {
    count += invoice.Pay("4242") ? 1 : 0;
  }
  return std::max<int>(count, 0);
}

bool Invoice::operator==(const Invoice& other) const {
  const bool same = total_ == other.total_;
  Log(same);
  return same;
}

Invoice::~Invoice() {
  auto old = std::make_unique<Gateway>(gateway_);
  old->Close();
  delete gateway_;
}
