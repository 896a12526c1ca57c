import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAddressJudge, literalAddress, type AddressScope } from './index.ts';

const judge = createAddressJudge({ private: ['203.0.114.0/24', '2a01:4f8::/32', '198.41.0.4'], host: ['8.8.4.4'] });

const scopes: readonly (readonly [AddressScope, readonly string[]])[] = [
  ['Public', ['1.1.1.1', '100.63.255.255', '100.128.0.1', '172.15.255.255', '172.32.0.1', '192.167.1.1', '223.255.255.255']],
  ['Public', ['2606:4700:4700::1111', '::ffff:1.1.1.1', '64:ff9b::1.1.1.1', '64:ff9b::101:101']],
  ['Private', ['10.0.0.1', '10.96.0.1', '172.16.0.1', '172.31.255.255', '192.168.65.3', '100.64.0.1', '100.127.255.255']],
  ['Private', ['198.18.0.1', '192.0.0.8', '192.0.2.1', '198.51.100.7', '203.0.113.9', '192.88.99.1']],
  ['Private', ['::ffff:10.0.0.1', '::ffff:a00:1', '0:0:0:0:0:ffff:c0a8:1', '64:ff9b::10.0.0.1', '64:ff9b::c0a8:101']],
  ['Private', ['fc00::1', 'fd12:3456::1', '64:ff9b:1::a00:1', '2001::1', '2002:a00:1::', '2001:db8::1', '3fff::1', '::10.0.0.1']],
  ['Private', ['203.0.114.200', '2a01:4f8::5', '198.41.0.4', '::ffff:203.0.114.1', '100::1', '4000::1']],
  ['Host', ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '64:ff9b::127.0.0.1', '8.8.4.4']],
  ['Forbidden', ['0.0.0.0', '0.1.2.3', '169.254.169.254', '169.254.170.2', '224.0.0.1', '255.255.255.255', '240.0.0.1']],
  ['Forbidden', ['100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254']],
  ['Forbidden', ['::', 'fe80::1', 'fe80::1%eth0', '::1%lo', 'ff02::1', 'fec0::1', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe']],
  ['Forbidden', ['', 'localhost', '1.2.3', '127.1', '0x7f.0.0.1', '1.2.3.4.5', 'example.com', '10.0.0.1/8']],
];

describe('an address is judged by where it leads', () => {
  test.each(scopes.flatMap(([scope, addresses]) => addresses.map((address) => [address, scope] as const)))('%s: %s', (address, scope) =>
    expect(judge(address)).toBe(scope),
  );

  test('an IPv4 address is judged alike however it is wrapped', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const wrapped = [`::ffff:${address}`, `::FFFF:${hex}`, `0:0:0:0:0:ffff:${hex}`, `64:ff9b::${address}`, `64:ff9b::${hex}`];
        expect(wrapped.map(judge)).toEqual(wrapped.map(() => judge(address)));
      }),
    );
  });

  test('a range whose bits do not fit is refused when the judge is made', () => {
    expect(() => createAddressJudge({ private: ['10.0.0.0/33'] })).toThrow(RangeError);
  });
});

describe('what a host that is written as an address means', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['0X7F.1', '127.0.0.1'],
    ['017700000001', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['169.16689662', '169.254.169.254'],
    ['[::1]', '::1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['[fe80::1%eth0]', 'fe80::1%eth0'],
    ['example.com', null],
    ['a.b', null],
    ['face', null],
    ['1.2.3.4.5', null],
    ['256.1.1.1', null],
    ['localhost', null],
  ])('%s: %s', (host, address) => expect(literalAddress(host)).toBe(address));
});
