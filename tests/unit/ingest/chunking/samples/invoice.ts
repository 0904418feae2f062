/** Invoices and their payment. */
import { Gateway, charge as chargeCard } from "@acme/gateway/client";
import type { Money } from "./money";
import * as errors from "../errors";

export const FEE = 0.3;
const retries = 3;

/** Anything with a number. */
export interface Payable extends Document {
  total: Money;
  pay(card: string): Promise<boolean>;
}

export type Handler = (invoice: Invoice) => void;

export enum State {
  Open = "open",
  Paid = "paid",
}

/** An invoice of one customer. */
@Injectable({ scope: "request" })
export class Invoice extends Base<Money> implements Payable {
  private state: State = State.Open;

  constructor(
    readonly total: Money,
    private readonly gateway: Gateway,
  ) {
    super();
  }

  /** Pays it at most once. */
  @HostListener("click")
  public async pay(card: string): Promise<boolean> {
    for (let attempt = 0; attempt < retries; attempt++) {
      try {
        await chargeCard(this.gateway, card, applyFee(this.total));
        this.state = State.Paid;
        return true;
      } catch (error) {
        if (attempt === retries - 1 || error instanceof errors.Fatal) throw error;
      }
    }
    return false;
  }

  isOpen = (): boolean => {
    const open = this.state === State.Open;
    log(open);
    return open;
  };
}

export const applyFee = (total: Money): Money => {
  const fee = Math.max(FEE, total.amount / 100);
  const factor = total.foreign ? 2 : 1;
  return total.plus(fee * factor);
};

function helper(value: number): string {
  const text = String(value);
  const trimmed = text.trim();
  return trimmed;
}

export default function main(): void {
  const invoice = new Invoice(zero(), connect());
  invoice.pay("4242");
  helper(1);
}

export { helper as toText };
