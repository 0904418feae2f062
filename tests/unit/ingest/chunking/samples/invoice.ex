defmodule Acme.Billing.Invoice do
  @moduledoc """
  Invoices and how they are paid.
  """

  alias Acme.Gateway
  alias Acme.Money.{Currency, Rounding}
  import Ecto.Query, only: [from: 2]

  @fee 0.02
  defstruct [:number, :lines, paid: false]

  @type t :: %__MODULE__{number: String.t()}

  @doc "Pays it at most once."
  @spec pay(t(), String.t()) :: {:ok, t()} | {:error, term()}
  def pay(%{paid: true} = invoice, _card) do
    {:ok, invoice}
  end

  def pay(invoice, card) when is_binary(card) do
    case Gateway.charge(card, total(invoice)) do
      {:ok, _receipt} -> {:ok, %{invoice | paid: true}}
      {:error, reason} -> {:error, reason}
    end
  end

  defp total(invoice) do
    invoice.lines
    |> Enum.map(& &1.price)
    |> Enum.sum()
    |> apply_fee()
  end

  defmacro priced(amount) do
    quote do
      Rounding.round(unquote(amount))
    end
  end

  defp apply_fee(amount), do: amount * (1 + @fee)
end

defimpl String.Chars, for: Acme.Billing.Invoice do
  def to_string(invoice), do: invoice.number
end
