// agent-image, checks/protect: judgement of an attempt's changes to files. May import protocol, kube and the keeper's client.
import { normal } from './entries.ts';
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
  return op === 'Modify' && before !== undefined && after !== undefined && set.inline(path) ? changedTest(before, after) : null;
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

/** Tests of Rust stand in the files of the code: `#[test]`, `#[tokio::test]`, `#[test_case(1, 2)]`. */
const attribute = /^([ \t]*)#\[(?:\w{1,80}::){0,8}\w{0,80}test\w{0,80}\b(?!::)[^\n]*$/;
const attributes = /^[ \t]*(?:#\[|\/\/|$)/;
const head = /^[ \t]*(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)/;

/** The text of each function of a test, by its name. Laid out as rustfmt does it; others are not found. */
function testsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd());
  const found = new Map<string, string[]>();
  for (let at = 0; at < lines.length; at += 1) {
    const indent = attribute.exec(lines[at] ?? '')?.[1];
    if (indent === undefined) continue;
    let begin = at;
    while (begin < lines.length && head.exec(afterAttributes(lines[begin] ?? '')) === null && attributes.test(lines[begin] ?? ''))
      begin += 1;
    const name = head.exec(afterAttributes(lines[begin] ?? ''))?.[1];
    const end = name === undefined ? -1 : endOf(lines, begin, indent);
    if (name !== undefined && end >= 0) {
      const texts = found.get(name) ?? [];
      texts.push(lines.slice(at, end + 1).join('\n'));
      found.set(name, texts);
    }
    // Attributes in between are of the same function.
    at = Math.max(at, end, begin - 1);
  }
  return found;
}

/** `#[test] fn a() {}` stands in one line. */
const afterAttributes = (line: string): string => line.replace(/^([ \t]*)(?:#\[[^\]\n]*\] ?)+/, '$1');

/** The line of the brace that ends a function; -1 where there is none before the next test. */
function endOf(lines: readonly string[], begin: number, indent: string): number {
  const first = lines[begin] ?? '';
  if (first.endsWith('}') && first.split('{').length === first.split('}').length) return begin;
  for (let at = begin + 1; at < lines.length; at += 1) {
    if (lines[at] === `${indent}}`) return at;
    if (attribute.test(lines[at] ?? '')) return -1;
  }
  return -1;
}

/**
 * Returns the name of a test in a file of code that is not as it was; null when all are. New tests are free, unless they have the
 * name of one that was there.
 *
 * @example changedTest('#[test]\nfn a() { assert!(f()); }\n', '#[test]\nfn a() {}\n'); // 'a'
 */
function changedTest(before: string, after: string): string | null {
  const now = testsOf(after);
  const same = (name: string, texts: readonly string[]): boolean => (now.get(name) ?? []).join('\n\n') === texts.join('\n\n');
  return [...testsOf(before)].find(([name, texts]) => !same(name, texts))?.[0] ?? null;
}
