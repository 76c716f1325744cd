//! Decides which addresses belong to the public internet.
//!
//! Blocks every address that IANA's special-purpose registries do not list as globally reachable. Not here: names
//! (`target`) and lookups (`resolver`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public, as address and prefix length.
const BLOCKED_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Carrier-grade NAT. Tailscale and some clouds' metadata services use it.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Azure's host answers virtual machines on this otherwise public address.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, reserved and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// IPv6 blocks within the global unicast space that are not public.
const BLOCKED_V6: [(Ipv6Addr, u32); 3] = [
    // Protocol assignments: Teredo, benchmarking, ORCHID.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Public IPv6 address space; loopback, unique-local, link-local and multicast are outside it.
const GLOBAL_UNICAST: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// IPv6 forms for an IPv4 address: prefix, prefix length, and bits behind the embedded address.
const EMBEDDED_V4: [(Ipv6Addr, u32, u32); 5] = [
    // Compatible, `::a.b.c.d`; includes `::` and `::1`, which embed addresses in 0.0.0.0/8.
    (Ipv6Addr::UNSPECIFIED, 96, 0),
    // Mapped, `::ffff:a.b.c.d`.
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, 0),
    // Translated, `::ffff:0:a.b.c.d`.
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, 0),
    // NAT64. The local-use sibling 64:ff9b:1::/48 is outside the global unicast space and blocked
    // entirely.
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, 0),
    // 6to4.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, 80),
];

/// IPv6 addresses for clouds' metadata services.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];
/// Cloud metadata service addresses outside the link-local block.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Returns whether an address is link-local or a metadata service, which no configuration allows.
pub(crate) fn is_metadata(address: IpAddr) -> bool {
    let is_metadata_v4 =
        |address: Ipv4Addr| address.is_link_local() || METADATA_V4.contains(&address);
    match address {
        IpAddr::V4(address) => is_metadata_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(embedded) => is_metadata_v4(embedded),
            None => address.is_unicast_link_local() || METADATA_V6.contains(&address),
        },
    }
}

/// Returns whether an address is public. An IPv4 address in an IPv6 form counts as that address.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(embedded) => is_public_v4(embedded),
            None => {
                within_v6(address, GLOBAL_UNICAST)
                    && !BLOCKED_V6
                        .into_iter()
                        .any(|block| within_v6(address, block))
            }
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let within = |(block, prefix): (Ipv4Addr, u32)| {
        (u32::from(address) ^ u32::from(block)).leading_zeros() >= prefix
    };
    !BLOCKED_V4.into_iter().any(within)
}

fn within_v6(address: Ipv6Addr, (block, prefix): (Ipv6Addr, u32)) -> bool {
    (u128::from(address) ^ u128::from(block)).leading_zeros() >= prefix
}

fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (_, _, shift) = EMBEDDED_V4
        .into_iter()
        .find(|(block, prefix, _)| within_v6(address, (*block, *prefix)))?;
    // The 32 bits above `shift`; the mask makes the conversion exact.
    u32::try_from((u128::from(address) >> shift) & u128::from(u32::MAX))
        .ok()
        .map(Ipv4Addr::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn blocks_end_at_their_exact_bounds() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("168.63.129.16", "168.63.129.16"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "255.255.255.255"),
        ] {
            let (first, last): (Ipv4Addr, Ipv4Addr) =
                (first.parse().unwrap(), last.parse().unwrap());
            assert!(
                !is_public(first.into()) && !is_public(last.into()),
                "{first} to {last}"
            );
            for neighbour in [
                u32::from(first).checked_sub(1),
                u32::from(last).checked_add(1),
            ] {
                let neighbour = neighbour.map(Ipv4Addr::from);
                assert!(
                    neighbour.is_none_or(|address| is_public(address.into())),
                    "{neighbour:?}"
                );
            }
        }
    }

    #[test]
    fn only_global_unicast_ipv6_is_public() {
        for address in [
            "2606:4700:4700::1111",
            "2a00:1450:4001::200e",
            "2001:4860:4860::8888",
            "2001:200::1",
        ] {
            assert!(public(address), "{address}");
        }
        for address in
            ":: ::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 100::1 5f00::1 2001::1 \
            2001:2::1 2001:20::1 2001:db8::1 3fff::1 64:ff9b:1::808:808 4000::1"
                .split(' ')
        {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn ipv6_spellings_of_ipv4_are_equal() {
        for (spelling, expected) in [
            ("::ffff:8.8.8.8", true),
            ("::ffff:169.254.169.254", false),
            ("::ffff:7f00:1", false),
            ("::10.0.0.1", false),
            ("::8.8.8.8", true),
            ("::ffff:0:192.168.0.1", false),
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b::169.254.169.254", false),
            ("2002:808:808::1", true),
            ("2002:7f00:1::", false),
            ("2002:a9fe:a9fe::a9fe:a9fe", false),
        ] {
            assert_eq!(public(spelling), expected, "{spelling}");
        }
    }

    #[test]
    fn metadata_addresses_are_recognized_in_every_spelling() {
        for address in
            "169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192 fe80::1 fd00:ec2::254 fd20:ce::254 \
            ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::"
                .split(' ')
        {
            assert!(is_metadata(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "8.8.8.8",
            "::1",
            "fd00::1",
            "2606:4700:4700::1111",
        ] {
            assert!(!is_metadata(address.parse().unwrap()), "{address}");
        }
    }

    proptest! {
        #[test]
        fn private_ipv4_is_private_in_every_spelling(bits in any::<u32>(), tail in any::<u64>()) {
            let plain = is_public(Ipv4Addr::from(bits).into());
            for (block, _, shift) in EMBEDDED_V4 {
                let below = if shift == 0 { 0 } else { u128::from(tail) };
                let spelled = Ipv6Addr::from(u128::from(block) | u128::from(bits) << shift | below);
                prop_assert_eq!(is_public(spelled.into()), plain, "{}", spelled);
            }
        }
    }
}
