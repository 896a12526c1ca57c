import { judgeChanges, type Change, type Operation } from '../checks/index.ts';
import type { DiffEntry, SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { Baseline } from './baseline.ts';
import { broken, holds, prove, type Proof } from './evidence.ts';
import { AttemptFailure } from './failure.ts';
import { labels, type Prepared } from './prepare.ts';
import type { TriedNote } from './notes.ts';
import type { Winner } from './repair.ts';
import type { Scope } from './scope.ts';

/**
 * Proves the result where nothing of the search is left: the tools container is replaced, the tree restored by hash,
 * what was changed is judged, and every check runs whole.
 *
 * @param winner null when the checks held at snapshot 0 already
 * @param proofs gets what each check said, also when the result is refused
 * @throws AttemptFailure PolicyViolation for a change that is not the agent's to make, CheckFailed when a check does not hold
 */
export async function verify(
  scope: Scope,
  prepared: Prepared,
  baseline: Baseline,
  winner: Winner | null,
  proofs: Proof[],
): Promise<SnapshotRecord> {
  const { context, hands, progress } = scope;
  progress.begin('verify', 'verifying: taking a snapshot of the result');
  const result = await hands.snapshot(labels.result);
  progress.say('verifying: waiting for a fresh tools container', { urgent: true });
  await hands.freshTools();
  const restored = await hands.restore(result.id);
  if (restored.manifestDigest !== result.manifestDigest) throw differs(result.id);
  const discard = await judgeResult(scope, prepared, baseline, result);
  for (const judged of baseline.checks) {
    progress.say(`verifying: check ${judged.check.name}`, { urgent: true });
    // Code under test can write: no check sees what ran in the one before it left behind.
    if (proofs.length > 0) await hands.restore(result.id);
    await hands.remove(discard);
    proofs.push(await proveAgain(judged, baseline));
  }
  await hands.restore(result.id);
  const failed = proofs.find((proof) => !holds(proof));
  if (failed !== undefined) throw await notProved(scope, winner, failed);
  await hands.note('Green', { attempt: context.assignment.attempt, snapshot: result.id, digest: result.manifestDigest });
  progress.establish('Verified');
  progress.finish('verify', { snapshot: result.id });
  return result;
}

/** The loss of the container is not the result's fault the first time. */
async function proveAgain(judged: Baseline['checks'][number], baseline: Baseline): Promise<Proof> {
  const first = await prove(judged, baseline);
  return broken(first)?.code === 'Interrupted' ? prove(judged, baseline) : first;
}

function differs(id: string): AttemptFailure {
  return new AttemptFailure(
    'Infrastructure',
    'RestoreNotVerified',
    `snapshot ${id} was restored to another digest; the sandbox is replaced`,
  );
}

/** Judges what the attempt changed, and says what checks made and has to go before they run. */
async function judgeResult(
  scope: Scope,
  { initial }: Prepared,
  { protectedSet }: Baseline,
  result: SnapshotRecord,
): Promise<readonly string[]> {
  const { hands } = scope;
  const { entries } = await hands.diff(initial.id, result.id);
  const paths = new Set(entries.map(({ path }) => path));
  const isFolder = ({ path }: DiffEntry): boolean => [...paths].some((other) => other.startsWith(`${path}/`));
  const shared = entries.filter(({ path, op }) => op === 'M' && protectedSet.why(hands.relative(path) ?? path)?.kind === 'Settings');
  const contents = await contentsOf(scope, initial.id, result.id, shared);
  const changes = entries
    .filter((entry) => entry.op !== 'A' || !isFolder(entry))
    .map((entry) => changeOf(entry, hands.relative(entry.path), contents));
  const { violations, discard } = judgeChanges(changes, protectedSet);
  const [first] = violations;
  if (first === undefined) return discard;
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : '';
  throw new AttemptFailure('PolicyViolation', first.code, `${first.message}; ${first.cure}${more}`);
}

type Contents = ReadonlyMap<string, { readonly before: string | undefined; readonly after: string | undefined }>;

/** A path outside the workspace keeps its root and so leads out of it: that is a violation by itself. */
function changeOf({ path, op, modeFrom, modeTo, sizeFrom, sizeTo }: DiffEntry, relative: string | null, contents: Contents): Change {
  const known = contents.get(path);
  const modeOnly = op === 'M' && modeFrom !== modeTo && sizeFrom === sizeTo && known === undefined;
  const operations = { A: 'Add', M: modeOnly ? 'Mode' : 'Modify', D: 'Delete', T: 'Type' } as const satisfies Record<
    DiffEntry['op'],
    Operation
  >;
  return {
    path: relative ?? `../${path}`,
    op: operations[op],
    ...(known?.before !== undefined && { before: known.before }),
    ...(known?.after !== undefined && { after: known.after }),
  };
}

/** Both sides of shared settings files, which are judged by what changed in them. The tree ends as the result. */
async function contentsOf({ hands }: Scope, initial: string, result: string, entries: readonly DiffEntry[]): Promise<Contents> {
  if (entries.length === 0) return new Map();
  const read = async (): Promise<ReadonlyMap<string, string | undefined>> => {
    const texts = new Map<string, string | undefined>();
    for (const { path } of entries) {
      const relative = hands.relative(path);
      if (relative !== null) texts.set(path, (await hands.read(relative))?.toString('utf8'));
    }
    return texts;
  };
  const after = await read();
  await hands.restore(initial);
  const before = await read();
  await hands.restore(result);
  return new Map(entries.map(({ path }) => [path, { before: before.get(path), after: after.get(path) }] as const));
}

async function notProved({ context, hands }: Scope, winner: Winner | null, failed: Proof): Promise<AttemptFailure> {
  const reason = broken(failed) ?? failed.verdict.reasons[0];
  const { verdict } = failed;
  const infrastructure = reason?.code === 'Interrupted';
  if (winner !== null && winner.candidate !== null && !infrastructure) {
    const { candidate, from } = winner;
    const note: TriedNote = {
      attempt: context.assignment.attempt,
      state: from.state,
      step: from.asked,
      id: candidate.id,
      operator: candidate.operator,
      location: `${candidate.location.path}:${candidate.location.line}`,
      decision: 'Allow',
      result: 'NotVerified',
    };
    await hands.note('Tried', { ...note });
  }
  const why =
    reason === undefined
      ? `check ${failed.judged.check.name}: ${verdict.stillFailing.slice(0, 3).join(', ')} still fail`
      : `${reason.message}; ${reason.cure}`;
  return new AttemptFailure(
    infrastructure ? 'Infrastructure' : 'CheckFailed',
    reason?.code ?? 'StillFails',
    `in a fresh container, ${why}`,
  );
}
