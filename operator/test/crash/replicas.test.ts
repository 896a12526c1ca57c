import type { ApiRequest } from '@agentfleet/kube';
import { seededRandom } from '@agentfleet/kube/testing';
import { assert, asyncProperty, integer, scheduler as schedulers, type Scheduler } from 'fast-check';
import { expect, test } from 'vitest';
import { newTask } from '../../src/controllers/agenttask/testing/objects.ts';
import { fails, obedient, playWorkers, succeeds } from '../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { Life } from './life.ts';
import { writes } from './wire.ts';
import { World } from './world.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const numRuns = full ? 300 : 6;

/** The elector's own: the leader may write for so long after it sent its last renewal. */
const renewDeadlineMs = 10_000;

const renews = ({ path, method }: ApiRequest): boolean => path.includes('/leases') && method !== 'GET';

/** What the two replicas did. */
interface Ledger {
  /** Monotonic ms at which the replica that is cut off sent a renewal that took effect. */
  renewedAt: number;
  /** Writes that it began after its lease was too old. */
  late: string[];
  /** Writes of both. */
  written: Record<'a' | 'b', number>;
}

/** Two replicas, of which the first one can renew its lease no more when `cutAt` has come; each request waits for its turn. */
function replicas(world: World, scheduler: Scheduler, cutAtMs: number): { readonly lives: readonly Life[]; readonly ledger: Ledger } {
  const ledger: Ledger = { renewedAt: -Infinity, late: [], written: { a: 0, b: 0 } };
  const start = (identity: 'a' | 'b'): Life =>
    new Life({
      server: world.server,
      clock: world.clock,
      random: seededRandom(identity === 'a' ? 1 : 2),
      controllerSet: 'tasks',
      identity,
      ask: () => Promise.reject(new Error('nobody answers')),
      onEvent: () => {},
      onHot: () => world.checker.fault('the operator wakes up again and again'),
      turn: (request, what) => (writes(request) ? scheduler.schedule(Promise.resolve(), `${identity} ${what}`) : Promise.resolve()),
      injection: (_, request) => {
        if (!writes(request)) return undefined;
        const now = world.clock.monotonic();
        if (renews(request)) {
          if (identity === 'a' && now >= cutAtMs) return 'never sent';
          if (identity === 'a') ledger.renewedAt = now;
          return undefined;
        }
        ledger.written[identity] += 1;
        if (identity === 'a' && now >= ledger.renewedAt + renewDeadlineMs) ledger.late.push(`${request.method} ${request.path} at ${now}`);
        return undefined;
      },
    });
  return { lives: [start('a'), start('b')], ledger };
}

test(
  'a leader whose lease is over begins no write, whatever the order of requests and answers, and another one goes on',
  { timeout: 600_000 },
  async () => {
    const property = asyncProperty(
      schedulers(),
      integer({ min: 2_000, max: 8_000 }),
      integer({ min: 0, max: 2 ** 31 }),
      async (scheduler, cutAtMs, seed) => {
        await using world = await World.start({ controllerSet: 'tasks', seed, pool: {}, injection: () => undefined });
        const { lives, ledger } = replicas(world, scheduler, cutAtMs);
        const random = seededRandom(seed);
        playWorkers(
          world,
          obedient((assignment, task) => (assignment.attempt === 1 ? fails() : succeeds(assignment, task))),
        );
        const turns = async (): Promise<void> => {
          while (scheduler.count() > 0 && random() < 0.7) await scheduler.waitOne();
        };
        await world.create(newTask('one', { attempts: { backoff: { seconds: 20 } } }));
        const ended = (): boolean => world.task('one').status?.finished === 'true';
        for (let step = 0; step < 1200 && !ended(); step += 1) {
          await world.step();
          await turns();
        }
        for (const life of lives) life.kill();
        while (scheduler.count() > 0) await scheduler.waitOne();
        expect(ledger.late).toEqual([]);
        expect(world.checker.faults).toEqual([]);
        expect(world.task('one').status).toMatchObject({ phase: 'Succeeded' });
        expect(ledger.written.b).toBeGreaterThan(0);
      },
    );
    await assert(property, { numRuns });
    console.log(`replicas: ${numRuns} orders of requests and answers`);
  },
);
