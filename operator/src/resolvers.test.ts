import { expect, test } from 'vitest';
import { resolversOf } from './egress.ts';

test.each([
  ['search svc.cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n', ['10.96.0.10']],
  ['nameserver fd00::a\nnameserver 10.0.0.1\nnameserver 10.0.0.1\n', ['10.0.0.1', 'fd00::a']],
  ['# nameserver 10.0.0.1\nnameserver 127.0.0.53\nnameserver ::1\nnameserver none\n', []],
  ['', []],
])('the DNS servers of a resolv.conf', (text, expected) => expect(resolversOf(text)).toEqual(expected));
