// agent-image, checks/parse: parser for the output of Python's unittest. Imports no other folder of the worker.
import type { CommandOutput, ParsedResults } from './results.ts';
import { Collector, type Found, linesOf } from './collector.ts';

const cure = 'run unittest with -v, once per check';

/** Python's unittest prints to standard error: one line per test with `-v`, and a footer. */
export function parseUnittest({ stdout, stderr }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const { lines, ended } = linesOf(findFooters(linesOf(stderr).lines).length > 0 ? stderr : stdout);
  const footers = findFooters(ended ? lines : lines.slice(0, -1));
  const footer = footers.at(-1);
  const body = lines.slice(0, footer?.at ?? lines.length);
  const entries = readBody(body);
  if (footers.length > 1) collector.distrust('TwoSummaries', `${footers.length} footers of unittest`, cure);
  if (footer === undefined) {
    for (const entry of merged(entries)) collector.add(entry);
    collector.incomplete('the footer of unittest is missing', 'read the output of the check');
  } else if (addsUp(entries, footer)) for (const entry of merged(entries)) collector.add(entry);
  else nameFailuresOnly(collector, body, footer);
  return collector.finish('Unittest');
}

type Footer = ReturnType<typeof findFooters>[number];

/** `----…`, `Ran 3 tests in 0.1s`, empty line, `OK (skipped=1)` or `FAILED (failures=1)`. */
function findFooters(lines: readonly string[]) {
  return lines.flatMap((line, at) => {
    const ran = /^Ran (\d{1,9}) tests? in [\d.]+s$/.exec(line)?.[1];
    if (ran === undefined || !/^-{70}$/.test(lines[at - 1] ?? '') || lines[at + 1] !== '') return [];
    const end = /^(?:OK|FAILED|NO TESTS RAN)(?: \((.{1,300})\))?$/.exec(lines[at + 2] ?? '');
    if (end === null) return [];
    const of = (name: string): number => Number(new RegExp(`(?:^|, )${name}=(\\d{1,9})`).exec(end[1] ?? '')?.[1] ?? 0);
    const [failures, errors, skipped] = [of('failures'), of('errors'), of('skipped')];
    return [
      {
        at: at - 1,
        ran: Number(ran),
        failures,
        errors,
        skipped,
        expected: of('expected failures'),
        unexpected: of('unexpected successes'),
      },
    ];
  });
}

/** An unexpected success fails the run (Python ≥ 3.4). */
const outcomes = {
  ok: 'Passed',
  FAIL: 'Failed',
  'unexpected success': 'Failed',
  ERROR: 'Errored',
  skipped: 'Skipped',
  'expected failure': 'Skipped',
} as const;
type Word = keyof typeof outcomes;

interface Entry {
  readonly id: string;
  readonly word: Word;
  readonly kind: 'Test' | 'Subtest' | 'Fixture' | 'Container';
}

type Head = Pick<Entry, 'id' | 'kind'> & { readonly rest: string };

/** A result may be printed lines after its test: output of the test in between is not trusted. */
function readBody(lines: readonly string[]): Entry[] {
  const entries: Entry[] = [];
  let open: Head | null = null;
  let subtests = false;
  for (const line of lines) {
    if (/^={70}$/.test(line)) break;
    const head = headOf(line);
    const word: Word | null = wordOf(head === null ? afterDots(line) : head.rest);
    if (head === null) {
      if (open !== null && word !== null) entries.push({ id: open.id, kind: open.kind, word });
      if (word !== null) open = null;
      continue;
    }
    // Inside a test only its subtests count; when one failed, the test has no separate line.
    if (open !== null && !subtests && head.kind === 'Test') continue;
    subtests = head.kind === 'Subtest';
    if (!subtests) open = word === null ? head : null;
    if (word !== null) entries.push({ id: head.id, kind: head.kind, word });
  }
  return entries;
}

const afterDots = (line: string): string => (line.includes(' ... ') ? line.slice(line.lastIndexOf(' ... ') + 5) : line);

/** `test_a (mod.Cls.test_a) ... ok`; before Python 3.11 the method was not repeated in the brackets. */
function headOf(line: string): Head | null {
  const parts = /^( {0,4})(\S{1,400}) \(([\w.<>]{1,900})\)(.*)$/.exec(line);
  if (parts === null) return null;
  const [, indent, method = '', path = '', tail = ''] = parts;
  const rest = tail.startsWith(' ... ') ? tail.slice(5) : tail === '' ? '' : null;
  const loader = path.startsWith('unittest.loader._FailedTest') || path.startsWith('unittest.loader.ModuleSkipped');
  if (loader) return rest === null ? null : { id: method, kind: 'Container', rest };
  if (method === 'setUpClass' || method === 'tearDownClass' || method === 'setUpModule' || method === 'tearDownModule') {
    return rest === null ? null : { id: path, kind: 'Fixture', rest };
  }
  const id = path === method || path.endsWith(`.${method}`) ? path : `${path}.${method}`;
  if (rest === null) return /^ [([]/.test(tail) && indent !== '' ? { id, kind: 'Subtest', rest: afterDots(tail) } : null;
  return { id, kind: 'Test', rest };
}

function wordOf(text: string): Word | null {
  if (text.startsWith("skipped '") || text.startsWith('skipped "')) return 'skipped';
  const words: readonly Word[] = ['ok', 'FAIL', 'ERROR', 'expected failure', 'unexpected success'];
  return words.find((word) => word === text) ?? null;
}

function addsUp(entries: readonly Entry[], footer: Footer): boolean {
  const sum = (wanted: Word): number => entries.filter(({ word }) => word === wanted).length;
  const fixtures = entries.filter(({ kind }) => kind === 'Fixture').length;
  // A test with failing subtests has no separate line.
  const ids = new Set(entries.filter(({ kind }) => kind !== 'Fixture').map(({ id }) => id)).size;
  const { failures, errors, skipped, expected, unexpected } = footer;
  const same = sum('FAIL') === failures && sum('ERROR') === errors && sum('skipped') === skipped;
  const planned = sum('expected failure') === expected && sum('unexpected success') === unexpected;
  return same && planned && (ids === footer.ran || entries.length - fixtures === footer.ran);
}

function merged(entries: readonly Entry[]): Found[] {
  const seen = new Set<string>();
  return entries.flatMap(({ id, word, kind }): Found[] => {
    if (kind === 'Subtest' && seen.has(id)) return [];
    seen.add(id);
    return [{ id, outcome: outcomes[word], kind: kind === 'Fixture' || kind === 'Container' ? 'Container' : 'Test' }];
  });
}

/** Without `-v` the sections `FAIL: test_a (mod.Cls.test_a)` name the failed tests, and the footer has the counts. */
function nameFailuresOnly(collector: Collector, lines: readonly string[], footer: Footer): void {
  const named: Entry[] = [];
  lines.forEach((line, at) => {
    const section = /^(FAIL|ERROR|UNEXPECTED SUCCESS): (.*)$/.exec(line);
    if (section === null || !/^={70}$/.test(lines[at - 1] ?? '')) return;
    const head = headOf(section[2] ?? '') ?? headOf(`  ${section[2] ?? ''}`);
    if (head !== null) named.push({ id: head.id, kind: head.kind, word: section[1] === 'ERROR' ? 'ERROR' : 'FAIL' });
  });
  for (const entry of merged(named)) collector.add(entry);
  const bad = footer.failures + footer.errors + footer.unexpected;
  collector.evidence = 'Counts';
  collector.unnamed = {
    passed: Math.max(0, footer.ran - bad - footer.skipped - footer.expected),
    skipped: footer.skipped + footer.expected,
    failed: Math.max(0, bad - named.length),
    errored: 0,
  };
  if (named.length !== bad) collector.distrust('CountsDisagree', `${named.length} failures are named and ${bad} counted`, cure);
  else collector.note('NamesMissing', 'passing tests are counted, not named', `${cure}; tests must not write to standard error`);
}
