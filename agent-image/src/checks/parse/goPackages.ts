import { failing, type Outcome, type ParsedResults } from './results.ts';
import { Collector } from './collector.ts';

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
export class GoPackages {
  readonly #packages = new Map<string, GoPackage>();
  readonly #collector = new Collector();
  #verbose = false;

  run(name: string, test: string): void {
    this.#verbose = true;
    this.#start(name, test);
  }

  /** Without `-v` only failing tests have a name. */
  failed(name: string, test: string): void {
    this.#start(name, test);
  }

  #start(name: string, test: string): void {
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
      if (end === 'Passed' && outcome === 'Passed')
        collector.add({ id: `${name} ${test}`, outcome: end, ...(seconds !== null && { seconds }) });
      else
        collector.add({
          id: `${name} ${test}`,
          outcome: end ?? 'Errored',
          message: end === null ? 'it never ended' : output.trim(),
          ...(seconds !== null && { seconds }),
        });
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
