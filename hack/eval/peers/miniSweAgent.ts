// mini-swe-agent at a task of a pack: its own command line and configuration, on a tree that `fleet eval` prepares and judges.
import { execFile, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { PackTask } from '@agentfleet/eval/format';
import { judgeHidden, prepare, ProcessSandbox, type Programs } from '@agentfleet/eval/local';
import { homeDir } from '@agentfleet/protocol/keeper';
import { cached, hashInputs } from '../../cache/index.ts';
import type { Endpoint } from './endpoint.ts';
import { recordOf, type PeerRecord } from './record.ts';

const run = promisify(execFile);
const requirements = join(import.meta.dirname, 'mini-swe-agent.txt');
const trajectory = `${homeDir}/trajectory.json`;

/** Its virtual environment. */
interface MiniSweAgent {
  readonly folder: string;
  readonly version: string;
}

/** Installs the pinned release with all that it needs into the cache, once, from the index that pip is configured for. */
export async function installMiniSweAgent(): Promise<MiniSweAgent> {
  const python = (await run('python3', ['--version'])).stdout.trim();
  const version = /^mini-swe-agent==(.+)$/m.exec(await readFile(requirements, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${requirements} does not name the version of mini-swe-agent`);
  const { dir: folder } = await cached(
    'peers',
    `mini-swe-agent-${await hashInputs({ text: [python], paths: [requirements] })}`,
    async (dir) => {
      await run('python3', ['-m', 'venv', dir]);
      await run(join(dir, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '--no-deps', '-r', requirements]);
    },
  );
  return { folder, version };
}

/** The task in the words that both agents get: the goal, and the command that decides. */
export function promptOf({ goal, visible }: Pick<PackTask, 'goal' | 'visible'>): string {
  const words = visible.command.map((word) => (/^[\w./=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`));
  return `${goal}\n\nThis check must pass: ${words.join(' ')}`;
}

interface MiniRun {
  readonly agent: MiniSweAgent;
  readonly programs: Programs;
  readonly endpoint: Endpoint;
  readonly model: string;
  /** Steps and seconds after which it is ended. */
  readonly limits: { readonly steps: number; readonly seconds: number };
}

/** Runs it on one task, in a separate sandbox, and judges the result. */
export async function runMiniSweAgent(task: PackTask, { agent, programs, endpoint, model, limits }: MiniRun): Promise<PeerRecord> {
  const signal = AbortSignal.timeout(limits.seconds * 1000 + 300_000);
  const bound = { ...programs, binds: [...programs.binds, agent.folder] };
  await using sandbox = await ProcessSandbox.open(bound, signal);
  await prepare(task, sandbox.keeper);
  const config = ['mini.yaml', `model.model_kwargs.api_base=${endpoint.url}`, `agent.step_limit=${limits.steps}`].flatMap((one) => [
    '-c',
    one,
  ]);
  const settings = [...config, '-m', `openai/${model}`, '-t', promptOf(task), '-y', '--exit-immediately', '-o', trajectory];
  const began = performance.now();
  const child = await sandbox.beside(
    [join(agent.folder, 'bin', 'python'), '-m', 'minisweagent.run.mini', ...settings],
    environment(programs),
  );
  const words = await ended(child, limits.seconds);
  const wallSeconds = (performance.now() - began) / 1000;
  const left = await sandbox.keeper.readFile(trajectory).catch(() => null);
  const exit = left === null ? `no trajectory: ${words.slice(-400)}` : exitOf(left.toString('utf8'));
  const solved = await judgeHidden(task, sandbox.keeper, signal);
  const { exchanges } = endpoint;
  return recordOf({ agent: 'mini-swe-agent', version: agent.version, task: task.id, model, solved, ended: exit, wallSeconds, exchanges });
}

/** Only the variables of this machine that its commands need; prices of unknown models are not looked up. */
function environment({ toolsPath }: Programs): Readonly<Record<string, string>> {
  return {
    PATH: toolsPath,
    HOME: homeDir,
    LANG: 'C.UTF-8',
    OPENAI_API_KEY: 'none',
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    MSWEA_COST_TRACKING: 'ignore_errors',
    MSWEA_CONFIGURED: 'true',
    MSWEA_GLOBAL_CONFIG_DIR: '/tmp/mini-swe-agent',
    MSWEA_SILENT_STARTUP: '1',
  };
}

async function ended(child: ChildProcess, seconds: number): Promise<string> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new TypeError('the child was started without pipes');
  const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
  const [, out, err] = await Promise.all([once(child, 'exit'), text(stdout), text(stderr)]);
  clearTimeout(timer);
  return `${out}\n${err}`;
}

function exitOf(trajectoryText: string): string {
  const { info } = JSON.parse(trajectoryText) as { readonly info?: { readonly exit_status?: string } };
  return info?.exit_status ?? '';
}
