import { expect, it } from 'vitest';
import { hasOwnUsers } from './verify.ts';

it('distinguishes users of a pod from those of the host', () => {
  expect(hasOwnUsers('uid_map          0 2147483648      65536\n')).toBe(true);
  expect(hasOwnUsers('uid_map          0          0 4294967295\n')).toBe(false);
  expect(hasOwnUsers('')).toBe(false);
});
