// A revision of a pool is rolled out while requests go on: the whole operator, with servers that are real processes.
import { briefKey, type PoolBrief } from '@agentfleet/protocol/pool';
import { expect, test } from 'vitest';
import { example } from '../../inference-image/src/engines/synth/propose.ts';
import { newPool } from '../../operator/src/controllers/agenttask/testing/objects.ts';
import { Bed } from '../../operator/src/controllers/expertpool/testing/bed.ts';
import { armsOf, rolloutReport, type RolloutReport } from '../../operator/src/revisions/index.ts';
import { ruled } from '../../operator/src/revisions/testing/policies.ts';
import { resources } from '../../operator/src/runtime/resources.ts';
import { Engines } from './engines.ts';

const expert = (domains: readonly string[]): object => ({
  name: 'gen',
  role: 'Generalist',
  domains,
  engine: { type: 'Synth' },
  replicas: 1,
});
const rollout = {
  steps: [{ weight: 50, minSamples: 0, pauseSeconds: 0 }],
  gates: [{ name: 'errors', metric: 'ErrorRate', atMost: '0.05', minSamples: 60 }],
  minSamples: 0,
  drainSeconds: 5,
  rollback: { freezeAfterFailures: 1 },
};

/** Requests as workers send them: each task to the revision that it is assigned to, by the brief. */
class Load {
  sent = 0;
  readonly failures: string[] = [];
  readonly #bed: Bed;
  readonly #engines: Engines;
  readonly #stop = new AbortController();

  constructor(bed: Bed, engines: Engines) {
    this.#bed = bed;
    this.#engines = engines;
  }

  async run(lanes: number): Promise<void> {
    await Promise.all(Array.from({ length: lanes }, (_, lane) => this.#lane(lane)));
  }

  stop(): void {
    this.#stop.abort();
  }

  async #lane(lane: number): Promise<void> {
    for (let i = 0; !this.#stop.signal.aborted; i += 1) {
      this.sent += 1;
      const said = await this.#one(`task-${lane}-${i}`).catch(String);
      if (said !== undefined) this.failures.push(said);
    }
  }

  async #one(uid: string): Promise<string | undefined> {
    const { revision } = armsOf(uid, undefined, this.#bed.pool().status?.rollout);
    const brief = this.#brief();
    const experts = revision === undefined ? brief.experts : brief.arms?.find((arm) => arm.revision === revision)?.experts;
    const url = experts?.[0]?.url;
    if (url === undefined) return `the brief does not name revision ${revision ?? ''}`;
    const address = this.#engines.addresses.get(new URL(url).hostname.split('.')[0] ?? '');
    const body = JSON.stringify({ ...example, requestId: uid });
    const response = await fetch(`${address ?? ''}/v1/generate`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    await response.text();
    return response.ok ? undefined : `${response.status} of ${url}`;
  }

  #brief(): PoolBrief {
    const map = this.#bed.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'coding-workers');
    return JSON.parse(map?.data?.[briefKey] ?? '{}') as PoolBrief;
  }
}

interface Watched {
  readonly status: RolloutReport;
  readonly ms: number;
}

async function rolledOut(
  spoil: (metrics: string) => string,
): Promise<{ readonly first: string; readonly end: Watched; readonly load: Load; readonly left: readonly string[] }> {
  await using bed = await Bed.start();
  const engines = new Engines(bed);
  const load = new Load(bed, engines);
  const following = new AbortController();
  let first = '';
  let enoughAt = Infinity;
  bed.askMetrics = async (origin) => {
    const isCanary = engines.deploymentOf(origin) !== first;
    const text = await engines.ask(origin, '/metrics');
    const served = Number(/requests_total\{[^}]*code="ok"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0);
    if (isCanary && served > 120) enoughAt = Math.min(enoughAt, performance.now());
    return isCanary ? spoil(text) : text;
  };
  try {
    await bed.create(resources.expertPools, newPool(await ruled(bed.transport, 'coding', { rollout, experts: [expert(['*'])] })));
    void bed.startOperator().catch(() => {});
    const followed = (async () => {
      while (!following.signal.aborted) {
        await engines.follow();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const status = (): RolloutReport | undefined => rolloutReport(bed.pool().status);
    await bed.until('a revision serves', () => status()?.stable !== undefined, 15);
    const { stable } = status() ?? {};
    [first = ''] = [...engines.addresses.keys()];
    const loading = load.run(4);
    await bed.patchPool({ experts: [expert(['python', 'go'])] });
    await bed.until('it is tried', () => status()?.phase === 'Canary', 15);
    await bed.until('it is decided', () => status()?.weight === 0, 15);
    const ms = performance.now() - enoughAt;
    const at = load.sent;
    await bed.until('the load went on', () => load.sent > at + 50, 15);
    const expertsLeft = (): readonly string[] =>
      bed.server
        .objects(resources.deployments)
        .map(({ metadata }) => metadata.name)
        .filter((name) => name.startsWith('coding-expert-'));
    await bed.until('the other is gone', () => expertsLeft().length === 1, 15);
    const gone = load.sent;
    await bed.until('the load goes on without it', () => load.sent > gone + 50, 15);
    load.stop();
    await loading;
    following.abort();
    await followed;
    return {
      first: stable ?? '',
      end: { status: status() as RolloutReport, ms },
      load,
      left: expertsLeft().map((name) => (name === first ? 'first' : 'second')),
    };
  } finally {
    following.abort();
    load.stop();
    engines.stop();
  }
}

test('a revision is promoted while requests go on, and none of them fails', { timeout: 240_000 }, async () => {
  const { first, end, load, left } = await rolledOut((text) => text);
  expect(load.failures).toEqual([]);
  expect(end.status).toMatchObject({ phase: 'Idle', reason: 'Promoted', lastGreen: [first] });
  expect(end.status.gates?.[0]).toMatchObject({ name: 'errors', verdict: 'Pass' });
  expect(left).toEqual(['second']);
  console.log(`promoted under ${load.sent} requests, ${load.failures.length} failed`);
});

test('a revision that fails is rolled back while requests go on, and none of them fails', { timeout: 240_000 }, async () => {
  const { first, end, load, left } = await rolledOut((text) => text.replace(/code="ok"/g, 'code="AF_INTERNAL"'));
  expect(load.failures).toEqual([]);
  expect(end.status).toMatchObject({ phase: 'Frozen', reason: 'Frozen', stable: first });
  expect(end.status.gates?.[0]).toMatchObject({ name: 'errors', verdict: 'Fail' });
  expect(left).toEqual(['first']);
  console.log(`rolled back under ${load.sent} requests, ${load.failures.length} failed`);
});
