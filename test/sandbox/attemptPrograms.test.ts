// Third-party agent programs on tasks of the packs, in real pods: the real gateway, and a provider that plays answers
// recorded by hand for each program and task.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadPack, toAgentTask, type PackTask } from '@agentfleet/eval/format';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { ChatModelsClient } from '../../agent-image/src/models/index.ts';
import { up } from '../../hack/cluster/index.ts';
import { Stage } from '../../inference-image/src/gateway/testing/harness.ts';
import { exampleOf, programNames, type ProgramName, imageWithPrograms, programs } from '../programs/image.ts';
import { serveScripts, type Script } from '../programs/model.ts';
import { AttemptBed } from './attemptBed.ts';
import { shell, useNamespace } from './harness.ts';

/** They are a gigabyte: the long run installs them. */
const full = process.env['AGENTFLEET_FULL'] === '1';

interface Played {
  readonly conversations: readonly (Script & { readonly task: string })[];
}

async function played(name: ProgramName): Promise<Played['conversations']> {
  const text = await readFile(join(import.meta.dirname, `../programs/played/${name}.json`), 'utf8');
  return (JSON.parse(text) as Played).conversations;
}

const tasks = new Map<string, PackTask>();
for (const pack of ['code-small', 'repair'])
  for (const task of (await loadPack(join(import.meta.dirname, `../packs/${pack}`))).tasks) tasks.set(task.id, task);

const bench = useNamespace('programs');
let bed: AttemptBed;
let stage: Stage;
let models: ChatModelsClient;
let toolsImage: string;

beforeAll(async () => {
  toolsImage = await imageWithPrograms(await up({ tier: 'node' }), programNames);
  bed = await AttemptBed.open();
  stage = await Stage.open();
  await stage.start({}, 60_000);
  const tokens = { token: () => Promise.resolve('worker-token'), forget: () => undefined };
  models = new ChatModelsClient({ tokens, audience: 'gateway', clock: systemClock, random: Math.random, log: silentLog });
}, 900_000);
afterAll(async () => {
  await models.close();
  await stage.close();
  await bed[Symbol.asyncDispose]();
});

async function poolOf(name: ProgramName): Promise<Partial<PoolBrief>> {
  const { command, env = [], api } = await exampleOf(name);
  const words = command.map((word) => word.replace('/home/agent/.local', programs));
  const variables = Object.fromEntries(env.filter((one) => one.name !== 'PYTHONUSERBASE').map(({ name: key, value }) => [key, value]));
  const harness = { command: words, env: variables, input: 'Template', api, acts: 'Own', model: 'expert', rounds: 1, stallSeconds: 120 };
  const chat = { contextTokens: 128_000, maxOutputTokens: 8000, toolCalls: 'Native' };
  const experts = [
    { name: 'program', role: 'Generalist', engine: 'Harness', domains: ['*'], url: 'http://127.0.0.1:3128', harness },
    { name: 'expert', role: 'Specialist', engine: 'OpenAI', domains: ['*'], url: stage.origin, chat },
  ];
  return { experts } as unknown as Partial<PoolBrief>;
}

describe.runIf(full).each(programNames)('%s', (name) => {
  test('solves three tasks of the packs, and their hidden checks hold too', { timeout: 900_000 }, async () => {
    const conversations = await played(name);
    expect(conversations).toHaveLength(3);
    const server = await serveScripts(conversations, { key: null });
    try {
      await stage.models({ baseURLs: [server.url], maxOutputTokens: 8000, timeoutSeconds: 60 });
      for (const { task: id } of conversations) {
        const task = tasks.get(id);
        if (task === undefined) throw new Error(`${id} is no task of the packs; remove its conversation`);
        const own = await bench.open({ toolsImage });
        const { spec } = toAgentTask(task, { namespace: own.namespace, pool: { name: 'coding', namespace: 'platform' } });
        const run = bed.begin(own, { spec: spec as unknown as Partial<AgentTaskSpec>, pool: await poolOf(name), models });
        const outcome = await bed.engine.run(run.context);
        expect(outcome, `${id}: ${JSON.stringify(outcome)}`).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
        const { files, command } = task.hidden;
        for (const [path, content] of Object.entries(files)) await own.client.writeFile(`/workspace/${path}`, content);
        const hidden = await shell(own, command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' '));
        expect(hidden.end.exitCode, `${id}: ${hidden.stdout}${hidden.stderr}`).toBe(0);
      }
    } finally {
      await server.close();
    }
  });
});
