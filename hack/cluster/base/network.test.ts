import { expect, it } from 'vitest';
import { defaultInterface, podResolvConf } from './network.ts';

it('finds the interface of the default route', () => {
  const routes =
    'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\nlo\t0000007F\t0\t1\t0\t0\t0\t000000FF\neth7\t00000000\t01\t3\t0\t0\t0\t00000000\n';
  expect(defaultInterface(routes)).toBe('eth7');
  expect(defaultInterface('Iface\n')).toBeUndefined();
});

it('gives pods only nameservers that they can reach, from the first file that has one', () => {
  expect(podResolvConf(['nameserver 127.0.0.53\n', 'nameserver 192.0.2.1\nsearch x\n'])).toBe('nameserver 192.0.2.1\n');
  expect(podResolvConf(['nameserver 127.0.0.1\n'])).toBe('');
});
