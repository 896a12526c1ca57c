// Candidates that are tried until a task is done: by the search alone, and with the learned parts of a fleet; on servers of
// this machine. node hack/bootstrap.mjs test/loop/search.bench.ts [task…]
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { execa } from 'execa';
import { load } from 'js-yaml';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { oneBug, twoBugs, unittest, type Repository } from '../e2e/repositories.ts';
import { LocalSandbox } from './localSandbox.ts';
import { LoopBed, taskFor, tried, type Workspace } from './loopBed.ts';
import { oneFunction, type ExampleTask } from './tasks.ts';

const ofRepository = ({ files }: Repository): ExampleTask => ({
  files: Object.fromEntries(files.map(({ path, content }) => [path, content])),
  command: unittest,
});

async function ofExample(name: string): Promise<ExampleTask> {
  const { spec } = load(await readFile(new URL(`../../examples/${name}.yaml`, import.meta.url), 'utf8')) as AgentTask;
  const inline = spec.workspace.type === 'Inline' ? spec.workspace.inline.files : [];
  const files = Object.fromEntries(inline.map(({ path, content }) => [path, content]));
  const [check] = spec.checks;
  return { files: { ...files, ...(await dependencies(files)) }, command: check?.command ?? [] };
}

/** The files that set-up installs: the sandbox of this test has no network. */
async function dependencies(files: Workspace): Promise<Workspace> {
  if (files['package-lock.json'] === undefined) return {};
  const folder = await mkdtemp(join(tmpdir(), 'search-bench-'));
  for (const name of ['package.json', 'package-lock.json']) await writeFile(join(folder, name), files[name] ?? '');
  await execa('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const scripts = entries.filter((entry) => entry.isFile() && entry.parentPath !== folder && /\.(json|m?js)$/.test(entry.name));
  const paths = scripts.map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
  const read = await Promise.all(paths.map(async (path) => [path, await readFile(join(folder, path), 'utf8')] as const));
  await rm(folder, { recursive: true });
  return Object.fromEntries(read);
}

// Tasks in TypeScript need the Node that runs this.
process.env['PATH'] = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`;
const tasks: Readonly<Record<string, () => Promise<ExampleTask> | ExampleTask>> = {
  oneBug: () => ofRepository(oneBug),
  twoBugs: () => ofRepository(twoBugs),
  oneFunction: () => oneFunction,
  'two-bugs': () => ofExample('two-bugs'),
  'fix-parser': () => ofExample('fix-parser'),
  'fix-cart': () => ofExample('fix-cart'),
};

const bed = await LoopBed.open();
const domains = ['*'];
type Builtin = 'Planner' | 'Verifier' | 'Embedder' | 'Policy';
const served = (role: Builtin): Promise<string> => bed.serve({ AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: role });
const generalist = {
  name: 'gen',
  role: 'Generalist',
  engine: 'Synth',
  domains,
  url: await bed.serve({ AGENTFLEET_ENGINE: 'Synth' }),
} as const;
const builtin = async (role: Exclude<Builtin, 'Verifier'>): Promise<PoolBrief['experts'][number]> => ({
  name: role.toLowerCase(),
  role,
  engine: 'Builtin',
  domains,
  url: await served(role),
});
const alone: Pick<PoolBrief, 'experts' | 'verifier'> = { experts: [generalist], verifier: null };
const whole: Pick<PoolBrief, 'experts' | 'verifier'> = {
  experts: [generalist, await builtin('Planner'), await builtin('Embedder'), await builtin('Policy')],
  verifier: {
    name: 'ebm',
    url: await served('Verifier'),
    batchMax: 16,
    timeoutMillis: 800,
    vetoBelowProbability: 0.15,
    warnBelowProbability: 0.35,
    whenUnavailable: 'FailClosed',
  },
};

async function row(name: string, fleet: string, pool: typeof alone): Promise<string> {
  const task = await tasks[name]?.();
  if (task === undefined) throw new Error(`no task ${name}; there are ${Object.keys(tasks).join(', ')}`);
  await using sandbox = await LocalSandbox.open();
  const began = performance.now();
  const run = bed.begin(sandbox, taskFor(task.files, task.command), pool);
  const { result, reason } = await bed.run(run);
  const notes = tried(sandbox);
  if (process.env['STEPS'] !== undefined) for (const note of notes) console.log(JSON.stringify(note));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  return `${name} ${fleet}: ${result} ${reason}, ${notes.length} candidates, ${seconds} s`;
}

const names = process.argv.slice(2);
for (const name of names.length > 0 ? names : Object.keys(tasks)) {
  console.log(await row(name, 'search alone', alone));
  console.log(await row(name, 'whole fleet', whole));
}
await bed[Symbol.asyncDispose]();
