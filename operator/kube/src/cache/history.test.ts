import { describe, expect, it } from 'vitest';
import { ResourceClient } from '../client/client.ts';
import type { Fault } from '../testing/faults.ts';
import { follow, stateOf, type Follower } from '../testing/follower.ts';
import { seededRandom } from '../testing/random.ts';
import { eventually, testBed, widgets, type Bed, type Widget } from '../testing/widget.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const seed = Number(process.env['AGENTFLEET_SEED'] ?? 1);
const histories = full ? 10_000 : 30;
const atOnce = full ? 24 : 10;
const kind = 'widgets.test.example.com';

type Pick = (below: number) => number;

/** What goes wrong with reads: errors with and without a time to wait, late answers, connections that break. */
function readFault(pick: Pick): Fault | undefined {
  const faults: readonly (Fault | undefined)[] = [
    { kind: 'error', code: 500, reason: 'InternalError' },
    { kind: 'error', code: 429, reason: 'TooManyRequests', retryAfterSeconds: 0 },
    { kind: 'error', code: 410, reason: 'Expired' },
    { kind: 'before' },
    { kind: 'delay', ms: pick(10) },
  ];
  return pick(3) === 0 ? faults[pick(faults.length)] : undefined;
}

/** What goes wrong with watches. */
function disturb({ server }: Bed, fault: number): void {
  if (fault === 0) server.watches.disconnect();
  if (fault === 1) server.watches.disconnect(undefined, true);
  if (fault === 2) server.watches.damage(kind);
  if (fault === 3) server.compact();
  if (fault === 4) server.watches.freeze(kind);
  if (fault === 5) server.watches.thaw(kind);
  if (fault === 6) server.watches.end(kind);
}

async function write(client: ResourceClient<Widget>, step: number, pick: Pick): Promise<void> {
  const name = { namespace: 'default', name: `w${pick(8)}` };
  const spec = { size: step };
  const deed = pick(10);
  if (deed < 6) await client.apply({ metadata: name, spec }, { fieldManager: 'test' });
  else if (deed < 9) await client.delete(name).catch(() => {});
  else
    await client
      .delete(name)
      .then(() => client.create({ metadata: name, spec }))
      .catch(() => {});
}

async function check(bed: Bed, { informer, reported, faults }: Follower): Promise<void> {
  await eventually('quiescence', () => informer.hasSeen(bed.server.version));
  const objects = bed.server.objects(widgets);
  expect(stateOf(informer.lister.list())).toEqual(stateOf(objects));
  expect(faults).toEqual([]);
  const alive = new Map([...reported].filter(([, state]) => state !== 'deleted'));
  expect(alive).toEqual(new Map(objects.map((object) => [object.metadata.uid ?? '', String(object.spec?.size)])));
}

/** One server, one cache, writes and faults in an order that the seed fixes; then quiet, and both are equal. */
async function play(of: number, steps: number): Promise<void> {
  const random = seededRandom(of);
  const pick: Pick = (below) => Math.floor(random() * below);
  await using bed = await testBed({ watchList: pick(2) === 0, bookmarkMs: 10 });
  const client = new ResourceClient(bed.transport, widgets);
  const options = { pageSize: 1 + pick(4), stallMs: 200 + pick(400), random: seededRandom(of) };
  await using follower = follow(bed, options);
  bed.server.onRequest = ({ verb }) => (verb === 'list' || verb === 'watch' ? readFault(pick) : undefined);
  for (let step = 0; step < steps; step += 1) {
    await write(client, step, pick);
    disturb(bed, pick(25));
    if (pick(6) === 0) await new Promise((resolve) => setTimeout(resolve, pick(8)));
  }
  bed.server.onRequest = undefined;
  bed.server.watches.thaw(kind);
  await check(bed, follower);
}

describe('a cache after any history', () => {
  it(
    `equals the server: ${histories} histories with faults`,
    async () => {
      let next = seed * 100_000;
      const end = next + histories;
      const lane = async (): Promise<void> => {
        while (next < end) {
          const of = (next += 1);
          await play(of, 40).catch((error: unknown) => {
            throw new Error(`history ${of}`, { cause: error });
          });
        }
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
    },
    full ? 3_600_000 : 120_000,
  );

  it('of one long life', () => play(seed, 400));
});
