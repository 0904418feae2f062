// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Gateway} from "./Gateway.sol";
import "./Money.sol";

/// An invoice of a customer.
contract Invoice is Document {
    enum State { Open, Paid }

    struct Line {
        uint256 price;
    }

    event Paid(address by, uint256 amount);
    error Refused(string reason);

    uint256 public total;
    address private owner;

    modifier onlyOwner() {
        require(msg.sender == owner);
        _;
    }

    constructor(uint256 amount) {
        total = amount;
        owner = msg.sender;
    }

    /// Pays it at most once.
    function pay(uint256 amount) external payable onlyOwner returns (bool) {
        if (amount < total) {
            revert Refused("too little");
        }
        Gateway.charge(msg.sender, amount);
        emit Paid(msg.sender, amount);
        return true;
    }
}

interface Payable {
    function pay(uint256 amount) external returns (bool);
}

library Fees {
    function raise(uint256 amount) internal pure returns (uint256) {
        return amount + amount / 50;
    }
}
