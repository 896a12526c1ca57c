// `node hack/eval/peers/main.ts mini-swe-agent --tasks PACK/TASK,… --out DIR`: runs another agent on tasks of our
// packs, judged like `fleet eval`; `agentfleet` instead runs our loop on the same tasks. --endpoint URL is an
// OpenAI-compatible server (with its /v1), --model its name there, with its key in the environment as OPENAI_API_KEY;
// without --endpoint the steps of scripts.ts are played, for the tasks that it has. --rounds N repeats each task.
// `table --out DIR` prints the figures of existing records.
import { execFile } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { loadPack, type PackTask } from '@agentfleet/eval/format';
import { buildPrograms, type Programs } from '@agentfleet/eval/local';
import { runAgentFleet } from './agentFleet.ts';
import { Endpoint, remoteModel, type Model } from './endpoint.ts';
import { installMiniSweAgent, runMiniSweAgent } from './miniSweAgent.ts';
import type { PeerRecord } from './record.ts';
import { scriptedModel, type Agent } from './scripted.ts';
import { scripts } from './scripts.ts';
import { causesOf, tableOf } from './table.ts';

const root = join(import.meta.dirname, '../../..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    endpoint: { type: 'string' },
    model: { type: 'string', default: 'scripted' },
    tasks: { type: 'string', default: [...scripts.keys()].join(',') },
    out: { type: 'string', default: 'eval-results/peers' },
    rounds: { type: 'string', default: '1' },
    steps: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '1800' },
  },
});
const limits = { steps: Number(values.steps), seconds: Number(values.seconds) };
const kept = join(values.out, 'records.jsonl');

async function taskOf(id: string): Promise<PackTask> {
  const task = (await loadPack(join(root, 'test', 'packs', id.split('/')[0] ?? ''))).tasks.find((one) => one.id === id);
  if (task === undefined) throw new Error(`there is no task ${id}; write PACK/FAMILY/TASK`);
  return task;
}

/** Returns the model for an agent at a task. */
function modelFor(task: string, agent: Agent): Model {
  if (values.endpoint !== undefined) return remoteModel(values.endpoint, values.model, process.env['OPENAI_API_KEY'] ?? 'none');
  const script = scripts.get(task);
  if (script === undefined)
    throw new Error(`${task} has no script; name a server with --endpoint, or a task of ${[...scripts.keys()].join(', ')}`);
  return scriptedModel(script, agent);
}

const noTask: Model = () => Promise.resolve({ status: 503, body: { error: { message: 'no task has begun', type: 'endpoint' } } });

async function keep(record: PeerRecord): Promise<void> {
  await appendFile(kept, `${JSON.stringify(record)}\n`);
  console.log(
    `${record.agent} ${record.task}: ${record.solved ? 'solved' : 'not solved'}, ${record.ended}, ${record.steps} steps, ${record.wallSeconds.toFixed(1)} s`,
  );
}

async function programsIn(folder: string): Promise<Programs> {
  const places = { keeper: join(folder, 'keeper'), bin: join(folder, 'bin') };
  for (const place of Object.values(places)) await mkdir(place);
  return buildPrograms(root, places);
}

async function miniSweAgent(tasks: readonly PackTask[]): Promise<void> {
  const agent = await installMiniSweAgent();
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-peers-'));
  try {
    const programs = await programsIn(folder);
    await using endpoint = await Endpoint.open(noTask);
    for (const task of tasks) {
      endpoint.play(modelFor(task.id, 'mini-swe-agent'));
      await keep(await runMiniSweAgent(task, { agent, programs, endpoint, model: values.model, limits }));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function agentFleet(tasks: readonly PackTask[]): Promise<void> {
  const version = (await promisify(execFile)('git', ['rev-parse', '--short', 'HEAD'], { cwd: root })).stdout.trim();
  await using endpoint = await Endpoint.open(noTask);
  await runAgentFleet(
    tasks,
    { checkout: root, endpoint, model: values.model, version, limits },
    { before: ({ id }) => endpoint.play(modelFor(id, 'agentfleet')), after: keep },
  );
}

async function table(): Promise<void> {
  const lines = (await readFile(kept, 'utf8')).split('\n').filter((line) => line !== '');
  const records = lines.map((line) => JSON.parse(line) as PeerRecord);
  console.log(`${tableOf(records)}\n\n${causesOf(records)}`);
}

const [agent] = positionals;
if (agent === 'table') await table();
else {
  const once = await Promise.all(values.tasks.split(',').map(taskOf));
  const tasks = Array.from({ length: Number(values.rounds) }, () => once).flat();
  await mkdir(values.out, { recursive: true });
  if (agent === 'mini-swe-agent') await miniSweAgent(tasks);
  else if (agent === 'agentfleet') await agentFleet(tasks);
  else throw new Error('name an agent, mini-swe-agent or agentfleet, or table');
}
