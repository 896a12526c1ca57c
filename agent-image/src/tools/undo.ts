import { KeeperRefusal } from '@agentfleet/keeper/client';
import { toolDefinition } from '@agentfleet/protocol/chat';
import type { SandboxSession } from '../attempt/sandboxSession.ts';
import { count, namedChanges, plain, ArgumentError, type Observation, type Tool, type ToolContext, type UndoPoint } from './tool.ts';

/** Points that a list shows beside the start, and paths that a line names. */
const maxPoints = 8;
const maxNamed = 8;

/** Puts all files back as they were after a step, or lists the steps. */
export const undo: Tool = {
  definition: toolDefinition('undo'),
  run: (args, context) => {
    const { step } = args as { readonly step?: number };
    return step === undefined ? list(context) : back(step, context);
  },
};

async function list({ scope: { session }, memory }: ToolContext): Promise<Observation> {
  const points = memory.undoPoints;
  const shown = points.length <= maxPoints + 1 ? points : [...points.slice(0, 1), ...points.slice(-maxPoints)];
  const lines = [];
  let above: readonly string[] = [];
  for (const point of shown.toReversed()) {
    const files = await lost(session, point);
    lines.push(`${nameOf(point)}: ${typeof files === 'string' ? files : lostWords(files, above)}`);
    if (typeof files !== 'string') above = files;
  }
  lines.push('[call undo with the number of a step of this list to put all files back; what commands did outside of the files stays]');
  return { ok: true, text: lines.join('\n') };
}

/** Changes since a point, or why there are none to name. */
async function lost(session: SandboxSession, { id }: UndoPoint): Promise<readonly string[] | string> {
  try {
    const { entries } = await session.diff(id);
    return entries.length === 0 ? 'the files as they are now' : namedChanges(session, entries);
  } catch (error) {
    if (isGone(error)) return 'not kept any more';
    throw error;
  }
}

/** @param above changes since the later point of the line above, which are not named again where all are among these */
function lostWords(files: readonly string[], above: readonly string[]): string {
  if (above.length === 0 || !above.every((one) => files.includes(one))) return `would discard ${changesOf(files)}`;
  const more = files.filter((one) => !above.includes(one));
  return more.length === 0 ? 'would discard the same' : `would discard the same and ${changesOf(more)}`;
}

async function back(step: number, { scope: { session }, memory }: ToolContext): Promise<Observation> {
  const point = memory.undoPoints.find((one) => one.step === step);
  if (point === undefined) {
    const known = memory.undoPoints.map((one) => one.step).toReversed();
    throw new ArgumentError(`step: no tree is kept of ${step}; there are: ${known.join(', ')}; call undo without step to see what each is`);
  }
  const done = await putBack(session, point);
  if (done === null)
    throw new ArgumentError(`step: the files of step ${point.step} are not kept any more; call undo without step for those that are`);
  return { ok: true, ...done, restored: point };
}

/** Puts all files back as they were at a point, in words; null: the point is not kept any more. */
export async function putBack(session: SandboxSession, point: UndoPoint): Promise<Pick<Observation, 'text' | 'changed'> | null> {
  try {
    const { entries } = await session.diff(point.id);
    await session.restore(point.id);
    const what = entries.length === 0 ? 'nothing differed' : `discarded ${changesOf(namedChanges(session, entries))}`;
    return { text: `the files are as in ${nameOf(point)}, again; ${what}`, changed: entries.length > 0 };
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

function nameOf({ step, by = '' }: UndoPoint): string {
  return step === 0 ? 'step 0, the start' : `step ${step}${by === '' ? '' : `, after ${plain(by)}`}`;
}

function isGone(error: unknown): boolean {
  return error instanceof KeeperRefusal && error.code === 'AF_SNAPSHOT_UNKNOWN';
}

/** @param files from the older tree to the current one */
function changesOf(files: readonly string[]): string {
  if (files.length === 0) return 'nothing of the project';
  return `${count(files.length, 'change')}: ${files.slice(0, maxNamed).join(', ')}${files.length > maxNamed ? ', …' : ''}`;
}
