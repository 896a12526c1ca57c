import { createHash } from 'node:crypto';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import type { Candidate, Edit, Spectrum } from '@agentfleet/protocol/inference';
import { write } from '../attempt/acts.ts';
import { rewritesOf, type Rewrite } from '../features/index.ts';
import type { Focus } from './localise.ts';
import { type Proof, type Baseline, broken, holds, passing, prove } from '../attempt/checkRun.ts';
import type { Scope, Prepared } from '../attempt/scope.ts';
import type { SnapshotRecord } from '@agentfleet/protocol/keeper';

/** A tree that the search can go on from: snapshot 0 with the edits of accepted candidates. */
export class SearchNode {
  /** Names the tree: the same edits on the same snapshot give the same name, for every worker. */
  readonly state: string;
  readonly parent: SearchNode | null;
  /** Node of the plan that its steps are put under. */
  readonly planId: string;
  readonly edits: readonly Edit[];
  /** Null when none was taken, or the keeper does not keep it any more: it is made again from the nearest one above. */
  snapshot: string | null;
  /** Whether commands made it, which are not run again: it can only be restored from its snapshot. */
  readonly acted: boolean;
  /** Tests that failed at the baseline and pass here. */
  readonly passing: ReadonlySet<string>;
  readonly tried = new Set<string>();
  /** Experts that have nothing new left for it. */
  readonly spent = new Set<string>();
  exhausted = false;
  /** Rounds of proposals that were used up, by expert. */
  readonly #steps = new Map<string, number>();
  /** The round of the newest proposals; it may hold more untried ones. */
  asked = 0;
  maxEdits: 1 | 2 = 1;
  /** Of the newest proposals here, or of the parent's where there are none yet. */
  spread: { readonly entropyNats: number; readonly margin: number | null } | null;
  focus: Focus | null | undefined;
  /** Probability that its own edits are part of the repair; see `trustIn`. */
  trust = 0.5;
  /** Trees that were made out of it, in their order. */
  readonly children: SearchNode[] = [];
  /** Share of the likeliest untried proposal; infinite before the first request. */
  nextShare = Number.POSITIVE_INFINITY;
  proofs: readonly Proof[] | undefined;

  constructor(init: Pick<SearchNode, 'state' | 'parent' | 'planId' | 'edits' | 'snapshot' | 'passing'> & { readonly acted?: boolean }) {
    this.state = init.state;
    this.parent = init.parent;
    this.planId = init.planId;
    this.edits = init.edits;
    this.snapshot = init.snapshot;
    this.acted = init.acted === true;
    this.passing = init.passing;
    this.spread = init.parent?.spread ?? null;
    init.parent?.children.push(this);
    if (init.parent !== null) for (const [expert, step] of init.parent.#steps) this.#steps.set(expert, step + 1);
  }

  /** Returns the recorded step that an expert is asked for next; one further than where the tree above was left. */
  stepOf(expert: string): number {
    return this.#steps.get(expert) ?? this.depth;
  }

  reach(expert: string, step: number): void {
    this.#steps.set(expert, Math.max(this.stepOf(expert), step));
  }

  /** Updates `nextShare` after a round: answers are ordered, so later proposals are not likelier than its last. */
  offer(candidates: readonly Pick<Candidate, 'id' | 'score'>[]): void {
    const left = candidates.filter(({ id }) => !this.tried.has(id)).map(({ score }) => score);
    const shares = candidates.map(({ score }) => score);
    if (shares.length > 0) this.nextShare = left.length > 0 ? Math.max(...left) : Math.min(...shares);
  }

  /** Probability that the repair is this tree with one more step: the trust in it less the parts of its children. */
  get promise(): number {
    return this.children.reduce((left, { trust }) => left * (1 - trust), this.#reached);
  }

  /** Probability that the repair is this tree, or is derived from it. */
  get #reached(): number {
    if (this.parent === null) return 1;
    const siblings = this.parent.children;
    const before = siblings.slice(0, siblings.indexOf(this));
    return before.reduce((left, { trust }) => left * (1 - trust), this.parent.#reached) * this.trust;
  }

  get depth(): number {
    return this.parent === null ? 0 : this.parent.depth + 1;
  }
}

/** Name of the tree that a candidate makes. */
export function stateAfter(state: string, candidate: string): string {
  return createHash('sha256').update(`${state}\n${candidate}`).digest('hex');
}

/** There is no way back to a tree that commands made: the keeper keeps the newest snapshots only. */
export class NodeGone extends Error {
  override readonly name = 'NodeGone';

  constructor({ snapshot, state }: SearchNode) {
    super(`snapshot ${snapshot ?? ''} of tree ${state} is not kept any more`);
  }
}

/**
 * Makes the tree that of a node: restores its snapshot, or the nearest above that is still there and the edits since.
 *
 * @throws NodeGone when commands made a part of it whose snapshot was collected
 */
export async function enter(scope: Scope, node: SearchNode): Promise<void> {
  const edits: (readonly Edit[])[] = [];
  let from = node;
  for (; from.snapshot === null && from.parent !== null; from = from.parent) edits.unshift(from.edits);
  if (from.snapshot === null) throw new Error('the root of a search has a snapshot');
  try {
    await scope.session.restore(from.snapshot);
  } catch (error) {
    const collected = error instanceof KeeperRefusal && error.code === 'AF_SNAPSHOT_UNKNOWN' && from.parent !== null;
    if (!collected) throw error;
    if (from.acted) throw new NodeGone(from);
    from.snapshot = null;
    return enter(scope, node);
  }
  for (const one of edits) await write(scope, await rewritesOf(one, (path) => scope.session.read(path)));
  scope.progress.establish('TreeClean');
}

/**
 * Restores the tree of a node after a candidate: the edited files from kept bytes, and all of it from the snapshot when
 * anything else differs.
 */
export async function leave(scope: Scope, node: SearchNode, rewrites: readonly Rewrite[], suspect: boolean): Promise<void> {
  const kept = rewrites.filter((one): one is Rewrite & { before: Buffer } => one.before !== null);
  if (suspect || kept.length < rewrites.length || node.snapshot === null) return enter(scope, node);
  await write(
    scope,
    kept.map((one) => ({ ...one, after: one.before })),
  );
  if ((await scope.session.diff(node.snapshot)).entries.length > 0) return enter(scope, node);
  scope.progress.establish('TreeClean');
}

/** The nearest snapshot at or above a node. */
export function snapshotOf(node: SearchNode): string {
  for (let at: SearchNode | null = node; at !== null; at = at.parent) if (at.snapshot !== null) return at.snapshot;
  throw new Error('the root of a search has a snapshot');
}

const unknownTrust = 0.5;
/** Trust in edits that no failing test executes any more, and in those that all of them still do: neither proves anything. */
const bounds = { most: 0.8, least: 0.2 } as const;

/**
 * Returns the probability that the edits of a tree are part of the repair, 0…1. An edit may make a test pass by
 * accident, as a constant does that fits one example. Then failing tests still execute the line. So the share of the
 * failing tests that executed it before and do not fail now decides; squared, because for one right edit there are many
 * that pass some of the tests.
 */
export function trustIn({ parent, edits, focus }: Pick<SearchNode, 'parent' | 'edits' | 'focus'>): number {
  const [before, after] = [parent?.focus, focus];
  if (!before || !after || after.localisation.spectrum.failed === 0) return unknownTrust;
  const files = new Map(before.files.map(({ path, content }) => [path, content]));
  const explained = edits.flatMap(({ path, range }) => {
    const content = files.get(path);
    if (content === undefined) return [];
    const line = Buffer.from(content).subarray(0, range.startByte).toString().split('\n').length;
    const failed = failures(before.localisation.spectrum, path, line);
    return failed === 0 ? [] : [1 - Math.min(1, failures(after.localisation.spectrum, path, line) / failed)];
  });
  return explained.length === 0 ? unknownTrust : bounds.least + (bounds.most - bounds.least) * Math.min(...explained) ** 2;
}

function failures({ lines }: Spectrum, path: string, line: number): number {
  return lines.find((one) => one.line === line && one.path === path)?.failed ?? 0;
}

/** The first tree of a search, and its known state. */
export interface Start {
  readonly snapshot: SnapshotRecord;
  /** Tests that failed at the baseline and pass here. */
  readonly passing: ReadonlySet<string>;
  /** Runs on this tree; undefined where it is snapshot 0, which the baseline is of. */
  readonly proofs: readonly Proof[] | undefined;
  readonly holds: boolean;
}

/**
 * Measures the tree of an earlier attempt, where the task continues with it. A tree with a regression is replaced by
 * snapshot 0: every candidate would be blamed for it. Afterwards the workspace has the tree of the start.
 */
export async function startOf({ session, progress }: Scope, { initial, start }: Prepared, baseline: Baseline): Promise<Start> {
  const fresh: Start = { snapshot: initial, passing: new Set(), proofs: undefined, holds: false };
  if (start.manifestDigest === initial.manifestDigest) return fresh;
  progress.say('running the checks on the tree of the last attempt');
  progress.revoke('TreeClean');
  await session.restore(start.id);
  const proofs: Proof[] = [];
  for (const judged of baseline.checks) proofs.push(await prove(judged, baseline));
  const sound = proofs.every((proof) => broken(proof) === null);
  await session.restore(sound ? start.id : initial.id);
  progress.establish('TreeClean');
  return sound ? { snapshot: start, passing: passing(proofs), proofs, holds: proofs.every(holds) } : fresh;
}
