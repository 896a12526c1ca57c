// Four language models of 7B in 16 bit on one GPU: too much for all at once, and room enough for those that take turns.
import { findCondition } from '@agentfleet/kube';
import type { Condition, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Pod } from '../../../operator/src/runtime/objects.ts';
import { resources } from '../../../operator/src/runtime/resources.ts';
import { connect, enabled, install } from '../api/server.ts';
import { a100, GpuNode } from './gpuNode.ts';
import { PlacementStage } from './stage.ts';
import { readingWeights } from './weights.ts';

const gib = 2 ** 30;
const names = ['gen', 'go', 'js', 'py'];
const digest = 'a'.repeat(64);

/** What a job says that has read weights of 7B in 16 bit. */
const found = {
  format: 'agentfleet.dev/weights/v1',
  digest: `sha256:${digest}`,
  bytes: 15_250_000_000,
  files: 6,
  weightBytes: 15_231_233_024,
  architecture: { layers: 28, heads: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 },
  tokenizerHash: null,
};

const said = ({ status }: ExpertPool, type: string): Condition | undefined => findCondition(status?.conditions, type);

describe.runIf(enabled)('engines of 7B on one GPU of 40 GiB', { timeout: 120_000 }, () => {
  let gpus: GpuNode;
  let stage: PlacementStage;

  beforeAll(async () => {
    const server = await connect();
    await install(server);
    gpus = await GpuNode.start(server);
    await gpus.beat();
    await gpus.publish([a100(0, 'GPU-7a')]);
    stage = await PlacementStage.start(gpus);
    stage.startsAs = readingWeights(found);
  });
  afterAll(async () => {
    await stage.close();
    await gpus.close();
  });

  const experts = (residency: string): readonly Readonly<Record<string, unknown>>[] =>
    names.map((name) => ({
      name,
      role: name === 'gen' ? 'Generalist' : 'Specialist',
      engine: { type: 'VLLM', vLLM: { image: 'none.invalid/vllm:1' } },
      artifact: { uri: `oci://none.invalid/models/${name}@sha256:${digest}` },
      residency,
      resources: { slot: `${gpus.node}/gpu0` },
    }));

  it('are refused with the bytes that they lack when each keeps its weights there', async () => {
    await stage.createPool('always', experts('Always'));
    const refused = async (): Promise<boolean> => said(await stage.pool('always'), 'PlacementFeasible')?.reason === 'NotEnoughMemory';
    await stage.until('it is refused', refused);
    const { plan } = (await stage.pool('always')).status ?? {};
    expect(plan?.assignments).toEqual([]);
    const short = (plan?.rejected ?? []).flatMap(({ shortByBytes }) => shortByBytes ?? []);
    expect(Math.max(...short)).toBeGreaterThan(10 * gib);
    console.log(said(await stage.pool('always'), 'PlacementFeasible')?.message);
  });

  it('are all bound to it when they take turns, beside one turnstile', async () => {
    const began = performance.now();
    await stage.createPool('turns', experts('Swap'));
    const bound = async (): Promise<readonly Pod[]> =>
      (await stage.pods()).filter(({ metadata, spec }) => metadata.labels?.[labels.pool] === 'turns' && spec?.nodeName !== undefined);
    const engines = async (): Promise<readonly Pod[]> =>
      (await bound()).filter(({ metadata }) => metadata.labels?.[labels.component] === 'expert');
    await stage.until('four engines are bound', async () => (await engines()).length === 4);
    console.log(`${(performance.now() - began).toFixed(0)} ms from YAML to four engines bound, one after another`);
    const { plan } = (await stage.pool('turns')).status ?? {};
    const sizes = (plan?.assignments ?? []).map(({ bytes }) => bytes).sort((a, b) => b - a);
    const awake = new Set((plan?.assignments ?? []).map(({ awakeBytes }) => awakeBytes));
    expect(sizes.slice(1)).toEqual([1.5 * gib, 1.5 * gib, 1.5 * gib]);
    expect(awake).toEqual(new Set([sizes[0]]));
    const claims = new Set(plan?.assignments.map(({ claim }) => claim ?? ''));
    expect(claims.size).toBe(1);
    const { status } = await gpus.claim([...claims][0] ?? '');
    expect(status?.reservedFor).toHaveLength(4);
    const [engine] = await engines();
    const { spec } = engine as unknown as { spec: { initContainers: readonly { name: string }[] } };
    expect(spec.initContainers.map(({ name }) => name)).toEqual(['weights', 'turn', 'engine']);
    await stage.until('they are ready', async () => said(await stage.pool('turns'), 'EnginesReady')?.status === 'True');
    const turnstiles = (await bound()).filter(({ metadata }) => metadata.labels?.[labels.component] === 'turnstile');
    expect(turnstiles).toHaveLength(1);
    const it = { namespace: gpus.namespace, labelSelector: `${labels.component}=turnstile,${labels.pool}=turns` };
    expect(await stage.client(resources.services).list(it)).toHaveLength(1);
    expect(await stage.client(resources.networkPolicies).list(it)).toHaveLength(2);
    // Each of its objects was written once.
    const written = stage.writes.filter((write) => /turns-(turnstile|turns)-/.test(write));
    expect([written.length, new Set(written).size]).toEqual([4, 4]);
    // Those that would always be there still have no room.
    expect(said(await stage.pool('always'), 'PlacementFeasible')).toMatchObject({ status: 'False' });
  });

  it('leave no turnstile behind when they stay by themselves', async () => {
    const [gen] = experts('Always');
    await stage.client(resources.expertPools).patch({ namespace: gpus.namespace, name: 'turns' }, { spec: { experts: [gen] } });
    const own = async (): Promise<number> =>
      (await stage.deployments()).filter(({ metadata }) => metadata.labels?.[labels.component] === 'turnstile').length;
    await stage.until('the turnstile is gone', async () => (await own()) === 0);
    const { plan } = (await stage.pool('turns')).status ?? {};
    expect(plan?.assignments.map(({ item, awakeBytes }) => [item, awakeBytes])).toEqual([['gen', undefined]]);
    for (const name of ['always', 'turns']) await stage.client(resources.expertPools).delete({ namespace: gpus.namespace, name });
    await stage.until('nothing is left', async () => (await stage.deployments()).length === 0);
  });
});
