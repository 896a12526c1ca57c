// agent-image, checks/protect: judgement of an attempt's changes to files. May import protocol, kube and the keeper's client.
import { normal } from './entries.ts';
import { changedTest } from './code/inlineTests.ts';
import { harmless } from './sections.ts';
import type { Change, ChangeJudgement, ProtectedSet, Protection, Violation } from './types.ts';

const ask = 'undo it; if the task needs it, its author lists it in spec.protect.except';

/**
 * Judges what an attempt changed, by path: tests may not be changed, deleted, moved or hidden, new test modules are set
 * aside; new files may not shadow files that the checks use. Class: PolicyViolation.
 *
 * Report a rename as Delete and Add, a link with the operation of its own path.
 */
export function judgeChanges(changes: readonly Change[], set: ProtectedSet): ChangeJudgement {
  const violations: Violation[] = [];
  const discard: string[] = [];
  const aside: string[] = [];
  for (const change of changes) {
    const path = normal(change.path);
    if (set.derived(path ?? change.path)) {
      if (change.op !== 'Delete') discard.push(path ?? change.path);
    } else if (path === null)
      violations.push(violation(change, 'OutsideWorkspace', 'it is outside of the workspace', 'change files in the workspace only'));
    else if (set.addable(path)) {
      // Nothing lay there at snapshot 0: what is changed or deleted between later snapshots is the agent's own.
      if (change.op !== 'Delete' && !set.stays(path)) aside.push(path);
    } else {
      const found = judge({ ...change, path }, set);
      if (found !== null) violations.push(found);
    }
  }
  return { violations, discard: discard.sort(), aside: aside.sort() };
}

function judge(change: Change, set: ProtectedSet): Violation | null {
  const protection = set.why(change.path);
  if (protection !== null && !isHarmless(change, protection, set.tools))
    return violation(change, 'Protected', `it is protected: ${protection.why}`, ask);
  const test = protection === null ? inlineTest(change, set) : null;
  if (test !== null) return violation(change, 'Protected', `its test ${test} is protected as it was`, ask);
  if (set.holdsProtected(change.path)) return violation(change, 'ReplacesParent', 'protected files lie under it', ask);
  const shadow = change.op === 'Add' || change.op === 'Type' ? set.shadows(change.path) : null;
  return shadow === null ? null : violation(change, 'Shadow', shadow, 'give it another name');
}

/** The test in a file of code that is not as it was, where contents are known. */
function inlineTest({ path, op, before, after }: Change, set: ProtectedSet): string | null {
  return op === 'Modify' && before !== undefined && after !== undefined && set.inline(path) ? changedTest(path, before, after) : null;
}

/** Known contents show when a shared settings file changed in other parts only. */
function isHarmless({ path, op, before, after }: Change, { kind }: Protection, tools: ProtectedSet['tools']): boolean {
  return kind === 'Settings' && op === 'Modify' && before !== undefined && after !== undefined && harmless(path, before, after, tools);
}

function violation({ path, op }: Change, code: Violation['code'], why: string, cure: string): Violation {
  const did = {
    Add: 'was added',
    Modify: 'was changed',
    Delete: 'was deleted',
    Mode: 'has another mode',
    Type: 'became another type of file',
  }[op];
  return { path, op, code, message: `${path} ${did}: ${why}`, cure };
}
