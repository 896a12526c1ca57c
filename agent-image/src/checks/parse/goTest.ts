// agent-image, checks/parse: parser for the output of go test. Of the worker it imports base.
import { failing, type CommandOutput, type Outcome, type ParsedResults } from './results.ts';
import { jsonIn } from '../../base/text.ts';
import { Collector, linesOf } from './collector.ts';

const outcomes: Readonly<Record<string, Outcome>> = { pass: 'Passed', fail: 'Failed', skip: 'Skipped' };

/**
 * go test: events of `-json` (pkg.go.dev/cmd/test2json) where there are any, else the text of `-v`, else only the
 * packages. Ids are `package TestName/subtest`.
 *
 * The output of several packages has no last line: only `truncated` shows that some were cut off.
 */
export function parseGoTest({ stdout, stderr, exitCode }: CommandOutput): ParsedResults {
  const { lines, ended, cut } = linesOf(stdout);
  const packages = new GoPackages();
  const whole = ended || lines.length === 0 ? lines : lines.slice(0, -1);
  if (lines.some((line) => line.startsWith('{"'))) goJson(packages, whole);
  else goText(packages, whole);
  // Without a failing package the run may end anywhere: its exit code must report success.
  const results = packages.finish(exitCode);
  if (ended && !cut) return results;
  const why = stdout === '' ? `no output: ${stderr.trim().slice(0, 200)}` : 'the last line has no line end';
  return {
    ...results,
    complete: false,
    problems: [...results.problems, { code: 'Incomplete', severity: 'Distrust', message: why, cure: 'read the output of the check' }],
  };
}

/**
 * Events of test2json. The runner frames its own lines with a control character, so what a test
 * prints becomes `output`; other lines (of the build, of wrappers) are noise.
 */
function goJson(packages: GoPackages, lines: readonly string[]): void {
  for (const line of lines) {
    if (!line.startsWith('{"')) continue;
    const event = eventOf(line);
    if (event === null) packages.malformed(line);
    else take(packages, event);
  }
}

function eventOf(line: string) {
  const event = jsonIn(line) as Readonly<Record<string, unknown>> | null | undefined;
  if (typeof event !== 'object' || event === null) return null;
  const text = (key: string): string => (typeof event[key] === 'string' ? event[key] : '');
  const elapsed = typeof event['Elapsed'] === 'number' ? event['Elapsed'] : null;
  const test = typeof event['Test'] === 'string' ? event['Test'] : null;
  return { action: text('Action'), name: text('Package'), test, output: text('Output'), elapsed, failedBuild: text('FailedBuild') };
}

type GoEvent = NonNullable<ReturnType<typeof eventOf>>;

function take(packages: GoPackages, { action, name, test, output, elapsed, failedBuild }: GoEvent): void {
  if (name === '') return;
  if (action === 'run' && test !== null) return packages.run(name, test);
  if (action === 'output' && test !== null) return packages.output(name, test, output);
  const outcome = outcomes[action];
  if (outcome === undefined) return;
  if (test !== null) packages.end(name, test, outcome, elapsed);
  else packages.close(name, outcome, failedBuild === '' ? '' : `build failed: ${failedBuild}`);
}

/**
 * The text of `go test -v`. A package's name comes after its tests. Where a test leaves its last line open, `--- PASS`
 * or `=== RUN` is in the middle of a line.
 */
function goText(packages: GoPackages, lines: readonly string[]): void {
  let pending: (NonNullable<ReturnType<typeof endOf>> | { readonly test: string; readonly outcome: null; readonly seconds: null })[] = [];
  const started = new Set<string>();
  const running = new Set<string>();
  for (const line of lines) {
    const run = startOf(line, started, running);
    if (run !== null) {
      started.add(run);
      if (!run.includes('/')) running.add(run);
      pending.push({ test: run, outcome: null, seconds: null });
      continue;
    }
    const end = endOf(line, started);
    if (end !== null) {
      pending.push(end);
      running.delete(end.test);
    }
    const closed = packageOf(line);
    if (closed === null) continue;
    for (const { test, outcome, seconds } of pending) {
      if (outcome === null) packages.run(closed.name, test);
      else if (started.size > 0) packages.end(closed.name, test, outcome, seconds);
      else if (outcome === 'Failed') packages.start(closed.name, test);
    }
    packages.close(closed.name, closed.outcome, closed.message);
    pending = [];
    started.clear();
    running.clear();
  }
  // Tests of a package whose last line is missing.
  for (const { test } of pending) packages.run('(unknown package)', test);
}

/** In the middle of a line only a subtest of a started test can start, or a test while none runs: any other is printed by one. */
function startOf(line: string, started: ReadonlySet<string>, running: ReadonlySet<string>): string | null {
  const at = line.lastIndexOf('=== RUN ');
  const test = at < 0 ? undefined : /^=== RUN +(\S+)$/.exec(line.slice(at))?.[1];
  if (test === undefined || at === 0) return test ?? null;
  const parent = test.lastIndexOf('/');
  return (parent < 0 ? running.size === 0 : started.has(test.slice(0, parent))) ? test : null;
}

function endOf(line: string, started: ReadonlySet<string>) {
  const whole = /^ *--- (PASS|FAIL|SKIP): (\S+) \((\d[\d.]*)s\)$/.exec(line);
  const at = whole === null ? line.lastIndexOf('--- ') : -1;
  const parts = whole ?? (at > 0 && started.size > 0 ? /^--- (PASS|FAIL|SKIP): (\S+) \((\d[\d.]*)s\)$/.exec(line.slice(at)) : null);
  if (parts === null || (whole === null && !started.has(parts[2] ?? ''))) return null;
  return { test: parts[2] ?? '', outcome: outcomes[(parts[1] ?? '').toLowerCase()] ?? 'Failed', seconds: Number(parts[3]) };
}

/** `ok  	pkg	0.01s`, `FAIL	pkg [build failed]`, `?   	pkg	[no test files]`. */
function packageOf(line: string) {
  const [, word, name = '', message = ''] = /^(ok|FAIL|\?)\s{0,8}\t(\S+)(.*)$/.exec(line) ?? [];
  if (word === undefined) return null;
  const skipped = word === '?' || message.includes('[no test files]') || (word === 'ok' && message.includes('[no tests to run]'));
  const outcome: Outcome = skipped ? 'Skipped' : word === 'ok' ? 'Passed' : 'Failed';
  return { name, outcome, message: message.trim() };
}

interface GoTest {
  outcome: Outcome | null;
  seconds: number | null;
  output: string;
}

interface GoPackage {
  readonly tests: Map<string, GoTest>;
  outcome: Outcome | null;
  message: string;
}

const cure = 'use go test -json, and let tests not print lines like `--- PASS`';

/** Results by package. One test has one end: a second, different one is forged. */
class GoPackages {
  readonly #packages = new Map<string, GoPackage>();
  readonly #collector = new Collector();
  #verbose = false;

  run(name: string, test: string): void {
    this.#verbose = true;
    this.start(name, test);
  }

  /** Names a test; without `-v` only failing ones have a name. */
  start(name: string, test: string): void {
    const { tests } = this.#package(name);
    if (!tests.has(test)) tests.set(test, { outcome: null, seconds: null, output: '' });
  }

  end(name: string, test: string, outcome: Outcome, seconds: number | null): void {
    const { tests } = this.#package(name);
    const known = tests.get(test);
    if (known === undefined) this.#collector.distrust('ConflictingResult', `${test} ended without having started`, cure);
    if (known?.outcome !== undefined && known.outcome !== null && known.outcome !== outcome) {
      this.#collector.distrust('ConflictingResult', `${test} is both ${known.outcome} and ${outcome}`, cure);
    }
    tests.set(test, { outcome: worse(known?.outcome ?? null, outcome), seconds, output: known?.output ?? '' });
  }

  output(name: string, test: string, text: string): void {
    const known = this.#package(name).tests.get(test);
    if (known !== undefined && known.output.length < 2000 && !/^\s*(?:===|---) /.test(text)) known.output += text;
  }

  close(name: string, outcome: Outcome, message: string): void {
    const known = this.#package(name);
    if (known.outcome !== null && known.outcome !== outcome) {
      this.#collector.distrust('ConflictingResult', `package ${name} is both ${known.outcome} and ${outcome}`, cure);
    }
    known.outcome = worse(known.outcome, outcome);
    known.message = message;
  }

  malformed(line: string): void {
    this.#collector.distrust('Malformed', `not an event: ${line.slice(0, 80)}`, cure);
  }

  finish(exitCode: number | null): ParsedResults {
    const collector = this.#collector;
    for (const [name, known] of this.#packages) this.#finishPackage(name, known);
    const seen = [...this.#packages.values()].filter(({ outcome }) => outcome !== 'Skipped');
    if (seen.length === 0) collector.incomplete('no result of a package', 'read the output of the check');
    if (!this.#verbose) {
      collector.evidence = 'Exit';
      collector.note('NamesMissing', 'only packages are named', 'add -v or -json to go test');
    }
    const failed = seen.some(({ outcome }) => outcome !== null && failing(outcome));
    if (exitCode !== 0 && !failed && seen.length > 0)
      collector.incomplete('go test failed, and no package did', 'read the output of the check');
    return collector.finish('GoTest');
  }

  /** A package that failed without a failing test is a separate result. */
  #finishPackage(name: string, { tests, outcome, message }: GoPackage): void {
    const collector = this.#collector;
    if (!this.#verbose && outcome !== null && outcome !== 'Skipped') {
      return collector.add({ id: name, outcome, kind: 'Container', message: [message, ...tests.keys()].join(' ') });
    }
    let bad = false;
    for (const [test, { outcome: end, seconds, output }] of tests) {
      bad ||= end === null || failing(end);
      const message = end === null ? 'it never ended' : end === 'Passed' && outcome === 'Passed' ? '' : output.trim();
      collector.add({ id: `${name} ${test}`, outcome: end ?? 'Errored', message, ...(seconds !== null && { seconds }) });
    }
    if (outcome === null) collector.incomplete(`package ${name} has no end`, 'read the output of the check');
    if (outcome === 'Passed' && bad) collector.distrust('CountsDisagree', `package ${name} is ok although a test in it is not`, cure);
    if (outcome !== null && failing(outcome) && !bad) collector.add({ id: name, outcome: 'Errored', kind: 'Container', message });
    if (outcome === 'Passed' && tests.size === 0) collector.add({ id: name, outcome: 'Passed', kind: 'Container', message });
  }

  #package(name: string): GoPackage {
    const known = this.#packages.get(name) ?? { tests: new Map<string, GoTest>(), outcome: null, message: '' };
    this.#packages.set(name, known);
    return known;
  }
}

const worse = (a: Outcome | null, b: Outcome): Outcome => (a !== null && failing(a) ? a : b);
