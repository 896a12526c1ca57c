import { labels } from '@agentfleet/protocol/pool';
import { expect, it } from 'vitest';
import { enginesAnnotation } from '../serving/index.ts';
import { expertsReady, type FleetMetricsOptions } from './fleet.ts';

it('counts the pods of each expert that answer; one with several engines is one of each', () => {
  const experts = ['gen', 'js', 'py', 'sql'].map((name) => ({ name, role: 'Specialist' }));
  const status = (ready: boolean): object => ({ conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] });
  const pods = [
    { metadata: { name: 'a', labels: { [labels.expert]: 'gen' } }, status: status(true) },
    { metadata: { name: 'b', labels: { [labels.expert]: 'gen' } }, status: status(false) },
    { metadata: { name: 'c', annotations: { [enginesAnnotation]: 'js=dgx-1/gpu0:7081 py=dgx-1/gpu0:7082' } }, status: status(true) },
    { metadata: { name: 'd', annotations: { [enginesAnnotation]: 'py=dgx-1/gpu0:7081' } }, status: status(false) },
  ];
  const caches = {
    pools: { lister: { values: () => [{ metadata: { name: 'coding', namespace: 'platform' }, spec: { experts } }] } },
    pods: { lister: { byIndex: () => pods } },
  } as unknown as FleetMetricsOptions['caches'];
  expect(expertsReady(caches).map(({ pool, expert, ready }) => [pool, expert, ready])).toEqual([
    ['platform/coding', 'gen', 1],
    ['platform/coding', 'js', 1],
    ['platform/coding', 'py', 1],
    ['platform/coding', 'sql', 0],
  ]);
});
