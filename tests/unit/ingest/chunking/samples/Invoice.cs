using System;
using Json = Newtonsoft.Json;
using static System.Math;

namespace Acme.Billing
{
    /// <summary>An invoice of one <see cref="Customer"/>.</summary>
    [Serializable]
    public sealed class Invoice<T> : Document, IPayable where T : Money
    {
        public const int Fee = 30;
        private readonly IGateway _gateway;

        public Money Total { get; set; }

        public Invoice(Money total, IGateway gateway) : base(total)
        {
            Total = total;
            _gateway = gateway;
        }

        /// <summary>Pays it at most once.</summary>
        /// <param name="card">The card's number.</param>
        [HttpPost("pay")]
        public async Task<bool> PayAsync(string card)
        {
            foreach (var attempt in Enumerable.Range(0, 3))
            {
                if (await _gateway.ChargeAsync<Money>(card, ApplyFee(Total)) && attempt >= 0) return true;
            }
            throw new PaymentException(card);
        }

        private static Money ApplyFee(Money total)
        {
            var fee = total.Cents / 100;
            return total.Plus(Max(fee, Fee));
        }
    }

    public interface IPayable
    {
        Task<bool> PayAsync(string card);
    }

    public enum State { Open, Paid }
}
