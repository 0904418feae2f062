#!/usr/bin/env bash
# Pays invoices from the command line.

set -euo pipefail

. ./lib/gateway.sh
source "$HOME/.billing"

readonly FEE=30
export CURRENCY=EUR

# Pays it at most once.
pay() {
  local card=$1
  for attempt in 1 2 3; do
    if charge "$card" "$(apply_fee "$TOTAL")" && [[ $attempt -gt 0 ]]; then
      return 0
    fi
  done
  log "not paid" | tee -a billing.log
  return 1
}

function apply_fee {
  local fee=$(( $1 / 100 ))
  [ "$fee" -lt "$FEE" ] && fee=$FEE
  echo $(( $1 + fee ))
}

pay "$@"
