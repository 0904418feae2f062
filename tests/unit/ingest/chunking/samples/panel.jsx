const React = require("react");
const { Button, Field: Input } = require("@acme/ui");

// The panel that pays.
function PayPanel({ invoice, onPaid }) {
  const [card, setCard] = React.useState("");
  const submit = () => invoice.pay(card).then(onPaid);
  return (
    <form onSubmit={submit}>
      <Input value={card} onChange={setCard} />
      <Button disabled={!card}>Pay</Button>
    </form>
  );
}

PayPanel.prototype.render = function () {
  const first = this.first;
  const second = this.second;
  return first + second;
};

const actions = {
  open(state) {
    const next = { ...state };
    next.open = true;
    return next;
  },
  close: function (state) {
    const next = { ...state };
    next.open = false;
    return next;
  },
};

exports.version = "1.0";
module.exports = { PayPanel, actions };
