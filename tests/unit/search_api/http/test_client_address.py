"""The client's address is the last forwarded address that is not a trusted proxy."""

from ipaddress import ip_network

import pytest

from codequarry.search_api.http.client_address import client_address, group_of

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "address"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7, 10.2.3.4"], "198.51.100.7"),
        ("10.0.0.1", ["10.0.0.9, 10.0.0.8"], "10.0.0.9"),
        ("10.0.0.1", ["203.0.113.9, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
        ("fd00::1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("", ["198.51.100.7"], ""),
    ],
)
def test_a_trusted_proxy_names_the_client(peer, forwarded_for, address):
    assert client_address(peer, forwarded_for, PROXIES) == address


def test_without_trusted_proxies_forwarded_addresses_are_ignored():
    assert client_address("127.0.0.1", ["198.51.100.7"], ()) == "127.0.0.1"


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
    ],
)
def test_a_network_of_64_ipv6_bits_counts_as_one_client(address, group):
    assert group_of(address) == group
