import { describe, expect, it } from 'vitest';
import { type KubeObject, defineResource } from '../api/resource.ts';
import { systemClock } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { heapInUse } from '../testing/heap.ts';
import type { ApiRequest, Transport } from '../transport/types.ts';
import { Informer } from './informer.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';
const objects = full ? 200_000 : 20_000;

interface Task extends KubeObject {
  readonly spec?: { readonly task: string; readonly pool: string };
  readonly status?: object;
}

const tasks = defineResource<Task>('example.com/v1', 'Task', 'tasks');

/** Two kilobytes, as an AgentTask has them. */
function task(i: number): Task {
  return {
    apiVersion: 'example.com/v1',
    kind: 'Task',
    metadata: {
      name: `task-${i}`,
      namespace: `team-${i % 50}`,
      uid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
      resourceVersion: String(i + 1),
      labels: { team: `t${i % 50}` },
      managedFields: [{ manager: 'x', fieldsV1: { 'f:spec': { 'f:task': {} } } }],
    },
    spec: { task: 'x'.repeat(1500), pool: `pool-${i % 8}` },
    status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Yes', message: 'it is' }] },
  };
}

/** What a controller needs of it: everything else is read when it is needed. */
function slim({ apiVersion = '', kind = '', metadata, spec }: Task): Task {
  const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, spec: { task: '', pool: spec?.pool ?? '' } };
}

/** Answers pages of text, as a server does, and a watch in which nothing happens. */
function paged(): Transport {
  const page = ({ query }: ApiRequest): string => {
    const from = Number(query?.['continue'] ?? 0);
    const to = Math.min(objects, from + Number(query?.['limit'] ?? 500));
    const items = Array.from({ length: to - from }, (_, i) => task(from + i));
    const metadata = { resourceVersion: String(objects), ...(to < objects ? { continue: String(to) } : {}) };
    return JSON.stringify({ kind: 'TaskList', metadata, items });
  };
  const silent = (signal?: AbortSignal): AsyncIterable<Uint8Array> => ({
    async *[Symbol.asyncIterator]() {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      yield* [];
    },
  });
  return {
    host: 'pages',
    request: async <T>(request: ApiRequest) => {
      await new Promise((resolve) => setImmediate(resolve));
      return JSON.parse(page(request)) as T;
    },
    stream: (request) => Promise.resolve({ body: silent(request.signal), close: () => {} }),
    close: () => Promise.resolve(),
  };
}

describe(`${objects} objects`, () => {
  it('fill a cache in bounded memory, with an index, and each is reported once', async () => {
    const before = heapInUse();
    const common = { transport: paged(), resource: tasks, clock: systemClock, random: Math.random, log: silentLog };
    const indexers = { pool: (object: Task): string[] => [object.spec?.pool ?? ''] };
    const informer = new Informer<Task>({ ...common, watchList: false, transform: slim, indexers });
    let reported = 0;
    let inOneGo = 0;
    let most = 0;
    informer.addHandler({
      onAdd: () => {
        reported += 1;
        most = Math.max(most, (inOneGo += 1));
      },
    });
    let going = true;
    const others = (): void => {
      inOneGo = 0;
      if (going) setImmediate(others);
    };
    others();
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    await informer.waitForSync(600_000);
    going = false;
    // Others ran in between.
    expect(most).toBeLessThan(objects);
    const bytes = (heapInUse() - before) / objects;
    expect(reported).toBe(objects);
    expect(informer.lister.size).toBe(objects);
    expect(informer.lister.byIndex('pool', 'pool-3')).toHaveLength(objects / 8);
    expect(informer.lister.list({ namespace: 'team-7' })).toHaveLength(objects / 50);
    expect(informer.lister.get('team-0/task-0')?.spec?.task).toBe('');
    // A quarter of what came: 2 kB on the wire, 5 kB once parsed.
    expect(bytes).toBeLessThan(1200);
    stop.abort();
    await running;
  });
});
