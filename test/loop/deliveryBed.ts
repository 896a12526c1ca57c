import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { deliver } from '../../agent-image/src/delivery/index.ts';
import { importWorkspace } from '../../agent-image/src/workspace/index.ts';
import { dialerTo } from '../../agent-image/src/workspace/testing/gitServer.ts';
import { AgentBed, ScriptedModels, steps, type Reply } from './agentBed.ts';
import { taskFor, type AttemptRun } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

/** Test bed of deliveries: the worker's engine on a real keeper. Where its tasks fetch from and deliver to. */
interface DeliveryServer {
  readonly origin: string;
  /** PEM file of the authority that signed its certificate. */
  readonly authorities: string;
}

/** The engine on a real keeper, with the worker's own import and delivery through its egress. */
export async function openDeliveryBed(binary: string, folder: string, server: DeliveryServer): Promise<AgentBed> {
  const authorities = { file: server.authorities, pem: await readFile(server.authorities, 'utf8') };
  const dialer = dialerTo(server.origin);
  return AgentBed.open(binary, {
    importWorkspace: (workspace, { keeper, root, ...ports }) => {
      const inPlace: typeof keeper.writeTree = (path, tar, signal) => keeper.writeTree(path.replace('/workspace', root), tar, signal);
      const own = { keeper: { writeTree: inPlace }, dialer, scratch: folder, authorities: authorities.file };
      return importWorkspace(workspace, { ...ports, ...own });
    },
    deliver: (order, ports) => deliver(order, { ...ports, dialer, scratch: folder, authorities }),
  });
}

/** Path of the token for tasks of {@link beginDelivery}. */
export const tokenFile = (folder: string): string => join(folder, 'token');

interface DeliveryTask {
  readonly url: string;
  readonly folder: string;
  readonly replies: readonly Reply[];
  /** `spec.output.git`, beside the credential. */
  readonly output?: object;
  /** `spec.workspace.git`, beside url and ref. */
  readonly workspace?: object;
  readonly check?: readonly string[];
  /** A line of the shell for `spec.setup`. */
  readonly setup?: string;
}

/** Begins a task whose pool has the credential `robot` for the server. */
export function beginDelivery(
  bed: AgentBed,
  { url, folder, replies, output = {}, workspace = {}, check = wrongSign.command, setup }: DeliveryTask,
): AttemptRun {
  const own = {
    workspace: { type: 'Git', git: { url, ref: 'main', ...workspace } },
    output: { git: { credential: 'robot', ...output } },
    ...(setup !== undefined && { setup: [{ name: 'fill', command: ['sh', '-c', setup] }] }),
  };
  const spec = { ...taskFor({}, check), ...own } as unknown as Partial<AgentTaskSpec>;
  const run = bed.begin(spec, new ScriptedModels(steps(...replies)));
  const credentials: PoolBrief['credentials'] = [{ name: 'robot', hosts: ['127.0.0.1'], file: tokenFile(folder) }];
  return Object.assign(run, { context: { ...run.context, pool: { ...run.context.pool, credentials } } });
}

/** Name of the branch of those tasks. */
export const branch = 'agentfleet/task-uid-of-t';

/** Files of a small project with a bug. */
export const project: Readonly<Record<string, string>> = {
  ...wrongSign.files,
  'old.txt': 'old\n',
  '.gitignore': '*.log\n__pycache__/\n',
};

/** A model's repair, with more than the minimal change. */
export const repair: readonly Reply[] = [
  {
    calls: [
      ['edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' }],
      ['bash', { command: 'mkdir -p docs && echo new > docs/new.md && ln -s new.md docs/link && echo x > build.log && rm old.txt' }],
    ],
  },
  { calls: [['submit', { answer: 'The sign was wrong, ask @everyone.' }]] },
];

export async function writeToken(folder: string, token: string): Promise<void> {
  await writeFile(tokenFile(folder), token);
}
