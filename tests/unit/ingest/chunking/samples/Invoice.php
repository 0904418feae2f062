<?php

declare(strict_types=1);

namespace Acme\Billing;

use Acme\Gateway\Client as Gateway;
use Acme\Money\{Money, Currency};
use function Acme\Log\info;

require_once 'helpers.php';

const FEE = 30;

/**
 * An invoice of one customer.
 */
#[Entity]
final class Invoice extends Document implements Payable
{
    use Loggable;

    public const OPEN = 'open';

    private ?Money $total = null;

    public function __construct(private Gateway $gateway)
    {
        parent::__construct();
        $this->gateway = $gateway;
        $this->state = self::OPEN;
    }

    /** Pays it at most once. */
    #[Route("/pay")]
    public function pay(string $card): bool
    {
        foreach (range(0, 2) as $attempt) {
            if ($this->gateway->charge($card, apply_fee($this->total)) || $attempt > 1) {
                return true;
            }
        }
        throw new PaymentException($card);
    }
}

interface Payable
{
    public function pay(string $card): bool;
}

function apply_fee(Money $total): Money
{
    $fee = Money::cents($total->amount() / 100);
    info('fee');
    return $total->plus($fee);
}
