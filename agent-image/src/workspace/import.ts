import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@agentfleet/kube';
import type { Workspace } from '@agentfleet/protocol/api';
import { workspaceDir } from '@agentfleet/protocol/keeper';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../base/failure.ts';
import { openLocalProxy, type Dialer } from '../egress/index.ts';
import { fileEntry, sendEntries, type Entry, type Sent, type TreeWriter } from './entries/entry.ts';
import { credentialFor, gitEntries } from './git/index.ts';

/** Bytes that a workspace may have, its Git history included. */
const maxWorkspaceBytes = 2 * 1024 ** 3;

/** Ports of an import. */
export interface WorkspacePorts {
  readonly keeper: TreeWriter;
  /** Data of a ConfigMap in the task's namespace; rejects with an AttemptFailure when there is none. */
  readonly readConfigMap: (name: string) => Promise<Readonly<Record<string, string>>>;
  readonly scratch: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The only way in which git reaches a server. */
  readonly dialer: Dialer;
  readonly git?: string;
  /** PEM file with the authorities to trust instead of the system's. */
  readonly authorities?: string | undefined;
  /** Credentials that the pool may send to which hosts; default: none. */
  readonly credentials?: PoolBrief['credentials'];
  readonly limitBytes?: number;
  /** Time limit of git for one step; default 15 minutes. */
  readonly timeoutMs?: number;
}

/** Result of an import. */
export interface Imported extends Sent {
  /** Full commit id; Git only. */
  readonly commit?: string;
}

/**
 * Puts the workspace of a task into the sandbox. Files that are there already stay: restore `empty` before.
 *
 * @throws AttemptFailure `InvalidInput` when the requested content is missing or too large, `Infrastructure` when
 * another try may succeed; the signal's reason when it was aborted; the keeper's refusals unchanged.
 */
export async function importWorkspace(workspace: Workspace, ports: WorkspacePorts): Promise<Imported> {
  ports.signal.throwIfAborted();
  const scratch = await mkdtemp(join(ports.scratch, 'workspace-'));
  try {
    const { entries, ...facts } = await sourceOf(workspace, scratch, ports);
    const { clock, keeper, signal, limitBytes = maxWorkspaceBytes } = ports;
    const sent = await sendEntries(keeper, workspaceDir, entries, { limitBytes, mtime: new Date(clock.now()), signal });
    return { ...facts, ...sent };
  } catch (error) {
    // After an abort the error is a broken pipe or a killed child; the abort is the reason.
    ports.signal.throwIfAborted();
    throw error;
  } finally {
    await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function sourceOf(workspace: Workspace, scratch: string, ports: WorkspacePorts) {
  if (workspace.type === 'Inline') return { entries: inlineEntries(workspace.inline.files) };
  if (workspace.type === 'ConfigMap') return { entries: await configMap(workspace.configMap.name, ports) };
  const { limitBytes = maxWorkspaceBytes, timeoutMs = 900_000, git = 'git', authorities, credentials = [], clock, signal } = ports;
  const credential = await credentialFor(workspace.git, credentials);
  const optional = { ...(authorities !== undefined && { authorities }), ...(credential !== undefined && { credential }) };
  const proxy = await openLocalProxy(ports.dialer, { clock, signal });
  try {
    return await gitEntries(workspace.git, { program: git, scratch, proxy, clock, signal, limitBytes, timeoutMs, ...optional });
  } finally {
    await proxy.close(); // the remaining steps work on the fetched repository
  }
}

async function configMap(name: string, { readConfigMap }: WorkspacePorts): Promise<readonly Entry[]> {
  try {
    return configMapEntries(await readConfigMap(name));
  } catch (error) {
    if (error instanceof AttemptFailure) throw error;
    const words = error instanceof Error ? error.message : String(error);
    throw new AttemptFailure('Infrastructure', 'ConfigMapUnreadable', `ConfigMap ${name} cannot be read: ${words}`, { cause: error });
  }
}

type InlineFiles = Extract<Workspace, { type: 'Inline' }>['inline']['files'];

/** The files of the task itself, by path. @throws AttemptFailure when one's path is a folder of another */
function inlineEntries(files: InlineFiles): readonly Entry[] {
  const paths = new Set(files.map(({ path }) => path));
  for (const { path } of files) {
    const parts = path.split('/');
    const above = parts.map((_, at) => parts.slice(0, at).join('/')).find((folder) => paths.has(folder));
    if (above === undefined) continue;
    const what = `spec.workspace.inline.files: ${above} is a file and the folder of ${path}`;
    throw new AttemptFailure('InvalidInput', 'PathConflict', `${what}; rename one of them`);
  }
  return files.map(({ path, content, mode }) => fileEntry(path, content, mode ?? 0o644)).sort(byPath);
}

function configMapEntries(data: Readonly<Record<string, string>>): readonly Entry[] {
  return Object.entries(data)
    .map(([key, value]) => fileEntry(key, value, 0o644))
    .sort(byPath);
}

function byPath(a: Entry, b: Entry): number {
  return a.path < b.path ? -1 : 1;
}
