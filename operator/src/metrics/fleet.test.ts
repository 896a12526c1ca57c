import { labels } from '@agentfleet/protocol/pool';
import { expect, it } from 'vitest';
import { expertsReady, type FleetMetricsOptions } from './fleet.ts';

it('counts the pods of each expert that answer', () => {
  const experts = ['gen', 'js'].map((name) => ({ name, role: 'Specialist', engine: { type: 'Llama' } }));
  const status = (ready: boolean): object => ({ conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] });
  const pods = [
    { metadata: { name: 'a', labels: { [labels.expert]: 'gen' } }, status: status(true) },
    { metadata: { name: 'b', labels: { [labels.expert]: 'gen' } }, status: status(false) },
  ];
  const caches = {
    pools: { lister: { values: () => [{ metadata: { name: 'coding', namespace: 'platform' }, spec: { experts } }] } },
    pods: { lister: { byIndex: () => pods } },
  } as unknown as FleetMetricsOptions['caches'];
  expect(expertsReady(caches).map(({ pool, expert, ready }) => [pool, expert, ready])).toEqual([
    ['platform/coding', 'gen', 1],
    ['platform/coding', 'js', 0],
  ]);
});
