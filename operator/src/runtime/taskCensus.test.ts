import { asError, createTransport, ResourceClient, silentLog, sleep, systemClock, type Transport } from '@agentfleet/kube';
import { startFakeServer, VirtualClock, type FakeApiServer } from '@agentfleet/kube/testing';
import type { AgentTask } from '@agentfleet/protocol/api';
import { describe, expect, test, vi } from 'vitest';
import { newTask } from '../controllers/agenttask/testing/objects.ts';
import { kinds } from '../controllers/agenttask/testing/stage.ts';
import { createCaches } from './caches.ts';
import type { Caches } from './context.ts';
import { resources } from './resources.ts';
import { TaskCensus } from './taskCensus.ts';

const bound = { timeout: 30_000, interval: 10 };

/** A server, and the caches of an operator on it. */
class Bed implements AsyncDisposable {
  readonly server: FakeApiServer;
  readonly transport: Transport;
  readonly tasks: ResourceClient<AgentTask>;
  readonly caches: Caches;
  readonly #abort = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  private constructor(server: FakeApiServer) {
    this.server = server;
    this.transport = createTransport(server.config, { userAgent: 'operator/1' });
    this.tasks = new ResourceClient(this.transport, resources.agentTasks);
    this.caches = createCaches({ transport: this.transport, clock: systemClock, random: Math.random, log: silentLog });
  }

  static async start(): Promise<Bed> {
    const bed = new Bed(await startFakeServer({ kinds, bookmarkMs: 20 }));
    for (const name of ['team', 'other']) bed.server.createNamespace(name);
    return bed;
  }

  async run(): Promise<void> {
    const { tasks, census } = this.caches;
    this.#running = Promise.all([tasks.run(this.#abort.signal), census.run(this.#abort.signal)]);
    await Promise.all([tasks.waitForSync(30_000), census.waitForSync(30_000)]);
  }

  async create(name: string, finished?: 'true' | 'false', namespace = 'team'): Promise<void> {
    await this.tasks.create(newTask(name, {}, { namespace }));
    if (finished !== undefined) await this.tell(name, finished, namespace);
  }

  async tell(name: string, finished: 'true' | 'false', namespace = 'team'): Promise<void> {
    const phase = finished === 'true' ? 'Succeeded' : 'Running';
    await this.tasks.patch({ namespace, name }, { status: { finished, phase } }, { subresource: 'status' });
  }

  cached(): readonly string[] {
    return [...this.caches.tasks.lister.values()].map(({ metadata }) => metadata.name).sort();
  }

  counts(namespace?: string): readonly string[] {
    return [...this.caches.census.groups(namespace)].map(({ phase, count }) => `${phase} ${count}`).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#running;
    await this.transport.close();
    await this.server.close();
  }
}

describe('the census', () => {
  test('counts those that have ended page by page, and no cache holds them', async () => {
    await using bed = await Bed.start();
    for (let at = 0; at < 7; at += 1) await bed.create(`done-${at}`, 'true');
    await bed.create('new');
    await bed.create('going', 'false');
    const seen: string[] = [];
    bed.caches.census.onSeen(({ metadata }) => seen.push(metadata.name));
    await bed.run();
    expect(bed.cached()).toEqual(['going', 'new']);
    expect(bed.counts()).toEqual(['Pending 1', 'Running 1', 'Succeeded 7']);
    expect(bed.counts('other')).toEqual([]);
    expect(seen.sort()).toEqual(Array.from({ length: 7 }, (_, at) => `done-${at}`));
  });

  test('counts all of them where that takes longer than the server remembers', async () => {
    await using bed = await Bed.start();
    for (let at = 0; at < 27; at += 1) await bed.create(`done-${at}`, 'true');
    let lists = 0;
    bed.server.onRequest = ({ verb, resource }) => {
      if (verb !== 'list' || !resource.startsWith('agenttasks')) return undefined;
      lists += 1;
      if (lists === 2) {
        bed.server.createNamespace('meanwhile');
        bed.server.compact();
      }
      return undefined;
    };
    await bed.run();
    expect([bed.counts(), lists]).toEqual([['Succeeded 27'], 3]);
  });

  test('counts one that ends as ended, and one that is deleted no more', async () => {
    await using bed = await Bed.start();
    for (const name of ['ends', 'goes']) await bed.create(name, 'false');
    await bed.create('only', undefined, 'other');
    await bed.run();
    const gone: string[] = [];
    bed.caches.census.onGone((namespace) => gone.push(namespace));
    const task = bed.caches.tasks.lister.get('team/ends')!;
    bed.caches.census.ends(task, 'Succeeded');
    bed.caches.census.ends(task, 'Succeeded');
    await bed.tell('ends', 'true');
    await vi.waitFor(() => expect(bed.cached()).toEqual(['goes', 'only']), bound);
    expect(bed.counts('team')).toEqual(['Running 1', 'Succeeded 1']);
    await bed.tasks.delete({ namespace: 'team', name: 'goes' });
    await vi.waitFor(() => expect(bed.counts('team')).toEqual(['Succeeded 1']), bound);
    // The last one of its kind in a namespace is asked for: what serves the namespace goes with it.
    await bed.tasks.delete({ namespace: 'other', name: 'only' });
    await vi.waitFor(() => expect([bed.counts('other'), gone]).toEqual([[], ['other']]), bound);
  });

  test('takes the last one for ended that another replica ended', async () => {
    await using bed = await Bed.start();
    await bed.create('only', 'false');
    await bed.run();
    await bed.tell('only', 'true');
    await vi.waitFor(() => expect(bed.cached()).toEqual([]), bound);
    await vi.waitFor(() => expect(bed.server.requests.some(({ verb, name }) => verb === 'get' && name === 'only')).toBe(true), bound);
    expect(bed.counts()).toHaveLength(1);
    bed.caches.census.sweepSoon();
    await vi.waitFor(() => expect(bed.counts()).toEqual(['Succeeded 1']), bound);
  });
});

test.each([
  ['once by a replica that does not lead', false, 1],
  ['every ten minutes or somewhat sooner by the one that leads', true, 9],
])('tasks that have ended are listed %s', async (_, leads, looks) => {
  const clock = new VirtualClock();
  let lists = 0;
  const request = (): Promise<unknown> => Promise.resolve({ metadata: {}, items: [newTask(`t-${(lists += 1)}`)] });
  const transport = { host: 'quick', request, stream: request, close: () => Promise.resolve() } as unknown as Transport;
  const tasks = { addHandler: () => () => {} } as unknown as Caches['tasks'];
  const census = new TaskCensus({ transport, clock, random: () => 1, log: silentLog, tasks });
  const abort = new AbortController();
  const running = census.run(abort.signal);
  await census.waitForSync(30_000);
  const end = leads ? census.follow() : undefined;
  await clock.advance(7 * 480_000 + 1);
  expect([lists, census.isFollowed]).toEqual([looks, leads]);
  end?.();
  await clock.advance(3_600_000);
  expect([lists, census.isFollowed]).toEqual([looks, false]);
  // Who begins to lead looks at once.
  census.follow();
  await clock.advance(1);
  expect(lists).toBe(looks + 1);
  abort.abort();
  await clock.advance(1);
  await running;
});

describe('the first look at tasks that have ended', () => {
  /** A server that takes a minute for each page; the fifth is the last, or never comes. */
  function slow(clock: VirtualClock, isLost: boolean): TaskCensus {
    let page = 0;
    const request = async (): Promise<unknown> => {
      page += 1;
      await sleep(clock, isLost && page === 5 ? 3_600_000 : 60_000);
      return { metadata: page < 5 ? { continue: String(page) } : {}, items: [newTask(`t-${page}`)] };
    };
    const transport = { host: 'slow', request, stream: request, close: () => Promise.resolve() } as unknown as Transport;
    const tasks = { addHandler: () => () => {} } as unknown as Caches['tasks'];
    return new TaskCensus({ transport, clock, random: () => 0, log: silentLog, tasks });
  }

  test.each([false, true])('may take as long as it goes on (one page is lost: %s)', async (isLost) => {
    const clock = new VirtualClock();
    const census = slow(clock, isLost);
    const abort = new AbortController();
    const running = census.run(abort.signal);
    let said = '';
    const waiting = census.waitForSync(120_000).then(
      () => (said = 'all'),
      (error: unknown) => (said = asError(error).message),
    );
    await clock.advance(299_000);
    expect(said).toBe('');
    await clock.advance(62_000);
    expect(said).toBe(
      isLost ? 'agenttasks that have ended: no page of them came for 120000 ms; check that AgentTasks may be listed' : 'all',
    );
    abort.abort();
    await clock.advance(7_200_000);
    await Promise.all([running, waiting]);
  });
});
