import { expect, test } from 'vitest';
import { chooseEngine } from './durable/snapshots.ts';

const overlay = { layersDir: '/layers', mounterFd: 3 };

test.each([
  ['Auto', null, 'CAS', 'needs no right'],
  ['Auto', overlay, 'CAS', 'the pool has to ask'],
  ['CAS', overlay, 'CAS', 'the pool asks'],
  ['Overlay', overlay, 'Overlay', '`runner mount`'],
] as const)('%s with %j is %s, and says why', (snapshotEngine, mounts, engine, why) => {
  expect(chooseEngine({ snapshotEngine, overlay: mounts })).toEqual({
    asked: snapshotEngine,
    engine,
    why: expect.stringContaining(why) as string,
  });
});
