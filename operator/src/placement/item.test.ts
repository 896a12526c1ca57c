import { expect, test } from 'vitest';
import { itemOf } from './item.ts';

test('pods of a revision have a name of their own, whatever serves', () => {
  expect(itemOf('gen', undefined)).toBe('gen');
  expect(itemOf('gen', '1a2b3c4d')).toBe('gen.1a2b3c4d');
});

test('long names are cut and still differ', () => {
  const long = `${'a.'.repeat(125)}aaa`;
  const [one, two] = [itemOf(long, '0123456789'), itemOf(`${long.slice(0, -1)}b`, '0123456789')];
  expect(one).not.toBe(two);
  for (const name of [one, two]) {
    expect(name.length).toBeLessThanOrEqual(253);
    expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  }
});
