import { Readable } from 'node:stream';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { sleep } from '@agentfleet/kube';
import { maxPatchCharacters, type Run } from '@agentfleet/protocol/api';
import { AttemptFailure } from './failure.ts';
import type { AttemptContext } from './ports.ts';
import { patiently, throwIfSuperseded } from './patience.ts';
import { workspacePatch } from './workspacePatch.ts';

type Artifact = NonNullable<Run['artifacts']>[number];

/** A file to keep; `content` makes it anew for each try, because a stream can be read once. */
export interface Keepsake {
  readonly name: string;
  readonly type: string;
  readonly content: () => Promise<Readable | string>;
}

const cutMark = '\n… cut; the whole is the artifact change.patch\n';
const longestWaitMs = 15_000;

/** The keeper calls of artifacts go on when the attempt has to end, so they have a signal of their own. */
export interface Keeping {
  readonly context: AttemptContext;
  readonly signal: AbortSignal;
}

/** `<namespace>/<task>/<uid>/<attempt>/<name>`. */
export function artifactKey({ task, assignment }: AttemptContext, name: string): string {
  const { namespace = 'default', name: own, uid = 'unknown' } = task.metadata;
  return `${namespace}/${own}/${uid}/${assignment.attempt}/${name}`;
}

/**
 * Stores files, one after the other, each with as many tries as the signal allows. What could not be stored is missing
 * in the answer only when `signal` is aborted, which is no error here: the caller says what that means.
 */
export async function keep({ context, signal }: Keeping, files: readonly Keepsake[]): Promise<readonly Artifact[]> {
  const kept: Artifact[] = [];
  for (const file of files) {
    const artifact = await keepOne({ context, signal }, file);
    if (artifact !== null) kept.push(artifact);
  }
  return kept;
}

async function keepOne({ context, signal }: Keeping, { name, type, content }: Keepsake): Promise<Artifact | null> {
  const { clock, log, store } = context;
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      const { uri, sha256, bytes } = await store.put(artifactKey(context, name), await content(), type, signal);
      return { name, uri, sha256, bytes };
    } catch (error) {
      throwIfSuperseded(error);
      // A keeper that answers wrongly does so again.
      if (error instanceof KeeperRefusal && error.code.startsWith('AF_ANSWER_')) throw error;
      const why = error instanceof Error ? error.message : String(error);
      log.warn('an artifact could not be stored', { name, tries, error: why });
      if (signal.aborted) break;
      const progress = { done: 0, total: 0, message: `storing ${name} again, the store said: ${why}`.slice(0, 256) };
      context.report({ progress }, { urgent: tries === 0 });
      await sleep(clock, Math.min(longestWaitMs, 500 * 2 ** tries), signal).catch(() => undefined); // what was kept is told
    }
  }
  return null;
}

/** The whole event log, one record a line. */
export function trace({ context, signal }: Keeping): Keepsake {
  async function* lines(): AsyncGenerator<string> {
    for await (const record of context.keeper.events()) {
      signal.throwIfAborted();
      yield `${JSON.stringify(record)}\n`;
    }
  }
  return { name: 'trace.ndjson', type: 'application/x-ndjson', content: () => Promise.resolve(Readable.from(lines())) };
}

export function patch({ context, signal }: Keeping, from: string, to?: string): Keepsake {
  const content = async (): Promise<string> =>
    workspacePatch((await patiently(() => context.keeper.diff(from, to, 'Raw'), { clock: context.clock, signal })).unified);
  return { name: 'change.patch', type: 'text/x-diff', content };
}

export function revertScript({ context, signal }: Keeping, from: string, to?: string): Keepsake {
  const content = (): Promise<Readable> => patiently(() => context.keeper.revertBundle(from, to), { clock: context.clock, signal });
  return { name: 'revert.tar', type: 'application/x-tar', content };
}

export function json(name: string, value: unknown): Keepsake {
  return { name, type: 'application/json', content: () => Promise.resolve(`${JSON.stringify(value, null, 2)}\n`) };
}

/** Returns the patch as the status holds it: whole, or cut at the end of a line with a mark. */
export function shownPatch(unified: string): string {
  const patch = workspacePatch(unified);
  if (patch.length <= maxPatchCharacters) return patch;
  const room = maxPatchCharacters - cutMark.length;
  const whole = patch.slice(0, room).replace(/[\uD800-\uDBFF]$/, '');
  return `${whole.slice(0, Math.max(whole.lastIndexOf('\n'), 0))}${cutMark}`;
}

/** Head of the event log. @throws AttemptFailure when its chain does not hold */
export async function auditRoot({ context, signal }: Keeping): Promise<string> {
  const { ok, root, broken } = await patiently(() => context.keeper.audit(), { clock: context.clock, signal });
  if (ok) return root;
  const where = broken === null ? '' : ` at record ${broken.seq}: ${broken.why}`;
  throw new AttemptFailure(
    'Infrastructure',
    'AuditBroken',
    `the event log of the sandbox does not hold${where}; keep the pod for inspection`,
  );
}
