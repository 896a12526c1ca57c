import fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import type { Clock } from '../base/clock.ts';
import type { EventLog } from '../log/index.ts';
import type { Log } from '@agentfleet/protocol/log';
import type { ScrubReport } from '@agentfleet/protocol/keeper';
import { scrubInBackground, type Snapshots } from './snapshots.ts';
import { buildRunner } from '../snapshot/testing/runner.ts';
import { startHarness, waitUntil, type Harness } from '../testing/index.ts';

const runner = buildRunner();
afterAll(() => runner?.remove());

async function records(h: Harness): Promise<AuditRecord[]> {
  const all: AuditRecord[] = [];
  for await (const line of h.running.keeper.parts.log.read(0)) all.push(JSON.parse(line.toString('utf8')) as AuditRecord);
  return all;
}

test('damage is found in the background and recorded in the log', async () => {
  const stop = new AbortController();
  const reported: unknown[] = [];
  let sleeps = 0;
  const clock = { sleep: async () => (sleeps++ > 0 ? stop.abort() : undefined) } as unknown as Clock;
  const log = { append: (type: string, body: unknown) => reported.push({ type, body }) } as unknown as EventLog;
  const report: ScrubReport = {
    snapshots: 2,
    objects: 3,
    bytes: 4,
    damaged: [{ sha256: 'ab', why: 'x', snapshots: ['s0001'], paths: [] }],
    broken: ['s0001'],
    tookMs: 5,
  };
  const asked: unknown[] = [];
  const snapshots = { scrub: async (options: unknown) => (asked.push(options), report) } as unknown as Snapshots;
  await scrubInBackground({ snapshots, clock, log, logger: {} as Log }, stop.signal);
  expect(asked[0]).toMatchObject({ bytesPerSecond: 8 * 1024 * 1024, signal: stop.signal });
  expect(reported[0]).toEqual({
    type: 'SnapshotsScrubbed',
    body: { snapshots: 2, objects: 3, bytes: 4, tookMs: 5, broken: ['s0001'], damaged: ['ab'] },
  });
});

test.skipIf(runner === null)(
  'snapshots over the limit are removed, the green one stays, and the log records it before and after',
  async () => {
    await using h = await startHarness({ env: { AGENTFLEET_SNAPSHOT_RETAIN: '2', AGENTFLEET_RUNNER: runner?.binary ?? '' } });
    const client = h.client();
    await client.takeSnapshot('initial');
    for (let step = 2; step <= 8; step++) {
      fs.writeFileSync(join(h.workspace, 'a'), `${step} `.repeat(1000));
      const { id } = await client.takeSnapshot(`step ${step}`);
      if (step === 2) await client.note('Green', { snapshot: id });
    }
    const ids = async () => (await client.snapshots()).map(({ id }) => id);
    await waitUntil(async () => !(await ids()).includes('s0003'), 10_000);
    expect((await ids()).slice(0, 2)).toEqual(['s0001', 's0002']);
    await waitUntil(
      async () => (await records(h)).some(({ type, body }) => type === 'SnapshotsCollected' && body['phase'] === 'Done'),
      10_000,
    );
    const reported = (await records(h)).filter(({ type }) => type === 'SnapshotsCollected').map(({ body }) => body['phase']);
    expect(reported.slice(0, 2)).toEqual(['Intent', 'Done']);
    const metrics = await h.running.keeper.parts.metrics.registry.metrics();
    expect(metrics).toMatch(/agentfleet_keeper_snapshots_collected [1-9]/);
  },
);
