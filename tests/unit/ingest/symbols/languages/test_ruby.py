"""What a Ruby file says about its names."""

RUBY = """
module Acme
  class Shop < Model::Base
    attr_reader :first, :last
    LIMIT = 3

    def initialize(till)
      @till = Till.new(till)
    end

    def load(key)
      @till.open(key)
      good = Good.new
      good.pay
      refresh
      self.first
    end

    def refresh; end
  end
end
"""


def test_ruby(defined, referred):
    assert defined("shop.rb", RUBY) == {
        "Acme": "module",
        "Acme.Shop": "class",
        "Acme.Shop.first": "attribute",
        "Acme.Shop.last": "attribute",
        "Acme.Shop.LIMIT": "constant",
        "Acme.Shop.initialize": "method",
        "Acme.Shop.@till": "attribute",
        "Acme.Shop.load": "method",
        "Acme.Shop.refresh": "method",
    }
    calls = referred("shop.rb", RUBY, "call", "inherits")
    assert {"scope Acme.Shop.@till.open", "scope Acme.Shop.refresh", "scope Acme.Shop.first"} <= set(calls)
