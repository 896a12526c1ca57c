import { beforeAll, afterAll, describe, expect, inject, test } from 'vitest';
import { up } from '../../hack/cluster/index.ts';
import { buildImages } from '../../hack/images/index.ts';
import { portForward, killProcessesOf, type PortForward } from '../../hack/sandbox/index.ts';
import { eventually, isOurNode, podsOf, poolOf } from './devices.ts';
import { bearer, containerOf, post, requestTo, safetensors, smallModel, type Answer } from './engineStage.ts';
import { useFleet, type Fleet, type Pod } from './fleet.ts';

const experts = ['ada', 'bob'] as const;
type Name = (typeof experts)[number];

const repaired = '{"edits":[{"path":"add.py","find":"a - b","replace":"a + b"}],"reason":"adds"}';

/** When an engine had the GPU, by its own record, ms since 1970. */
interface Span {
  readonly expert: Name;
  readonly from: number;
  readonly to: number;
}

/** What the log of a process of an engine says. It ended at `end` if it did not say so. */
function spansOf(expert: Name, log: string, end: number): readonly Span[] {
  const lines = log.split('\n').filter((line) => line.startsWith('{"gpu"'));
  const told = lines.map((line) => JSON.parse(line) as { readonly gpu: 'taken' | 'freed'; readonly at: number });
  return told.flatMap(({ gpu, at }, index) => (gpu === 'taken' ? [{ expert, from: at, to: told[index + 1]?.at ?? end }] : []));
}

/** Two language models on one slot that take turns, with real containers, probes and walls. */
describe.skipIf(!isOurNode())('engines in turns on the real node (a driver of devices runs beside our own node only)', () => {
  let image = '';
  const fleet: Fleet = useFleet('swap', {
    before: async (opened) => {
      const cluster = await up({ dra: true, csi: true });
      const [built] = await buildImages(['engine']);
      await cluster.importImage(built?.archive ?? '');
      image = built?.ref ?? '';
      for (const expert of experts)
        for (const [name, content] of Object.entries({ 'model.safetensors': safetensors(), ...smallModel }))
          await opened.artifacts.put(`${uriOf(opened, expert)}/${name}`, content);
    },
    readySeconds: 240,
    // Read when the image is built.
    get pool() {
      const modelCache = { size: '1Gi', storageClassName: 'agentfleet-dir' };
      return { experts: experts.map((name) => expertOf(name, image, fleet)), modelCache, workers: { replicas: 0 } };
    },
  });
  const forwards: PortForward[] = [];
  const forward = async (pod: Pod, port: number): Promise<string> => {
    const opened = await portForward(fleet.kubectl, fleet.namespace, pod.metadata.name, port);
    forwards.push(opened);
    return opened.url;
  };
  const podOf = async (expert: Name): Promise<Pod> => {
    const [pod] = await podsOf(fleet, expert);
    if (pod === undefined) throw new Error(`no pod of ${expert}`);
    return pod;
  };
  const servers = new Map<Name, string>();
  let turnstile = '';

  const members = async (): Promise<readonly { readonly item: Name; readonly state: string }[]> =>
    ((await (await fetch(`${turnstile}/v1/members`, { headers })).json()) as { members: [] }).members;
  const awake = async (): Promise<readonly Name[]> => (await members()).filter(({ state }) => state === 'Awake').map(({ item }) => item);

  /** As the agent asks: again where it is told to come again. */
  async function answered(expert: Name): Promise<Answer> {
    for (let left = 60; ; left -= 1) {
      const answer = await post(`${servers.get(expert)}/v1/generate`, requestTo('Generalist'), headers).catch(() => ({
        status: 503,
        body: {},
      }));
      if (answer.status !== 503 || left === 0) return answer;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }

  async function tellReplies(expert: Name): Promise<void> {
    const url = await forward(await podOf(expert), 8000);
    await post(`${url}/testing`, { replies: [repaired] });
  }

  /** All times at which an engine had the GPU, the earliest first. */
  async function spans(): Promise<readonly Span[]> {
    const all: Span[] = [];
    for (const expert of experts) {
      const { name } = (await podOf(expert)).metadata;
      const container = containerOf(await podOf(expert), 'engine');
      const ended = Date.parse(container?.lastState?.terminated?.finishedAt ?? '');
      if (!Number.isNaN(ended)) all.push(...spansOf(expert, await fleet.run('logs', name, '-c', 'engine', '--previous'), ended));
      all.push(...spansOf(expert, await fleet.run('logs', name, '-c', 'engine'), Date.now()));
    }
    return all.sort((one, other) => one.from - other.from);
  }

  async function expectNoneAtOnce(): Promise<void> {
    const all = await spans();
    const overlaps = all.filter((span, index) =>
      all.some((other, at) => at < index && other.expert !== span.expert && other.to > span.from),
    );
    expect(overlaps, JSON.stringify(all)).toEqual([]);
    console.log(all.map(({ expert, from, to }) => `${expert} ${from - (all[0]?.from ?? 0)}-${to - (all[0]?.from ?? 0)} ms`).join(', '));
  }

  let headers: Readonly<Record<string, string>>;
  beforeAll(async () => {
    headers = await bearer(fleet);
    const ready = async (): Promise<boolean> => (await poolOf(fleet)).status?.experts?.every((each) => each.ready === 1) === true;
    await eventually(fleet, 'both experts are ready', 240, ready);
    for (const expert of experts) {
      servers.set(expert, await forward(await podOf(expert), 7080));
      await tellReplies(expert);
    }
    const { items } = await fleet.kubectl.json<{ items: readonly Pod[] }>([
      '-n',
      fleet.namespace,
      'get',
      'pods',
      '-l',
      'agentfleet.dev/turnstile',
    ]);
    const [pod] = items;
    if (pod === undefined) throw new Error('no pod of a turnstile');
    turnstile = await forward(pod, 7090);
  });
  afterAll(() => Promise.all(forwards.map((opened) => opened.close())));

  test('both become ready on one slot, one after the other, and one is awake', async () => {
    const { status } = await poolOf(fleet);
    expect(new Set(status?.plan?.assignments.map(({ slot }) => slot))).toEqual(new Set(['agentfleet-node/gpu3']));
    expect(await awake()).toHaveLength(1);
    for (const expert of experts)
      expect(containerOf(await podOf(expert), 'turn')).toMatchObject({ state: { terminated: { exitCode: 0 } } });
    await expectNoneAtOnce();
  });

  test('both answer in turns, none twice awake at once', async () => {
    const before = (await spans()).length;
    const answers = await Promise.all(experts.flatMap((expert) => [1, 2, 3, 4, 5].map(() => answered(expert))));
    expect(answers.map(({ status, body }) => [status, body.candidates?.length])).toEqual(answers.map(() => [200, 1]));
    expect((await spans()).length).toBeGreaterThan(before);
    await expectNoneAtOnce();
  });

  test('an engine that is killed while it is awake comes back in its own time, and both answer again', async () => {
    const [killed] = await awake();
    if (killed === undefined) throw new Error('nobody is awake');
    const container = containerOf(await podOf(killed), 'engine');
    await killProcessesOf(container?.containerID ?? '');
    await eventually(
      fleet,
      'its engine runs again',
      120,
      async () => containerOf(await podOf(killed), 'engine')?.restartCount === (container?.restartCount ?? 0) + 1,
    );
    for (const expert of experts) expect((await answered(expert)).status).toBe(200);
    expect(containerOf(await podOf(killed), 'inference')).toMatchObject({ restartCount: 0 });
    await expectNoneAtOnce();
  });
});

/** Where weights of an expert lie in the bucket of the tests. */
const uriOf = ({ namespace }: Fleet, expert: Name): string => `${inject('fleet').storage.uri}/${namespace}/${expert}`;

function expertOf(name: Name, image: string, fleet: Fleet): object {
  const extraArgs = ['--additional-config={"loadMs":1500,"answerMs":300}'];
  return {
    name,
    role: 'Generalist',
    residency: 'Swap',
    engine: { type: 'VLLM', vLLM: { image, maxModelLen: 2048, maxNumSeqs: 4, drainSeconds: 10, turnSeconds: 5, extraArgs } },
    artifact: { uri: uriOf(fleet, name) },
    resources: { slot: 'agentfleet-node/gpu3', requests: { cpu: '50m', memory: '64Mi' } },
  };
}
