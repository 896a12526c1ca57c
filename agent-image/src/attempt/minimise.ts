import type { Edit } from '@agentfleet/protocol/inference';
import type { Baseline } from './baseline.ts';
import { holds, prove } from './evidence.ts';
import type { SearchNode } from './node.ts';
import type { Scope } from './scope.ts';

/** Most runs of the checks that a shorter result may cost. */
const mostRuns = 8;

/** An edit, and where what it wrote stands in the file now. */
export interface PlacedEdit {
  readonly edit: Edit;
  readonly start: number;
  readonly end: number;
}

/**
 * Returns where what each edit wrote stands after all steps, in their order; an edit that another one touched, or that
 * made a file, is left out.
 *
 * @param steps the edits of a step are for the files as the step before left them
 */
export function placeEdits(steps: readonly (readonly Edit[])[]): readonly PlacedEdit[] {
  let placed: readonly PlacedEdit[] = [];
  for (const step of steps) {
    const moved = placed.map((one) => movedBy(one, step)).filter((one) => one !== null);
    const own = step.filter(({ before, range }) => before !== '' || range.startByte > 0);
    placed = [...moved, ...own.map((edit) => ({ edit, ...spanAfter(edit, step) }))];
  }
  return placed;
}

const growth = ({ before, after }: Edit): number => Buffer.byteLength(after) - Buffer.byteLength(before);

function spanAfter(edit: Edit, step: readonly Edit[]): Pick<PlacedEdit, 'start' | 'end'> {
  const ahead = step.filter(({ path, range }) => path === edit.path && range.startByte < edit.range.startByte);
  const start = edit.range.startByte + ahead.reduce((sum, other) => sum + growth(other), 0);
  return { start, end: start + Buffer.byteLength(edit.after) };
}

function movedBy({ edit, start, end }: PlacedEdit, step: readonly Edit[]): PlacedEdit | null {
  const own = step.filter(({ path }) => path === edit.path);
  if (own.some(({ range }) => range.startByte < end && range.endByte > start)) return null;
  const by = own.filter(({ range }) => range.endByte <= start).reduce((sum, other) => sum + growth(other), 0);
  return { edit, start: start + by, end: end + by };
}

/**
 * Takes back the edits of a result that no check needs, the first accepted one first: a step that a test wanted by accident
 * must not stand in the patch. The tree holds the result, without commands, and again does when this returns.
 *
 * @param last the edits of the step that made the checks hold on the tree of `from`
 * @returns how many edits were taken back
 */
export async function minimise(scope: Scope, baseline: Baseline, from: SearchNode, last: readonly Edit[]): Promise<number> {
  const nodes: SearchNode[] = [];
  for (let node = from; node.parent !== null; node = node.parent) nodes.unshift(node);
  const all = placeEdits([...nodes.map(({ edits }) => edits), last]);
  // Without its only edit the last step is the tree on which the checks did not hold.
  const open = last.length === 1 ? all.filter(({ edit }) => !last.includes(edit)) : all;
  if (open.length === 0 || nodes.some(({ acted }) => acted)) return 0;
  let { id } = await scope.session.snapshot('before it is minimised');
  const gone: PlacedEdit[] = [];
  for (const one of open.slice(0, mostRuns)) {
    if (gone.length === all.length - 1 || isSpent(scope)) break;
    const shorter = await without(scope, one, gone);
    if (shorter === null) continue;
    scope.progress.say(`trying without the edit of ${one.edit.path}`);
    await scope.session.write(one.edit.path, shorter);
    const needed = !(await allHold(baseline));
    await scope.session.restore(id);
    if (needed) continue;
    await scope.session.write(one.edit.path, shorter);
    ({ id } = await scope.session.snapshot('minimised'));
    gone.push(one);
  }
  for (const { planId, edits } of nodes)
    if (edits.every((edit) => gone.some((one) => one.edit === edit))) scope.progress.change(planId, { state: 'Dropped' });
  return gone.length;
}

/** The file without an edit, where others are gone already; null when it is not as expected. */
async function without({ session }: Scope, { edit, start, end }: PlacedEdit, gone: readonly PlacedEdit[]): Promise<Buffer | null> {
  const before = gone.filter((one) => one.edit.path === edit.path && one.start < start);
  const at = start - before.reduce((sum, one) => sum + growth(one.edit), 0);
  const file = await session.read(edit.path);
  const stop = at + (end - start);
  if (file === null || file.toString('utf8', at, stop) !== edit.after) return null;
  return Buffer.concat([file.subarray(0, at), Buffer.from(edit.before, 'utf8'), file.subarray(stop)]);
}

async function allHold(baseline: Baseline): Promise<boolean> {
  for (const judged of baseline.checks) if (!holds(await prove(judged, baseline))) return false;
  return true;
}

/** A spent budget ends the search for a shorter result, not the result. */
function isSpent({ meter }: Scope): boolean {
  try {
    meter.check();
    return false;
  } catch {
    return true;
  }
}
