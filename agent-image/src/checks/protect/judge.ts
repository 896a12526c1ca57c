import { normal } from './paths.ts';
import { harmless } from './sections.ts';
import type { Change, ChangeJudgement, ProtectedSet, Protection, Violation } from './types.ts';

const ask = 'undo it; if the task needs it, its author sets spec.protect';

/**
 * Judges what an attempt changed, by path: tests may not be changed, deleted, added to, moved or
 * hidden; new files may not take the place of what the checks use. Class: PolicyViolation.
 *
 * Report a rename as Delete and Add, a link with the operation of its own path.
 */
export function judgeChanges(changes: readonly Change[], set: ProtectedSet): ChangeJudgement {
  const violations: Violation[] = [];
  const discard: string[] = [];
  for (const change of changes) {
    const path = normal(change.path);
    if (path === null)
      violations.push(violation(change, 'OutsideWorkspace', 'it is outside of the workspace', 'change files in the workspace only'));
    else if (set.derived(path)) {
      if (change.op !== 'Delete') discard.push(path);
    } else {
      const found = judge({ ...change, path }, set);
      if (found !== null) violations.push(found);
    }
  }
  return { violations, discard: discard.sort() };
}

function judge(change: Change, set: ProtectedSet): Violation | null {
  const protection = set.why(change.path);
  if (protection !== null && !isHarmless(change, protection))
    return violation(change, 'Protected', `it is protected: ${protection.why}`, ask);
  if (set.holdsProtected(change.path)) return violation(change, 'ReplacesParent', 'protected files lie under it', ask);
  const shadow = change.op === 'Add' || change.op === 'Type' ? set.shadows(change.path) : null;
  return shadow === null ? null : violation(change, 'Shadow', shadow, 'give it another name');
}

/** Known contents show when a shared settings file changed in other parts only. */
function isHarmless({ path, op, before, after }: Change, { kind }: Protection): boolean {
  return kind === 'Settings' && op === 'Modify' && before !== undefined && after !== undefined && harmless(path, before, after);
}

function violation({ path, op }: Change, code: Violation['code'], why: string, cure: string): Violation {
  const did = {
    Add: 'was added',
    Modify: 'was changed',
    Delete: 'was deleted',
    Mode: 'has another mode',
    Type: 'became another type of file',
  }[op];
  return { path, op, code, message: `${path} ${did}: ${why}`, cure, remedy: op === 'Add' ? 'Remove' : 'Restore' };
}
