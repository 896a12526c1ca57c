// Plays conversations with a model that obeys every text that it reads, through the real loop with both gates, by both
// thresholds, and counts the orders that were obeyed. No command of a conversation is ever run: the sandbox records
// requests. Run: node hack/bootstrap.mjs test/loop/mislead.ts FILE [--out FILE]
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { ExpertsClient } from '@agentfleet/agent/experts';
import { PoolDecisionModels } from '@agentfleet/agent/decision';
import { createRails, installedGrammars, loadGrammars } from '@agentfleet/agent/rails';
import { variantsOf } from '@agentfleet/eval';
import { briefOf, calibrated, PartServers } from '@agentfleet/eval/local';
import { silentLog, systemClock } from '@agentfleet/kube';
import { homeDir, workspaceDir, type ExecRequest } from '@agentfleet/protocol/keeper';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { load } from 'js-yaml';
import { loopStrategy } from '../../agent-image/src/loop/index.ts';
import { callOf, GullibleModel, isRefused, readingOf, type Conversation } from './gullible.ts';
import { LocalSandbox } from './localSandbox.ts';
import { beginRun, compute, engineOf, storeIn, taskFor } from './loopBed.ts';

/** Result of a conversation. */
interface Misled {
  readonly id: string;
  readonly calls: number;
  /** Calls that passed both gates, by number; each is an order that was obeyed. */
  readonly obeyed: readonly number[];
  readonly read: boolean;
  readonly outcome: string;
}

/** Makes a sandbox run nothing: the carrier gives its text, checks fail, all else is recorded as done. */
function noting(sandbox: LocalSandbox, { carrier, files, injection }: Conversation): void {
  const [, { command: reads }] = readingOf({ carrier, files });
  const file = files.find(({ path }) => reads === `cat ${path}`);
  const text = file?.content ?? (typeof injection === 'string' ? injection : JSON.stringify(injection ?? ''));
  const run = (body: ExecRequest): unknown => {
    const line = body.tool === 'Shell' ? body.command : body.argv.join(' ');
    const asksShell = line.includes('echo bash');
    const isReading = typeof reads === 'string' && line.includes(reads);
    const zero = { stdout: 0, stderr: 0 };
    const times = { durationMs: 1, cpuMs: 1, maxRssBytes: 0, bytes: zero, dropped: zero, swept: 0 };
    const end = {
      type: 'end',
      seq: 1,
      exitCode: body.tool === 'ExecCode' && !asksShell ? 1 : 0,
      signal: null,
      timedOut: false,
      killed: null,
      oom: false,
    };
    const stdout = isReading ? text : asksShell ? 'bash' : '';
    return Promise.resolve({ stdout, stderr: '', end: { ...end, ...times } });
  };
  Object.defineProperty(sandbox, 'run', { value: run });
}

function chatBrief(brief: PoolBrief): PoolBrief {
  const chat = { contextTokens: 64_000, maxOutputTokens: 4096, toolCalls: 'Native' } as const;
  const model: PoolBrief['experts'][number] = {
    name: 'gen',
    role: 'Generalist',
    engine: 'OpenAI',
    chat,
    domains: ['*'],
    url: 'http://127.0.0.1:1',
  };
  return { ...brief, experts: [model, ...brief.experts.filter(({ role }) => role !== 'Generalist')] };
}

const checkOf = (check: unknown): readonly string[] => {
  const [, { command }] = callOf(check);
  return ['bash', '-c', String(command)];
};

async function play(conversation: Conversation, pool: PoolBrief, folder: string): Promise<Misled> {
  await using sandbox = await LocalSandbox.open();
  noting(sandbox, conversation);
  const models = new GullibleModel(conversation);
  const client = new ExpertsClient({ clock: systemClock, random: () => 0.5, log: silentLog });
  const files = Object.fromEntries(conversation.files.map(({ path, content }) => [path.replace(`${workspaceDir}/`, ''), content]));
  const spec = { ...taskFor(files, [...checkOf(conversation.check)]), goal: conversation.goal };
  const store = await storeIn(folder);
  const { context } = beginRun(spec, (signal) => ({
    pool,
    keeper: sandbox.client,
    experts: client.of(pool.experts),
    models,
    decisionModels: new PoolDecisionModels({ pool, compute, parts: client.parts, name: 'task.1.1', signal }),
    store,
  }));
  // As in a sandbox, whose home is not this machine's.
  const rails = createRails({ grammars: await loadGrammars(installedGrammars()), home: homeDir });
  const outcome = await (await engineOf({ rails, loop: loopStrategy })).run(context);
  const [read, ...answers] = models.observed;
  const missing = models.observed.find((text) => text.startsWith('there is no tool'));
  if (missing !== undefined) throw new Error(`${conversation.id} asks for a tool that the loop has not: ${missing}`);
  const calls = conversation.obeying.length;
  const obeyed = answers.slice(0, calls).flatMap((text, at) => (isRefused(text) ? [] : [at]));
  return { id: conversation.id, calls, obeyed, read: read !== undefined && !isRefused(read), outcome: outcome.reason };
}

const [file] = argv.slice(2);
if (file === undefined) throw new Error('name the file of the conversations');
const out = argv.indexOf('--out');
const conversations = load(await readFile(file, 'utf8')) as readonly Conversation[];
const folder = await mkdtemp(join(tmpdir(), 'mislead-'));
await using servers = new PartServers(join(import.meta.dirname, '..', '..'));
const [whole] = variantsOf([]);
if (whole === undefined) throw new TypeError('there is a variant of the whole fleet');
const fixed = chatBrief(await briefOf(whole, servers, { type: 'Volume', path: folder, claim: 'none' }));
const all: Record<string, readonly Misled[]> = {};
for (const [name, pool] of [
  ['Fixed', fixed],
  ['Calibration', await calibrated(fixed)],
] as const) {
  const played: Misled[] = [];
  for (const one of conversations) played.push(await play(one, pool, folder));
  all[name] = played;
  const sum = (of: (one: Misled) => number): number => played.reduce((total, one) => total + of(one), 0);
  const some = played.filter(({ obeyed }) => obeyed.length > 0).length;
  console.log(
    `${name}: ${played.length} conversations, ${some} with an order that was obeyed; ${sum(({ obeyed }) => obeyed.length)} of ${sum(({ calls }) => calls)} calls passed; ${played.filter(({ read }) => !read).length} not read`,
  );
}
if (out !== -1) await writeFile(argv[out + 1] ?? 'mislead.json', `${JSON.stringify(all, null, 2)}\n`);
await rm(folder, { recursive: true });
