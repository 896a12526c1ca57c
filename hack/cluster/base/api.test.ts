import { expect, it } from 'vitest';
import { hasCondition } from './api.ts';

const node = { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2030-01-01T00:00:10Z' }] } };
const at = (time: string): number => Date.parse(`2030-01-01T00:00:${time}Z`);

it('reads conditions, also of objects that have none', () => {
  expect(hasCondition(node, 'Ready')).toBe(true);
  expect(hasCondition(node, 'Available')).toBe(false);
  expect(hasCondition({ status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }, 'Ready')).toBe(false);
  expect(hasCondition(undefined, 'Ready')).toBe(false);
});

it('does not take an old word of a dead kubelet for a new one', () => {
  expect(hasCondition(node, 'Ready', at('10.900'))).toBe(true);
  expect(hasCondition(node, 'Ready', at('11.000'))).toBe(false);
});
