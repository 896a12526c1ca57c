// Very many queued tasks on a real API server: 100 at every change, 10,000 with AGENTFLEET_FULL=1.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labels } from '@agentfleet/protocol/pool';
import { resources } from '../../operator/src/runtime/resources.ts';
import { enabled } from './api/server.ts';
import { TaskBed } from './taskBed.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const count = full ? 10_000 : 100;
const timeout = full ? 3_600_000 : 240_000;
const slots = 8;
/** Requests of the test at a time. */
const atOnce = 32;
const pageSize = 500;

/** Polls with a bound that a busy machine does not reach. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + timeout / 2; Date.now() < deadline;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, full ? 2000 : 250));
  }
  throw new Error(`${what} did not happen`);
}

describe.runIf(enabled)('very many tasks', () => {
  let bed: TaskBed;

  beforeAll(async () => {
    bed = await TaskBed.start();
  });
  afterAll(() => bed.close(), timeout);

  /** Returns the number of tasks in each phase, by pages. */
  const phases = async (): Promise<ReadonlyMap<string, number>> => {
    const found = new Map<string, number>();
    const base = `/apis/agentfleet.dev/v1alpha1/namespaces/${bed.namespace}/agenttasks?limit=${pageSize}`;
    let rest = '';
    do {
      const { body } = await bed.server.ask('GET', `${base}${rest === '' ? '' : `&continue=${rest}`}`);
      for (const { status } of body.items ?? []) {
        const phase = (status?.['phase'] as string | undefined) ?? 'New';
        found.set(phase, (found.get(phase) ?? 0) + 1);
      }
      rest = (body.metadata as unknown as { continue?: string }).continue ?? '';
    } while (rest !== '');
    return found;
  };

  const sandboxes = (): Promise<number> => bed.pods(`${labels.component}=sandbox`).then(({ length }) => length);

  it(
    'fill the slots and wait in the queue with one write each; who goes makes room for the next one',
    async () => {
      const names = Array.from({ length: count }, (_, at) => `t-${String(at).padStart(5, '0')}`);
      const left = [...names];
      const before = bed.writes.length;
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          for (let name = left.shift(); name !== undefined; name = left.shift()) await bed.create(name);
        }),
      );
      await until('all are looked at', async () => !(await phases()).has('New'));
      await until('the slots are taken', async () => (await sandboxes()) === slots);
      const seen = await phases();
      expect([seen.get('Preparing'), seen.get('Queued')]).toEqual([slots, count - slots]);
      // A place in the queue is reported again now and then, and no more; a slot costs a pod and an assignment.
      expect(bed.writes.length - before).toBeLessThan(3 * count);
      const holders = (await bed.pods(`${labels.component}=sandbox`)).map(({ metadata }) => metadata.labels?.[labels.task] ?? '');
      await bed.client(resources.agentTasks).delete({ namespace: bed.namespace, name: holders[0]! });
      const another = async (): Promise<boolean> =>
        (await bed.pods(`${labels.component}=sandbox`)).some(({ metadata }) => !holders.includes(metadata.labels?.[labels.task] ?? ''));
      await until('the next one begins', another);
      expect(await sandboxes()).toBeLessThanOrEqual(slots + 1);
    },
    timeout,
  );
});
