%% Invoices and how they are paid.
-module(invoice).
-behaviour(gen_server).
-export([pay/2, total/1]).

-include("billing.hrl").
-include_lib("kernel/include/logger.hrl").

-define(FEE, 0.02).
-record(invoice, {number, lines = [], paid = false}).
-type card() :: binary().

%% Pays it at most once.
-spec pay(#invoice{}, card()) -> {ok, #invoice{}} | {error, term()}.
pay(#invoice{paid = true} = Invoice, _Card) ->
    {ok, Invoice};
pay(Invoice, Card) when is_binary(Card) ->
    case gateway:charge(Card, total(Invoice)) of
        ok -> {ok, Invoice#invoice{paid = true}};
        Error -> Error
    end.

total(#invoice{lines = Lines}) ->
    Sum = lists:sum([price(Line) || Line <- Lines]),
    Rounded = erlang:round(Sum),
    apply_fee(Rounded).

price({_, Price}) -> Price.
apply_fee(Amount) -> Amount * (1 + ?FEE).
