import { newExecId } from '@agentfleet/keeper/client';
import type { TestEnvironment } from '../environment/index.ts';
import { deleteNamespace, Kubectl, openSandbox, prepareNamespace, type Sandbox } from '../sandbox/index.ts';
import { quantile } from '@agentfleet/protocol/stats';
import type { Row } from './report/table.ts';

const namespace = 'agentfleet-bench-layers';
const rounds = 20;

/** Milliseconds in the keeper. */
interface Figures {
  readonly take: readonly number[];
  readonly restore: readonly number[];
}

/** Snapshots by layers and by contents, each in a pod of its own, on the same tree in the same run. */
export async function layerRows(environment: TestEnvironment, files: number): Promise<readonly Row[]> {
  const kubectl = new Kubectl(environment.cluster);
  await deleteNamespace(kubectl, namespace);
  const issuer = await prepareNamespace(kubectl, namespace, 'privileged');
  const options = { namespace, issuer, sandboxImage: environment.image('sandbox'), toolsImage: environment.image('tools') };
  const sandboxes: Sandbox[] = [];
  try {
    for (const layered of [true, false]) sandboxes.push(await openSandbox(kubectl, { ...options, layered }));
    const [layers, contents] = sandboxes;
    if (layers === undefined || contents === undefined) throw new Error('two sandboxes were opened');
    const [ours, cas] = [await measure(layers, files), await measure(contents, files)];
    return rowsOf(files, ours, cas, await switches(kubectl, layers));
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
    await deleteNamespace(kubectl, namespace);
  }
}

function rowsOf(files: number, ours: Figures, cas: Figures, frozen: Figures): readonly Row[] {
  const tree = `layers in a pod, ${files.toLocaleString('en')} files`;
  const row = (name: string, mine: number, theirs: number, note: string): Row => ({
    measure: `${tree}: ${name}`,
    ours: mine,
    unit: 'ms',
    peer: { name: 'cas', value: theirs },
    note,
  });
  const verified = 'until the record is durable and the digest known; of it the roots stand still';
  return [
    row('switch for a take', quantile(frozen.take, 0.5), quantile(cas.take, 0.5), 'both containers; a layer for each root'),
    row('switch for a restore', quantile(frozen.restore, 0.5), quantile(cas.restore, 0.5), 'both containers; a layer for each root'),
    row('take', quantile(ours.take, 0.5), quantile(cas.take, 0.5), `7 files edited; ${verified} for the switch`),
    row('restore', quantile(ours.restore, 0.5), quantile(cas.restore, 0.5), 'the same 7 changes taken back; compared with the manifest'),
  ];
}

async function measure(sandbox: Sandbox, files: number): Promise<Figures> {
  const plant = `import os
for i in range(${files}):
    d = f"/workspace/d{i // 100}"; os.makedirs(d, exist_ok=True); open(f"{d}/f{i}", "wb").write(os.urandom(600) * 8)`;
  await run(sandbox, ['python3', '-c', plant]);
  const first = await sandbox.client.takeSnapshot('first');
  const take: number[] = [];
  const restore: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const edit = `for i in 1 2 3 4 5; do echo ${round} >> /workspace/d$i/f$((i * 100)); done; echo n > /workspace/new${round}; rm -f /workspace/d9/f9${round + 10}`;
    await run(sandbox, ['sh', '-c', edit]);
    take.push((await sandbox.client.takeSnapshot()).tookMs);
  }
  for (let round = 0; round < rounds; round++) {
    const before = (await sandbox.client.snapshots()).at(-1)?.id ?? first.id;
    await run(sandbox, [
      'sh',
      '-c',
      `for i in 1 2 3 4 5; do echo ${round} > /workspace/d$i/f$((i * 100)); done; echo n > /workspace/more; rm -r /workspace/d8`,
    ]);
    restore.push((await sandbox.client.restore(before)).tookMs);
  }
  return { take, restore };
}

async function run(sandbox: Sandbox, argv: readonly string[]): Promise<void> {
  const { end, stderr } = await sandbox.client.run({ execId: newExecId(), tool: 'ExecCode', argv: [...argv], timeoutSeconds: 120 });
  if (end.exitCode !== 0) throw new Error(`${argv[0]} in ${sandbox.name}: ${stderr}`);
}

/** Returns the times for which the roots stood still, ms, from the keeper's own log. */
async function switches(kubectl: Kubectl, sandbox: Sandbox): Promise<Figures> {
  const text = await kubectl.text(['-n', sandbox.namespace, 'logs', sandbox.name, '-c', 'keeper']);
  const lines = text.split('\n').filter((line) => line.includes('the layers were switched'));
  const all = lines.map((line) => JSON.parse(line) as { readonly what: keyof Figures; readonly micros: number });
  const of = (kind: keyof Figures): number[] => all.filter(({ what }) => what === kind).map(({ micros }) => micros / 1000);
  return { take: of('take').slice(-rounds), restore: of('restore').slice(-rounds) };
}
