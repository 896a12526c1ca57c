import { createHash } from 'node:crypto';
import type { Edit, ShellAct, Candidate } from '@agentfleet/protocol/inference';
import { canonicalJson } from '@agentfleet/protocol/text';
import type { KeeperClient } from '@agentfleet/keeper/client';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { EffectReader } from '../effects/index.ts';
import type { TriedNote } from './notes.ts';
import type { AttemptContext } from './ports.ts';

/**
 * Names what a candidate would do in a task: an approval of it holds for the same act in every epoch and attempt.
 *
 * @param unseen how many of its commands were begun and may be done: to do them again is another act, which nobody allowed yet
 */
export function actionDigest(task: string, edits: readonly Edit[], acts: readonly ShellAct[], unseen = 0): string {
  const act = { task, edits, acts, ...(unseen > 0 && { unseen }) };
  return `sha256:${createHash('sha256').update(canonicalJson(act)).digest('hex')}`;
}

/** Names a question of the model in a task; `call` names the tool call that asks it. */
export function questionDigest(task: string, call: string, text: string): string {
  return `sha256:${createHash('sha256')
    .update(canonicalJson({ task, call, question: text }))
    .digest('hex')}`;
}

/** Which candidate a command belongs to; stands in its `Intent` and in the `Acted` note after the last one. */
export interface ActIdentity {
  /** See `actionDigest`. */
  readonly action: string;
  /** Name of the tree that it was begun on. */
  readonly state: string;
  readonly candidate: string;
  /** Whether it must not be run a second time; see `onlyOnce`. */
  readonly once: boolean;
}

/** `Acted`: all commands of a candidate ended, and what they left was allowed. */
export interface ActedNote extends ActIdentity {
  readonly attempt: number;
  /** What they left. Id and digest: a sandbox that was rebuilt gives ids again. */
  readonly snapshot: { readonly id: string; readonly manifestDigest: string };
}

/** What earlier workers did of a candidate's commands. */
export interface EarlierRun {
  /** Snapshot of what they left, when all of them ended: the candidate goes on from there. */
  readonly after: string | null;
  /** How many commands were begun, when they may be done and nobody saw it; 0: none. */
  readonly unseen: number;
}

interface Begun extends ActIdentity {
  readonly attempt: number;
  readonly commands: readonly string[];
  readonly after: ActedNote['snapshot'] | null;
  /** A worker noted what became of the candidate. */
  readonly judged: boolean;
}

const nothing = { after: null, unseen: 0 } as const;

/**
 * Collects from an event log which commands were begun that must not be run twice. An `Intent` without an end counts as
 * done: a worker that died may have run it, and whoever goes on does not repeat it.
 */
export class BegunActs {
  readonly #begun = new Map<string, Begun>();
  readonly #effects = new EffectReader();

  readonly visit = (record: AuditRecord): void => {
    this.#effects.visit(record);
    if (record.type !== 'Noted') return;
    const { kind, data } = record.body as { readonly kind?: unknown; readonly data?: unknown };
    if (typeof data !== 'object' || data === null) return;
    if (kind === 'Intent') this.#begin(data);
    if (kind === 'Acted') this.#end(data);
    if (kind === 'Tried') this.#judge(data);
    if (kind === 'CallObserved') this.#observe(data);
  };

  /** What the log says of a candidate, as of now. Does not ask whether its snapshot is still kept. */
  of(identity: Omit<ActIdentity, 'once'>, attempt: number): { readonly after: ActedNote['snapshot'] | null; readonly unseen: number } {
    const begun = this.#begun.get(identity.action);
    if (begun === undefined || begun.judged) return nothing;
    const unseen = begun.commands.length;
    if (begun.attempt !== attempt) return begun.after !== null && !this.#stands(begun) ? nothing : { after: null, unseen };
    const same = begun.state === identity.state && begun.candidate === identity.candidate;
    return { after: same ? begun.after : null, unseen };
  }

  /** An attempt is rolled back before the next one: what it took back may be done again. */
  #stands({ attempt, commands }: Begun): boolean {
    return this.#effects.standing.some(({ planned }) => planned.attempt === attempt && commands.includes(planned.command));
  }

  #begin(data: object): void {
    const { command, ...one } = data as Partial<Begun> & { readonly command?: unknown };
    if (one.once !== true || typeof one.attempt !== 'number' || typeof command !== 'string') return;
    const { action, state, candidate, attempt, once } = one;
    if (typeof action !== 'string' || typeof state !== 'string' || typeof candidate !== 'string') return;
    const commands = [...(this.#begun.get(action)?.commands ?? []), command];
    this.#begun.set(action, { action, state, candidate, once, attempt, commands, after: null, judged: false });
  }

  #end(data: object): void {
    const { action, snapshot } = data as Partial<ActedNote>;
    const begun = this.#begun.get(action ?? '');
    if (begun !== undefined && typeof snapshot?.id === 'string') this.#begun.set(begun.action, { ...begun, after: snapshot });
  }

  /** A call of a conversation whose result the model has seen has ended. */
  #observe({ callKey }: { readonly callKey?: unknown }): void {
    for (const begun of this.#begun.values()) if (begun.state === callKey) this.#begun.set(begun.action, { ...begun, judged: true });
  }

  /** What held in place is found again from its snapshot; where nothing was run again the end is still unknown. */
  #judge({ state, id, result, possiblyDone }: Partial<TriedNote>): void {
    if (result === 'Reached' || possiblyDone === true) return;
    for (const begun of this.#begun.values())
      if (begun.state === state && begun.candidate === id) this.#begun.set(begun.action, { ...begun, judged: true });
  }
}

/** What is asked of a scope. */
interface ActScope {
  readonly context: Pick<AttemptContext, 'task' | 'assignment'>;
  readonly begun: BegunActs;
  readonly session: Pick<KeeperClient, 'snapshots'>;
}

/** What earlier workers did of a candidate. A snapshot that is not kept any more is none: then nobody may run it again unasked. */
export async function earlierRun(scope: ActScope, node: Pick<ActIdentity, 'state'>, candidate: Candidate): Promise<EarlierRun> {
  const { context, begun, session } = scope;
  if ((candidate.acts ?? []).length === 0) return nothing;
  const { after, unseen } = begun.of(identityOf(scope, node, candidate), context.assignment.attempt);
  if (after === null) return { after: null, unseen };
  const kept = (await session.snapshots()).some(({ id, manifestDigest }) => id === after.id && manifestDigest === after.manifestDigest);
  return kept ? { after: after.id, unseen: 0 } : { after: null, unseen };
}

export function identityOf(
  { context }: Pick<ActScope, 'context'>,
  { state }: Pick<ActIdentity, 'state'>,
  candidate: Candidate,
): Omit<ActIdentity, 'once'> {
  const { edits, acts = [], id } = candidate;
  return { action: actionDigest(context.task.metadata.uid ?? '', edits, acts), state, candidate: id };
}
