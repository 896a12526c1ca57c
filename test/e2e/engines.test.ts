import type { InferenceInfo } from '@agentfleet/protocol/inference';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { up } from '../../hack/cluster/index.ts';
import { buildImages } from '../../hack/images/index.ts';
import { portForward, killProcessesOf, type PortForward } from '../../hack/sandbox/index.ts';
import type { EngineState } from '../../inference-image/src/engines/vllm/testing/engine.ts';
import { eventually, injected, isOurNode, podsOf, poolOf, publishedDevices } from './devices.ts';
import { bearer, containerOf, post, requestTo, safetensors, smallModel } from './engineStage.ts';
import { useFleet, type Fleet, type Pod } from './fleet.ts';

const models: Readonly<Record<string, Readonly<Record<string, Buffer>>>> = {
  core: { 'model.safetensors': safetensors(), ...smallModel },
  style: { 'adapter_model.safetensors': safetensors(), 'adapter_config.json': Buffer.from('{"r":24}') },
};

const repaired = '{"edits":[{"path":"add.py","find":"a - b","replace":"a + b"}],"reason":"adds"}';
/** An adapter is known by its expert and its weights. */
const adapterName = expect.stringMatching(/^pool\.style\.[0-9a-f]{16}$/) as unknown;

/** An answer with the repair. */
const answered = { status: 200, body: { candidates: [{ rank: 1 }] } };

const isReady = (pod: Pod): boolean => pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

/** A language model whose engine is played, and an adapter on it, with weights from a bucket, on a real kubelet. */
describe.skipIf(!isOurNode())('an engine of vLLM on the real node (a driver of devices runs beside our own node only)', () => {
  let image = '';
  const fleet: Fleet = useFleet('engines', {
    before: async (opened) => {
      const cluster = await up({ dra: true, csi: true });
      const [built] = await buildImages(['engine']);
      await cluster.importImage(built?.archive ?? '');
      image = built?.ref ?? '';
      await upload(opened);
    },
    readySeconds: 180,
    // Read when the image is built.
    get pool() {
      const modelCache = { size: '1Gi', storageClassName: 'agentfleet-dir' };
      return { experts: experts(image, fleet), modelCache, workers: { replicas: 0 } };
    },
  });
  const forwards: PortForward[] = [];
  const forward = async (pod: Pod, port: number): Promise<string> => {
    const opened = await portForward(fleet.kubectl, fleet.namespace, pod.metadata.name, port);
    forwards.push(opened);
    return opened.url;
  };
  let core: Pod;
  let style: Pod;
  const at = { core: '', style: '', engine: '' };
  const newest = async (expert: string): Promise<Pod> => {
    const [pod] = await podsOf(fleet, expert);
    if (pod === undefined) throw new Error(`no pod of ${expert}`);
    return pod;
  };
  const tell = async (wish: { held?: boolean; replies?: readonly string[] }): Promise<EngineState> =>
    (await post(`${at.engine}/testing`, wish)).body as unknown as EngineState;
  const names = async (): Promise<readonly string[]> => {
    const { data } = (await (await fetch(`${at.engine}/v1/models`)).json()) as { data: readonly { id: string }[] };
    return data.map(({ id }) => id);
  };

  let headers: Readonly<Record<string, string>>;
  beforeAll(async () => {
    headers = await bearer(fleet);
    const ready = async (): Promise<boolean> => (await poolOf(fleet)).status?.experts?.every((each) => each.ready === 1) === true;
    await eventually(fleet, 'both experts are ready', 180, ready);
    [core, style] = [await newest('core'), await newest('style')];
    [at.core, at.style, at.engine] = [await forward(core, 7080), await forward(style, 7080), await forward(core, 8000)];
    await tell({ replies: [repaired] });
  });
  afterAll(() => Promise.all(forwards.map((opened) => opened.close())));

  test('weights are fetched and read, and the engine starts after them and before our server, on its GPU', async () => {
    const { status } = await poolOf(fleet);
    const found = status?.artifacts?.find(({ name }) => name === 'core');
    expect(found).toMatchObject({ weightBytes: 16, architecture: { layers: 2, kvHeads: 2 } });
    const [weights, engine, server] = ['weights', 'engine', 'inference'].map((name) => containerOf(core, name));
    const times = [weights?.state?.terminated?.finishedAt, engine?.state?.running?.startedAt, server?.state?.running?.startedAt];
    expect(times.map(String)).toEqual(times.map(String).toSorted());
    expect(weights?.state?.terminated?.exitCode).toBe(0);

    const { names: devices } = await publishedDevices(fleet);
    const device = devices.get(status?.plan?.assignments.find(({ item }) => item === 'core')?.uuid ?? '') ?? '?';
    const [line = ''] = (await fleet.run('logs', core.metadata.name, '-c', 'engine')).split('\n');
    const started = JSON.parse(line) as { readonly devices: readonly string[]; readonly argv: readonly string[] };
    expect(started.devices).toEqual([device]);
    expect(await injected(fleet, core.metadata.name, 'inference')).toEqual({});
    expect(started.argv).toEqual(expect.arrayContaining([`pool.core@${found?.digest}`, '--kv-cache-memory-bytes', '--enable-lora']));
    console.log(line);
  });

  test('both experts answer through one engine, the adapter by its own name', async () => {
    for (const [url, role] of [
      [at.core, 'Generalist'],
      [at.style, 'Specialist'],
    ] as const) {
      expect(((await (await fetch(`${url}/v1/info`, { headers })).json()) as InferenceInfo).engine).toBe('VLLM');
      expect(await post(`${url}/v1/generate`, requestTo(role), headers)).toMatchObject(answered);
    }
    expect(await names()).toEqual(['pool.core', expect.stringMatching(/^pool\.core@sha256:/), adapterName]);
  });

  test('an engine that dies takes its pod out of service until it answers again, and loads its adapter again', async () => {
    const seen = fleet.pods.named(core.metadata.name).length;
    const killed = performance.now();
    await killProcessesOf(containerOf(core, 'engine')?.containerID ?? '');
    // By the recorded history: polling could miss that it was out of service.
    const since = (): readonly Pod[] => fleet.pods.named(core.metadata.name).slice(seen);
    await eventually(fleet, 'the pod is out of service', 60, () => Promise.resolve(since().some((state) => !isReady(state))));
    await eventually(fleet, 'it is in service again', 90, () =>
      Promise.resolve(
        since()
          .slice(since().findIndex((state) => !isReady(state)))
          .some(isReady),
      ),
    );
    console.log(`from the engine's end to its pod in service: ${((performance.now() - killed) / 1000).toFixed(1)} s`);
    const after = await newest('core');
    expect(after.metadata.name).toBe(core.metadata.name);
    expect(containerOf(after, 'engine')).toMatchObject({ restartCount: 1 });
    expect(containerOf(after, 'inference')).toMatchObject({ restartCount: 0 });
    await eventually(fleet, 'the engine is asked', 30, async () => (await tell({ replies: [repaired] })).waiting === 0);
    const answers = async (): Promise<boolean> => (await post(`${at.style}/v1/generate`, requestTo('Specialist'), headers)).status === 200;
    await eventually(fleet, 'the adapter answers', 60, answers);
    expect(await names()).toEqual(expect.arrayContaining([adapterName]));
    expect(containerOf(await newest('style'), 'inference')).toMatchObject({ restartCount: 0 });
  });

  test('running requests are answered when the pod has to end, and new ones are refused', async () => {
    await tell({ held: true });
    const pending = post(`${at.core}/v1/generate`, requestTo('Generalist'), headers);
    await eventually(fleet, 'the engine works on it', 30, async () => (await tell({})).waiting === 1);
    await fleet.run('delete', 'pod', core.metadata.name, '--wait=false');
    await eventually(fleet, 'our server drains', 30, async () => (await fetch(`${at.core}/readyz`)).status === 503);
    expect((await post(`${at.core}/v1/generate`, requestTo('Generalist'), headers)).status).toBe(503);
    expect((await tell({})).waiting).toBe(1);
    await tell({ held: false });
    expect(await pending).toMatchObject(answered);
    await fleet.run('wait', '--for=delete', `pod/${core.metadata.name}`, '--timeout=240s');
    const next = await newest('core');
    expect(next.metadata.name).not.toBe(core.metadata.name);
    expect(next.spec?.nodeName).toBe(core.spec?.nodeName);
    expect(style.metadata.name).toBe((await newest('style')).metadata.name);
  });
});

/** Returns the place of an expert's weights in the bucket of the tests. */
const weightsUri = ({ namespace }: Fleet, expert: string): string => `${inject('fleet').storage.uri}/${namespace}/${expert}`;

async function upload(fleet: Fleet): Promise<void> {
  for (const [expert, files] of Object.entries(models))
    for (const [name, content] of Object.entries(files)) await fleet.artifacts.put(`${weightsUri(fleet, expert)}/${name}`, content);
}

function experts(image: string, fleet: Fleet): readonly object[] {
  return [
    {
      name: 'core',
      role: 'Generalist',
      engine: { type: 'VLLM', vLLM: { image, maxModelLen: 2048, maxNumSeqs: 4 } },
      artifact: { uri: weightsUri(fleet, 'core') },
      resources: { slot: 'agentfleet-node/gpu0', requests: { cpu: '50m', memory: '64Mi' } },
    },
    {
      name: 'style',
      role: 'Specialist',
      domains: ['python'],
      engine: { type: 'Adapter', adapter: { base: 'core', rank: 24 } },
      artifact: { uri: weightsUri(fleet, 'style') },
    },
  ];
}
